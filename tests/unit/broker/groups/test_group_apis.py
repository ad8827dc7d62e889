"""The group APIs in every version, from request bytes to answer bytes, over a fake broker."""

from contextlib import suppress
from typing import Any

import pytest

from duolog.broker.groups.offsets_topic import partition_of
from duolog.coordinator.coordinator import GroupCoordinator
from unit.broker.fake_broker import (
    APIS,
    COMMIT,
    DESCRIBE,
    FETCH,
    FIND,
    HEARTBEAT,
    JOIN,
    LEAVE,
    LIST,
    SYNC,
    FakeBroker,
)


@pytest.fixture
def broker() -> FakeBroker:
    return FakeBroker()


def join_fields(member_id: str = "", **changes: Any) -> dict[str, Any]:
    return {
        "group_id": "g",
        "session_timeout": 10_000,
        "rebalance_timeout": 60_000,
        "member_id": member_id,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b"meta"}],
        **changes,
    }


def stable_member(broker: FakeBroker, version: int = 5) -> str:
    """Make a stable group `g` of one member at generation 1; return its id."""
    reply = broker.ask(JOIN, version, **join_fields())
    if reply.error_code == 79:
        reply = broker.ask(JOIN, version, **join_fields(reply.member_id))
    member_id: str = reply.member_id
    assignments = [{"member_id": member_id, "assignment": b"all"}]
    broker.ask(SYNC, 3, group_id="g", generation_id=1, member_id=member_id, assignments=assignments)
    return member_id


def commit_fields(**changes: Any) -> dict[str, Any]:
    partition = {
        "partition_index": 0,
        "committed_offset": 7,
        "committed_leader_epoch": 3,
        "committed_metadata": "note",
    }
    return {
        "group_id": "g",
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "topics": [{"name": "t", "partitions": [partition]}],
        **changes,
    }


def test_the_versions_are_those_of_kafka() -> None:
    versions = {key: (min(api.versions), max(api.versions)) for key, api in APIS.items()}

    assert versions == {
        8: (2, 9), 9: (1, 9), 10: (0, 5), 11: (0, 9), 12: (0, 4),
        13: (0, 5), 14: (0, 5), 15: (0, 6), 16: (0, 5),
        28: (0, 5), 42: (0, 2), 47: (0, 0), 68: (0, 1), 69: (0, 1),
    }  # fmt: skip


@pytest.mark.parametrize("version", APIS[JOIN].versions)
def test_join_group_in_every_version(broker: FakeBroker, version: int) -> None:
    first = broker.ask(JOIN, version, **join_fields())
    if version >= 4:
        assert first.error_code == 79
        first = broker.ask(JOIN, version, **join_fields(first.member_id))

    assert (first.error_code, first.generation_id, first.protocol_name) == (0, 1, "range")
    assert first.leader == first.member_id
    assert [member.metadata for member in first.members] == [b"meta"]


@pytest.mark.parametrize("version", APIS[JOIN].versions)
def test_join_group_answers_an_error_in_every_version(broker: FakeBroker, version: int) -> None:
    assert broker.ask(JOIN, version, **join_fields("nobody")).error_code == 25
    assert broker.ask(JOIN, version, **join_fields(group_id="")).error_code == 24
    assert broker.ask(JOIN, version, **join_fields(session_timeout=1)).error_code == 26


@pytest.mark.parametrize("version", APIS[SYNC].versions)
def test_sync_group_in_every_version(broker: FakeBroker, version: int) -> None:
    member_id = stable_member(broker)

    fields = {"group_id": "g", "member_id": member_id, "assignments": []}
    fields |= {"protocol_type": "consumer", "protocol_name": "range"}
    good = broker.ask(SYNC, version, generation_id=1, **fields)
    bad = broker.ask(SYNC, version, generation_id=9, **fields)

    assert (good.error_code, good.assignment) == (0, b"all")
    assert (bad.error_code, bad.assignment) == (22, b"")


