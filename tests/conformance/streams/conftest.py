"""Kafka Streams for the tests in this folder."""

from collections.abc import Iterator

import pytest

from conformance.streams.judge import KafkaStreams
from conftest import RequireProgram


@pytest.fixture(scope="session")
def kafka_streams(
    require_program: RequireProgram, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KafkaStreams]:
    """Kafka Streams' test driver in a JVM of its own, one for the whole run."""
    require_program("javac", package="openjdk-17-jdk-headless")
    require_program("mvn", package="maven")
    with KafkaStreams(tmp_path_factory.mktemp("kafka_streams")) as judge:
        yield judge
