"""Conversations about groups of the classic protocol and their offsets.

A conversation uses groups and topics of its own name. Member ids are compared by whose they are:
`named` puts the name of the client in the place of each random part.
"""

import re
import time
from collections.abc import Iterable
from typing import Any, Final

from conformance.kafka.talk import create_and_wait, new_topic, plain
from conformance.kafka.transaction_conversations import ready
from conformance.kafka.wire_client import WireClient
from duolog.protocol.encoder import encoder
from duolog.protocol.messages import entity_type

OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR = 8, 9, 10
JOIN, HEARTBEAT, LEAVE, SYNC, DESCRIBE, LIST = 11, 12, 13, 14, 15, 16
TXN_OFFSET_COMMIT, DELETE_GROUPS, OFFSET_DELETE = 28, 42, 47
READY: Final = (24, 25)
_RANDOM: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")


def named(value: Any, names: dict[str, str]) -> Any:
    """Return plain values in which each random id has the name of its first appearance."""
    if isinstance(value, dict):
        return {key: named(item, names) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [named(item, names) for item in value]
    if isinstance(value, str):
        return _RANDOM.sub(lambda m: names.setdefault(m[0], f"#{len(names)}"), value)
    return value


class Members:
    """Connections of several members of one group to one broker."""

    def __init__(self, client: WireClient, group_id: str) -> None:
        host, port = client.socket.getpeername()
        self.address = f"{host}:{port}"
        self.client = client
        self.group_id = group_id
        self.names: dict[str, str] = {}
        self.said: list[Any] = []
        await_coordinator(client, group_id)

    def heard(self, answer: Any) -> Any:
        """Keep an answer for the comparison, and return it."""
        found = plain(answer)
        for row in found.get("members") or ():
            row.pop("metadata", None)
        if isinstance(found.get("members"), list):
            found["members"].sort(key=str)
        if topics := found.get("topics"):
            # Kafka puts what it refuses at once before what the group answers.
            found["topics"] = sorted(
                ((topic["name"], row) for topic in topics for row in topic["partitions"]),
                key=str,
            )
        self.said.append(named(found, self.names))
        return answer

    def ask(self, key: int, version: int, **fields: Any) -> Any:
        return self.heard(self.client.ask(key, version, **fields))

    def park(self, key: int, version: int, **fields: Any) -> "Waiting":
        """Send a request on a connection of its own and do not wait for the answer."""
        client = WireClient(self.address)
        body = encoder(entity_type(key, version, "request"))(fields)
        client.send(key, version, body)
        return Waiting(self, client, key, version)

    def join_fields(self, member_id: str = "", **changes: Any) -> dict[str, Any]:
        return {
            "group_id": self.group_id,
            "session_timeout": 30_000,
            "rebalance_timeout": 30_000,
            "member_id": member_id,
            "group_instance_id": None,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": subscription("groups")}],
            "reason": None,
            **changes,
        }

    def join(self, member_id: str = "", version: int = 9, **changes: Any) -> Any:
        return self.ask(JOIN, version, **self.join_fields(member_id, **changes))

    def sync_fields(
        self, member_id: str, generation: int, shares: dict[str, bytes] | None = None, **more: Any
    ) -> dict[str, Any]:
        return {
            "group_id": self.group_id,
            "generation_id": generation,
            "member_id": member_id,
            "group_instance_id": None,
            "protocol_type": "consumer",
            "protocol_name": "range",
            "assignments": [
                {"member_id": name, "assignment": share} for name, share in (shares or {}).items()
            ],
            **more,
        }

    def sync(self, member_id: str, generation: int, version: int = 5, **more: Any) -> Any:
        return self.ask(SYNC, version, **self.sync_fields(member_id, generation, **more))

    def beat(self, member_id: str, generation: int, version: int = 4, **more: Any) -> Any:
        fields = {
            "group_id": self.group_id,
            "generation_id": generation,
            "member_id": member_id,
            "group_instance_id": None,
            **more,
        }
        return self.ask(HEARTBEAT, version, **fields)

    def leave(self, *leaving: tuple[str, str | None], version: int = 5) -> Any:
        members = [
            {"member_id": member_id, "group_instance_id": instance_id, "reason": None}
            for member_id, instance_id in leaving
        ]
        fields = {"group_id": self.group_id, "member_id": leaving[0][0], "members": members}
        return self.ask(LEAVE, version, **fields)

    def describe(self, version: int = 6, **more: Any) -> Any:
        time.sleep(0.05)  # Kafka shows what its log has, and writes that some milliseconds later.
        fields = {"groups": [self.group_id], "include_authorized_operations": False, **more}
        answer = plain(self.client.ask(DESCRIBE, version, **fields))
        for group in answer["groups"]:
            for member in group["members"]:
                member["client_host"] = bool(member["client_host"])
            group["members"].sort(key=str)
        self.said.append(named(answer, self.names))

    def stable_member(self, instance_id: str | None = None, **changes: Any) -> tuple[str, int]:
        """Make a stable group of one member; return its id and its generation."""
        joined = self.join(group_instance_id=instance_id, version=9, **changes)
        if joined.error_code:
            joined = self.join(joined.member_id, **changes)
        generation, member_id = joined.generation_id, joined.member_id
        self.sync(
            member_id,
            generation,
            shares={member_id: b"all"},
            group_instance_id=instance_id,
            protocol_type=joined.protocol_type,
            protocol_name=joined.protocol_name,
        )
        return member_id, generation

    def commit(
        self,
        member_id: str = "",
        generation: int = -1,
        version: int = 8,
        topics: Iterable[tuple[str, int]] = (("groups", 0),),
        **more: Any,
    ) -> Any:
        rows = [
            {
                "name": name,
                "partitions": [
                    {
                        "partition_index": index,
                        "committed_offset": more.get("offset", 5),
                        "committed_leader_epoch": 0,
                        "committed_metadata": more.get("metadata", "note"),
                    }
                ],
            }
            for name, index in topics
        ]
        fields = {
            "group_id": self.group_id,
            "generation_id_or_member_epoch": generation,
            "member_id": member_id,
            "group_instance_id": more.get("group_instance_id"),
            "retention_time": -1,
            "topics": rows,
        }
        return self.ask(OFFSET_COMMIT, version, **fields)

    def fetch(
        self, version: int = 8, topics: Iterable[tuple[str, int]] | None = (("groups", 0),)
    ) -> Any:
        rows = None
        if topics is not None:
            rows = [{"name": name, "partition_indexes": [index]} for name, index in topics]
        group = {"group_id": self.group_id, "member_id": None, "member_epoch": -1, "topics": rows}
        return self.ask(OFFSET_FETCH, version, **group, groups=[group], require_stable=True)

    def delete_offsets(self, *topics: tuple[str, int]) -> Any:
        rows = [{"name": name, "partitions": [{"partition_index": i}]} for name, i in topics]
        return self.ask(OFFSET_DELETE, 0, group_id=self.group_id, topics=rows)


def await_coordinator(client: WireClient, group_id: str) -> None:
    """Wait until the broker has made and loaded the partition that the group lies in."""
    deadline = time.monotonic() + 20
    beat = {"group_id": group_id, "generation_id": 1, "member_id": "no", "group_instance_id": None}
    while True:
        found = client.ask(FIND_COORDINATOR, 3, key=group_id, key_type=0)
        if not found.error_code and client.ask(HEARTBEAT, 4, **beat).error_code in READY:
            return
        assert time.monotonic() < deadline, "there is no coordinator"
        time.sleep(0.1)


class Waiting:
    """A request that was sent and not answered yet."""

    def __init__(self, members: Members, client: WireClient, key: int, version: int) -> None:
        self._members = members
        self._client = client
        self._of = (key, version)

    def answer(self) -> Any:
        from kio.serial import entity_reader  # noqa: PLC0415

        key, version = self._of
        content = self._client.receive(key, version)
        entity, _ = entity_reader(entity_type(key, version, "response"))(content, 0)
        self._client.socket.close()
        return self._members.heard(entity)


def subscription(*topics: str) -> bytes:
    """Return what a consumer says of itself: a version, its topics, no user data."""
    names = b"".join(len(name).to_bytes(2) + name.encode() for name in topics)
    return b"\0\1" + len(topics).to_bytes(4) + names + b"\xff\xff\xff\xff\0\0\0\0"


def members_come_and_go(client: WireClient) -> Any:
    create_and_wait(client, new_topic("groups", 2))
    members = Members(client, "come_and_go")
    first = members.join()
    unknown = [members.join("nobody"), members.beat("nobody", 1), members.sync("nobody", 1)]
    joined = members.join(first.member_id)
    a, generation = joined.member_id, joined.generation_id
    members.describe()
    members.commit(a, generation)
    members.beat(a, generation)
    members.sync(a, generation + 1)
    members.sync(a, generation, protocol_name="other")
    members.sync(a, generation, protocol_type="connect")
    members.sync(a, generation, shares={a: b"all"})
    members.describe()
    members.beat(a, generation)
    members.beat(a, generation + 1)
    members.join(protocol_type="connect")
    members.join(protocols=[{"name": "other", "metadata": b""}])
    members.join(a, protocols=[{"name": "other", "metadata": b""}])
    members.join(session_timeout=1)

    second = members.join()
    parked = members.park(JOIN, 9, **members.join_fields(second.member_id))
    while not members.client.ask(
        HEARTBEAT, 4, group_id="come_and_go", generation_id=generation, member_id=a,
        group_instance_id=None,
    ).error_code:  # fmt: skip
        pass
    members.beat(a, generation)
    members.commit(a, generation)
    members.sync(a, generation)
    members.describe()
    leader = members.join(a)
    b = parked.answer().member_id
    generation = leader.generation_id
    members.commit(b, generation)
    follower = members.park(SYNC, 5, **members.sync_fields(b, generation))
    members.sync(a, generation, shares={a: b"a", b: b"b"})
    follower.answer()
    members.describe()
    members.join(b)
    members.sync(b, generation)
    members.commit(b, generation - 1)
    members.commit()
    members.commit("nobody", generation)
    members.leave((b, None), ("nobody", None), ("", None), ("", "i"))
    members.beat(a, generation)
    members.join(a)
    members.leave((a, None))
    members.describe()
    members.beat(a, generation)
    members.join(a)
    assert unknown
    return members.said


def requests_in_every_version(client: WireClient) -> Any:
    create_and_wait(client, new_topic("groups", 2))
    said = []
    for version in range(6):
        members = Members(client, f"versions_{version}")
        join_version = (0, 1, 3, 5, 7, 9)[version]
        joined = members.join(version=join_version)
        if joined.error_code:
            joined = members.join(joined.member_id, version=join_version)
        of = (joined.member_id, joined.generation_id)
        members.sync(*of, version=version, shares={of[0]: b"all"})
        members.beat(*of, version=min(version, 4))
        members.commit(*of, version=version + 2)
        members.describe(version=version)
        members.leave((of[0], None), version=version)
        members.leave((of[0], None), version=version)
        members.client.ask(LIST, version)
        members.group_id = f"no_such_{version}"
        members.leave((of[0], None), version=version)
        members.beat(*of, version=min(version, 4))
        members.sync(*of, version=version)
        members.join("nobody", version=join_version)
        members.describe(version=version)
        members.group_id = ""
        members.leave((of[0], None), version=version)
        members.beat(*of, version=min(version, 4))
        members.sync(*of, version=version)
        members.join(version=join_version)
        members.describe(version=version)
        said.append(members.said)
    return said


def static_members(client: WireClient) -> Any:
    create_and_wait(client, new_topic("groups", 2))
    members = Members(client, "static")
    a, generation = members.stable_member("i")
    members.describe()
    again = members.join(group_instance_id="i")
    members.describe()
    members.beat(a, generation, group_instance_id="i")
    members.beat(a, generation)
    members.sync(again.member_id, generation, group_instance_id="i")
    members.commit(a, generation, group_instance_id="i")
    members.commit(again.member_id, generation, group_instance_id="i")
    members.commit(again.member_id, generation, group_instance_id="other")
    members.join(a, group_instance_id="i")
    old = members.join(group_instance_id="i", version=8)
    changed = [{"name": "range", "metadata": subscription("groups", "more")}]
    newer = members.join(group_instance_id="i", version=8, protocols=changed)
    rejoined = members.join(newer.member_id, group_instance_id="i", protocols=changed)
    members.sync(
        rejoined.member_id,
        rejoined.generation_id,
        group_instance_id="i",
        shares={rejoined.member_id: b"all"},
    )
    other = [{"name": "roundrobin", "metadata": subscription("groups")}]
    members.join(group_instance_id="i", protocols=other)
    members.leave((old.member_id, "i"), ("", "j"))
    members.leave(("", "i"))
    members.describe()
    return members.said


def members_that_are_silent(client: WireClient) -> Any:
    """Rebalance timeout of one second, session timeout of six: both are awaited."""
    create_and_wait(client, new_topic("groups", 2))
    silent, late, fixed, hasty = (
        Members(client, f"silent_{name}") for name in ("join", "sync", "static", "session")
    )
    hasty.stable_member(session_timeout=6_000)
    fixed.stable_member("i", rebalance_timeout=1_000)
    a, _ = silent.stable_member(rebalance_timeout=1_000)

    parked = silent.park(JOIN, 3, **silent.join_fields(rebalance_timeout=1_000))
    silent.describe()
    b = parked.answer()
    silent.beat(a, b.generation_id)
    silent.describe()

    first = late.join(version=3, rebalance_timeout=1_000)
    leader, generation = first.member_id, first.generation_id
    late.describe()
    deadline = time.monotonic() + 5
    while not client.ask(
        HEARTBEAT, 3, group_id=late.group_id, generation_id=generation, member_id=leader,
        group_instance_id=None,
    ).error_code and time.monotonic() < deadline:  # fmt: skip
        time.sleep(0.1)
    late.describe()
    late.sync(leader, generation)

    # A static member that does not come back in time is not removed: its session decides.
    parked = fixed.park(JOIN, 3, **fixed.join_fields(rebalance_timeout=1_000))
    answer = parked.answer()
    fixed.describe()
    fixed.beat(answer.member_id, answer.generation_id)

    hasty.describe()
    time.sleep(4)
    hasty.describe()
    return [members.said for members in (silent, late, fixed, hasty)]


def offsets(client: WireClient) -> Any:
    create_and_wait(client, new_topic("groups", 2), new_topic("groups_b"))
    members = Members(client, "offsets")
    members.fetch()
    members.fetch(topics=None)
    for version in range(2, 10):
        members.commit(version=version, offset=version)
        members.fetch(version)
    for version in range(2, 10):
        members.fetch(version, topics=None)
        members.fetch(version, topics=())
        members.fetch(version, topics=(("groups", 7), ("nope", 0)))
    members.fetch(1)
    members.commit(topics=(("groups", 9), ("nope", 0), ("groups", 1)))
    members.commit(metadata="m" * 4096)
    members.commit(metadata="m" * 4097)
    members.commit(metadata="ü" * 4096)
    members.commit(metadata=None)
    members.fetch()
    members.commit("m")
    members.commit("m", 3)
    members.commit(generation=3)
    members.commit(group_instance_id="i")
    for version in (2, 8, 9):
        members.group_id = "offsets_nobody"
        members.commit("m", 3, version=version)
        members.group_id = ""
        members.commit(version=version)
        members.fetch(version)
        members.commit("m", 3, version=version)
    return members.said


def offsets_that_are_deleted(client: WireClient) -> Any:
    create_and_wait(client, new_topic("groups", 2), new_topic("groups_b"))
    members = Members(client, "unoffset")
    members.delete_offsets(("groups", 0))
    a, generation = members.stable_member()
    members.commit(a, generation, topics=(("groups", 0), ("groups", 1), ("groups_b", 0)))
    members.delete_offsets(("groups", 0), ("groups_b", 0), ("groups", 9), ("nope", 0))
    members.fetch(topics=None)
    members.leave((a, None))
    members.delete_offsets(("groups", 0), ("groups_b", 0))
    members.fetch(topics=None)
    members.group_id = ""
    members.delete_offsets(("groups", 0))

    connect = Members(client, "unoffset_connect")
    connect.stable_member(protocol_type="connect")
    connect.delete_offsets(("groups", 0))

    simple = Members(client, "unoffset_simple")
    simple.commit()
    simple.delete_offsets(("groups", 0), ("groups", 1))
    simple.fetch()
    return members.said, connect.said, simple.said


def groups_that_are_deleted(client: WireClient) -> Any:
    create_and_wait(client, new_topic("groups", 2))
    said = []
    for version in range(3):
        members = Members(client, f"deleted_{version}")
        a, generation = members.stable_member()
        members.commit(a, generation)
        simple = Members(client, f"deleted_simple_{version}")
        simple.commit()
        names = [simple.group_id, members.group_id, f"deleted_nobody_{version}", simple.group_id]
        answers = [client.ask(DELETE_GROUPS, version, groups_names=names)]
        members.leave((a, None))
        answers += [
            client.ask(DELETE_GROUPS, version, groups_names=[members.group_id]),
            client.ask(DELETE_GROUPS, version, groups_names=[members.group_id]),
            client.ask(DELETE_GROUPS, version, groups_names=[]),
            client.ask(DELETE_GROUPS, version, groups_names=[""]),
        ]
        simple.fetch()
        members.fetch()
        members.describe()
        said.append((members.said, simple.said))
        for answer in answers:
            found = plain(answer)
            found["results"].sort(key=str)
            said.append(found)
    return said


def groups_that_are_listed(client: WireClient) -> Any:
    create_and_wait(client, new_topic("groups", 2))
    stable = Members(client, "listed_stable")
    stable.stable_member()
    empty = Members(client, "listed_empty")
    a, _ = empty.stable_member()
    empty.leave((a, None))
    simple = Members(client, "listed_simple")
    simple.commit()
    connect = Members(client, "listed_connect")
    connect.stable_member(protocol_type="connect")
    rebalancing = Members(client, "listed_rebalancing")
    joined = rebalancing.join()
    rebalancing.join(joined.member_id)
    time.sleep(0.2)

    def listed(version: int, states: Any = (), types: Any = ()) -> Any:
        answer = plain(client.ask(LIST, version, states_filter=states, types_filter=types))
        rows = [row for row in answer["groups"] if row["group_id"].startswith("listed_")]
        return answer["error_code"], sorted(rows, key=str)

    return (
        [listed(version) for version in range(6)],
        [listed(5, [name]) for name in
         ("Stable", "stable", " EMPTY ", "CompletingRebalance", "Dead", "nonsense", "")],
        [listed(4, ["Empty", "Stable"]), listed(5, ["Stable"], ["classic"])],
        [listed(5, (), [name]) for name in ("classic", "Classic", "consumer", "share")],
    )  # fmt: skip


class TransactionalMembers(Members):
    """Members whose offsets a producer commits in its transactions."""

    def __init__(self, client: WireClient, group_id: str) -> None:
        super().__init__(client, group_id)
        self.producer = ready(client, group_id)
        self.producer.init()

    def commit_in_transaction(
        self, offset: int = 7, *, version: int = 3, add: bool = True, **changes: Any
    ) -> None:
        if add:
            self.producer.add_offsets(self.group_id)
        row = {
            "partition_index": changes.pop("index", 0),
            "committed_offset": offset,
            "committed_leader_epoch": 0,
            "committed_metadata": changes.pop("metadata", "note"),
        }
        fields = {
            "group_id": self.group_id,
            "generation_id": -1,
            "member_id": "",
            "group_instance_id": None,
            "topics": [{"name": "groups", "partitions": [row]}],
            **changes,
        }
        self.ask(TXN_OFFSET_COMMIT, version, **fields, **self.producer.named())

    def end(self, *, commit: bool) -> None:
        """End the transaction and wait for its markers."""
        self.producer.end(4, commit=commit)
        deadline = time.monotonic() + 20
        rows = [{"name": "groups", "partition_indexes": [0, 1]}]
        while any(
            partition.error_code
            for topic in self.client.ask(
                OFFSET_FETCH, 7, group_id=self.group_id, topics=rows, require_stable=True
            ).topics
            for partition in topic.partitions
        ):
            assert time.monotonic() < deadline, "the transaction does not end"
            time.sleep(0.05)


def offsets_in_open_transactions(client: WireClient) -> Any:
    create_and_wait(client, new_topic("groups", 2))
    members = TransactionalMembers(client, "txn_offsets")
    members.commit(offset=3)
    members.commit_in_transaction()
    for version in (6, 7, 8, 9):
        members.fetch(version)
        members.fetch(version, topics=None)
    members.commit(offset=4)
    members.fetch(6)
    members.end(commit=True)
    members.fetch()
    members.commit_in_transaction(8)
    members.end(commit=False)
    members.fetch()
    members.commit_in_transaction(9, index=1)
    members.delete_offsets(("groups", 0), ("groups", 1))
    members.fetch(topics=None)
    members.end(commit=True)
    members.fetch(topics=None)
    members.commit_in_transaction(10)
    members.ask(DELETE_GROUPS, 2, groups_names=[members.group_id])
    members.end(commit=True)
    members.fetch(topics=None)
    members.commit_in_transaction(11, metadata="m" * 4097)
    members.commit_in_transaction(11, index=9)
    members.commit_in_transaction(11, group_id="", add=False)
    members.end(commit=True)
    return members.said


def members_that_commit_in_transactions(client: WireClient) -> Any:
    create_and_wait(client, new_topic("groups", 2))
    members = TransactionalMembers(client, "txn_members")
    members.commit_in_transaction(generation_id=3, member_id="nobody")
    a, generation = members.stable_member("i")
    mine: dict[str, Any] = {"member_id": a, "group_instance_id": "i"}
    for version in (3, 4):
        members.commit_in_transaction(version=version)
        members.commit_in_transaction(version=version, generation_id=generation, **mine)
        members.commit_in_transaction(version=version, generation_id=generation + 1, **mine)
        members.commit_in_transaction(version=version, generation_id=generation, member_id="no")
        members.commit_in_transaction(version=version, generation_id=-1, **mine)
        fenced: dict[str, Any] = {"member_id": "no", "group_instance_id": "i"}
        members.commit_in_transaction(version=version, generation_id=generation, **fenced)
        other: dict[str, Any] = {"member_id": a, "group_instance_id": "j"}
        members.commit_in_transaction(version=version, generation_id=generation, **other)
    parked = members.park(JOIN, 3, **members.join_fields())
    beat = {"group_id": members.group_id, "generation_id": generation, **mine}
    while not client.ask(HEARTBEAT, 4, **beat).error_code:
        pass
    members.commit_in_transaction(generation_id=generation, **mine)
    joined = members.join(a, group_instance_id="i")
    parked.answer()
    members.commit_in_transaction(generation_id=joined.generation_id, **mine)
    members.commit_in_transaction(generation_id=generation, **mine)
    members.end(commit=True)
    members.fetch()
    return members.said


def coordinators(client: WireClient) -> Any:
    create_and_wait(client, new_topic("groups", 2))
    Members(client, "coordinated").commit()

    def find(version: int, key_type: int = 0, keys: tuple[str, ...] = ("coordinated",)) -> Any:
        answer = client.ask(
            FIND_COORDINATOR, version, key=keys[0] if keys else "", key_type=key_type,
            coordinator_keys=keys,
        )  # fmt: skip
        return plain(answer)

    return (
        [find(version) for version in range(6)],
        [find(version, keys=("a", "", "a")) for version in range(6)],
        [find(version, keys=()) for version in (4, 5)],
        [find(version, 2, ("g:AAAAAAAAAAAAAAAAAAAAAA:0",)) for version in (4, 5)],
        [find(version, 9, ("a", "b")) for version in (1, 4, 5)],
    )
