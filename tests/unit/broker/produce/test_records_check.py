"""The broker validates the records of a batch if their content matters, and does so in a helper thread if there are many."""

import socket
from typing import Any

import pytest
from crc32c import crc32c

from duolog.broker.produce import records_check
from duolog.protocol.error_codes import ErrorCode
from duolog.record import Compression, Record, encode_batch
from duolog.record.batch import crc_matches, read_header
from duolog.record.records import BatchProducer, decode_records
from unit.broker.conftest import Client, Harness, produce_fields
from unit.broker.requests.test_longest_round import HOLD_S, longest_round
from unit.broker.requests.test_longest_round import quick_switch as quick_switch  # noqa: PLC0414

PRODUCE = 0
LIST_OFFSETS = 2
MAX_TIMESTAMP = -3
CODECS = [Compression.NONE, Compression.ZSTD]


def many_records(count: int, *, codec: Compression = Compression.NONE, keyless: int = -1) -> bytes:
    records = [
        Record(0, 1000, None if number == keyless else b"%d" % number, b"v")
        for number in range(count)
    ]
    return bytes(encode_batch(records, compression=codec))


def with_max_timestamp(batch: bytes | bytearray, max_timestamp: int) -> bytes:
    """Return the batch with another largest time, and a right checksum."""
    changed = bytearray(batch)
    changed[35:43] = max_timestamp.to_bytes(8)
    changed[17:21] = crc32c(changed[21:]).to_bytes(4)
    return bytes(changed)


def turn_until_closed(harness: Harness, client: Client) -> None:
    while not client.connection.closed:
        harness.turn()