@pytest.mark.parametrize("missing", ["protocol_type", "protocol_name"])
def test_a_sync_without_its_protocol_is_inconsistent_from_version_5_on(
    broker: FakeBroker, missing: str
) -> None:
    member_id = stable_member(broker)
    fields = {"group_id": "g", "member_id": member_id, "assignments": [], "generation_id": 1}
    fields |= {"protocol_type": "consumer", "protocol_name": "range", missing: None}

    assert broker.ask(SYNC, 4, **fields).error_code == 0
    assert broker.ask(SYNC, 5, **fields).error_code == 23


@pytest.mark.parametrize("version", APIS[HEARTBEAT].versions)
def test_heartbeat_in_every_version(broker: FakeBroker, version: int) -> None:
    member_id = stable_member(broker)

    good = broker.ask(HEARTBEAT, version, group_id="g", generation_id=1, member_id=member_id)
    unknown = broker.ask(HEARTBEAT, version, group_id="x", generation_id=1, member_id=member_id)

    assert (good.error_code, unknown.error_code) == (0, 25)


@pytest.mark.parametrize("version", APIS[LEAVE].versions)
def test_leave_group_in_every_version(broker: FakeBroker, version: int) -> None:
    member_id = stable_member(broker)
    members = [{"member_id": member_id}]

    unknown = broker.ask(LEAVE, version, group_id="x", member_id=member_id, members=members)
    left = broker.ask(LEAVE, version, group_id="g", member_id=member_id, members=members)

    assert left.error_code == 0
    if version < 3:
        assert unknown.error_code == 25
    else:
        assert (unknown.error_code, unknown.members[0].error_code) == (0, 25)
        assert [(member.member_id, member.error_code) for member in left.members] == [
            (member_id, 0)
        ]


@pytest.mark.parametrize("version", range(3))
def test_an_unknown_member_leaves_with_an_error_of_its_own(
    broker: FakeBroker, version: int
) -> None:
    stable_member(broker)

    assert broker.ask(LEAVE, version, group_id="g", member_id="nobody").error_code == 25


@pytest.mark.parametrize("version", APIS[COMMIT].versions)
def test_offset_commit_in_every_version(broker: FakeBroker, version: int) -> None:
    reply = broker.ask(COMMIT, version, **commit_fields(retention_time=-1))

    assert [partition.error_code for partition in reply.topics[0].partitions] == [0]
    (value,) = broker.groups.offsets("g").values()
    assert (value.offset, value.leader_epoch) == (7, 3 if version >= 6 else -1)
    assert value.metadata == "note"


@pytest.mark.parametrize("version", APIS[COMMIT].versions)
def test_a_refused_commit_is_refused_for_each_partition(broker: FakeBroker, version: int) -> None:
    stable_member(broker)

    reply = broker.ask(COMMIT, version, **commit_fields(retention_time=-1))

    assert [partition.error_code for partition in reply.topics[0].partitions] == [25]


def test_a_commit_for_an_unknown_topic_is_refused_for_that_topic_only(broker: FakeBroker) -> None:
    partition = {"partition_index": 0, "committed_offset": 1, "committed_metadata": None}
    topics = [{"name": name, "partitions": [partition]} for name in ("t", "missing")]

    reply = broker.ask(COMMIT, 8, **commit_fields(topics=topics))

    codes = {topic.name: topic.partitions[0].error_code for topic in reply.topics}
    assert codes == {"t": 0, "missing": 3}
    assert next(iter(broker.groups.offsets("g").values())).metadata == ""


def test_a_commit_is_answered_when_it_is_durable(broker: FakeBroker) -> None:
    broker.durable = False

    answers = broker.send(COMMIT, 8, **commit_fields())
    assert answers == []
    broker.sync_disk()

    assert answers[0].topics[0].partitions[0].error_code == 0


def test_a_commit_that_cannot_be_stored_sends_the_client_to_look_again(
    broker: FakeBroker,
) -> None:
    broker.durable = False

    answers = broker.send(COMMIT, 8, **commit_fields())
    broker.sync_disk(OSError("disk is gone"))

    assert answers[0].topics[0].partitions[0].error_code == 16
    assert not broker.groups.offsets("g")


