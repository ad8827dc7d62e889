"""Group members for conversations: they send given requests and record the answers.

Member ids are compared by identity: `named` replaces each random part by a number.
"""

import re
import time
from collections.abc import Iterable
from typing import Any, Final

from conformance.kafka.wire_client import WireClient
from conformance.kafka.wire_helpers import create_and_wait, new_topic, plain
from duolog.protocol.encoder import encoder
from duolog.protocol.messages import entity_type
from waiting import wait_until

OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR = 8, 9, 10
JOIN, HEARTBEAT, LEAVE, SYNC, DESCRIBE, LIST = 11, 12, 13, 14, 15, 16
TXN_OFFSET_COMMIT, DELETE_GROUPS, OFFSET_DELETE = 28, 42, 47
READY: Final = (24, 25)
LOADING: Final = (14, 15, 16)
MARKERS: Final = "markers"
"""Begins the names of groups, and names the topic, of offsets that are committed as markers."""
OFFSETS_PARTITIONS: Final = 4
"""As `server.properties` sets it."""
_RANDOM: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")


def named(value: Any, names: dict[str, str]) -> Any:
    """Return plain values in which each random id is replaced by a number."""
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
        # Replaced before sorting: ids are random, and so is their order.
        found = named(plain(answer), self.names)
        for row in found.get("members") or ():
            row.pop("metadata", None)
        if isinstance(found.get("members"), list):
            found["members"].sort(key=str)
        if topics := found.get("topics"):
            # Kafka lists errors that it detects at once before those of the group.
            found["topics"] = sorted(
                ((topic["name"], row) for topic in topics for row in topic["partitions"]),
                key=str,
            )
        self.said.append(found)
        return answer

    def ask(self, key: int, version: int, **fields: Any) -> Any:
        return self.heard(self.client.ask(key, version, **fields))

    def park(self, key: int, version: int, **fields: Any) -> "Waiting":
        """Send a request on a separate connection without waiting for the answer."""
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
        await_offsets_topic(self.client)
        fields = {"groups": [self.group_id], "include_authorized_operations": False, **more}
        answer = named(plain(self.client.ask(DESCRIBE, version, **fields)), self.names)
        for group in answer["groups"]:
            for member in group["members"]:
                member["client_host"] = bool(member["client_host"])
            group["members"].sort(key=str)
        self.said.append(answer)

    def state(self) -> str:
        """Return the group's state without recording it for the comparison."""
        fields = {"groups": [self.group_id], "include_authorized_operations": False}
        return str(self.client.ask(DESCRIBE, 5, **fields).groups[0].group_state)

    def stable_member(self, instance_id: str | None = None, **changes: Any) -> tuple[str, int]:
        """Create a stable group with one member; return its member id and generation."""
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
    """Wait until the broker has created and loaded the partition of the group."""
    deadline = time.monotonic() + 60
    beat = {"group_id": group_id, "generation_id": 1, "member_id": "no", "group_instance_id": None}
    while True:
        found = client.ask(FIND_COORDINATOR, 3, key=group_id, key_type=0)
        if not found.error_code and client.ask(HEARTBEAT, 4, **beat).error_code in READY:
            return
        assert time.monotonic() < deadline, "there is no coordinator"
        time.sleep(0.1)


def await_offsets_topic(client: WireClient) -> None:
    """Wait until all that coordinators have answered is committed to `__consumer_offsets`.

    Apache Kafka describes and lists groups as its log has them, and writes some answers' records
    later. The answer to a commit of an offset comes after its record, and so after all earlier ones
    of its partition: names with successive last digits are in successive partitions.
    """
    row = {
        "partition_index": 0,
        "committed_offset": 1,
        "committed_leader_epoch": -1,
        "committed_metadata": "",
    }
    create_and_wait(client, new_topic(MARKERS))
    for number in range(OFFSETS_PARTITIONS):
        fields = {
            "group_id": f"{MARKERS}-{number}",
            "generation_id_or_member_epoch": -1,
            "member_id": "",
            "topics": [{"name": MARKERS, "partitions": [row]}],
        }
        wait_until(
            lambda fields=fields: _commits(client, fields),  # type: ignore[misc]
            "a marker is not committed",
        )


def _commits(client: WireClient, fields: dict[str, Any]) -> bool:
    answer = client.ask(OFFSET_COMMIT, 8, **fields)
    (code,) = {row.error_code for topic in answer.topics for row in topic.partitions}
    assert code in {0, *LOADING}, answer
    return not code


class Waiting:
    """A request without an answer yet."""

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
    """Return a consumer's subscription: version, topics, no user data."""
    names = b"".join(len(name).to_bytes(2) + name.encode() for name in topics)
    return b"\0\1" + len(topics).to_bytes(4) + names + b"\xff\xff\xff\xff\0\0\0\0"
