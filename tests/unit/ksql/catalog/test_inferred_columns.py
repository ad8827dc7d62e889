"""Columns that come from the schema of a topic, and schemas that are no columns."""

import json
from collections.abc import Iterator

import pytest

from duolog.ksql.catalog.catalog import SourceInfo
from duolog.ksql.errors import SqlError
from duolog.ksql.session import SqlSession
from duolog.registry.in_process import InProcessRegistry
from duolog.schemas.schema import Language
from duolog.schemas.source import SchemaText, provide, withdraw

ADDRESS = "mock://test-inferred-columns"


@pytest.fixture
def registry() -> Iterator[InProcessRegistry]:
    made = InProcessRegistry()
    provide(ADDRESS, made)
    yield made
    withdraw(ADDRESS)


def created() -> SourceInfo:
    """Create a stream over the topic t, with the columns of its schemas."""
    session = SqlSession(given={"ksql.schema.registry.url": ADDRESS})
    for _ in session.run("CREATE STREAM s WITH (kafka_topic='t', format='AVRO');"):
        pass
    return session.catalog.sources["S"]


def avro(schema: object) -> SchemaText:
    return SchemaText(Language.AVRO, json.dumps(schema))


def record(name: str, **fields: str) -> dict[str, object]:
    named = [{"name": field, "type": kind} for field, kind in fields.items()]
    return {"type": "record", "name": name, "fields": named}


@pytest.mark.parametrize(
    ("part", "schema", "message"),
    [
        ("value", record("R", RowTime="long"), "'ROWTIME' is a reserved column name"),
        ("value", record("R", a="int", windowend="long"), "'WINDOWEND' is a reserved column name"),
        ("value", record("R"), "does not define any columns"),
        ("key", record("R"), "does not define any columns"),
    ],
)
def test_inferred_columns_are_refused_like_declared_ones(
    registry: InProcessRegistry, part: str, schema: object, message: str
) -> None:
    schemas = {"key": "long", "value": record("R", x="int"), part: schema}
    for name, of in schemas.items():
        registry.register(f"t-{name}", avro(of))

    with pytest.raises(SqlError) as refused:
        created()

    assert message in refused.value.message
    assert f"The {part} schema of topic t has" in refused.value.detail


def test_a_union_of_records_is_a_column_for_each(registry: InProcessRegistry) -> None:
    registry.register("t-key", avro("long"))
    registry.register("t-value", avro([record("Order", id="int"), record("Refund", why="string")]))

    source = created()

    assert [str(column) for column in source.columns] == [
        "`ROWKEY` BIGINT KEY",
        "`ORDER` STRUCT<`ID` INTEGER>",
        "`REFUND` STRUCT<`WHY` STRING>",
    ]
    assert source.value_format.wrap is None
