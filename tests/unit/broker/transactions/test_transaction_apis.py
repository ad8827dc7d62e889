"""The APIs of transactions in every version, over a broker with its logs."""

from typing import Any

import pytest

from duolog.broker.transactions.transaction_log import TRANSACTIONS_TOPIC
from duolog.coordinator.transactions.records import decode_record
from duolog.coordinator.transactions.states import TransactionState
from duolog.coordinator.transactions.transitions import Producer
from duolog.core.errors import LogError
from duolog.record.records import BatchProducer
from unit.broker.conftest import Harness
from unit.broker.transactional_producer import (
    ADD,
    ADD_OFFSETS,
    DESCRIBE,
    END,
    INIT,
    LIST,
    PRODUCE,
    TransactionalProducer,
    committed,
    coordinate,
)

FENCED, OLD_EPOCH = 90, 47


@pytest.fixture
def coordinated(harness: Harness) -> Harness:
    coordinate(harness)
    harness.topic("t", 2)
    return harness


@pytest.fixture
def producer(coordinated: Harness) -> TransactionalProducer:
    made = TransactionalProducer(coordinated)
    made.init()
    return made


def fenced_by(version: int, first: int) -> int:
    return FENCED if version >= first else OLD_EPOCH


# InitProducerId


@pytest.mark.parametrize("version", range(6))
def test_a_producer_gets_its_id_and_then_its_next_epoch(coordinated: Harness, version: int) -> None:
    producer = TransactionalProducer(coordinated)

    first = producer.init(version)
    second = producer.init(version)

    assert (first.error_code, first.producer_epoch) == (0, 0)
    assert (second.producer_id, second.producer_epoch) == (first.producer_id, 1)


@pytest.mark.parametrize("version", [3, 4, 5])
def test_a_replaced_producer_is_fenced(producer: TransactionalProducer, version: int) -> None:
    old = producer.me
    producer.init()

    answer = producer.init(version, expected=old)

    assert answer.error_code == fenced_by(version, 4)
    assert (answer.producer_id, answer.producer_epoch) == (-1, -1)


def test_a_producer_continues_after_an_error_with_the_next_epoch(
    producer: TransactionalProducer,
) -> None:
    before = producer.me

    first = producer.init(expected=before)
    retry = producer.init(expected=before)

    assert (first.producer_epoch, retry.producer_epoch) == (1, 1)


@pytest.mark.parametrize("expected", [Producer(5, -1), Producer(-1, 5)])
def test_a_producer_id_without_epoch_is_refused(
    producer: TransactionalProducer, expected: Producer
) -> None:
    assert producer.init(expected=expected).error_code == 42


def test_an_empty_transactional_id_and_a_timeout_that_is_too_long_are_refused(
    coordinated: Harness,
) -> None:
    assert TransactionalProducer(coordinated, "").init().error_code == 42
    assert TransactionalProducer(coordinated).init(timeout_ms=900_001).error_code == 50
    assert TransactionalProducer(coordinated).init(timeout_ms=0).error_code == 50
    assert TRANSACTIONS_TOPIC not in coordinated.broker.topics


def test_a_producer_that_restarts_aborts_its_open_transaction_and_retries(
    producer: TransactionalProducer,
) -> None:
    producer.write(b"old")
    other = TransactionalProducer(producer.harness)

    answers = [other.init().error_code, other.init().error_code]

    assert answers == [51, 0]
    assert other.me == Producer(producer.me.producer_id, 2)
    assert committed(producer.harness) == []
    assert producer.write(b"late").error_code == OLD_EPOCH
    assert producer.end(commit=True).error_code == FENCED


# AddPartitionsToTxn, AddOffsetsToTxn


@pytest.mark.parametrize("version", range(4))
def test_partitions_are_added_atomically(producer: TransactionalProducer, version: int) -> None:
    assert producer.add(0, 7, version=version) == [55, 3]
    assert producer.record.state is TransactionState.EMPTY
    assert producer.add(0, 1, version=version) == [0, 0]
    assert producer.add(1, version=version) == [0]

    described = producer.describe()
    assert described.transaction_state == "Ongoing"
    assert [(row.topic, row.partitions) for row in described.topics] == [("t", (0, 1))]