@pytest.mark.parametrize("version", APIS[FETCH].versions)
def test_offset_fetch_in_every_version(broker: FakeBroker, version: int) -> None:
    broker.ask(COMMIT, 8, **commit_fields())
    topics = [{"name": "t", "partition_indexes": [0, 1]}]
    group = {"group_id": "g", "topics": topics}

    reply = broker.ask(FETCH, version, **group, groups=[group], require_stable=True)

    found = (reply.groups[0] if version >= 8 else reply).topics[0].partitions
    assert [(p.committed_offset, p.metadata, p.error_code) for p in found] == [
        (7, "note", 0),
        (-1, "", 0),
    ]


@pytest.mark.parametrize("version", range(2, 10))
def test_offset_fetch_without_topics_returns_all(broker: FakeBroker, version: int) -> None:
    broker.ask(COMMIT, 8, **commit_fields())
    group = {"group_id": "g", "topics": None}

    reply = broker.ask(FETCH, version, **group, groups=[group])

    found = (reply.groups[0] if version >= 8 else reply).topics
    assert [(topic.name, len(topic.partitions)) for topic in found] == [("t", 1)]


@pytest.mark.parametrize("version", APIS[FIND].versions)
@pytest.mark.parametrize("key_type", [0, 1])
def test_find_coordinator_in_every_version(broker: FakeBroker, version: int, key_type: int) -> None:
    reply = broker.ask(FIND, version, key="g", key_type=key_type, coordinator_keys=["g", "h"])

    for found in reply.coordinators if version >= 4 else [reply]:
        assert (found.error_code, found.node_id, found.host, found.port) == (
            0,
            5,
            "127.0.0.1",
            9092,
        )


def test_there_is_no_coordinator_for_share_groups(broker: FakeBroker) -> None:
    reply = broker.ask(FIND, 5, key_type=2, coordinator_keys=["g"])

    assert reply.coordinators[0].error_code == 42


@pytest.mark.parametrize("version", APIS[DESCRIBE].versions)
def test_describe_groups_in_every_version(broker: FakeBroker, version: int) -> None:
    member_id = stable_member(broker)

    reply = broker.ask(
        DESCRIBE, version, groups=["g", "missing"], include_authorized_operations=False
    )

    found, missing = reply.groups
    assert (found.group_state, found.protocol_data) == ("Stable", "range")
    (member,) = found.members
    assert (member.member_id, member.client_host) == (member_id, "/127.0.0.1")
    assert (member.member_metadata, member.member_assignment) == (b"meta", b"all")
    assert missing.group_state == "Dead"
    assert missing.error_code == (69 if version >= 6 else 0)


@pytest.mark.parametrize("version", APIS[LIST].versions)
def test_list_groups_in_every_version(broker: FakeBroker, version: int) -> None:
    stable_member(broker)
    broker.ask(COMMIT, 8, **commit_fields(group_id="simple"))

    reply = broker.ask(LIST, version, states_filter=["stable"], types_filter=["Classic"])

    listed = {group.group_id: group.protocol_type for group in reply.groups}
    assert listed == ({"g": "consumer"} if version >= 4 else {"g": "consumer", "simple": ""})


def test_a_silent_member_is_removed_when_its_session_ends(broker: FakeBroker) -> None:
    stable_member(broker)

    broker.pass_time(9.9)
    assert broker.ask(DESCRIBE, 5, groups=["g"]).groups[0].group_state == "Stable"
    broker.pass_time(0.2)

    assert broker.ask(DESCRIBE, 5, groups=["g"]).groups[0].group_state == "Empty"


