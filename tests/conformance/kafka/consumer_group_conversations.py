"""Conversations about groups of the new protocol (KIP-848).

Members bring their own ids, so answers are compared as they are, but for the ids of topics.
"""

import struct
import time
from typing import Any, Final

from conformance.kafka.members import Members, await_offsets_topic, subscription
from conformance.kafka.wire_client import WireClient
from conformance.kafka.wire_helpers import create_and_wait, new_topic, plain

FIND_COORDINATOR, OFFSET_COMMIT, OFFSET_FETCH = 10, 8, 9
DESCRIBE, LIST, DELETE_GROUPS, OFFSET_DELETE = 15, 16, 42, 47
CONSUMER_HEARTBEAT, CONSUMER_DESCRIBE = 68, 69
COORDINATOR_CODES: Final = {14, 15, 16}
PATIENCE_S: Final = 60.0


class Consumers:
    """Members of one group on one connection."""

    def __init__(self, client: WireClient, group_id: str) -> None:
        self.client = client
        self.group_id = group_id
        self.said: list[Any] = []
        self.owned: dict[str, Any] = {}
        self.epochs: dict[str, int] = {}
        await_coordinator(client, group_id)

    def beat(self, member_id: str, epoch: int | None = None, version: int = 1, **more: Any) -> Any:
        """Send a heartbeat, record the answer for the comparison, and apply it."""
        epoch = self.epochs.get(member_id, 0) if epoch is None else epoch
        fields = {"group_id": self.group_id, "member_id": member_id, "member_epoch": epoch, **more}
        answer = self.client.ask(CONSUMER_HEARTBEAT, version, **fields)
        self.said.append((member_id, in_order(plain(answer))))
        if answer.error_code == 0:
            self.epochs[member_id] = answer.member_epoch
            if answer.assignment is not None:
                self.owned[member_id] = [
                    {"topic_id": topic.topic_id, "partitions": list(topic.partitions)}
                    for topic in answer.assignment.topic_partitions
                ]
        return answer

    def join(self, member_id: str, *topics: str, version: int = 1, **more: Any) -> Any:
        fields = {
            "rebalance_timeout": 30_000,
            "subscribed_topic_names": list(topics),
            "topic_partitions": [],
            **more,
        }
        return self.beat(member_id, 0, version, **fields)

    def own(self, member_id: str) -> Any:
        """Send a heartbeat that owns exactly the assigned partitions."""
        return self.beat(member_id, topic_partitions=self.owned.get(member_id, []))

    def describe(self, version: int = 1) -> None:
        await_offsets_topic(self.client)
        answer = plain(
            self.client.ask(
                CONSUMER_DESCRIBE,
                version,
                group_ids=[self.group_id, "nobody"],
                include_authorized_operations=True,
            )
        )
        answer["groups"].sort(key=lambda group: group["group_id"])
        for group in answer["groups"]:
            group["members"].sort(key=lambda member: member["member_id"])
        self.said.append(in_order(answer))

    def listed(self, version: int = 5, **filters: Any) -> None:
        await_offsets_topic(self.client)
        groups = plain(self.client.ask(LIST, version, **filters))["groups"]
        self.said.append([group for group in groups if group["group_id"] == self.group_id])

    def ask(self, key: int, version: int, **fields: Any) -> Any:
        answer = self.client.ask(key, version, **fields)
        self.said.append(plain(answer))
        return answer

    def commit(self, epoch: int, member_id: str, version: int = 9) -> Any:
        partition = {
            "partition_index": 0,
            "committed_offset": 5,
            "committed_leader_epoch": -1,
            "committed_metadata": "note",
        }
        return self.ask(
            OFFSET_COMMIT,
            version,
            group_id=self.group_id,
            generation_id_or_member_epoch=epoch,
            member_id=member_id,
            topics=[{"name": "k848_a", "partitions": [partition]}],
        )

    def fetch(self, **more: Any) -> Any:
        groups = [{"group_id": self.group_id, "topics": None, **more}]
        return self.ask(OFFSET_FETCH, 9, groups=groups, require_stable=False)


def in_order(value: Any) -> Any:
    """Return plain values with topics sorted: Kafka stores them in hash maps."""
    if isinstance(value, dict):
        found = {key: in_order(item) for key, item in value.items()}
        if "topic_partitions" in found:
            found["topic_partitions"].sort(key=lambda t: (t.get("topic_name"), t["partitions"]))
        if "subscribed_topic_names" in found:
            found["subscribed_topic_names"].sort()
        return found
    if isinstance(value, list):
        return [in_order(item) for item in value]
    return value


