"""Requests of the usual form, staged together: nothing but their cost may differ."""

from typing import Any

import pytest

from duolog.protocol.error_codes import ErrorCode
from duolog.record.records import BatchProducer

PRODUCE, METADATA, INCREMENTAL_ALTER_CONFIGS = 0, 3, 44


def fields(*rows: tuple[str, int, bytes], acks: int = -1) -> dict[str, Any]:
    return {
        "acks": acks,
        "timeout": 1000,
        "topic_data": [
            {"name": name, "partition_data": [{"index": index, "records": data}]}
            for name, index, data in rows
        ],
    }


def test_usual_and_other_requests_of_one_burst_are_answered_in_their_order(harness: Any) -> None:
    harness.topic("a", 2)
    client = harness.client()
    data = harness.batch(b"x" * 200)
    client.produce("a", data)  # The first request goes the long way, and allows the time.
    requests = [
        (PRODUCE, 9, fields(("a", 0, data))),
        (PRODUCE, 11, fields(("a", 1, data), acks=1)),
        (PRODUCE, 7, fields(("a", 0, data))),
        (METADATA, 12, {"topics": [{"name": "a"}]}),
        (PRODUCE, 12, fields(("a", 0, data))),
        (PRODUCE, 9, fields(("a", 0, data), ("a", 1, data))),
        (PRODUCE, 9, fields(("a", 7, data))),
        (PRODUCE, 9, fields(("missing", 0, data))),
        (PRODUCE, 9, fields(("a", 1, data))),
    ]
    for key, version, values in requests:
        client.send(key, version, **values)

    answers = [client.receive() for _ in requests]

    found = [
        [
            (row.error_code, row.base_offset)
            for topic in answer.responses
            for row in topic.partition_responses
        ]
        for answer in answers
        if hasattr(answer, "responses")
    ]
    assert found == [
        [(0, 1)],
        [(0, 0)],
        [(0, 2)],
        [(0, 3)],
        [(0, 4), (0, 1)],
        [(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)],
        [(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)],
        [(0, 2)],
    ]
    assert answers[3].topics[0].name == "a"


@pytest.mark.parametrize("durability", ["os", "fsync"])
def test_a_thousand_requests_at_once_are_all_answered_in_order(
    open_harness: Any, durability: str
) -> None:
    harness = open_harness(durability=durability)
    harness.topic("a")
    client = harness.client()
    data = harness.batch(b"x" * 150)
    client.produce("a", data)
    for _ in range(1000):
        client.send(PRODUCE, 9, **fields(("a", 0, data)))

    answers = [client.receive().responses[0].partition_responses[0] for _ in range(1000)]

    assert [row.base_offset for row in answers] == list(range(1, 1001))


def test_a_failed_write_is_reported_to_every_request_of_the_burst(
    harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.topic("a")
    client = harness.client()
    data = harness.batch(b"x" * 150)
    client.produce("a", data)

    def refuse(*_: object) -> None:
        raise OSError(28, "no space left")

    monkeypatch.setattr("duolog.log.partition.partition_log.PartitionLog.write_staged", refuse)
    for _ in range(3):
        client.send(PRODUCE, 9, **fields(("a", 0, data)))

    answers = [client.receive().responses[0].partition_responses[0] for _ in range(3)]

    assert {row.error_code for row in answers} == {ErrorCode.KAFKA_STORAGE_ERROR}
    assert client.produce("a", data).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert harness.broker.log("a", 0).high_watermark == 1
    monkeypatch.undo()  # The stop that follows may write again.


@pytest.mark.parametrize(
    ("setting", "value", "code"),
    [
        ("message.timestamp.after.max.ms", "0", ErrorCode.INVALID_TIMESTAMP),
        ("cleanup.policy", "compact", ErrorCode.INVALID_RECORD),
        ("max.message.bytes", "100", ErrorCode.MESSAGE_TOO_LARGE),
    ],
)
def test_a_change_of_config_holds_from_the_next_request_on(
    harness: Any, setting: str, value: str, code: ErrorCode
) -> None:
    harness.topic("a")
    client = harness.client()
    now_ms = harness.broker.clock.now_ms()
    soon = harness.batch_at(now_ms + 600_000, b"x" * 150, key=None)
    taken = client.produce("a", soon)
    change = {"name": setting, "config_operation": 0, "value": value}

    client.ask(
        INCREMENTAL_ALTER_CONFIGS,
        1,
        resources=[{"resource_type": 2, "resource_name": "a", "configs": [change]}],
    )

    assert (taken.error_code, client.produce("a", soon).error_code) == (0, code)


def test_a_transactional_batch_is_refused_in_a_burst_too(harness: Any) -> None:
    harness.topic("a")
    client = harness.client()
    client.produce("a", harness.batch(b"x" * 150))
    sent_by = BatchProducer(7, 0, 0, transactional=True)

    answer = client.produce("a", harness.batch(b"x" * 150, producer=sent_by))

    assert answer.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def test_a_recreated_topic_accepts_records(harness: Any) -> None:
    harness.topic("a")
    client = harness.client()
    data = harness.batch(b"x" * 150)
    for _ in range(3):
        client.produce("a", data)
    harness.broker.delete_topic("a")
    gone = client.produce("a", data)
    harness.topic("a")

    assert gone.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert client.produce("a", data).base_offset == 0
