"""Produce to very many partitions: worked through in slices, out of the receive buffer."""

from typing import Any

import pytest

from duolog.broker.controller import carry_out
from duolog.broker.event_loop import time_slices
from duolog.log.errors import LogDirOffline
from duolog.protocol.error_codes import ErrorCode
from duolog.record.records import BatchProducer
from unit.broker.conftest import PRODUCE, Client, Harness, produce_fields

MANY = 250
LIST_OFFSETS = 2


@pytest.fixture
def harness(open_harness: Any, monkeypatch: pytest.MonkeyPatch) -> Harness:
    """Return a broker whose time slices have one step each."""
    made: Harness = open_harness()
    made.topic("many", MANY)
    monkeypatch.setattr(time_slices, "SLICE_S", 0.0)
    return made


def fields(harness: Harness, value: bytes = b"v", acks: int = -1) -> dict[str, Any]:
    rows = [{"index": index, "records": harness.batch(value)} for index in range(MANY)]
    return {"acks": acks, "timeout": 9, "topic_data": [{"name": "many", "partition_data": rows}]}


def ends(harness: Harness) -> set[int]:
    return {partition.log.log_end_offset for partition in harness.broker.topics.find("many").served}


def last_of(harness: Harness) -> bytes:
    log = harness.broker.log("many", MANY - 1)
    return bytes(log.read_bytes(0, 1 << 20, up_to_offset=log.log_end_offset))


@pytest.mark.parametrize("version", [3, 5, 8, 9, 12])
def test_all_are_appended_and_answered(harness: Harness, version: int) -> None:
    client = harness.client()

    answer = client.ask(PRODUCE, version, **fields(harness))

    rows = answer.responses[0].partition_responses
    assert [(row.index, row.error_code, row.base_offset) for row in rows] == [
        (index, 0, 0) for index in range(MANY)
    ]


def test_batches_after_a_large_request_are_appended_after_it(harness: Harness) -> None:
    client = harness.client()
    small = produce_fields("many", harness.batch(b"second" * 30), MANY - 1)

    client.send(PRODUCE, 9, **fields(harness))
    client.send(PRODUCE, 9, **small)
    client.send(PRODUCE, 9, **fields(harness, b"third"))

    answers = [client.receive().responses[0].partition_responses[-1] for _ in range(3)]
    assert [(row.error_code, row.base_offset) for row in answers] == [(0, 0), (0, 1), (0, 2)]
    assert b"secondsecond" in last_of(harness)


def test_bytes_of_a_large_request_stay_valid_while_the_client_sends_more(harness: Harness) -> None:
    client = harness.client()
    frames = [client.frame(PRODUCE, 9, **fields(harness, b"%d" % number)) for number in range(40)]
    for _ in frames:
        client.expect(PRODUCE, 9)

    client.send_bytes(b"".join(frames))

    codes = {
        row.error_code for _ in frames for row in client.receive().responses[0].partition_responses
    }
    assert codes == {0}
    assert ends(harness) == {40}


@pytest.mark.parametrize("acks", [0, -1])
def test_a_large_request_completes_after_its_client_disconnects(
    harness: Harness, acks: int
) -> None:
    client = harness.client()
    rest = memoryview(client.frame(PRODUCE, 9, **fields(harness, acks=acks)))
    while rest:
        rest = rest[client.socket.send(rest) :]
        harness.broker.loop.run_once(0.001)
    while not client.connection._rests:  # noqa: SLF001
        harness.broker.loop.run_once(0.001)
    client.connection.close()

    for _ in range(5 * MANY):
        harness.broker.loop.run_once(0)

    assert ends(harness) == {1}


def test_a_large_request_with_acks_0_is_seen_by_later_requests(harness: Harness) -> None:
    client = harness.client()
    rows = [{"partition_index": MANY - 1, "timestamp": -1, "current_leader_epoch": -1}]
    client.send_bytes(client.frame(PRODUCE, 9, **fields(harness, acks=0)))

    answer = client.ask(
        LIST_OFFSETS, 7, replica_id=-1, topics=[{"name": "many", "partitions": rows}]
    )

    assert answer.topics[0].partitions[0].offset == 1


def test_a_request_that_cannot_be_read_to_its_end_appends_nothing(harness: Harness) -> None:
    client = harness.client()
    frame = client.frame(PRODUCE, 9, **fields(harness))
    cut = len(frame) - 40
    frame = (cut - 4).to_bytes(4) + frame[4:cut]

    client.send_bytes(frame)
    for _ in range(5 * MANY):
        harness.broker.loop.run_once(0)

    assert client.connection.closed
    assert ends(harness) == {0}


def test_a_disk_failure_during_a_batch_is_reported_to_all_requests(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = harness.client()
    log = harness.broker.log("many", 100)

    def refuse() -> None:
        raise log._health.fail(OSError("no"), "writing")  # noqa: SLF001

    monkeypatch.setattr(type(log), "write_staged", lambda self: refuse() if self is log else None)

    rows = client.ask(PRODUCE, 9, **fields(harness)).responses[0].partition_responses

    assert {row.error_code for row in rows} == {ErrorCode.KAFKA_STORAGE_ERROR}
    assert isinstance(harness.broker.rounds.failure, LogDirOffline)
    monkeypatch.undo()
    log._health.error = None  # noqa: SLF001  So that the broker can be stopped.


def test_an_unexpected_error_is_an_error_answer(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = harness.client()
    log = harness.broker.log("many", 100)
    append = type(log).append

    def fail(self: Any, batch: Any) -> Any:
        if self is log:
            raise ZeroDivisionError
        return append(self, batch)

    monkeypatch.setattr(type(log), "append", fail)
    rows = client.ask(PRODUCE, 9, **fields(harness)).responses[0].partition_responses
    monkeypatch.undo()

    assert {row.error_code for row in rows} == {ErrorCode.UNKNOWN_SERVER_ERROR}
    assert client.produce("many", harness.batch(b"v")).error_code == 0


def test_duplicates_wait_for_their_first_copies(open_harness: Any) -> None:
    harness = open_harness(durability="fsync")
    harness.topic("many", MANY)
    client: Client = harness.client()

    for _ in range(2):
        batch = harness.batch(b"v", producer=BatchProducer(7, 0, 0))
        rows = [{"index": index, "records": batch} for index in range(MANY)]
        topics = [{"name": "many", "partition_data": rows}]
        answer = client.ask(PRODUCE, 9, acks=-1, timeout=9, topic_data=topics)
        offsets = {row.base_offset for row in answer.responses[0].partition_responses}
        assert offsets == {0}


def test_a_topic_that_is_deleted_meanwhile_gets_nothing_more(
    harness: Harness, open_harness: Any
) -> None:
    """An append after the deletion would create the directory again, and the next start would fail on it."""
    client = harness.client()
    last = harness.broker.log("many", MANY - 1)
    client.send(PRODUCE, 9, **fields(harness))
    while ends(harness) != {0, 1}:
        harness.broker.loop.run_once(0.001)

    deletion = harness.broker.deleting_topic("many")
    rows = client.receive().responses[0].partition_responses
    carry_out(deletion)

    assert {row.error_code for row in rows} == {0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert last.log_end_offset == 0
    harness.stop()
    assert "many" not in open_harness().broker.topics
