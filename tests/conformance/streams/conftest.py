"""Kafka Streams for the tests in this folder."""

from collections.abc import Iterator

import pytest

from conformance.streams.as_kafka_streams import do_as_kafka_streams
from conformance.streams.judge import KafkaStreams
from conftest import RequireProgram


@pytest.fixture(scope="session")
def kafka_streams(
    require_program: RequireProgram, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KafkaStreams]:
    """Kafka Streams' test driver in a separate JVM, one for the whole run."""
    require_program("javac", package="openjdk-17-jdk-headless")
    require_program("mvn", package="maven")
    with KafkaStreams(tmp_path_factory.mktemp("kafka_streams")) as judge:
        yield judge


@pytest.fixture
def unaltered_kafka_streams(kafka_streams: KafkaStreams) -> KafkaStreams:
    """The same without deviations on either side: Duolog's defaults, unmodified Kafka Streams."""
    return kafka_streams


@pytest.fixture(autouse=True)
def _as_kafka_streams(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make Duolog follow Kafka Streams where it deviates on purpose, unless unmodified."""
    if (
        "kafka_streams" in request.fixturenames
        and "unaltered_kafka_streams" not in request.fixturenames
    ):
        do_as_kafka_streams(monkeypatch)
