"""Requests that name many things: some of them twice, and some that take long."""

import time
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from duolog.protocol.error_codes import ErrorCode

METADATA, CREATE_TOPICS, DELETE_TOPICS, CREATE_PARTITIONS = 3, 19, 20, 37
INCREMENTAL_ALTER_CONFIGS, LIST_OFFSETS, DELETE_RECORDS = 44, 2, 21


def test_topics_whose_names_are_alike_in_metrics_collide(harness: Any) -> None:
    harness.topic("a.b")
    client = harness.client()

    topics = [{"name": "a_b", "num_partitions": 1, "replication_factor": 1}]
    refused = client.ask(CREATE_TOPICS, 7, topics=topics).topics[0].error_code
    client.ask(DELETE_TOPICS, 1, topic_names=["a.b"])
    taken = client.ask(CREATE_TOPICS, 7, topics=topics).topics[0].error_code

    assert (refused, taken) == (ErrorCode.INVALID_TOPIC_EXCEPTION, ErrorCode.NONE)


def test_resources_named_twice_in_a_request_are_not_changed(harness: Any) -> None:
    harness.topic("a", 2)
    client = harness.client()
    change = {"name": "retention.ms", "config_operation": 0, "value": "5"}

    grown = client.ask(
        CREATE_PARTITIONS,
        3,
        topics=[{"name": "a", "count": count, "assignments": None} for count in (3, 4)],
    )
    altered = client.ask(
        INCREMENTAL_ALTER_CONFIGS,
        1,
        resources=[{"resource_type": 2, "resource_name": "a", "configs": [change]}] * 2,
    )
    gone = client.ask(DELETE_TOPICS, 1, topic_names=["a", "a"])

    bad = ErrorCode.INVALID_REQUEST
    assert [row.error_code for row in grown.results] == [bad]
    assert [row.error_code for row in altered.responses] == [bad, bad]
    assert [row.error_code for row in gone.responses] == [bad]
    topic = harness.broker.topics.find("a")
    assert (len(topic.partitions), topic.configs) == (2, {})


def test_metadata_answers_once_for_what_is_asked_twice_and_goes_by_the_id(harness: Any) -> None:
    harness.topic("a")
    client = harness.client()
    by_name = {"name": "a", "topic_id": None}
    by_wrong_id = {"name": "a", "topic_id": UUID(int=5)}

    topics = client.ask(METADATA, 12, topics=[by_name, by_name, by_wrong_id]).topics

    assert [topic.error_code for topic in topics] == [0, ErrorCode.UNKNOWN_TOPIC_ID]


@pytest.mark.parametrize("version", range(8, 14))
def test_metadata_says_what_everybody_may_do_when_it_is_asked(harness: Any, version: int) -> None:
    harness.topic("a")
    client = harness.client()
    topics = [{"name": "a", "topic_id": None}]

    asked = client.ask(
        METADATA, version, topics=topics, include_topic_authorized_operations=True
    ).topics[0]
    not_asked = client.ask(METADATA, version, topics=topics).topics[0]

    assert asked.topic_authorized_operations == 3576
    assert not_asked.topic_authorized_operations == -(2**31)


