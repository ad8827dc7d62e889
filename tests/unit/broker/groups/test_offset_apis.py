"""Offsets in transactions, deleted groups and offsets: from request bytes to answer bytes."""

from typing import Any, Final

import pytest

from duolog.broker.errors import UnknownTopic
from duolog.core.errors import KafkaError
from duolog.testing.clock import FakeClock
from unit.broker.fake_broker import (
    APIS,
    COMMIT,
    DELETE,
    DELETE_OFFSETS,
    DESCRIBE,
    FETCH,
    FIND,
    HEARTBEAT,
    JOIN,
    LIST,
    SYNC,
    TXN_COMMIT,
    FakeBroker,
)

P: Final = 7
UNSTABLE: Final = 88


@pytest.fixture
def broker() -> FakeBroker:
    return FakeBroker(names=("t", "u"))


def txn_fields(offset: int = 5, **changes: Any) -> dict[str, Any]:
    partition = {
        "partition_index": 0,
        "committed_offset": offset,
        "committed_leader_epoch": 3,
        "committed_metadata": "note",
    }
    return {
        "transactional_id": "x",
        "group_id": "g",
        "producer_id": P,
        "producer_epoch": 0,
        "generation_id": -1,
        "member_id": "",
        "topics": [{"name": "t", "partitions": [partition]}],
        **changes,
    }


def commit(broker: FakeBroker, group_id: str = "g", *topics: str, **changes: Any) -> None:
    partition = {"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}
    fields = {
        "group_id": group_id,
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "topics": [{"name": name, "partitions": [partition]} for name in topics or ("t",)],
        **changes,
    }
    answer = broker.ask(COMMIT, 8, **fields)
    assert {p.error_code for topic in answer.topics for p in topic.partitions} == {0}


def codes(answer: Any) -> dict[tuple[str, int], int]:
    return {
        (topic.name, partition.partition_index): int(partition.error_code)
        for topic in answer.topics
        for partition in topic.partitions
    }


def fetched(broker: FakeBroker, version: int = 7, *, stable: bool = True) -> tuple[int, int]:
    """Return the offset of group `g` in partition 0 of `t`, and the error code."""
    topics = [{"name": "t", "partition_indexes": [0]}]
    group = {"group_id": "g", "topics": topics}
    answer = broker.ask(FETCH, version, **group, groups=[group], require_stable=stable)
    found = (answer.groups[0] if version >= 8 else answer).topics[0].partitions[0]
    return found.committed_offset, int(found.error_code)


def join(broker: FakeBroker, **changes: Any) -> str:
    """Make a stable group `g` of one member; return its id."""
    fields = {
        "group_id": "g",
        "session_timeout": 10_000,
        "rebalance_timeout": 60_000,
        "member_id": "",
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b"\0\1\0\0\0\1\0\1t\xff\xff\xff\xff"}],
        **changes,
    }
    member_id: str = broker.ask(JOIN, 3, **fields).member_id
    broker.ask(
        SYNC,
        3,
        group_id="g",
        generation_id=1,
        member_id=member_id,
        assignments=[{"member_id": member_id, "assignment": b"all"}],
    )
    return member_id


@pytest.mark.parametrize("version", APIS[TXN_COMMIT].versions)
def test_an_offset_in_a_transaction_in_every_version(broker: FakeBroker, version: int) -> None:
    answer = broker.ask(TXN_COMMIT, version, **txn_fields())
    before = fetched(broker)
    broker.end_transaction(P, commit=True)

    assert codes(answer) == {("t", 0): 0}
    assert before == (-1, UNSTABLE)
    (value,) = broker.groups.offsets("g").values()
    assert (value.offset, value.leader_epoch) == (5, 3 if version >= 2 else -1)
    assert value.metadata == "note"
    partition = broker.groups.partition_of("g")
    assert broker.verified == [("x", P, 0, partition, version >= 5, version >= 4)]


