from typing import Any

import pytest

from duolog.log.partition.partition_log import PartitionLog
from duolog.protocol.error_codes import ErrorCode
from duolog.record.batch import whole_batches
from duolog.record.records import decode_records

FETCH = 1
PRODUCE = 0


def fetch_fields(offsets: dict[int, int], **more: Any) -> dict[str, Any]:
    return {
        "max_wait": 0,
        "min_bytes": 1,
        "max_bytes": 1 << 26,
        "session_epoch": -1,
        **more,
        "topics": [
            {
                "topic": "orders",
                "partitions": [
                    {"partition": index, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
                    for index, offset in offsets.items()
                ],
            }
        ],
    }


def produce_fields(topic: str, batch: bytes) -> dict[str, Any]:
    data = [{"index": 0, "records": batch}]
    return {"acks": -1, "timeout": 1000, "topic_data": [{"name": topic, "partition_data": data}]}


def values_of(records: bytes) -> list[bytes | None]:
    return [record.value for record in decode_records(records)]


def test_the_batch_that_holds_the_offset_is_returned_whole(harness: Any) -> None:
    """Also when it begins before the offset: others lost records here."""
    harness.topic("orders")
    client = harness.client()
    client.produce("orders", harness.batch(b"a", b"b", b"c"))

    assert values_of(client.fetch("orders", 1).records) == [b"a", b"b", b"c"]


@pytest.mark.parametrize("version", range(4, 18))
def test_every_version_of_fetch_is_served(harness: Any, version: int) -> None:
    harness.topic("orders")
    client = harness.client()
    client.produce("orders", harness.batch(b"a"))
    fields = fetch_fields({0: 0})
    fields["topics"][0]["topic_id"] = harness.broker.topics.find("orders").id

    answer = client.ask(FETCH, version, **fields)

    assert values_of(answer.responses[0].partitions[0].records) == [b"a"]


def test_an_offset_outside_the_log_is_out_of_range_and_its_end_is_not(harness: Any) -> None:
    harness.topic("orders")
    client = harness.client()
    client.produce("orders", harness.batch(b"a"))

    answers = [client.fetch("orders", offset) for offset in (1, 2, -1)]

    out = ErrorCode.OFFSET_OUT_OF_RANGE
    assert [answer.error_code for answer in answers] == [0, out, out]
    assert answers[0].records == b""


def test_records_that_are_not_on_the_disk_yet_are_not_shown(harness: Any) -> None:
    """Otherwise a crash could remove them after a consumer has read them."""
    harness.topic("orders")
    client = harness.client()
    client.produce("orders", harness.batch(b"a"))
    log = harness.broker.log("orders", 0)
    log.append(memoryview(bytearray(harness.batch(b"b"))))
    log.write_staged()
    assert (log.high_watermark, log.log_end_offset) == (1, 2)

    first, second = (client.fetch("orders", offset) for offset in (0, 1))

    assert values_of(first.records) == [b"a"]
    assert (second.error_code, second.high_watermark, second.records) == (0, 1, b"")


def test_another_leader_epoch_is_distinguished(open_harness: Any) -> None:
    first = open_harness()
    first.topic("orders")
    first.stop()
    harness = open_harness()  # A restart raises the epoch.
    client = harness.client()
    epoch = harness.broker.log("orders", 0).leader_epoch

    codes = [client.fetch("orders", 0, epoch=e).error_code for e in (epoch - 1, epoch, epoch + 1)]

    assert codes == [ErrorCode.FENCED_LEADER_EPOCH, 0, ErrorCode.UNKNOWN_LEADER_EPOCH]


def test_the_first_batch_comes_however_little_is_asked_for(harness: Any) -> None:
    harness.topic("orders", 2)
    client = harness.client()
    for partition in (0, 1):
        client.produce("orders", harness.batch(b"x" * 500), partition=partition)

    answer = client.ask(FETCH, 11, **fetch_fields({0: 0, 1: 0}, max_bytes=10))

    first, second = answer.responses[0].partitions
    assert values_of(first.records) == [b"x" * 500]
    assert second.records == b""
    assert second.high_watermark == 1


def test_a_long_poll_ends_when_records_come(harness: Any) -> None:
    harness.topic("orders")
    consumer, producer = harness.client(), harness.client()
    consumer.send(FETCH, 11, **fetch_fields({0: 0}, max_wait=60_000))
    consumer.receive_nothing()

    producer.produce("orders", harness.batch(b"a"))

    answer = consumer.receive().responses[0].partitions[0]
    assert values_of(answer.records) == [b"a"]
    assert not harness.broker.topics.partition("orders", 0).waiters


def test_a_long_poll_waits_for_as_many_bytes_as_it_asks_for(harness: Any) -> None:
    harness.topic("orders")
    consumer, producer = harness.client(), harness.client()
    consumer.send(FETCH, 11, **fetch_fields({0: 0}, max_wait=60_000, min_bytes=400))

    producer.produce("orders", harness.batch(b"x" * 200))
    consumer.receive_nothing()
    producer.produce("orders", harness.batch(b"y" * 200))

    assert len(consumer.receive().responses[0].partitions[0].records) > 400


def test_a_long_poll_ends_with_nothing_when_its_time_is_up(harness: Any) -> None:
    harness.topic("orders")

    answer = harness.client().fetch("orders", 0, max_wait_ms=30)

    assert (answer.error_code, answer.records) == (0, b"")


def test_a_long_poll_ends_with_an_error_when_its_topic_goes(harness: Any) -> None:
    harness.topic("orders")
    consumer = harness.client()
    consumer.send(FETCH, 11, **fetch_fields({0: 0}, max_wait=60_000))
    consumer.receive_nothing()

    harness.broker.delete_topic("orders")

    answer = consumer.receive().responses[0].partitions[0]
    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_answers_after_a_long_poll_wait_for_it(harness: Any) -> None:
    harness.topic("orders")
    client, producer = harness.client(), harness.client()
    client.send(FETCH, 11, **fetch_fields({0: 0}, max_wait=60_000))
    client.send(FETCH, 11, **fetch_fields({0: 5}))
    client.receive_nothing()

    producer.produce("orders", harness.batch(b"a"))

    assert client.receive().responses[0].partitions[0].error_code == 0
    out_of_range = client.receive().responses[0].partitions[0]
    assert out_of_range.error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_disconnected_client_leaves_nothing_waiting(harness: Any) -> None:
    harness.topic("orders")
    client = harness.client()
    client.send(FETCH, 11, **fetch_fields({0: 0}, max_wait=60_000))
    client.receive_nothing()

    client.socket.close()

    assert client.closed_by_broker
    assert not harness.broker.topics.partition("orders", 0).waiters
    assert harness.broker.timers.seconds_to_next() is None


def test_a_slow_reader_gets_every_byte_and_holds_no_memory(harness: Any) -> None:
    """The client requests 40 MB at once and reads a little at a time; records stay in their file."""
    harness.topic("orders")
    client = harness.client()
    for index in range(10):
        client.produce("orders", harness.batch(bytes([index]) * 400_000))
    for _ in range(10):
        client.send(FETCH, 11, **fetch_fields({0: 0}))

    for _ in range(20):
        harness.turn()
    held = sum(
        len(in_flight_request.data or b"") for in_flight_request in client.connection.in_flight
    )

    assert held < 100_000
    for _ in range(10):
        partition = client.receive().responses[0].partitions[0]
        position = 0
        for index in range(2):
            (record,) = decode_records(partition.records[position:])
            assert record.value == bytes([index]) * 400_000
            position += len(partition.records) // 2


def test_a_topic_that_is_deleted_while_it_is_sent_arrives_whole(harness: Any) -> None:
    """The span keeps its file open: its bytes are not mixed with those of a file created later."""
    harness.topic("orders")
    client, other = harness.client(), harness.client()
    values = [bytes([index]) * 700_000 for index in range(6)]
    for value in values:
        client.produce("orders", harness.batch(value))
    fields = fetch_fields({0: 0})
    fields["topics"][0]["partitions"][0]["partition_max_bytes"] = 1 << 26
    client.send(FETCH, 11, **fields)
    for _ in range(5):
        harness.turn()

    harness.broker.delete_topic("orders")
    harness.topic("orders")
    for _ in values:
        other.produce("orders", harness.batch(b"z" * 700_000))
    records = client.receive().responses[0].partitions[0].records

    found = [record.value for _, data in whole_batches(records) for record in decode_records(data)]
    assert found == values


@pytest.mark.parametrize("durability", ["os", "fsync"])
def test_a_client_that_disconnects_during_requests_affects_no_other(
    open_harness: Any, durability: str
) -> None:
    harness = open_harness(durability=durability)
    harness.topic("orders")
    gone, other = harness.client(), harness.client()
    gone.produce("orders", harness.batch(b"a" * 200))
    for _ in range(20):
        gone.send(PRODUCE, 9, **produce_fields("orders", harness.batch(b"b" * 200)))
    gone.send(FETCH, 11, **fetch_fields({0: 21}, max_wait=60_000))
    gone.socket.close()

    answer = other.produce("orders", harness.batch(b"c" * 200))

    assert (answer.error_code, gone.closed_by_broker) == (0, True)
    assert not harness.broker.topics.partition("orders", 0).waiters
    assert list(harness.broker.connections) == [other.connection]


def test_answers_after_a_long_poll_keep_their_order(
    harness: Any,
) -> None:
    for topic in ("orders", "other"):
        harness.topic(topic)
    client, producer = harness.client(), harness.client()
    client.send(FETCH, 11, **fetch_fields({0: 0}, max_wait=60_000))
    for _ in range(3):
        client.send(PRODUCE, 9, **produce_fields("other", harness.batch(b"b" * 200)))
    client.receive_nothing()

    producer.produce("orders", harness.batch(b"a"))

    assert client.receive().responses[0].partitions[0].high_watermark == 1
    offsets = [client.receive().responses[0].partition_responses[0].base_offset for _ in range(3)]
    assert offsets == [0, 1, 2]


def test_a_partition_that_cannot_be_read_is_reported_and_affects_no_other(
    harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failed read in ListOffsets, or while a small fetch was copied, cost the whole request."""
    harness.topic("orders", 2)
    client = harness.client()
    client.produce("orders", harness.batch(b"a"))
    client.produce("orders", harness.batch(b"b"), partition=1)
    broken = harness.broker.log("orders", 0)
    for name in ("search_time", "read"):
        real = getattr(PartitionLog, name)

        def read(log: PartitionLog, *given: Any, real: Any = real, **named: Any) -> Any:
            if log is broken:
                raise OSError("the disk is gone")
            return real(log, *given, **named)

        monkeypatch.setattr(PartitionLog, name, read)
    listed = client.ask(
        2,
        5,
        replica_id=-1,
        topics=[
            {
                "name": "orders",
                "partitions": [{"partition_index": index, "timestamp": 0} for index in (0, 1)],
            }
        ],
    )
    fetched = client.ask(FETCH, 11, **fetch_fields({0: 0, 1: 0}))

    storage = ErrorCode.KAFKA_STORAGE_ERROR
    assert [part.error_code for part in listed.topics[0].partitions] == [storage, 0]
    assert [part.error_code for part in fetched.responses[0].partitions] == [storage, 0]
    assert values_of(fetched.responses[0].partitions[1].records) == [b"b"]


@pytest.mark.parametrize("rounds", range(1, 8))
def test_records_that_come_while_very_many_partitions_are_read_are_not_missed(
    harness: Any, monkeypatch: pytest.MonkeyPatch, rounds: int
) -> None:
    harness.topic("many", 350)
    reader, writer = harness.client(), harness.client()
    rows = [{"partition": index, "partition_max_bytes": 1000} for index in range(350)]
    monkeypatch.setattr("duolog.broker.event_loop.time_slices.SLICE_S", 0.0)
    topics = [{"topic": "many", "partitions": rows}]
    reader.send(FETCH, 11, max_wait=60_000, min_bytes=1, max_bytes=10**6, topics=topics)
    for _ in range(rounds):
        harness.broker.loop.run_once(0.005)

    assert writer.produce("many", harness.batch(b"v")).error_code == 0

    for _ in range(60):
        if reader.whole_answer():
            break
        harness.broker.loop.run_once(0.005)
    assert reader.whole_answer()
