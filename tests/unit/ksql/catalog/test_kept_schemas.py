"""A replay of a statement gets the answers that the registry gave the first time."""

import json

import pytest

from duolog.core.types import TIME, Type, parse_type
from duolog.ksql.catalog.catalog import Registered, SqlColumn, SqlFormat
from duolog.ksql.catalog.kept_schemas import KeptSchemas, keeping, kept_or_found
from duolog.ksql.session import SqlSession
from duolog.registry.in_process import InProcessRegistry
from duolog.schemas.schema import Language
from duolog.schemas.source import SchemaText, provide, withdraw

ADDRESS = "mock://test-kept"
STATEMENTS = (
    "CREATE STREAM s WITH (kafka_topic='t', value_format='AVRO');",
    "CREATE STREAM d (a INT) WITH (kafka_topic='d', value_format='AVRO');",
    "CREATE STREAM e (a INT) WITH (kafka_topic='t', value_format='AVRO');",
    "CREATE STREAM o AS SELECT * FROM s;",
    "INSERT INTO o SELECT * FROM s;",
)


def record(*names: str) -> SchemaText:
    fields = [{"name": name, "type": ["null", "int"], "default": None} for name in names]
    return SchemaText(Language.AVRO, json.dumps({"type": "record", "name": "R", "fields": fields}))


def test_a_replay_means_the_same_without_the_registry_and_after_other_versions() -> None:
    registry = InProcessRegistry()
    provide(ADDRESS, registry)
    registry.register("t-value", record("x"))
    first = SqlSession(given={"ksql.schema.registry.url": ADDRESS})
    kept = []
    for text in STATEMENTS:
        one = KeptSchemas()
        with keeping(one):
            list(first.run(text))
        kept.append(json.loads(json.dumps(one.answers)))
    withdraw(ADDRESS)

    again = SqlSession(given={"ksql.schema.registry.url": "mock://other"})
    for text, answers in zip(STATEMENTS, kept, strict=True):
        with keeping(KeptSchemas(answers)):
            list(again.run(text))

    assert again.catalog.sources == first.catalog.sources
    for name, source in first.catalog.sources.items():
        before = source.value_format.registered
        now = again.catalog.sources[name].value_format.registered
        assert before is not None
        assert now == Registered("mock://other", before.schema_id, before.text)
    sinks = [
        [
            query.planned.plan.sinks[0].value_format.option("id")
            for query in session.state.queries.values()
        ]
        for session in (first, again)
    ]
    assert sinks[0] == sinks[1] == ["3", "3"]


@pytest.mark.parametrize(
    "of",
    [
        TIME,
        parse_type("DECIMAL(4, 2)"),
        parse_type("ARRAY<MAP<STRING, STRUCT<A BYTES, `b c` ARRAY<TIMESTAMP>>>>"),
    ],
)
def test_every_type_of_a_column_is_kept(of: Type) -> None:
    column = SqlColumn("A", of, "KEY")
    kept = KeptSchemas()
    written = SqlFormat("AVRO", registered=Registered("a", None))

    with keeping(kept):
        kept_or_found(lambda: (written, (column,)), written, "a")
    with keeping(KeptSchemas(json.loads(json.dumps(kept.answers)))):
        found, columns = kept_or_found(lambda: (written, ()), SqlFormat("AVRO"), "b")

    assert columns == (column,)
    assert found.registered == Registered("b", None)