@pytest.mark.parametrize("version", range(7, 10))
def test_a_fetch_of_stable_offsets_waits_for_the_marker(broker: FakeBroker, version: int) -> None:
    commit(broker)
    broker.ask(TXN_COMMIT, 3, **txn_fields())

    assert fetched(broker, version) == (-1, UNSTABLE)
    assert fetched(broker, version, stable=False) == (1, 0)
    everything = {"group_id": "g", "topics": None}
    answer = broker.ask(FETCH, version, **everything, groups=[everything], require_stable=True)
    found = (answer.groups[0] if version >= 8 else answer).topics[0].partitions[0]
    assert (found.committed_offset, found.error_code) == (-1, UNSTABLE)
    broker.end_transaction(P, commit=False)
    assert fetched(broker, version) == (1, 0)


@pytest.mark.parametrize("version", APIS[TXN_COMMIT].versions)
def test_a_refused_transaction_is_reported_for_each_partition(
    broker: FakeBroker, version: int
) -> None:
    broker.verify_error = KafkaError("fenced", code=47)
    topics = [*txn_fields()["topics"], {"name": "x", "partitions": []}]
    topics[1]["partitions"] = topics[0]["partitions"]

    answer = broker.ask(TXN_COMMIT, version, **txn_fields(topics=topics))

    assert codes(answer) == {("t", 0): 47, ("x", 0): 3}
    assert not broker.groups.offsets("g")


@pytest.mark.parametrize("version", range(3, 6))
def test_a_member_of_another_generation_commits_nothing(broker: FakeBroker, version: int) -> None:
    member_id = join(broker)

    stale = broker.ask(TXN_COMMIT, version, **txn_fields(member_id=member_id, generation_id=9))
    fenced = broker.ask(TXN_COMMIT, version, **txn_fields(member_id="b", generation_id=1))
    good = broker.ask(TXN_COMMIT, version, **txn_fields(member_id=member_id, generation_id=1))

    assert [codes(answer)["t", 0] for answer in (stale, fenced, good)] == [22, 25, 0]


@pytest.mark.parametrize("version", APIS[TXN_COMMIT].versions)
def test_a_transaction_needs_a_group_and_topics_that_exist(
    broker: FakeBroker, version: int
) -> None:
    partition = txn_fields()["topics"][0]["partitions"][0]
    missing = [{"name": "x", "partitions": [partition]}]

    nameless = broker.ask(TXN_COMMIT, version, **txn_fields(group_id=""))
    nowhere = broker.ask(TXN_COMMIT, version, **txn_fields(topics=missing))

    assert (codes(nameless), codes(nowhere)) == ({("t", 0): 24}, {("x", 0): 3})
    assert broker.verified == []


@pytest.mark.parametrize(("version", "code"), [(0, 15), (1, 15), (2, 14), (5, 14)])
def test_an_old_producer_does_not_get_the_loading_error(version: int, code: int) -> None:
    before = FakeBroker()
    for _ in range(3):
        commit(before)
    after = FakeBroker(before.logs, slow_reads_s=0.2)

    assert codes(after.ask(TXN_COMMIT, version, **txn_fields())) == {("t", 0): code}


@pytest.mark.parametrize("marker", [True, False, None])
def test_a_restart_finds_transactions_as_the_log_has_them(
    broker: FakeBroker,
    marker: bool | None,  # noqa: FBT001
) -> None:
    broker.ask(TXN_COMMIT, 3, **txn_fields())
    if marker is not None:
        broker.end_transaction(P, commit=marker)

    after = FakeBroker(broker.logs)

    assert fetched(after) == {True: (5, 0), False: (-1, 0), None: (-1, UNSTABLE)}[marker]
    after.end_transaction(P, commit=True)
    assert fetched(after) == ((-1, 0) if marker is False else (5, 0))


def test_a_marker_that_comes_while_groups_are_loaded_counts() -> None:
    before = FakeBroker()
    before.ask(TXN_COMMIT, 3, **txn_fields())
    for _ in range(3):
        commit(before, "other")
    after = FakeBroker(before.logs, slow_reads_s=0.2)

    after.groups.complete_transaction(
        after.groups.partition_of("g"), P, 0, commit=True, done=lambda: None
    )
    after.pass_time(5)

    assert fetched(after) == (5, 0)