@pytest.fixture
def opened_in_background(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the number of batches per request that were opened outside the loop."""
    found: list[int] = []
    open_all = records_check.open_all

    def counted(batches: records_check.ToOpen, now_ms: int) -> records_check.Opened:
        found.append(sum(entry is not None for entry in batches))
        return open_all(batches, now_ms)

    monkeypatch.setattr("duolog.broker.apis.k00_produce.open_all", counted)
    return found


@pytest.mark.usefixtures("quick_switch")
@pytest.mark.parametrize("codec", CODECS)
def test_many_records_for_a_compacted_topic_do_not_hold_the_loop(
    harness: Harness, codec: Compression
) -> None:
    harness.topic("table", cleanup_policy="compact")
    client = harness.client()
    batch = many_records(20_000, codec=codec)
    frame = client.frame(PRODUCE, 9, **produce_fields("table", batch))
    client.expect(PRODUCE, 9)

    longest = longest_round(harness, client, frame)

    answer = client.receive().responses[0].partition_responses[0]
    assert (answer.error_code, answer.base_offset) == (0, 0)
    assert longest < HOLD_S


@pytest.mark.parametrize("codec", CODECS)
def test_a_record_without_a_key_among_many_is_named(harness: Harness, codec: Compression) -> None:
    harness.topic("table", cleanup_policy="compact")

    answer = harness.client().produce("table", many_records(1000, codec=codec, keyless=700))

    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert [error.batch_index for error in answer.record_errors] == [700]
    assert harness.broker.log("table", 0).log_end_offset == 0


def test_few_small_records_are_checked_on_the_loop(
    harness: Harness, opened_in_background: list[int]
) -> None:
    harness.topic("table", cleanup_policy="compact")
    client = harness.client()

    assert client.produce("table", many_records(10, codec=Compression.LZ4)).error_code == 0
    assert opened_in_background == []
    assert client.produce("table", many_records(51)).error_code == 0
    assert opened_in_background == [1]


def test_a_small_batch_that_decompresses_to_many_bytes_is_checked_in_background(
    harness: Harness, opened_in_background: list[int]
) -> None:
    harness.topic("table", cleanup_policy="compact")
    large = encode_batch([Record(0, 1, b"k", bytes(1 << 20))], compression=Compression.ZSTD)

    answer = harness.client().produce("table", bytes(large))

    assert (answer.error_code, opened_in_background) == (0, [1])
    assert len(large) < 1024


def test_batches_of_one_connection_keep_their_order(harness: Harness) -> None:
    harness.topic("table", 2, cleanup_policy="compact")
    harness.topic("plain")
    client = harness.client()
    sizes = [500, 3, 200, 1, 1000, 2]
    sequence = 0
    for size in sizes:
        records = [Record(0, 1000, b"k", b"v")] * size
        batch = encode_batch(records, producer=BatchProducer(7, 0, sequence))
        client.send(PRODUCE, 9, **produce_fields("table", bytes(batch)))
        client.send(PRODUCE, 9, **produce_fields("plain", harness.batch(b"a")))
        sequence += size

    answers = [client.receive().responses[0].partition_responses[0] for _ in range(2 * len(sizes))]

    assert [answer.error_code for answer in answers] == [0] * len(answers)
    assert [answer.base_offset for answer in answers[::2]] == [0, 500, 503, 703, 704, 1704]
    assert [answer.base_offset for answer in answers[1::2]] == list(range(len(sizes)))


def test_a_later_request_sees_records_checked_in_background(harness: Harness) -> None:
    harness.topic("table", cleanup_policy="compact")
    client = harness.client()
    client.send(PRODUCE, 9, **produce_fields("table", many_records(1000)))
    asked = {"partition_index": 0, "timestamp": -1, "current_leader_epoch": -1}
    topics = [{"name": "table", "partitions": [asked]}]
    client.send(LIST_OFFSETS, 7, replica_id=-1, isolation_level=0, topics=topics)

    assert client.receive().responses[0].partition_responses[0].error_code == 0
    assert client.receive().topics[0].partitions[0].offset == 1000


def test_records_sent_with_acks_0_are_appended_after_their_client_disconnects(
    harness: Harness,
) -> None:
    harness.topic("table", cleanup_policy="compact")
    client = harness.client()
    for _ in range(3):
        frame = client.frame(PRODUCE, 9, **produce_fields("table", many_records(500), acks=0))
        client.send_bytes(frame)
    client.socket.shutdown(socket.SHUT_WR)

    turn_until_closed(harness, client)

    assert harness.broker.log("table", 0).high_watermark == 1500


def test_without_acks_a_record_without_a_key_closes_the_connection(harness: Harness) -> None:
    harness.topic("table", cleanup_policy="compact")
    client = harness.client()
    batch = many_records(500, keyless=3)
    client.send_bytes(client.frame(PRODUCE, 9, **produce_fields("table", batch, acks=0)))

    turn_until_closed(harness, client)

    assert harness.broker.log("table", 0).log_end_offset == 0


def test_records_being_checked_stay_valid_while_the_client_sends_more(harness: Harness) -> None:
    harness.topic("table", cleanup_policy="compact")
    client = harness.client()
    frames = [
        client.frame(PRODUCE, 9, **produce_fields("table", many_records(1000))) for _ in range(50)
    ]
    for _ in frames:
        client.expect(PRODUCE, 9)
    client.send_bytes(b"".join(frames))

    rows = [client.receive().responses[0].partition_responses[0] for _ in frames]

    assert [(row.error_code, row.base_offset) for row in rows] == [
        (0, number * 1000) for number in range(50)
    ]


def test_a_topic_that_is_compacted_meanwhile_takes_no_record_without_a_key(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.topic("table", message_timestamp_before_max_ms="1000000000000000")
    open_all = records_check.open_all

    def compacted_meanwhile(batches: records_check.ToOpen, now_ms: int) -> records_check.Opened:
        opened = open_all(batches, now_ms)
        topic = harness.broker.topics.find("table")
        topic.configure(harness.broker.topics.configs.for_produce({"cleanup.policy": "compact"}))
        return opened

    monkeypatch.setattr("duolog.broker.apis.k00_produce.open_all", compacted_meanwhile)

    answer = harness.client().produce("table", many_records(500, keyless=3))

    assert answer.error_code == ErrorCode.INVALID_RECORD


def test_an_unexpected_error_is_answered(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    harness.topic("table", cleanup_policy="compact")
    client = harness.client()

    def fails(_batches: records_check.ToOpen, _now_ms: int) -> records_check.Opened:
        raise MemoryError

    monkeypatch.setattr("duolog.broker.apis.k00_produce.open_all", fails)
    answer = client.produce("table", many_records(500))
    monkeypatch.undo()

    assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert client.produce("table", many_records(500)).base_offset == 0


# Times that a batch only claims


def first_with(client: Client, timestamp: int) -> int:
    asked = {"partition_index": 0, "timestamp": timestamp, "current_leader_epoch": -1}
    topics = [{"name": "orders", "partitions": [asked]}]
    answer = client.ask(LIST_OFFSETS, 7, replica_id=-1, isolation_level=0, topics=topics)
    found: int = answer.topics[0].partitions[0].offset
    return found


def test_a_time_ahead_that_no_record_has_is_corrected(harness: Harness) -> None:
    """A time index that believes it has no entry until the clock is there."""
    harness.topic("orders")
    client = harness.client()
    now_ms = harness.broker.clock.now_ms()
    batch = with_max_timestamp(encode_batch([Record(0, now_ms, b"k", b"v")]), now_ms + 3_000_000)

    assert client.produce("orders", batch).error_code == 0

    stored = client.fetch("orders", 0).records
    assert read_header(stored).max_timestamp == now_ms
    assert crc_matches(stored)
    assert first_with(client, now_ms + 1) == -1
    assert first_with(client, MAX_TIMESTAMP) == 0


@pytest.mark.usefixtures("quick_switch")
def test_the_largest_time_is_that_of_a_record_and_not_a_claim(harness: Harness) -> None:
    """ListOffsets for the largest time opened every batch on the loop, and found none."""
    harness.topic("orders")
    client = harness.client()
    now_ms = harness.broker.clock.now_ms()
    for number in range(20):
        records = [Record(0, now_ms - 10_000 + number % 12, b"k", b"v") for _ in range(20_000)]
        batch = encode_batch(records, compression=Compression.GZIP)
        assert client.produce("orders", with_max_timestamp(batch, now_ms + number)).error_code == 0
    asked = {"partition_index": 0, "timestamp": MAX_TIMESTAMP, "current_leader_epoch": -1}
    topics = [{"name": "orders", "partitions": [asked]}]
    frame = client.frame(LIST_OFFSETS, 7, replica_id=-1, isolation_level=0, topics=topics)
    client.expect(LIST_OFFSETS, 7)

    longest = longest_round(harness, client, frame)

    found = client.receive().topics[0].partitions[0]
    assert (found.offset, found.timestamp) == (11 * 20_000, now_ms - 10_000 + 11)
    assert longest < HOLD_S


@pytest.mark.parametrize("claimed", [0, 5000])
@pytest.mark.parametrize("count", [3, 300])
def test_a_compacted_topic_keeps_the_times_that_its_records_have(
    harness: Harness, claimed: int, count: int
) -> None:
    harness.topic("table", cleanup_policy="compact")
    client = harness.client()

    assert client.produce("table", with_max_timestamp(many_records(count), claimed)).error_code == 0

    stored = client.fetch("table", 0).records
    assert read_header(stored).max_timestamp == 1000
    assert crc_matches(stored)
    assert len(list(decode_records(stored))) == count


def test_a_batch_of_today_takes_the_short_way(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.topic("orders")
    client = harness.client()
    now_ms = harness.broker.clock.now_ms()
    batch = encode_batch([Record(0, now_ms + 10_000, b"k", b"v")] * 100)
    client.produce("orders", bytes(batch))
    monkeypatch.delattr("duolog.broker.apis.k00_produce._steps")

    assert client.produce("orders", bytes(batch)).base_offset == 100


def test_a_time_that_is_ahead_in_truth_is_taken(
    harness: Harness, opened_in_background: list[int]
) -> None:
    harness.topic("orders")
    now_ms = harness.broker.clock.now_ms()
    batch = encode_batch([Record(0, now_ms + 600_000, b"k", b"v")] * 100)

    answer: Any = harness.client().produce("orders", bytes(batch))

    assert (answer.error_code, opened_in_background) == (0, [1])


def test_a_few_large_records_are_checked_in_background(
    harness: Harness, opened_in_background: list[int]
) -> None:
    harness.topic("table", cleanup_policy="compact")
    client = harness.client()

    answers = [client.produce("table", harness.batch(b"v" * size)) for size in (8_000, 8_300)]

    assert [answer.error_code for answer in answers] == [0, 0]
    assert opened_in_background == [1]


@pytest.mark.parametrize("few", [True, False])
def test_the_invalid_batch_among_several_is_reported(harness: Harness, *, few: bool) -> None:
    """The same applies if topics whose records are not validated precede it."""
    harness.topic("plain", 2)
    harness.topic("table", 2, cleanup_policy="compact")
    good, wrong = many_records(10 if few else 100), many_records(10 if few else 100, keyless=7)
    rows = [[(0, good), (1, good)], [(0, good), (1, wrong)]]
    topics = [
        {
            "name": name,
            "partition_data": [{"index": index, "records": batch} for index, batch in data],
        }
        for name, data in zip(("plain", "table"), rows, strict=True)
    ]

    answer = harness.client().ask(PRODUCE, 9, acks=-1, timeout=9, topic_data=topics)

    codes = [[row.error_code for row in topic.partition_responses] for topic in answer.responses]
    assert codes == [[0, 0], [0, ErrorCode.INVALID_RECORD]]


def test_more_records_than_the_broker_reads_are_refused(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.topic("table", cleanup_policy="compact")
    monkeypatch.setattr("duolog.broker.produce.batch_validation.RECORDS_READ_MAX", 100)
    client = harness.client()

    answers = [client.produce("table", many_records(count)) for count in (100, 101)]

    assert [answer.error_code for answer in answers] == [0, ErrorCode.INVALID_RECORD]