def test_a_silent_member_is_removed_also_when_the_first_look_at_it_fails(
    broker: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No further check used to be scheduled: the group kept a lost member forever."""
    stable_member(broker)
    expire = GroupCoordinator.expire
    calls: list[float] = []

    def fail_once(self: GroupCoordinator, *asked: Any) -> Any:
        calls.append(broker.clock.monotonic())
        if len(calls) == 1:
            raise ZeroDivisionError
        return expire(self, *asked)

    monkeypatch.setattr(GroupCoordinator, "expire", fail_once)
    while not calls:
        with suppress(ZeroDivisionError):
            broker.pass_time(1)
    broker.pass_time(5)

    (group,) = broker.ask(DESCRIBE, 5, groups=["g"]).groups
    assert group.members == ()
    assert calls[1] - calls[0] == pytest.approx(1.0)


def test_heartbeats_keep_a_member_alive(broker: FakeBroker) -> None:
    member_id = stable_member(broker)

    for _ in range(10):
        broker.pass_time(3)
        beat = broker.ask(HEARTBEAT, 3, group_id="g", generation_id=1, member_id=member_id)
        assert beat.error_code == 0


def test_a_restart_brings_groups_and_offsets_back() -> None:
    three = {"offsets.topic.num.partitions": "3"}
    before = FakeBroker(settings=three)
    member_id = stable_member(before)
    commit = commit_fields(member_id=member_id, generation_id_or_member_epoch=1)
    before.ask(COMMIT, 8, **commit)

    after = FakeBroker(before.logs, three)

    assert after.ask(DESCRIBE, 5, groups=["g"]).groups[0].group_state == "Stable"
    assert next(iter(after.groups.offsets("g").values())).offset == 7
    beat = after.ask(HEARTBEAT, 3, group_id="g", generation_id=1, member_id=member_id)
    assert beat.error_code == 0
    after.pass_time(10.1)
    assert after.ask(DESCRIBE, 5, groups=["g"]).groups[0].group_state == "Empty"


def test_expired_offsets_go_with_the_next_look(broker: FakeBroker) -> None:
    broker.ask(COMMIT, 8, **commit_fields())

    broker.pass_time(7 * 24 * 3600 - 1)
    assert broker.groups.offsets("g")
    broker.pass_time(600)

    assert not broker.groups.offsets("g")
    assert broker.ask(LIST, 5).groups == ()


def test_offsets_of_a_deleted_topic_are_gone(broker: FakeBroker) -> None:
    broker.ask(COMMIT, 8, **commit_fields())

    broker.delete_topic("t")

    assert not broker.groups.offsets("g")


@pytest.mark.parametrize(
    ("group_id", "java_hash"),
    [("", 0), ("hello", 99162322), ("polygenelubricants", -(2**31)), ("Aa", 2112)],
)
def test_a_group_lies_where_kafka_would_put_it(group_id: str, java_hash: int) -> None:
    expected = 0 if java_hash == -(2**31) else abs(java_hash) % 50

    assert partition_of(group_id, 50) == expected


def test_offsets_that_were_on_the_way_when_their_topic_was_deleted_are_gone(
    broker: FakeBroker,
) -> None:
    broker.durable = False
    broker.send(COMMIT, 8, **commit_fields())

    broker.delete_topic("t")
    broker.sync_disk()
    broker.sync_disk()

    assert not broker.groups.offsets("g")


def test_offsets_of_a_topic_that_a_restart_does_not_find_are_gone() -> None:
    before = FakeBroker()
    before.ask(COMMIT, 8, **commit_fields())

    after = FakeBroker(before.logs, names=())

    assert not after.groups.offsets("g")


def test_groups_answer_that_they_are_loading_until_a_long_log_is_replayed() -> None:
    before = FakeBroker()
    for _ in range(3):
        before.ask(COMMIT, 8, **commit_fields())
    after = FakeBroker(before.logs, slow_reads_s=0.2)

    loading = after.ask(COMMIT, 8, **commit_fields()).topics[0].partitions[0].error_code
    after.pass_time(5)

    assert loading == 14
    assert after.ask(FETCH, 5, group_id="g", topics=None).topics[0].partitions[0].committed_offset
