"""Fetches whose `min_bytes` no answer can reach: they are answered when more would not fit."""

from typing import Any

import pytest

from duolog.record.batch import whole_batches
from duolog.record.records import decode_records
from unit.broker.fetch.test_fetch import FETCH, fetch_fields

FOREVER_MS = 600_000  # More than the deadline of an answer.
VALUES = [b"%d" % n * 600 for n in range(5)]


def values_in(answer: Any) -> list[bytes | None]:
    records = memoryview(answer.responses[0].partitions[0].records)
    batches = (batch for _, batch in whole_batches(records))
    return [record.value for batch in batches for record in decode_records(batch)]


def asking(partition_max_bytes: int = 1 << 20, **more: Any) -> dict[str, Any]:
    fields = fetch_fields({0: 0}, max_wait=FOREVER_MS, **more)
    fields["topics"][0]["partitions"][0]["partition_max_bytes"] = partition_max_bytes
    return fields


def produced(harness: Any, count: int = len(VALUES), **configs: str) -> int:
    """Produce batches of one record each; return the size of one."""
    harness.topic("orders", **configs)
    producer = harness.client()
    for value in VALUES[:count]:
        assert producer.produce("orders", harness.batch(value)).error_code == 0
    return len(harness.batch(VALUES[0]))


@pytest.mark.parametrize("limit", ["max_bytes", "partition_max_bytes"])
@pytest.mark.parametrize("session", [False, True])
def test_an_answer_that_holds_no_further_batch_is_sent_at_once(
    harness: Any, limit: str, *, session: bool
) -> None:
    """The client waited for its whole time: whole batches do not add up to `min_bytes`."""
    size = produced(harness)
    fields = asking(min_bytes=3 * size - 10, **{limit: 3 * size - 10})
    if session:
        fields |= {"session_id": 0, "session_epoch": 0}

    answer = harness.client().ask(FETCH, 11, **fields)

    assert values_in(answer) == VALUES[:2]


def test_an_incremental_fetch_is_sent_at_once_too(harness: Any) -> None:
    """Growth of a partition with records, but not enough of them, woke no fetch of a session."""
    size = produced(harness, 1)
    client, limit = harness.client(), 3 * size - 10
    fields = asking(min_bytes=1, max_bytes=limit) | {"session_id": 0, "session_epoch": 0}
    session_id = client.ask(FETCH, 11, **fields).session_id
    fields |= {"session_id": session_id, "session_epoch": 1, "min_bytes": limit}
    client.send(FETCH, 11, **fields)
    client.receive_nothing()
    producer = harness.client()

    producer.produce("orders", harness.batch(VALUES[1]))
    client.receive_nothing()
    producer.produce("orders", harness.batch(VALUES[2]))

    assert values_in(client.receive()) == VALUES[:2]


def test_as_long_as_another_batch_fits_the_client_waits(harness: Any) -> None:
    size = produced(harness, 2)
    consumer, limit = harness.client(), 3 * size
    consumer.send(FETCH, 11, **asking(min_bytes=limit, max_bytes=limit))
    consumer.receive_nothing()

    harness.client().produce("orders", harness.batch(VALUES[2]))

    assert values_in(consumer.receive()) == VALUES[:3]


def test_a_partition_that_gives_less_than_min_bytes_keeps_the_client_waiting(harness: Any) -> None:
    """As in Kafka: other partitions could still add to it."""
    size = produced(harness)
    consumer = harness.client()

    consumer.send(FETCH, 11, **asking(size, min_bytes=2 * size, max_bytes=10 * size))

    consumer.receive_nothing()


def test_the_rest_of_an_old_segment_is_sent_without_waiting_for_more(harness: Any) -> None:
    """An answer does not extend past a segment, and the records continue in the next one."""
    size = produced(harness, 2, segment_bytes=str(2 * len(harness.batch(VALUES[0]))))
    consumer, producer = harness.client(), harness.client()
    fields = asking(min_bytes=4 * size)
    consumer.send(FETCH, 11, **fields)
    consumer.receive_nothing()

    producer.produce("orders", harness.batch(VALUES[2]))

    assert values_in(consumer.receive()) == VALUES[:2]


def test_records_above_the_bound_do_not_count(harness: Any) -> None:
    """A read_committed client waits for records that it may read."""
    size = produced(harness, 2)
    log = harness.broker.log("orders", 0)

    assert log.available(0, up_to_offset=2).size_bytes == 2 * size
    assert log.available(0, up_to_offset=1) == (size, False)
    assert log.available(2, up_to_offset=2) == (0, False)
