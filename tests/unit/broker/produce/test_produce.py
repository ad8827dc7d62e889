from typing import Any

import pytest

from duolog.core.clock import SystemClock
from duolog.protocol.error_codes import ErrorCode
from duolog.record import Record, encode_batch
from duolog.record.batch import crc_matches, read_header
from duolog.record.records import BatchProducer, decode_records

PRODUCE = 0


def produce_fields(topic: str, batch: bytes | None, *, acks: int = -1) -> dict[str, Any]:
    return {
        "acks": acks,
        "timeout": 1000,
        "topic_data": [{"name": topic, "partition_data": [{"index": 0, "records": batch}]}],
    }


def test_an_acknowledged_record_can_be_fetched(harness: Any) -> None:
    harness.topic("orders")
    client = harness.client()

    answer = client.produce("orders", harness.batch(b"a", b"b"))

    assert (answer.error_code, answer.base_offset) == (0, 0)
    fetched = client.fetch("orders", 0)
    assert [record.value for record in decode_records(fetched.records)] == [b"a", b"b"]
    assert fetched.high_watermark == 2


@pytest.mark.parametrize("version", range(3, 13))
def test_every_version_of_produce_is_served(harness: Any, version: int) -> None:
    harness.topic("orders")

    answer = harness.client().produce("orders", harness.batch(b"a"), version=version)

    assert (answer.error_code, answer.base_offset) == (0, 0)


def test_with_fsync_the_answer_comes_after_the_sync(open_harness: Any) -> None:
    harness = open_harness(durability="fsync")
    harness.topic("orders")

    answer = harness.client().produce("orders", harness.batch(b"a"))

    assert answer.error_code == 0
    assert harness.broker.log("orders", 0).high_watermark == 1


def test_a_wrong_checksum_is_refused_and_nothing_is_written(harness: Any) -> None:
    harness.topic("orders")
    batch = bytearray(harness.batch(b"a"))
    batch[-1] ^= 1

    answer = harness.client().produce("orders", bytes(batch))

    assert answer.error_code == ErrorCode.CORRUPT_MESSAGE
    assert harness.broker.log("orders", 0).log_end_offset == 0


def changed(batch: bytes, position: int, value: int) -> bytes:
    data = bytearray(batch)
    data[position] = value
    return bytes(data)


def test_anything_but_a_single_v2_batch_is_refused(harness: Any) -> None:
    harness.topic("orders")
    client = harness.client()
    batch = harness.batch(b"a")

    codes = [
        client.produce("orders", data).error_code
        for data in (changed(batch, 16, 1), batch + batch, batch[:-1], b"", batch[:30])
    ]

    assert set(codes) == {ErrorCode.INVALID_RECORD}  # No client tries this one again.
    assert harness.broker.log("orders", 0).log_end_offset == 0


def test_a_batch_above_the_limit_of_its_topic_is_too_large(harness: Any) -> None:
    harness.topic("orders", max_message_bytes="200")

    answer = harness.client().produce("orders", harness.batch(b"x" * 200))

    assert answer.error_code == ErrorCode.MESSAGE_TOO_LARGE


def test_a_compacted_topic_names_its_records_without_a_key(harness: Any) -> None:
    harness.topic("table", cleanup_policy="compact")
    client = harness.client()

    refused = client.produce("table", harness.batch(b"a", b"b", key=None))
    taken = client.produce("table", harness.batch(b"a"))

    assert refused.error_code == ErrorCode.INVALID_RECORD
    assert [error.batch_index for error in refused.record_errors] == [0, 1]
    assert "key" in refused.error_message
    assert taken.error_code == 0


def test_log_append_time_stamps_the_batch_and_its_checksum(harness: Any) -> None:
    harness.topic("orders", message_timestamp_type="LogAppendTime")
    client = harness.client()
    before_ms = harness.broker.clock.now_ms()

    answer = client.produce("orders", harness.batch(b"a"))

    fetched = client.fetch("orders", 0).records
    header = read_header(fetched)
    assert header.log_append_time
    assert header.max_timestamp >= before_ms
    assert crc_matches(fetched)
    assert round(answer.log_append_time.timestamp() * 1000) == header.max_timestamp