def test_a_marker_waits_until_the_commit_before_it_is_durable(broker: FakeBroker) -> None:
    broker.durable = False
    answers = broker.send(TXN_COMMIT, 3, **txn_fields())
    assert answers == []

    broker.sync_disk()
    broker.end_transaction(P, commit=True)

    assert codes(answers[0]) == {("t", 0): 0}
    assert fetched(broker) == (5, 0)


@pytest.mark.parametrize("version", APIS[DELETE].versions)
def test_delete_groups_in_every_version(broker: FakeBroker, version: int) -> None:
    join(broker)
    commit(broker, "empty", "t", "u")
    commit(broker, "")

    answer = broker.ask(DELETE, version, groups_names=["empty", "g", "x", "empty", ""])

    found = [(row.group_id, int(row.error_code)) for row in answer.results]
    assert found == [("empty", 0), ("g", 68), ("x", 69), ("", 0)]
    assert [group.group_id for group in broker.ask(LIST, 5).groups] == ["g"]
    after = FakeBroker(broker.logs)
    assert [group.group_id for group in after.ask(LIST, 5).groups] == ["g"]


@pytest.mark.parametrize("version", APIS[DELETE].versions)
def test_no_group_to_delete_is_answered_at_once(broker: FakeBroker, version: int) -> None:
    assert broker.ask(DELETE, version, groups_names=[]).results == ()


def test_a_deletion_is_answered_when_all_of_it_is_durable(broker: FakeBroker) -> None:
    commit(broker, "a")
    commit(broker, "b")
    broker.durable = False

    answers = broker.send(DELETE, 2, groups_names=["a", "missing", "b"])
    assert answers == []
    broker.sync_disk()

    assert [int(row.error_code) for row in answers[0].results] == [0, 69, 0]


def test_a_deletion_that_cannot_be_stored_is_refused(broker: FakeBroker) -> None:
    commit(broker, "a")
    broker.durable = False

    answers = broker.send(DELETE, 2, groups_names=["a"])
    broker.sync_disk(OSError("disk is gone"))

    assert [int(row.error_code) for row in answers[0].results] == [16]
    assert broker.groups.offsets("a")


def test_a_group_of_many_long_offsets_is_deleted_in_as_many_batches_as_it_needs() -> None:
    group_id = "g" * 30_000
    names = [f"t{number}" for number in range(60)]
    broker = FakeBroker(names=names)
    for name in names:
        commit(broker, group_id, name)

    (row,) = broker.ask(DELETE, 2, groups_names=[group_id]).results

    assert row.error_code == 0
    assert max(broker.batch_sizes) <= broker.batch_bytes_max
    assert list(FakeBroker(broker.logs, names=names).groups.list_groups()) == []


def offset_delete(broker: FakeBroker, group_id: str = "g", **topics: list[int]) -> Any:
    rows = [
        {"name": name, "partitions": [{"partition_index": index} for index in indexes]}
        for name, indexes in topics.items()
    ]
    return broker.ask(DELETE_OFFSETS, 0, group_id=group_id, topics=rows)


def test_offset_delete_leaves_what_is_read_and_says_what_is_unknown(broker: FakeBroker) -> None:
    member_id = join(broker)
    commit(broker, "g", "t", "u", member_id=member_id, generation_id_or_member_epoch=1)

    answer = offset_delete(broker, t=[0], u=[0, 9], x=[0])

    assert answer.error_code == 0
    assert codes(answer) == {("t", 0): 86, ("u", 0): 0, ("u", 9): 3, ("x", 0): 3}
    assert [key.topic for key in broker.groups.offsets("g")] == ["t"]


def test_offset_delete_refuses_a_group_as_a_whole(broker: FakeBroker) -> None:
    join(broker, protocol_type="connect")

    connect, missing, nameless = (offset_delete(broker, name, t=[0]) for name in ("g", "x", ""))

    found = [int(answer.error_code) for answer in (connect, missing, nameless)]
    assert found == [68, 69, 24]
    assert [answer.topics for answer in (connect, missing, nameless)] == [(), (), ()]