@pytest.mark.parametrize("version", range(4))
def test_a_producer_without_the_transactional_id_adds_no_partitions(
    producer: TransactionalProducer, version: int
) -> None:
    mine = producer.me

    producer.me = Producer(mine.producer_id, mine.epoch + 1)
    assert producer.add(0, version=version) == [fenced_by(version, 2)]
    assert producer.add_offsets("g", version) == fenced_by(version, 2)
    producer.me = Producer(mine.producer_id + 1, mine.epoch)
    assert producer.add(0, version=version) == [49]
    assert producer.add_offsets("g", version) == 49


@pytest.mark.parametrize("version", range(5))
def test_the_partition_of_a_group_is_added(producer: TransactionalProducer, version: int) -> None:
    assert producer.add_offsets("g", version) == 0

    partition = producer.harness.broker.groups.partition_of("g")
    assert [(row.topic, row.partitions) for row in producer.describe().topics] == [
        ("__consumer_offsets", (partition,))
    ]


# EndTxn


@pytest.mark.parametrize("version", range(6))
@pytest.mark.parametrize("commit", [True, False])
def test_an_end_decides_over_all_partitions(
    coordinated: Harness, version: int, *, commit: bool
) -> None:
    producer = TransactionalProducer(coordinated, bumping=version >= 5)
    producer.init()
    before = producer.me
    producer.add(0, 1)
    producer.write(b"a", partition=0)
    producer.write(b"b", partition=1)
    assert committed(coordinated) == []

    answer = producer.end(commit=commit, version=version)

    assert answer.error_code == 0
    expected = ([b"a"], [b"b"]) if commit else ([], [])
    assert tuple(committed(coordinated, partition=p) for p in (0, 1)) == expected
    assert producer.me.epoch == before.epoch + (version >= 5)
    state = "CompleteCommit" if commit else "CompleteAbort"
    assert producer.describe().transaction_state == state


@pytest.mark.parametrize("version", range(6))
def test_a_retry_of_an_end_is_answered_again(producer: TransactionalProducer, version: int) -> None:
    producer.add(0)
    before = producer.me
    producer.end(commit=True, version=version)
    after, producer.me = producer.me, before

    assert producer.end(commit=True, version=version).error_code == 0
    assert producer.me == after
    producer.me = before
    assert producer.end(commit=False, version=version).error_code == 48


@pytest.mark.parametrize("version", range(6))
def test_another_epoch_cannot_end(producer: TransactionalProducer, version: int) -> None:
    producer.add(0)
    producer.me = Producer(producer.me.producer_id, producer.me.epoch + 1)

    assert producer.end(commit=True, version=version).error_code == fenced_by(version, 2)
    assert producer.record.state is TransactionState.ONGOING


@pytest.mark.parametrize(("version", "codes"), [(4, [48, 48]), (5, [48, 0])])
def test_nothing_is_committed_and_an_abort_of_it_gives_an_epoch(
    producer: TransactionalProducer, version: int, codes: list[int]
) -> None:
    assert [
        producer.end(commit=commit, version=version).error_code for commit in (True, False)
    ] == codes
    assert producer.me.epoch == (1 if version >= 5 else 0)


def test_transactions_follow_each_other_without_waiting(producer: TransactionalProducer) -> None:
    for number in range(5):
        assert producer.write(b"%d" % number).error_code == 0
        assert producer.end(commit=number % 2 == 0).error_code == 0

    assert committed(producer.harness) == [b"0", b"2", b"4"]


def test_offsets_are_committed_with_their_transaction_or_not_at_all(
    producer: TransactionalProducer,
) -> None:
    groups = producer.harness.broker.groups
    for offset, commit in ((5, False), (9, True)):
        assert producer.commit_offset("g", offset) == 0
        assert not groups.offsets("g")
        producer.end(commit=commit)

    assert [value.offset for value in groups.offsets("g").values()] == [9]


