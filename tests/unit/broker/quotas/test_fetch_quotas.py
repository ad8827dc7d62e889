"""Consumers above their quota: they get no records and a throttle time, and all records in the end."""

from typing import Any

import pytest

from unit.broker.conftest import FETCH, fetch_fields
from unit.broker.quotas.test_produce_quotas import throttle_ms

RECORD_BYTES = 4000


def fill(timed: Any, count: int) -> None:
    timed.topic("t")
    producer = timed.user("admin")
    for _ in range(count):
        producer.produce("t", timed.batch(b"x" * RECORD_BYTES))


def records_bytes(answer: Any) -> int:
    rows = [row for topic in answer.responses for row in topic.partitions]
    return sum(len(row.records or b"") for row in rows)


def test_a_consumer_above_its_quota_gets_no_records_and_hears_for_how_long(timed: Any) -> None:
    fill(timed, 10)
    timed.quota({"user": "alice"}, consumer_byte_rate=1000.0)
    client = timed.user("alice")
    ask = fetch_fields("t", 0, partition_max_bytes=5000)
    before = timed.broker.topics.find("t").fetched_bytes

    answers = [client.ask(FETCH, 11, **ask) for _ in range(3)]
    client.send(FETCH, 11, **ask)
    client.receive_nothing()
    timed.wait_ms(throttle_ms(answers[-1]))

    sizes = [records_bytes(answer) for answer in answers]
    size = sizes[0]
    assert sizes == [size, size, 0]
    assert [throttle_ms(answer) for answer in answers] == [0, 0, 3 * size - 10_000]
    assert timed.broker.topics.find("t").fetched_bytes == before + 2 * size
    # What was withheld did not count: the rate is that of two batches, over a bit more than before.
    assert records_bytes(client.receive()) in {0, size}


def read_all(timed: Any, client: Any, count: int, *, version: int = 11) -> tuple[list[int], int]:
    """Read all records in one session; return the size of each answer, and the time in ms."""
    started = timed.clock.now_ms()
    fields = fetch_fields("t", 0, partition_max_bytes=5000)
    fields |= {"session_id": 0, "session_epoch": 0}
    sizes, offset = [], 0
    while offset < count:
        answer = client.ask(FETCH, version, **fields)
        assert answer.error_code == 0
        size = records_bytes(answer)
        sizes.append(size)
        offset += size > 0
        timed.wait_ms(throttle_ms(answer) + 1)
        if answer.session_id:
            epoch = fields["session_epoch"] + 1 if fields["session_id"] else 1
            fields |= {"session_id": answer.session_id, "session_epoch": epoch}
        fields["topics"][0]["partitions"][0]["fetch_offset"] = offset
    return sizes, timed.clock.now_ms() - started


def test_a_session_goes_on_over_throttled_answers_and_loses_nothing(timed: Any) -> None:
    count, rate = 40, 2000
    fill(timed, count)
    timed.quota({"user": "alice"}, consumer_byte_rate=float(rate))

    sizes, took_ms = read_all(timed, timed.user("alice"), count)

    assert 0 in sizes, "nothing was throttled"
    total = sum(sizes)
    assert sum(size > 0 for size in sizes) == count
    # The first ten windows' worth is free, and the rest comes at the rate. As in Kafka, it may be
    # slower: the rate is taken over ten to twelve windows, and each wait is for a whole answer.
    paid_ms = (total - 10 * rate) / rate * 1000
    assert paid_ms - 1000 <= took_ms <= 1.5 * paid_ms


def test_a_session_whose_client_is_throttled_again_and_again_keeps_its_epochs(timed: Any) -> None:
    fill(timed, 3)
    timed.quota({"user": "alice"}, consumer_byte_rate=500.0)

    sizes, _ = read_all(timed, timed.user("alice"), 3)

    assert sum(size > 0 for size in sizes) == 3


