"""Queries without a JVM that meet a schema registry that does not answer."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from duolog.core.errors import DuologError
from duolog.registry.in_process import InProcessRegistry
from duolog.runtime.sql.answers import Rows
from duolog.runtime.sql.engine import SqlEngine
from duolog.schemas.schema import Schema
from duolog.schemas.source import RegistryAwayError, provide, source_at, withdraw
from duolog.serde.wire_format import SchemaUnavailableError
from duolog.testing.cluster import EmbeddedCluster

ADDRESS = "mock://test-queries-registry-away"


class Changing(InProcessRegistry):
    """A registry that answers, or does not."""

    away = False

    def by_id(self, schema_id: int) -> Schema:
        if self.away:
            raise RegistryAwayError("the schema registry does not answer")
        return super().by_id(schema_id)


@pytest.fixture
def registry() -> Iterator[Changing]:
    found = Changing()
    provide(ADDRESS, found)
    yield found
    withdraw(ADDRESS)


@pytest.fixture
def engine(
    cluster: EmbeddedCluster, service: str, registry: Changing, tmp_path: Path
) -> Iterator[SqlEngine]:
    assert registry is source_at(ADDRESS)
    settings = {"ksql.schema.registry.url": ADDRESS, "auto.offset.reset": "earliest"}
    with SqlEngine(
        cluster.bootstrap_servers, data=tmp_path, service_id=service, properties=settings
    ) as made:
        list(
            made.execute(
                "CREATE TABLE t (id INT PRIMARY KEY, v INT) "
                f"WITH (kafka_topic='{service}t', value_format='AVRO', partitions=1);"
                "INSERT INTO t (id, v) VALUES (1, 5); INSERT INTO t (id, v) VALUES (2, 6);"
            )
        )
        yield made


def rows_of(engine: SqlEngine, text: str) -> list[tuple[object, ...]]:
    (answer,) = engine.execute(text)
    assert isinstance(answer, Rows)
    return sorted(answer.rows)


@pytest.mark.parametrize("changes", ["", " EMIT CHANGES LIMIT 2"])
def test_a_query_fails_and_skips_no_record(
    engine: SqlEngine, registry: Changing, changes: str
) -> None:
    text = f"SELECT id, v FROM t{changes};"
    registry.away = True

    with pytest.raises(DuologError) as caught:
        rows_of(engine, text)
    registry.away = False

    assert isinstance(caught.value, SchemaUnavailableError)
    assert rows_of(engine, text) == [(1, 5), (2, 6)]
