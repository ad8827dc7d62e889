"""The processing log as a stream: declared by a property, and read by queries."""

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from duolog.runtime.sql.engine import SqlEngine
from duolog.runtime.sql.processing_log import (
    STREAM_AUTO_CREATE,
    STREAM_NAME,
    TOPIC_AUTO_CREATE,
    TOPIC_PARTITIONS,
    declare,
)
from duolog.testing import EmbeddedCluster
from duolog.testing.client import Client
from unit.runtime.sql.fake_queries import FakeStarter, answers_of

Opened = Callable[[dict[str, str]], SqlEngine]
WANTED = {STREAM_AUTO_CREATE: "true", "auto.offset.reset": "earliest"}
KINDS = (
    "deserializationError",
    "recordProcessingError",
    "productionError",
    "serializationError",
    "kafkaStreamsThreadError",
)


@pytest.fixture
def opened(cluster: EmbeddedCluster, service: str, tmp_path: Path) -> Iterator[Opened]:
    """Opens engines of one service with properties."""
    engines: list[SqlEngine] = []

    def open_one(properties: dict[str, str]) -> SqlEngine:
        engine = SqlEngine(
            cluster.bootstrap_servers,
            data=tmp_path / "data",
            service_id=service,
            properties=properties,
            starter=FakeStarter(),
        )
        engines.append(engine)
        return engine

    yield open_one
    for engine in engines:
        engine.close()


def entry(kind: int, **fields: object) -> str:
    """Return an entry as the kernel writes it."""
    message = {name: fields if at == kind else None for at, name in enumerate(KINDS)}
    return json.dumps(
        {
            "level": "ERROR",
            "logger": "processing.CSAS_LATE_0.source",
            "time": 1234567890123,
            "message": {"type": kind, **message},
        }
    )


def test_entries_of_all_kinds_are_rows_of_the_stream(
    cluster: EmbeddedCluster, opened: Opened
) -> None:
    engine = opened(WANTED)
    engine.start()
    client = Client(cluster.bootstrap_servers)
    log = engine.processing_log
    causes = ["its value is not JSON", "end of text"]
    client.produce(
        log,
        None,
        entry(
            0, target="value", errorMessage="bad", recordB64="e25v", cause=causes, topic="orders"
        ),
    )
    client.produce(log, None, entry(1, errorMessage="div", record="{}", cause=["zero"]))
    client.produce(log, None, entry(2, errorMessage="too large"))
    client.produce(
        log, None, entry(3, target="key", errorMessage="x", record="r", cause=[], topic="t")
    )
    client.produce(log, None, entry(4, errorMessage="dead", threadName="main", cause=["oom"]))

    (rows,) = answers_of(
        engine,
        "SELECT logger, level, time, message->type, "
        "message->deserializationError->recordB64, message->deserializationError->cause[2], "
        "message->deserializationError->`topic`, message->recordProcessingError->record, "
        "message->productionError->errorMessage, message->serializationError->target, "
        "message->kafkaStreamsThreadError->threadName "
        "FROM KSQL_PROCESSING_LOG EMIT CHANGES LIMIT 5;",
    )

    head = ("processing.CSAS_LATE_0.source", "ERROR", 1234567890123)
    assert rows == [
        (*head, 0, "e25v", "end of text", "orders", None, None, None, None),
        (*head, 1, None, None, None, "{}", None, None, None),
        (*head, 2, None, None, None, None, "too large", None, None),
        (*head, 3, None, None, None, None, None, "key", None),
        (*head, 4, None, None, None, None, None, None, "main"),
    ]


def test_without_the_property_there_is_neither_stream_nor_topic(opened: Opened) -> None:
    engine = opened({})
    engine.start()

    assert not engine.catalog.sources
    assert engine.processing_log not in engine.topics.partitions()


def test_the_stream_is_declared_once_by_all_servers_of_a_service(opened: Opened) -> None:
    first, second = opened(WANTED), opened(WANTED)

    declare(first.service)
    declare(second.service)
    declare(first.service)

    assert list(second.catalog.sources) == ["KSQL_PROCESSING_LOG"]
    assert second.service.last_command == 0  # One statement.


def test_a_dropped_stream_is_declared_again_by_the_next_start(opened: Opened) -> None:
    engine = opened(WANTED)
    declare(engine.service)
    answers_of(engine, "DROP STREAM ksql_processing_log;")

    assert not engine.catalog.sources

    declare(opened(WANTED).service)
    engine.follow()

    assert list(engine.catalog.sources) == ["KSQL_PROCESSING_LOG"]


def test_name_and_topic_can_be_chosen(opened: Opened, service: str) -> None:
    engine = opened(
        {
            **WANTED,
            STREAM_NAME: "failures",
            "ksql.logging.processing.topic.name": f"{service}wrong",
            TOPIC_PARTITIONS: "3",
        }
    )
    declare(engine.service)

    assert engine.catalog.sources["FAILURES"].topic == f"{service}wrong"
    assert engine.topics.partitions()[f"{service}wrong"] == 3


def test_an_existing_topic_is_used_as_it_is(opened: Opened) -> None:
    engine = opened({**WANTED, TOPIC_PARTITIONS: "3"})
    engine.topics.create(engine.processing_log, 2, None, {})

    declare(engine.service)

    assert engine.topics.partitions()[engine.processing_log] == 2
    assert "KSQL_PROCESSING_LOG" in engine.catalog.sources


def test_the_topic_alone_can_be_created(opened: Opened) -> None:
    engine = opened({TOPIC_AUTO_CREATE: "true"})
    declare(engine.service)

    assert engine.topics.partitions()[engine.processing_log] == 1
    assert not engine.catalog.sources


@pytest.mark.parametrize(
    "wrong",
    [{STREAM_NAME: "no name"}, {TOPIC_PARTITIONS: "many"}, {STREAM_NAME: "orders"}],
    ids=["name", "partitions", "taken"],
)
def test_a_failure_is_logged_and_the_service_starts(
    opened: Opened, service: str, wrong: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    engine = opened({**WANTED, **wrong})
    answers_of(
        engine,
        f"CREATE STREAM orders (a INT) WITH (kafka_topic='{service}o', partitions=1, value_format='json');",
    )

    with caplog.at_level(logging.WARNING, "duolog.runtime.sql.processing_log"):
        engine.start()

    assert list(engine.catalog.sources) == ["ORDERS"]
    assert ["processing log" in record.message for record in caplog.records] == [True]