def test_groups_are_listed_by_state_and_type(broker: FakeBroker) -> None:
    join(broker)
    commit(broker, "simple")

    def listed(**filters: Any) -> list[str]:
        return [group.group_id for group in broker.ask(LIST, 5, **filters).groups]

    assert listed() == ["g", "simple"]
    assert listed(states_filter=["EMPTY ", "nonsense"]) == ["simple"]
    assert listed(states_filter=["nonsense"]) == []
    assert listed(types_filter=["consumer"]) == []
    assert listed(types_filter=["Classic", "share"]) == ["g", "simple"]
    assert listed(types_filter=["classic"], states_filter=["stable"]) == ["g"]


@pytest.mark.parametrize("version", range(3, 7))
def test_operations_are_shown_of_groups_that_are_there(broker: FakeBroker, version: int) -> None:
    commit(broker, "")

    answer = broker.ask(
        DESCRIBE, version, groups=["", "missing"], include_authorized_operations=True
    )

    empty, missing = answer.groups
    assert (empty.group_state, empty.error_code) == ("Empty", 0)
    assert empty.authorized_operations == 3400
    assert missing.authorized_operations == (3400 if version < 6 else -(2**31))


@pytest.mark.parametrize("version", range(4, 6))
def test_each_key_has_a_coordinator_of_its_own(broker: FakeBroker, version: int) -> None:
    keys = ["g", "", "g"]

    found = broker.ask(FIND, version, key_type=0, coordinator_keys=keys).coordinators
    unknown = broker.ask(FIND, version, key_type=9, coordinator_keys=keys).coordinators
    none = broker.ask(FIND, version, key_type=0, coordinator_keys=[]).coordinators

    assert [(row.key, row.error_code, row.node_id) for row in found] == [
        (key, 0, 5) for key in keys
    ]
    assert [(row.key, row.error_code, row.node_id, row.port) for row in unknown] == [
        (key, 42, -1, -1) for key in keys
    ]
    assert none == ()


def test_a_heartbeat_is_taken_while_groups_are_loaded() -> None:
    before = FakeBroker()
    member_id = join(before)
    for _ in range(3):
        commit(before, "other")
    after = FakeBroker(before.logs, slow_reads_s=0.2)
    beat = {"group_id": "g", "generation_id": 1, "member_id": member_id}

    assert after.ask(HEARTBEAT, 4, **beat).error_code == 0
    assert after.ask(HEARTBEAT, 4, **{**beat, "member_id": "x"}).error_code == 0
    after.pass_time(5)
    assert after.ask(HEARTBEAT, 4, **{**beat, "member_id": "x"}).error_code == 25


@pytest.mark.parametrize("version", APIS[FETCH].versions)
def test_while_groups_are_loaded_a_fetch_of_offsets_is_refused(version: int) -> None:
    before = FakeBroker()
    for _ in range(3):
        commit(before)
    after = FakeBroker(before.logs, slow_reads_s=0.2)
    group = {"group_id": "g", "topics": [{"name": "t", "partition_indexes": [0]}]}

    answer = after.ask(FETCH, version, **group, groups=[group])

    found = answer.groups[0] if version >= 8 else answer
    if version >= 2:
        assert (found.error_code, found.topics) == (14, ())
    else:
        assert codes(answer) == {("t", 0): 14}


def test_the_offsets_topic_that_cannot_be_made_refuses_the_transaction(
    broker: FakeBroker,
) -> None:
    broker.create_error = UnknownTopic("no room")

    assert codes(broker.ask(TXN_COMMIT, 3, **txn_fields())) == {("t", 0): 3}


class RunningClock(FakeClock):
    """A millisecond passes with each look at it."""

    def monotonic(self) -> float:
        self.advance(ms=1)
        return super().monotonic()


@pytest.mark.parametrize("key", [LIST, DESCRIBE])
def test_very_many_groups_are_shown_in_turns(broker: FakeBroker, key: int) -> None:
    names = [f"g{number:03}" for number in range(50)]
    for name in names:
        commit(broker, name)
    broker.clock = RunningClock()

    answers = broker.send(key, 4, groups=names)
    unanswered = not answers
    broker.pass_time(1)

    assert unanswered
    assert [group.group_id for group in answers[0].groups] == names