def test_a_fetch_gets_no_more_than_all_windows_allow(timed: Any) -> None:
    """It could never be sent otherwise: it would be above the quota whenever it is asked for."""
    fill(timed, 10)
    timed.quota({"user": "alice"}, consumer_byte_rate=1000.0)

    answer = timed.user("alice").ask(FETCH, 11, **fetch_fields("t", 0))

    assert 2 * RECORD_BYTES < records_bytes(answer) <= 10_000
    assert throttle_ms(answer) == 0


def test_a_long_poll_waits_for_no_more_than_fits(timed: Any) -> None:
    """10,000 bytes may be sent, of whole batches: a third batch of 4,000 would not fit."""
    fill(timed, 1)
    timed.quota({"user": "alice"}, consumer_byte_rate=1000.0)
    client = timed.user("alice")
    client.send(FETCH, 11, **fetch_fields("t", 0, min_bytes=1 << 20, max_wait_ms=60_000))
    client.receive_nothing()

    timed.user("admin").produce("t", timed.batch(b"x" * RECORD_BYTES))

    assert records_bytes(client.receive()) > 2 * RECORD_BYTES


def test_a_long_poll_within_the_quota_waits_for_all_that_it_asks_for(timed: Any) -> None:
    fill(timed, 2)
    timed.quota({"user": "alice"}, consumer_byte_rate=1e9)
    client = timed.user("alice")
    client.send(FETCH, 11, **fetch_fields("t", 0, min_bytes=12_000, max_wait_ms=60_000))
    client.receive_nothing()

    timed.user("admin").produce("t", timed.batch(b"x" * RECORD_BYTES))

    assert records_bytes(client.receive()) > 3 * RECORD_BYTES


def test_a_batch_larger_than_all_windows_is_read_and_paid_for(timed: Any) -> None:
    """Kafka answers such a fetch without records for ever."""
    fill(timed, 2)
    timed.quota({"user": "alice"}, consumer_byte_rate=100.0)
    client = timed.user("alice")

    answer = client.ask(FETCH, 11, **fetch_fields("t", 0))
    size = records_bytes(answer)
    again = fetch_fields("t", 1)
    client.send(FETCH, 11, **again)
    client.receive_nothing()
    timed.wait_ms(throttle_ms(answer))
    second = client.receive()

    assert size > RECORD_BYTES
    assert throttle_ms(answer) == (size - 1000) * 10
    assert records_bytes(second) == size


def test_a_fetch_of_nothing_is_not_throttled(timed: Any) -> None:
    fill(timed, 1)
    timed.quota({"user": "alice"}, consumer_byte_rate=1.0)
    client, same_user = timed.user("alice"), timed.user("alice")
    client.ask(FETCH, 11, **fetch_fields("t", 0))

    answer = same_user.ask(FETCH, 11, **fetch_fields("t", 1))

    assert throttle_ms(answer) == 0


def test_a_waiting_fetch_is_measured_by_the_quota_of_its_answer(timed: Any) -> None:
    """The quota is set while the fetch waits for records."""
    fill(timed, 1)
    timed.quota({"client-id": "another"}, consumer_byte_rate=1.0)
    client = timed.user("alice")
    client.send(FETCH, 11, **fetch_fields("t", 1, max_wait_ms=60_000))
    client.receive_nothing()

    timed.quota({"user": "alice"}, consumer_byte_rate=100.0)
    timed.user("admin").produce("t", timed.batch(b"x" * RECORD_BYTES))

    assert throttle_ms(client.receive()) > 0


@pytest.mark.parametrize("version", [4, 7, 12])
def test_versions_tell_the_throttle_time(timed: Any, version: int) -> None:
    fill(timed, 1)
    timed.quota({"user": "alice"}, consumer_byte_rate=1.0)
    client = timed.user("alice")

    answer = client.ask(FETCH, version, **fetch_fields("t", 0))

    assert throttle_ms(answer) > 0