def test_the_older_flow_adds_the_group_first(coordinated: Harness) -> None:
    producer = TransactionalProducer(coordinated, bumping=False)
    producer.init()
    groups = coordinated.broker.groups

    assert producer.commit_offset("g", 5) == 48
    assert producer.commit_offset("g", 5, version=4) == 120
    assert producer.add_offsets("g") == 0
    assert producer.commit_offset("g", 5) == 0
    producer.end(commit=True)

    assert [value.offset for value in groups.offsets("g").values()] == [5]
    assert producer.me.epoch == 0


def test_the_older_flow_writes_only_to_partitions_that_were_added(coordinated: Harness) -> None:
    producer = TransactionalProducer(coordinated, bumping=False)
    producer.init()

    assert producer.write(b"a").error_code == 120
    producer.add(0)
    assert producer.write(b"a").error_code == 0
    assert producer.write(b"a", partition=1).error_code == 120


def test_a_partition_that_is_deleted_does_not_hold_an_end(producer: TransactionalProducer) -> None:
    producer.harness.topic("gone")
    producer.write(b"a", topic="gone")
    producer.write(b"a")

    producer.harness.broker.delete_topic("gone")

    assert producer.end(commit=True).error_code == 0
    assert committed(producer.harness) == [b"a"]


def test_an_end_over_many_partitions_is_written_in_turns(coordinated: Harness) -> None:
    coordinated.topic("wide", 300)
    producer = TransactionalProducer(coordinated)
    producer.init()
    producer.add(*range(300), topic="wide")

    producer.end(commit=True)

    assert {coordinated.broker.log("wide", p).high_watermark for p in range(300)} == {1}


def test_batches_of_one_round_add_their_partitions_in_one_record(coordinated: Harness) -> None:
    """A record holds all partitions: one for each of n batches would be n² of them."""
    coordinated.topic("wide", 50)
    producer = TransactionalProducer(coordinated)
    producer.init()
    before = transaction_records(coordinated)
    batch = coordinated.batch(
        b"v",
        producer=BatchProducer(producer.me.producer_id, producer.me.epoch, 0, transactional=True),
    )
    rows = [{"index": partition, "records": batch} for partition in range(50)]

    answer = producer.client.ask(
        PRODUCE,
        12,
        transactional_id="tx",
        acks=-1,
        timeout=1000,
        topic_data=[{"name": "wide", "partition_data": rows}],
    )

    codes = {row.error_code for row in answer.responses[0].partition_responses}
    assert codes == {0}
    assert transaction_records(coordinated) == before + 1
    assert len(producer.record.partitions) == 50
    assert producer.end(commit=True).error_code == 0
    assert committed(coordinated, "wide", 49) == [b"v"]


def test_a_fencing_marker_is_written_after_a_first_batch_of_the_same_round(
    producer: TransactionalProducer,
) -> None:
    """The partition's record was queued for a later append, and the abort used to be written before it."""
    harness, other = producer.harness, producer.harness.client()
    batch = harness.batch(
        b"v",
        producer=BatchProducer(producer.me.producer_id, producer.me.epoch, 0, transactional=True),
    )
    rows = [{"name": "t", "partition_data": [{"index": 0, "records": batch}]}]
    wanted = {"transactional_id": "tx", "transaction_timeout": 1000}

    producer.client.send(PRODUCE, 12, transactional_id="tx", acks=-1, timeout=1000, topic_data=rows)
    other.send(INIT, 2, **wanted)
    answers = producer.client.receive(), other.receive()

    assert answers[0].responses[0].partition_responses[0].error_code == 0
    assert answers[1].error_code == 51
    log = [
        decode_record(record.key or b"", record.value)
        for partition in harness.broker.topics.find(TRANSACTIONS_TOPIC).partitions
        for record in harness.broker.replay_internal(TRANSACTIONS_TOPIC, partition.index)
    ]
    states = [change.value.state.value for change in log if change and change.value]
    assert states in (
        ["Empty", "PrepareAbort", "CompleteAbort"],
        ["Empty", "Ongoing", "PrepareAbort", "CompleteAbort"],
    )
    assert committed(harness) == []


