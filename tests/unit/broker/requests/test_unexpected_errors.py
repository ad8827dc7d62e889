"""An unexpected exception becomes an error answer to its request; the connection stays open."""

import logging
from typing import Any

import pytest

from duolog.broker.apis import k00_produce, k03_metadata
from duolog.broker.fetch import fetch_sessions
from duolog.broker.produce import produce_burst
from duolog.log import PartitionLog
from duolog.protocol.error_codes import ErrorCode
from unit.broker.transactional_producer import coordinate

PRODUCE, FETCH, METADATA = 0, 1, 3
SURPRISE = ErrorCode.UNKNOWN_SERVER_ERROR


def fail_unexpectedly(*_: Any, **__: Any) -> Any:
    raise ZeroDivisionError("unexpected")


def fetch_fields(harness: Any, **more: Any) -> dict[str, Any]:
    return {
        "max_wait": 60_000,
        "min_bytes": 1,
        "max_bytes": 1 << 20,
        "session_epoch": -1,
        "topics": [
            {
                "topic": "orders",
                "topic_id": harness.broker.topics.find("orders").id,
                "partitions": [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 9999}],
            }
        ],
        **more,
    }


def errors_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.parametrize("version", range(3, 13))
def test_a_produce_request_is_answered_with_an_error(
    harness: Any, version: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    harness.topic("orders")
    client = harness.client()
    with monkeypatch.context() as patch:
        patch.setattr(PartitionLog, "append", fail_unexpectedly)
        answer = client.produce("orders", harness.batch(b"a" * 150), version=version)

    assert (answer.error_code, answer.base_offset) == (SURPRISE, -1)
    assert errors_of(caplog) == ["request failed"]
    assert client.produce("orders", harness.batch(b"a" * 150), version=version).error_code == 0


def test_answers_stay_in_order_around_it(harness: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    harness.topic("orders")
    client = harness.client()
    append = PartitionLog.append
    calls: list[int] = []

    def second_fails(log: PartitionLog, batch: memoryview) -> Any:
        calls.append(1)
        return fail_unexpectedly() if len(calls) == 2 else append(log, batch)

    monkeypatch.setattr(PartitionLog, "append", second_fails)
    frames = []
    for _ in range(3):
        data = [{"index": 0, "records": harness.batch(b"a" * 150)}]
        topics = [{"name": "orders", "partition_data": data}]
        frames.append(client.frame(PRODUCE, 9, acks=-1, timeout=1, topic_data=topics))
        client.expect(PRODUCE, 9)
    client.send_bytes(b"".join(frames))

    answers = [client.receive().responses[0].partition_responses[0] for _ in range(3)]

    assert [(a.error_code, a.base_offset) for a in answers] == [(0, 0), (SURPRISE, -1), (0, 1)]


def test_a_producer_that_waits_for_no_answer_loses_its_connection(
    harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.topic("orders")
    client = harness.client()
    monkeypatch.setattr(k00_produce, "check_batch", fail_unexpectedly)
    monkeypatch.setattr(produce_burst, "read_single", lambda *_: None)
    data = [{"index": 0, "records": harness.batch(b"a")}]
    topics = [{"name": "orders", "partition_data": data}]

    client.send_bytes(client.frame(PRODUCE, 9, acks=0, timeout=1, topic_data=topics))

    assert client.closed_by_broker


@pytest.mark.parametrize("version", range(4, 18))
def test_a_fetch_request_is_answered_with_an_error(
    harness: Any, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.topic("orders")
    client = harness.client()
    monkeypatch.setattr(fetch_sessions, "fetch", fail_unexpectedly)

    answer = client.ask(FETCH, version, **fetch_fields(harness))

    (partition,) = answer.responses[0].partitions
    assert (partition.partition_index, partition.error_code) == (0, SURPRISE)
    assert partition.high_watermark == -1


def test_a_fetch_that_waits_is_answered_with_an_error(
    harness: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    harness.topic("orders")
    reader = harness.client()
    reader.send(FETCH, 11, **fetch_fields(harness))
    reader.receive_nothing()
    monkeypatch.setattr(fetch_sessions, "fetch", fail_unexpectedly)

    harness.client().produce("orders", harness.batch(b"a"))

    assert reader.receive().responses[0].partitions[0].error_code == SURPRISE
    assert errors_of(caplog) == ["fetch failed"]


@pytest.mark.parametrize("version", range(14))
def test_a_metadata_request_is_answered_with_an_error(
    harness: Any, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.topic("orders")
    client = harness.client()
    wanted = [{"name": "orders", "topic_id": None}]
    with monkeypatch.context() as patch:
        patch.setattr(k03_metadata, "metadata_response_start", fail_unexpectedly)
        answer = client.ask(METADATA, version, topics=wanted)

    assert [topic.error_code for topic in answer.topics] == [SURPRISE]
    assert client.ask(METADATA, version, topics=wanted).topics[0].error_code == 0


def test_a_group_record_that_cannot_be_applied_does_not_affect_other_answers(
    harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a record used to end its round, and with it the broker: other requests got no answer."""
    coordinate(harness)
    harness.topic("t")
    committer, producer = harness.client(), harness.client()
    row = {"partition_index": 0, "committed_offset": 7}
    commit = {"topics": [{"name": "t", "partitions": [row]}], "generation_id_or_member_epoch": -1}
    committer.ask(8, 7, group_id="before", **commit)
    coordinator = harness.broker.groups._coordinator  # noqa: SLF001

    monkeypatch.setattr(coordinator.store, "replay", fail_unexpectedly)

    committer.send(8, 7, group_id="g", **commit)
    produced = producer.produce("t", harness.batch(b"v"))
    harness.turn()

    assert produced.error_code == 0
    assert harness.broker.timers.failures == 1