def await_coordinator(client: WireClient, group_id: str) -> None:
    """Wait until groups can be described; the first request creates their topic."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        (found,) = client.ask(
            FIND_COORDINATOR, 4, key_type=0, coordinator_keys=[group_id]
        ).coordinators
        (group,) = client.ask(CONSUMER_DESCRIBE, 0, group_ids=[group_id]).groups
        if found.error_code == 0 and group.error_code not in COORDINATOR_CODES:
            return
        assert time.monotonic() < deadline, "there is no coordinator"
        time.sleep(0.2)


def topics(client: WireClient) -> None:
    create_and_wait(client, new_topic("k848_a", 4), new_topic("k848_b", 2))


def members_share_and_hand_over(client: WireClient) -> Any:
    topics(client)
    group = Consumers(client, "k848_share")
    group.join("a", "k848_a")
    group.beat("a")
    group.describe()
    group.join("b", "k848_a")
    group.beat("b")
    group.beat("a")
    group.describe()
    group.beat("b")
    group.own("a")
    group.own("b")
    group.describe()
    group.listed()
    group.listed(states_filter=["Stable"], types_filter=["consumer"])
    group.listed(states_filter=[], types_filter=["classic"])
    group.beat("b", -1)
    group.describe()
    group.own("a")
    group.describe()
    group.beat("a", -1)
    group.describe()
    group.join("c", "k848_a", "k848_b", server_assignor="range")
    group.describe()
    return group.said


def range_with_two_topics(client: WireClient) -> Any:
    topics(client)
    group = Consumers(client, "k848_range")
    wanted: dict[str, Any] = {"server_assignor": "range"}
    group.join("a", "k848_a", "k848_b", **wanted)
    group.join("b", "k848_a", "k848_b", **wanted)
    group.join("c", "k848_b", **wanted)
    for _ in range(3):
        for name in "abc":
            group.own(name)
    group.describe()
    return group.said


def refused_heartbeats(client: WireClient) -> Any:
    topics(client)
    group = Consumers(client, "k848_refused")
    group.beat("a", 1)
    group.beat("a", -1)
    for version in (0, 1):
        group.join("", "k848_a", version=version, instance_id="")
        group.join("a", "k848_a", version=version, rebalance_timeout=-1)
        group.join("a", "k848_a", version=version, topic_partitions=None)
        group.join("a", version=version, subscribed_topic_names=None)
        group.join("a", "k848_a", version=version, server_assignor="sticky")
        group.join("a", "k848_a", version=version, rack_id="")
        group.beat("a", -2, version)
        group.beat("a", -3, version)
        group.beat("", 3, version)
    group.join("", "k848_a")
    group.join("a", subscribed_topic_names=None, subscribed_topic_regex="(")
    group.join("a", "k848_a")
    group.beat("b", 1)
    group.beat("b", -1)
    group.beat("a", 7)
    group.beat(
        "a", 0, topic_partitions=[], subscribed_topic_names=["k848_a"], rebalance_timeout=1000
    )
    group.join("b", "k848_a")
    group.own("a")
    group.own("a")
    group.beat("a", 1)
    group.beat("a", 1, topic_partitions=group.owned["a"])
    return group.said


def static_members_of_the_new_protocol(client: WireClient) -> Any:
    topics(client)
    group = Consumers(client, "k848_static")
    group.join("a", "k848_a", instance_id="i")
    group.join("b", "k848_a", instance_id="i")
    group.beat("b", 1, instance_id="i")
    group.beat("a", 1, instance_id="j")
    group.beat("b", -2, instance_id="i")
    group.beat("a", -2, instance_id="i")
    group.describe()
    group.beat("a", 1, instance_id="i")
    group.join("b", "k848_a", instance_id="i")
    group.beat("a", 1, instance_id="i")
    group.describe()
    group.beat("b", -1, instance_id="i")
    group.describe()
    return group.said


def expressions(client: WireClient) -> Any:
    """Kafka resolves topics asynchronously, so only the final answers are compared."""
    topics(client)
    group = Consumers(client, "k848_regex")
    group.join("a", subscribed_topic_names=None, subscribed_topic_regex="k848_[ab]")
    deadline = time.monotonic() + PATIENCE_S
    while sum(len(topic["partitions"]) for topic in group.owned.get("a", ())) < 6:
        assert time.monotonic() < deadline, "the expression is not looked up"
        time.sleep(0.1)
        group.own("a")
    group.said.clear()
    found = sorted(len(topic["partitions"]) for topic in group.owned["a"])
    group.join("b", "k848_b", subscribed_topic_regex="")
    (described,) = client.ask(CONSUMER_DESCRIBE, 1, group_ids=[group.group_id]).groups
    members = {
        m.member_id: (m.subscribed_topic_regex, m.subscribed_topic_names) for m in described.members
    }
    return found, members


def offsets_of_members(client: WireClient) -> Any:
    topics(client)
    group = Consumers(client, "k848_offsets")
    group.commit(1, "a")
    group.commit(1, "a", 8)
    group.join("a", "k848_a")
    for version in (8, 9):
        for epoch, member_id in ((1, "a"), (2, "a"), (0, "a"), (1, "b"), (-1, "")):
            group.commit(epoch, member_id, version)
    group.fetch()
    group.fetch(member_id="a", member_epoch=1)
    group.fetch(member_id="a", member_epoch=0)
    group.fetch(member_id="b", member_epoch=1)
    asked = [{"name": "k848_a", "partitions": [{"partition_index": 0}]}]
    group.ask(OFFSET_DELETE, 0, group_id=group.group_id, topics=asked)
    group.ask(DELETE_GROUPS, 2, groups_names=[group.group_id])
    group.beat("a", -1)
    group.commit(-1, "")
    group.fetch(member_id="a", member_epoch=1)
    group.ask(OFFSET_DELETE, 0, group_id=group.group_id, topics=asked)
    group.ask(DELETE_GROUPS, 2, groups_names=[group.group_id])
    group.describe()
    group.fetch()
    return group.said


def groups_that_change_their_protocol_when_empty(client: WireClient) -> Any:
    topics(client)
    group = Consumers(client, "k848_convert")
    classic = Members(client, "k848_convert")
    group.join("a", "k848_a")
    group.commit(1, "a")
    for version in (5, 6):
        group.ask(DESCRIBE, version, groups=[group.group_id], include_authorized_operations=False)
    group.beat("a", -1)
    first = classic.join(protocols=[{"name": "range", "metadata": subscription("k848_a")}])
    second = classic.join(
        first.member_id, protocols=[{"name": "range", "metadata": subscription("k848_a")}]
    )
    classic.sync(first.member_id, second.generation_id)
    group.listed()
    group.describe()
    group.beat("a", 1)
    group.fetch()
    classic.leave((first.member_id, None))
    group.listed()
    group.join("a", "k848_a")
    group.listed()
    group.fetch()
    return group.said, classic.said


def members_that_change_their_protocol(client: WireClient) -> Any:
    """A classic member and one of the new protocol share; then the latter leaves."""
    topics(client)
    group, classic = Consumers(client, "k848_migrate"), Members(client, "k848_migrate")
    first = classic.join(protocols=classic_protocol([]))
    id_ = first.member_id
    joined = classic.join(id_, protocols=classic_protocol([]))
    classic.sync(id_, joined.generation_id, shares={id_: assignment([0, 1, 2, 3])})
    group.join("new", "k848_a")
    group.listed()
    owned = [0, 1, 2, 3]
    for _ in range(3):
        if classic.beat(id_, joined.generation_id).error_code == 27:
            joined = classic.join(id_, protocols=classic_protocol(owned))
            synced = classic.sync(id_, joined.generation_id)
            owned = indexes(synced.assignment)
            classic.said.append(owned)
        group.own("new")
    group.listed()
    group.beat("new", -1)
    group.listed()
    classic.beat(id_, joined.generation_id)
    joined = classic.join(id_, protocols=classic_protocol(owned))
    classic.sync(id_, joined.generation_id, shares={id_: assignment([0, 1, 2, 3])})
    group.listed()
    members = [member for member in group.said if isinstance(member, tuple)]
    said = [answer for answer in classic.said if isinstance(answer, dict)]
    for answer in said:
        answer.pop("assignment", None)  # Which version it is in is compared by its contents.
    return members, said, [row for row in classic.said if isinstance(row, list)], group.said


def classic_protocol(owned: list[int]) -> list[dict[str, Any]]:
    """Return the subscription of a classic member that owns partitions of `k848_a`."""
    name = struct.pack(">h6s", 6, b"k848_a")
    data = struct.pack(">hi", 1, 1) + name + struct.pack(">i", -1) + partitions(owned)
    return [{"name": "range", "metadata": data}]


def assignment(owned: list[int]) -> bytes:
    return struct.pack(">h", 1) + partitions(owned) + struct.pack(">i", -1)


def partitions(owned: list[int]) -> bytes:
    if not owned:
        return struct.pack(">i", 0)
    head = struct.pack(">ih6si", 1, 6, b"k848_a", len(owned))
    return head + struct.pack(f">{len(owned)}i", *owned)


def indexes(data: bytes) -> list[int]:
    """Return the partitions of `k848_a` in an assignment."""
    if int.from_bytes(data[2:6]) == 0:
        return []
    count = int.from_bytes(data[14:18])
    return sorted(struct.unpack_from(f">{count}i", data, 18))


CONVERSATIONS: Final = [
    members_share_and_hand_over,
    range_with_two_topics,
    refused_heartbeats,
    static_members_of_the_new_protocol,
    expressions,
    offsets_of_members,
    groups_that_change_their_protocol_when_empty,
    members_that_change_their_protocol,
]
