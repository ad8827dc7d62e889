"""Topics of the service itself: statements may read them, and neither write nor delete them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from duolog.core.errors import KafkaError
from duolog.ksql.errors import SqlError
from duolog.runtime.sql.command_log.command_topic import command_topic_of
from duolog.runtime.sql.service import SqlService
from duolog.runtime.sql.statement_runner import StatementRunner
from duolog.security.clients.brokers import Brokers
from duolog.testing.cluster import EmbeddedCluster


@pytest.fixture
def shared(cluster: EmbeddedCluster, service: str, tmp_path: Path) -> Iterator[SqlService]:
    found = SqlService(Brokers(cluster.bootstrap_servers), data=tmp_path, service_id=service)
    yield found
    found.close()


@pytest.fixture
def runner(shared: SqlService, service: str) -> StatementRunner:
    """Return a client that has declared a stream over the command topic, and another one."""
    found = StatementRunner(shared, shared.session())
    run(
        found,
        f"CREATE STREAM orders (id STRING KEY, n INT) WITH (KAFKA_TOPIC='{service}orders', "
        "VALUE_FORMAT='JSON', PARTITIONS=1); CREATE STREAM commands (id STRING KEY, n INT) "
        f"WITH (KAFKA_TOPIC='{command_topic_of(service)}', VALUE_FORMAT='JSON');",
    )
    return found


def run(runner: StatementRunner, sql: str) -> None:
    list(runner.execute(sql))


@pytest.mark.parametrize(
    "sql",
    [
        "DROP STREAM commands DELETE TOPIC;",
        "INSERT INTO commands VALUES ('a', 1);",
        "INSERT INTO commands SELECT * FROM orders;",
        "CREATE STREAM x WITH (KAFKA_TOPIC='__consumer_offsets') AS SELECT * FROM orders;",
        (
            "CREATE STREAM x (id STRING KEY) WITH (KAFKA_TOPIC='_duolog-ksql-other_command_topic', "
            "VALUE_FORMAT='JSON', PARTITIONS=1);"
        ),
        (
            "SET 'errors.dead.letter.queue.topic.name' = '{commands}'; "
            "CREATE STREAM x AS SELECT * FROM orders;"
        ),
    ],
)
def test_the_command_topic_is_neither_written_nor_deleted(
    runner: StatementRunner, service: str, sql: str
) -> None:
    before = runner.service.last_command

    with pytest.raises(SqlError, match="the reserved Kafka topic: _"):
        run(runner, sql.replace("{commands}", command_topic_of(service)))

    runner.service.follow()
    assert runner.service.last_command == before
    assert runner.catalog.sources.keys() >= {"COMMANDS"}
    assert command_topic_of(service) in runner.topics.partitions()


def test_a_stream_over_it_can_be_dropped_without_its_topic(runner: StatementRunner) -> None:
    run(runner, "DROP STREAM commands; CREATE TYPE after AS INT;")

    assert runner.catalog.sources.keys() == {"ORDERS"}


def test_a_statement_that_is_too_long_for_a_record_is_an_error_of_the_broker(
    runner: StatementRunner,
) -> None:
    with pytest.raises(KafkaError, match="cannot write to command topic") as raised:
        run(runner, f"CREATE TYPE long AS INT /* {'x' * 2_000_000} */;")

    assert "too large" in (raised.value.detail or "")
    run(runner, "CREATE TYPE short AS INT;")


def test_a_number_of_partitions_out_of_range_is_an_error_of_the_topic(
    runner: StatementRunner,
) -> None:
    with pytest.raises(KafkaError, match='could not create topic "wide"') as raised:
        run(
            runner,
            "CREATE STREAM wide (id STRING KEY) "
            "WITH (KAFKA_TOPIC='wide', VALUE_FORMAT='JSON', PARTITIONS=1000000000);",
        )

    assert "out of expected range" in json.dumps(raised.value.detail)