def test_many_topics_in_one_request_do_not_hold_up_other_connections(
    harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duolog.broker.event_loop.time_slices.SLICE_S", 0.0)
    busy, other = harness.client(), harness.client()
    topics = [{"name": f"t{i}", "num_partitions": 1, "replication_factor": 1} for i in range(20)]

    busy.send(CREATE_TOPICS, 7, topics=topics)
    harness.turn()
    found = other.ask(METADATA, 12, topics=None).topics
    answer = busy.receive()

    assert len(found) < 20
    assert [row.error_code for row in answer.topics] == [0] * 20


def test_records_that_are_deleted_with_their_topic_leave_other_answers_as_they_are(
    harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Both requests are prepared together, also on a machine that does other things.
    monkeypatch.setattr("duolog.broker.event_loop.time_slices.SLICE_S", 10.0)
    harness.topic("goes", 3)
    harness.topic("stays")
    client, other = harness.client(), harness.client()
    for topic, count in (("goes", 3), ("stays", 1)):
        for index in range(count):
            client.produce(topic, harness.batch(b"x"), partition=index)
    asked = [
        {"name": "stays", "partitions": [{"partition_index": 0, "offset": 1}]},
        {"name": "goes", "partitions": [{"partition_index": i, "offset": 1} for i in range(3)]},
    ]

    client.ask(DELETE_RECORDS, 2, topics=[], timeout=1000)  # The first ones wait for their schemas.
    other.ask(DELETE_TOPICS, 1, topic_names=[])

    client.send(DELETE_RECORDS, 2, topics=asked, timeout=1000)
    other.send(DELETE_TOPICS, 1, topic_names=["goes"])
    answer = client.receive()

    stays, goes = answer.topics
    assert [row.low_watermark for row in stays.partitions] == [1]
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert [row.error_code for row in goes.partitions] == [unknown] * 3
    assert [row.error_code for row in other.receive().responses] == [ErrorCode.NONE]


def test_one_request_for_metadata_creates_a_bounded_number_of_partitions(
    open_harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of the real bound the disk would be full of directories, and a slow disk late.
    monkeypatch.setattr("duolog.broker.apis.k03_metadata.PARTITIONS_AT_ONCE_MAX", 10)
    harness = open_harness(num_partitions="4")
    client = harness.client()

    def ask(*names: str) -> list[int]:
        topics = [{"name": name, "topic_id": None} for name in names]
        answer = client.ask(METADATA, 12, topics=topics, allow_auto_topic_creation=True)
        return [topic.error_code for topic in answer.topics]

    assert ask("a", "b", "c") == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 3
    assert ask("a", "b") == [ErrorCode.NONE] * 2


def test_times_looked_for_in_many_partitions_do_not_hold_up_other_connections(
    harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duolog.broker.event_loop.time_slices.SLICE_S", 0.0)
    harness.topic("a", 20)
    busy, other = harness.client(), harness.client()
    rows = [{"partition_index": index, "timestamp": -2} for index in range(20)]

    busy.send(LIST_OFFSETS, 1, topics=[{"name": "a", "partitions": rows}])
    for _ in range(3):
        harness.turn()
    early = busy.drain()
    found = other.ask(METADATA, 12, topics=None).topics
    answer = busy.receive()

    assert early == 0
    assert len(found) == 1
    assert [row.partition_index for row in answer.topics[0].partitions] == list(range(20))


def test_a_failure_for_one_topic_is_reported_and_the_others_are_deleted(
    harness: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    harness.topic("a")
    harness.topic("b")
    deleting = harness.broker.topics.deleting

    def deleting_a_only(name: str) -> Any:
        if name != "a":
            raise ZeroDivisionError
        return deleting(name)

    monkeypatch.setattr(harness.broker.topics, "deleting", deleting_a_only)

    answer = harness.client().ask(DELETE_TOPICS, 1, topic_names=["a", "b"])

    codes = {row.name: row.error_code for row in answer.responses}
    assert codes == {"a": ErrorCode.NONE, "b": ErrorCode.UNKNOWN_SERVER_ERROR}
    assert [topic.name for topic in harness.broker.topics] == ["b"]
    assert "a change failed" in caplog.text


def test_the_files_of_a_deleted_topic_are_gone_after_a_while(harness: Any, tmp_path: Path) -> None:
    harness.topic("a")
    client = harness.client()
    client.produce("a", harness.batch(b"x"))
    topics = tmp_path / "data" / "topics"
    before = list(topics.iterdir())

    client.ask(DELETE_TOPICS, 1, topic_names=["a"])

    assert len(before) == 1
    deadline = time.monotonic() + 60
    while list(topics.iterdir()):
        assert time.monotonic() < deadline, "the files are still there"