def transaction_records(harness: Harness) -> int:
    partitions = harness.broker.topics.find(TRANSACTIONS_TOPIC).partitions
    return sum(partition.log.log_end_offset for partition in partitions)


# DescribeTransactions, ListTransactions


def test_a_transaction_is_described(producer: TransactionalProducer) -> None:
    producer.add(1, 0)

    row = producer.describe()

    assert (row.error_code, row.transaction_state) == (0, "Ongoing")
    assert (row.producer_id, row.producer_epoch) == producer.me
    assert row.transaction_timeout.total_seconds() == 60
    assert abs(row.transaction_start_time.timestamp() * 1000 - _now_ms(producer)) < 60_000


def _now_ms(producer: TransactionalProducer) -> int:
    return producer.harness.broker.clock.now_ms()


def test_missing_parts_are_not_described(producer: TransactionalProducer) -> None:
    producer.add(0)

    answer = producer.client.ask(DESCRIBE, 0, transactional_ids=["", "nobody", "tx"])

    codes = {row.transactional_id: row.error_code for row in answer.transaction_states}
    assert codes == {"": 42, "nobody": 105, "tx": 0}


def test_an_id_without_a_transaction_has_no_start_time(producer: TransactionalProducer) -> None:
    producer.client.send(DESCRIBE, 0, transactional_ids=["tx"])
    while producer.client.drain() < 4:
        producer.harness.turn()

    # timeout i32, then the time that is not there, then the producer id
    expected = (60_000).to_bytes(4) + b"\xff" * 8 + producer.me.producer_id.to_bytes(8)
    assert expected in bytes(producer.client._received)  # noqa: SLF001


@pytest.mark.parametrize("version", range(3))
def test_transactions_are_listed_by_what_is_asked_for(coordinated: Harness, version: int) -> None:
    begun, idle = TransactionalProducer(coordinated, "begun"), TransactionalProducer(coordinated)
    begun.init()
    begun.add(0)
    idle.init()

    def listed(**asked: Any) -> set[str]:
        fields = {"state_filters": [], "producer_id_filters": [], **asked}
        answer = idle.client.ask(LIST, version, **fields)
        assert answer.error_code == 0
        return {row.transactional_id for row in answer.transaction_states}

    assert listed() == {"begun", "tx"}
    assert listed(state_filters=["Ongoing"]) == {"begun"}
    assert listed(state_filters=["PrepareCommit"]) == set()
    assert listed(producer_id_filters=[idle.me.producer_id]) == {"tx"}
    if version >= 1:
        assert listed(state_filters=["Ongoing"], duration_filter=3_600_000) == set()
    if version >= 2:
        assert listed(transactional_id_pattern="b.*n") == {"begun"}
        assert listed(transactional_id_pattern="b") == set()
        assert listed(transactional_id_pattern="") == {"begun", "tx"}


def test_filters_that_mean_nothing_are_named(producer: TransactionalProducer) -> None:
    client = producer.client

    answer = client.ask(LIST, 2, state_filters=["Ongoing", "Nope"], producer_id_filters=[])
    assert list(answer.unknown_state_filters) == ["Nope"]
    answer = client.ask(
        LIST, 2, state_filters=[], producer_id_filters=[], transactional_id_pattern="("
    )
    assert answer.error_code == 128


# Failures


@pytest.mark.parametrize("key", [INIT, ADD, ADD_OFFSETS, END])
def test_a_disk_that_failed_sends_clients_to_look_for_the_coordinator(
    producer: TransactionalProducer, key: int
) -> None:
    producer.add(0)
    producer.harness.broker.groups.partition_of("g")
    producer.harness.broker.rounds.failure = LogError("the disk is gone")

    codes = {
        INIT: lambda: producer.init().error_code,
        ADD: lambda: producer.add(1)[0],
        ADD_OFFSETS: lambda: producer.add_offsets("g"),
        END: lambda: producer.end(commit=True).error_code,
    }

    assert codes[key]() == 16  # type: ignore[no-untyped-call]
    producer.harness.broker.rounds.failure = None
