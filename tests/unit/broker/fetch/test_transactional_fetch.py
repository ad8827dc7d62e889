"""Fetch and ListOffsets with read_committed: what is decided, and what was aborted."""

from typing import Any

import pytest

from duolog.record.records import BatchProducer, decode_records
from unit.broker.transaction_harness import Transactional

FETCH = 1
LIST_OFFSETS = 2


@pytest.fixture
def orders(harness: Any) -> Transactional:
    return Transactional(harness)


def aborted_in(answer: Any) -> list[tuple[int, int]]:
    return [(item.producer_id, item.first_offset) for item in answer.aborted_transactions]


def offsets_in(records: bytes) -> list[int]:
    return [record.offset for record in decode_records(records)] if records else []


def test_an_open_transaction_is_not_seen_by_read_committed(orders: Transactional) -> None:
    orders.client.produce("orders", orders.harness.batch(b"a"))
    orders.write(7, b"b")

    committed = orders.fetch(0)
    all_of_it = orders.client.fetch("orders", 0)

    assert offsets_in(committed.records) == [0]
    assert (committed.high_watermark, committed.last_stable_offset) == (2, 1)
    assert (all_of_it.high_watermark, all_of_it.last_stable_offset) == (2, 1)
    assert len(all_of_it.records) > len(committed.records)
    assert all_of_it.aborted_transactions is None
    assert aborted_in(committed) == []


def test_above_the_last_stable_offset_there_is_nothing_and_no_error(orders: Transactional) -> None:
    orders.write(7, b"a", b"b")

    answers = [orders.fetch(offset) for offset in (0, 1, 2)]

    assert [(a.error_code, a.records, aborted_in(a)) for a in answers] == [(0, b"", [])] * 3


def test_aborted_records_are_there_with_the_transactions_to_leave_out(
    orders: Transactional,
) -> None:
    orders.write(7, b"a", b"b")
    orders.write(8, b"c")
    orders.end(7, commit=False)
    orders.end(8, commit=True)

    answer = orders.fetch(0)

    assert answer.last_stable_offset == 5
    assert aborted_in(answer) == [(7, 0)]
    assert aborted_in(orders.fetch(2)) == [(7, 0)], "up to its marker"
    assert aborted_in(orders.fetch(4)) == []


@pytest.mark.parametrize("version", range(4, 18))
def test_every_version_names_aborted_transactions(orders: Transactional, version: int) -> None:
    orders.write(7, b"a")
    orders.write(8, b"b")
    orders.end(7, commit=False)
    orders.end(8, commit=False)
    topic = {
        "topic": "orders",
        "topic_id": orders.harness.broker.topics.find("orders").id,
        "partitions": [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}],
    }
    fields = {"max_wait": 0, "min_bytes": 1, "max_bytes": 1 << 20, "session_epoch": -1}

    committed = orders.client.ask(FETCH, version, **fields, isolation_level=1, topics=[topic])
    uncommitted = orders.client.ask(FETCH, version, **fields, isolation_level=0, topics=[topic])

    answer = committed.responses[0].partitions[0]
    assert (answer.last_stable_offset, aborted_in(answer)) == (4, [(7, 0), (8, 1)])
    assert uncommitted.responses[0].partitions[0].aborted_transactions is None


def test_a_waiting_fetch_wakes_when_the_transaction_ends(orders: Transactional) -> None:
    orders.write(7, b"a")
    reader = orders.harness.client()
    fields = {
        "max_wait": 60_000,
        "min_bytes": 1,
        "max_bytes": 1 << 20,
        "isolation_level": 1,
        "session_epoch": -1,
        "topics": [
            {
                "topic": "orders",
                "partitions": [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 9999}],
            }
        ],
    }
    reader.send(FETCH, 11, **fields)
    reader.receive_nothing()
    orders.write(7, b"b")
    reader.receive_nothing()

    orders.end(7, commit=True)

    answer = reader.receive().responses[0].partitions[0]
    assert answer.last_stable_offset == 3


def test_bytes_above_the_last_stable_offset_are_not_enough(orders: Transactional) -> None:
    """min_bytes counts what read_committed may see."""
    orders.client.produce("orders", orders.harness.batch(b"a"))
    orders.write(7, b"b" * 1000)
    reader = orders.harness.client()
    topic = {
        "topic": "orders",
        "partitions": [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 9999}],
    }
    fields = {"max_wait": 60_000, "min_bytes": 500, "max_bytes": 1 << 20, "session_epoch": -1}

    reader.send(FETCH, 11, **fields, isolation_level=1, topics=[topic])

    reader.receive_nothing()
    assert orders.client.ask(FETCH, 11, **fields, isolation_level=0, topics=[topic]).responses


def test_a_slice_that_ends_early_names_its_own_transactions_only(orders: Transactional) -> None:
    for producer_id in range(30):
        orders.write(producer_id, b"x" * 1000)
        orders.end(producer_id, commit=False)

    answer = orders.fetch(0, partition_max_bytes=5000)

    assert aborted_in(answer)[:4] == [(0, 0), (1, 2), (2, 4), (3, 6)]
    assert len(aborted_in(answer)) < 12


# ListOffsets.


def listed(orders: Transactional, timestamp: int, *, isolation: int, version: int = 10) -> Any:
    answer = orders.client.ask(
        LIST_OFFSETS,
        version,
        replica_id=-1,
        isolation_level=isolation,
        topics=[{"name": "orders", "partitions": [{"partition_index": 0, "timestamp": timestamp}]}],
    )
    return answer.topics[0].partitions[0]


@pytest.mark.parametrize("version", range(2, 11))
def test_the_latest_offset_depends_on_the_isolation_level(
    orders: Transactional, version: int
) -> None:
    orders.client.produce("orders", orders.harness.batch(b"a"))
    orders.write(7, b"b")

    offsets = [listed(orders, -1, isolation=level, version=version).offset for level in (0, 1)]

    assert offsets == [2, 1]


def test_a_record_of_an_open_transaction_is_not_found_by_its_time(orders: Transactional) -> None:
    orders.client.produce("orders", orders.harness.batch_at(1000, b"a"))
    batch = orders.harness.batch_at(5000, b"b", producer=BatchProducer(7, 0, 0, transactional=True))
    orders.send(batch)

    found = [
        [(a.offset, a.timestamp) for a in (listed(orders, t, isolation=i) for t in (500, 2000, -3))]
        for i in (0, 1)
    ]

    assert found == [[(0, 1000), (1, 5000), (1, 5000)], [(0, 1000), (-1, -1), (-1, -1)]]


def test_earliest_and_tiered_do_not_depend_on_it(orders: Transactional) -> None:
    orders.write(7, b"a")

    found = [listed(orders, time, isolation=1).offset for time in (-2, -4, -5)]

    assert found == [0, 0, -1]