def test_a_time_far_ahead_is_refused(harness: Any) -> None:
    harness.topic("orders", message_timestamp_after_max_ms="0")
    batch = harness.batch(b"a")
    harness.broker.clock = type("Earlier", (SystemClock,), {"now_ms": lambda _: 1000})()

    answer = harness.client().produce("orders", batch)

    assert answer.error_code == ErrorCode.INVALID_TIMESTAMP
    assert "message.timestamp.after.max.ms" in answer.error_message
    assert len(answer.record_errors) == 1


def test_a_record_that_is_too_old_is_refused(harness: Any) -> None:
    harness.topic("orders", message_timestamp_before_max_ms="1000")
    client, now_ms = harness.client(), harness.broker.clock.now_ms()

    answers = [
        client.produce("orders", harness.batch_at(time_ms, b"v")) for time_ms in (now_ms, 1000)
    ]

    assert [answer.error_code for answer in answers] == [0, ErrorCode.INVALID_TIMESTAMP]
    assert "message.timestamp.before.max.ms" in answers[1].error_message


def test_a_record_without_a_time_is_never_too_old(harness: Any) -> None:
    harness.topic("orders", message_timestamp_before_max_ms="1000")
    batch = bytes(encode_batch([Record(0, -1, b"k", b"v")]))

    assert harness.client().produce("orders", batch).error_code == 0


def test_a_duplicate_is_answered_with_the_offset_of_the_first(harness: Any) -> None:
    harness.topic("orders")
    client = harness.client()
    first = harness.batch(b"a", producer=BatchProducer(7, 0, 0))
    far = harness.batch(b"c", producer=BatchProducer(7, 0, 5))

    answers = [client.produce("orders", batch) for batch in (first, first, far)]

    assert [answer.error_code for answer in answers] == [
        0,
        0,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ]
    assert [answer.base_offset for answer in answers[:2]] == [0, 0]
    assert harness.broker.log("orders", 0).log_end_offset == 1


def test_records_for_missing_or_internal_topics_are_refused(harness: Any) -> None:
    harness.topic("__consumer_offsets")
    client = harness.client()

    missing = client.produce("nothing", harness.batch(b"a"))
    internal = client.produce("__consumer_offsets", harness.batch(b"a"))

    assert missing.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert internal.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_acks_are_none_one_or_all(harness: Any) -> None:
    harness.topic("orders")
    client = harness.client()

    refused = client.produce("orders", harness.batch(b"a"), acks=2)
    taken = client.produce("orders", harness.batch(b"a"), acks=1)

    assert refused.error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert taken.error_code == 0


def test_without_acks_there_is_no_answer(harness: Any) -> None:
    harness.topic("orders")
    client = harness.client()

    client.socket.sendall(
        client.frame(PRODUCE, 9, **produce_fields("orders", harness.batch(b"a"), acks=0))
    )

    client.receive_nothing()
    assert harness.broker.log("orders", 0).high_watermark == 1


def test_without_acks_an_error_closes_the_connection(harness: Any) -> None:
    client = harness.client()

    client.socket.sendall(client.frame(PRODUCE, 9, **produce_fields("nothing", b"", acks=0)))

    assert client.closed_by_broker


def test_many_requests_in_one_buffer_are_answered_in_order(harness: Any) -> None:
    harness.topic("orders")
    client = harness.client()
    for _ in range(300):
        client.send(PRODUCE, 9, **produce_fields("orders", harness.batch(b"a" * 50)))

    offsets = [client.receive().responses[0].partition_responses[0].base_offset for _ in range(300)]

    assert offsets == list(range(300))


def test_a_request_larger_than_the_buffer_arrives_whole(harness: Any) -> None:
    harness.topic("orders")
    client = harness.client()
    value = bytes(range(256)) * 3000
    client.send(PRODUCE, 9, **produce_fields("orders", harness.batch(value)))

    answer = client.receive().responses[0].partition_responses[0]

    assert answer.error_code == 0
    (record,) = decode_records(client.fetch("orders", 0).records)
    assert record.value == value
