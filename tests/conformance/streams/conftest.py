"""Kafka Streams for the tests in this folder."""

from collections.abc import Iterator

import pytest

from conformance.streams.deviations import undo_deviations
from conformance.streams.oracle import KafkaStreams
from conftest import RequireProgram


@pytest.fixture(scope="session")
def kafka_streams(
    require_program: RequireProgram, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KafkaStreams]:
    """Kafka Streams' test driver in a separate JVM, one for the whole run."""
    require_program("javac", package="openjdk-17-jdk-headless")
    require_program("mvn", package="maven")
    with KafkaStreams(tmp_path_factory.mktemp("kafka_streams")) as started:
        yield started


@pytest.fixture
def unmodified_kafka_streams(kafka_streams: KafkaStreams) -> KafkaStreams:
    """The same without deviations on either side: Duolog's defaults, unmodified Kafka Streams."""
    return kafka_streams


@pytest.fixture(autouse=True)
def _undo_deviations(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make Duolog follow Kafka Streams where it deviates on purpose, unless unmodified."""
    if (
        "kafka_streams" in request.fixturenames
        and "unmodified_kafka_streams" not in request.fixturenames
    ):
        undo_deviations(monkeypatch)
