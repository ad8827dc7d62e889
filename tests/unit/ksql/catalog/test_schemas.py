"""Schemas of topics: found for sources without columns, registered for all others."""

import json
from collections.abc import Iterator
from typing import NoReturn

import pytest

from duolog.core.errors import RegistryError
from duolog.ksql.catalog.catalog import SourceInfo
from duolog.ksql.catalog.kept_schemas import KeptSchemas, keeping
from duolog.ksql.errors import SqlError
from duolog.ksql.session import SqlSession
from duolog.registry.in_process import InProcessRegistry
from duolog.schemas.schema import Language
from duolog.schemas.source import SchemaText, provide, withdraw

ADDRESS = "mock://test-schemas"
POINT = {
    "type": "record",
    "name": "Point",
    "fields": [{"name": "x", "type": "int"}, {"name": "Label", "type": ["null", "string"]}],
}


@pytest.fixture
def registry() -> Iterator[InProcessRegistry]:
    made = InProcessRegistry()
    provide(ADDRESS, made)
    yield made
    withdraw(ADDRESS)


def run(text: str, **given: str) -> SqlSession:
    """Run statements in a new session with the registry."""
    session = SqlSession(given={"ksql.schema.registry.url": ADDRESS} | given)
    for _ in session.run(text):
        pass
    return session


def avro(schema: object) -> SchemaText:
    return SchemaText(Language.AVRO, json.dumps(schema))


def columns(source: SourceInfo) -> list[str]:
    return [str(column) for column in source.columns]


def text_in(registry: InProcessRegistry, subject: str) -> str:
    latest = registry.latest(subject)
    assert latest is not None, subject
    return latest.schema.text


def test_declared_columns_are_registered(registry: InProcessRegistry) -> None:
    run("CREATE STREAM my_rides (id INT KEY, city STRING) WITH (kafka_topic='t', format='AVRO');")

    assert json.loads(text_in(registry, "t-key")) == ["null", "int"]
    assert '"name":"CITY"' in text_in(registry, "t-value")
    assert '"KsqlDataSourceSchema"' in text_in(registry, "t-value")


def test_declared_columns_leave_the_schema_that_a_topic_has(registry: InProcessRegistry) -> None:
    registry.register("t-value", avro(POINT))

    session = run("CREATE STREAM s (x INT) WITH (kafka_topic='t', value_format='AVRO');")

    latest = registry.latest("t-value")
    assert latest is not None
    assert latest.number == 1
    written = session.catalog.sources["S"].value_format.registered
    assert written is not None
    assert (written.address, written.schema_id) == (ADDRESS, None)


def test_columns_are_inferred_in_upper_case(registry: InProcessRegistry) -> None:
    registry.register("t-key", avro("long"))
    registry.register("t-value", avro(POINT))

    source = run("CREATE TABLE t WITH (kafka_topic='t', format='AVRO');").catalog.sources["T"]

    assert columns(source) == ["`ROWKEY` BIGINT KEY", "`X` INTEGER", "`LABEL` STRING"]
    assert source.value_format.registered is not None
    assert source.value_format.registered.schema_id == 2


def test_the_id_of_a_schema_keeps_the_case_of_its_names(registry: InProcessRegistry) -> None:
    old = registry.register("other", avro(POINT))

    source = run(
        f"CREATE STREAM s WITH (kafka_topic='t', value_format='AVRO', value_schema_id={old});"
    ).catalog.sources["S"]

    assert columns(source) == ["`x` INTEGER", "`Label` STRING"]


def test_a_value_without_a_record_is_one_column(registry: InProcessRegistry) -> None:
    registry.register("t-value", avro(POINT))

    source = run(
        "CREATE STREAM s WITH (kafka_topic='t', value_format='AVRO', wrap_single_value=false);"
    ).catalog.sources["S"]

    assert columns(source) == ["`ROWVAL` STRUCT<`X` INTEGER, `LABEL` STRING>"]


def test_a_message_of_protobuf_is_chosen_by_its_name(registry: InProcessRegistry) -> None:
    text = 'syntax = "proto3"; message A { int32 a = 1; } message B { string b = 1; }'
    registry.register("t-value", SchemaText(Language.PROTOBUF, text))

    source = run(
        "CREATE STREAM s WITH (kafka_topic='t', value_format='PROTOBUF', "
        "value_schema_full_name='B');"
    ).catalog.sources["S"]

    assert columns(source) == ["`B` STRING"]


def test_the_result_of_a_query_is_registered_under_its_topic(registry: InProcessRegistry) -> None:
    session = run(
        "CREATE STREAM s (id INT KEY, p STRUCT<x INT>) WITH (kafka_topic='t', format='JSON');"
        "CREATE STREAM my_out WITH (format='AVRO', value_schema_full_name='a.Out') AS "
        "SELECT p, id FROM s PARTITION BY p;"
    )

    (query,) = session.state.queries.values()
    sink = query.planned.plan.sinks[0]
    latest = registry.latest("MY_OUT-value")
    assert latest is not None
    assert sink.value_format.option("id") == str(latest.schema_id)
    assert sink.value_format.option("registry") == ADDRESS
    assert json.loads(latest.schema.text)["namespace"] == "a"
    assert json.loads(text_in(registry, "MY_OUT-key"))["name"] == "MyOutKey"


def test_an_incompatible_result_is_refused_before_anything_runs(
    registry: InProcessRegistry,
) -> None:
    registry.register("OUT-value", avro(POINT))

    with pytest.raises(SqlError, match="Could not register schema for topic: OUT") as caught:
        run(
            "CREATE STREAM s (a INT) WITH (kafka_topic='t', value_format='JSON');"
            "CREATE STREAM out WITH (value_format='AVRO') AS SELECT * FROM s;"
        )

    assert "NAME_MISMATCH" in str(caught.value)


def test_a_schema_that_cannot_be_read_is_not_called_unregistered(
    registry: InProcessRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(subject: str) -> NoReturn:
        raise RegistryError("the schema registry does not answer", detail=subject)

    monkeypatch.setattr(registry, "latest", away)

    with pytest.raises(SqlError, match="Could not read schema for topic: t\nReason: the schema"):
        run("CREATE STREAM s WITH (kafka_topic='t', value_format='AVRO');")


def test_a_result_must_have_the_columns_of_the_schema_that_is_named(
    registry: InProcessRegistry,
) -> None:
    number = registry.register("other", avro(POINT))
    statement = (
        "CREATE STREAM s (`x` INT, y STRING) WITH (kafka_topic='t', value_format='JSON');"
        "CREATE STREAM out WITH (value_format='AVRO', value_schema_id={id}) AS SELECT {columns} "
        "FROM s;"
    )

    session = run(statement.format(id=number, columns="`x`"))

    (query,) = session.state.queries.values()
    assert query.planned.plan.sinks[0].value_format.option("id") == str(number)
    with pytest.raises(SqlError) as caught:
        run(statement.format(id=number, columns="y AS `x`"))
    assert caught.value.message == (
        "The following value columns are changed, missing or reordered: [`x` STRING]. Schema from "
        "schema registry is [`x` INTEGER, `Label` STRING]"
    )


def test_a_key_without_a_record_has_any_name_except_in_strict_mode(
    registry: InProcessRegistry,
) -> None:
    number = registry.register("other", avro("int"))
    statements = (
        "CREATE STREAM s (k INT KEY, a INT) WITH (kafka_topic='t', format='JSON');"
        f"CREATE STREAM out WITH (key_format='AVRO', key_schema_id={number}) AS SELECT * FROM s;"
    )

    run(statements)

    with pytest.raises(SqlError) as caught:
        run(statements, **{"ksql.compatibility": "strict"})
    assert caught.value.message == (
        "The following key columns are changed, missing or reordered: [`K` INTEGER KEY]. Schema "
        "from schema registry is [`ROWKEY` INTEGER KEY]"
    )


def test_rows_are_inserted_with_the_schema_of_the_topic(registry: InProcessRegistry) -> None:
    number = registry.register("t-value", avro(POINT))
    session = run(
        "CREATE STREAM inferred WITH (kafka_topic='t', value_format='AVRO');"
        "CREATE STREAM declared (a INT) WITH (kafka_topic='u', value_format='AVRO');"
    )

    rows = [
        done.inserted[0].source.value_format.registered
        for done in session.run(
            "INSERT INTO inferred (x) VALUES (1); INSERT INTO declared VALUES (1);"
        )
    ]

    latest = registry.latest("u-value")
    assert latest is not None
    assert [row and row.schema_id for row in rows] == [number, latest.schema_id]


def test_the_existence_of_a_schema_is_asserted(registry: InProcessRegistry) -> None:
    registry.register("a-value", avro("int"))
    registry.register("b-value", avro("long"))
    session = run("")

    said = [
        done.message
        for done in session.run(
            "ASSERT SCHEMA SUBJECT 'a-value' ID 1; ASSERT SCHEMA ID 2;"
            "ASSERT NOT EXISTS SCHEMA SUBJECT 'c-value';"
            "ASSERT NOT EXISTS SCHEMA SUBJECT 'a-value' ID 2; ASSERT NOT EXISTS SCHEMA ID 9;"
        )
    ]

    assert said == [
        "Schema with subject name a-value id 1 exists.",
        "Schema with id 2 exists.",
        "Schema with subject name c-value does not exist.",
        "Schema with subject name a-value id 2 does not exist.",
        "Schema with id 9 does not exist.",
    ]
    for text, message in (
        ("ASSERT SCHEMA ID 9;", "Schema with id 9 does not exist."),
        ("ASSERT NOT EXISTS SCHEMA SUBJECT 'a-value';", "Schema with subject name a-value exists."),
    ):
        with pytest.raises(SqlError, match=message):
            run(text)


def test_an_added_column_is_in_the_schema_of_the_next_row(registry: InProcessRegistry) -> None:
    session = run(
        "CREATE STREAM s (a INT) WITH (kafka_topic='t', value_format='AVRO');"
        "ALTER STREAM s ADD COLUMN b STRING;"
    )

    (done,) = session.run("INSERT INTO s (a, b) VALUES (1, 'x');")

    registered = done.inserted[0].source.value_format.registered
    assert registered is not None
    assert '"name":"B"' in registered.text
    assert registered.schema_id == 2
    assert '"name":"B"' in text_in(registry, "t-value")


JSON_STREAM = "CREATE STREAM s (a INT) WITH (kafka_topic='t', value_format='JSON_SR');"
ADD = "ALTER STREAM s ADD COLUMN b STRING;"


def test_a_column_that_rows_could_not_be_written_with_is_not_added(
    registry: InProcessRegistry,
) -> None:
    session = run(JSON_STREAM)

    with pytest.raises(SqlError, match="Cannot add column `B` to S") as caught:
        list(session.run(ADD))

    assert 'subject "t-value"' in caught.value.message
    assert "PROPERTY_ADDED" in caught.value.detail
    assert "duolog schema config t-value --compatibility NONE" in caught.value.hint
    assert columns(session.catalog.sources["S"]) == ["`A` INTEGER"]
    registry.set_compatibility("NONE")
    list(session.run(ADD + "INSERT INTO s (a, b) VALUES (1, 'x');"))
    assert '"B"' in text_in(registry, "t-value")


def test_a_column_that_the_schema_has_already_can_be_added_and_read(
    registry: InProcessRegistry,
) -> None:
    fields = {"a": {"type": "integer"}, "b": {"type": "string"}}
    text = json.dumps({"type": "object", "properties": fields})
    registry.register("t-value", SchemaText(Language.JSON, text))

    session = run(JSON_STREAM + ADD)

    assert columns(session.catalog.sources["S"]) == ["`A` INTEGER", "`B` STRING"]


def test_a_replay_adds_a_column_without_the_registry(registry: InProcessRegistry) -> None:
    registry.set_compatibility("NONE")
    first = SqlSession(given={"ksql.schema.registry.url": ADDRESS})
    kept = []
    for text in (JSON_STREAM, ADD):
        one = KeptSchemas()
        with keeping(one):
            list(first.run(text))
        kept.append(one.answers)

    again = SqlSession(given={"ksql.schema.registry.url": "mock://no-such-registry"})
    for text, answers in zip((JSON_STREAM, ADD), kept, strict=True):
        with keeping(KeptSchemas(answers)):
            list(again.run(text))

    assert columns(again.catalog.sources["S"]) == ["`A` INTEGER", "`B` STRING"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "CREATE STREAM s WITH (kafka_topic='t', value_format='AVRO');",
            (
                "Schema for message values on topic 't' does not exist in the Schema Registry.\n"
                "Subject: t-value\n"
            ),
        ),
        (
            "CREATE STREAM s WITH (kafka_topic='t', value_format='AVRO', value_schema_id=77);",
            "Subject: t-value\nSchema Id: 77\n",
        ),
        (
            "CREATE STREAM s WITH (kafka_topic='j', value_format='AVRO');",
            (
                "Value schema is not in the expected format. You may want to set VALUE_FORMAT to "
                "'JSON_SR'."
            ),
        ),
        (
            "CREATE STREAM s WITH (kafka_topic='r', value_format='AVRO');",
            'Reason: cannot read the Avro schema as columns: "next" is a N inside a N',
        ),
        (
            (
                "CREATE STREAM s (a ARRAY<ARRAY<INT>>) WITH (kafka_topic='t', "
                "value_format='PROTOBUF_NOSR');"
            ),
            (
                "Value format does not support schema.\nformat: PROTOBUF_NOSR\nreason: cannot write the "
                'columns as a Protobuf message: "A[]" is ARRAY<INT> inside an array or a map'
            ),
        ),
        (
            "CREATE STREAM s (a ARRAY<ARRAY<INT>>) WITH (kafka_topic='t', value_format='PROTOBUF');",
            "inside an array or a map",
        ),
    ],
)
def test_errors_are_those_of_ksqldb(registry: InProcessRegistry, text: str, message: str) -> None:
    registry.register("j-value", SchemaText(Language.JSON, '{"type":"string"}'))
    node = {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]}
    registry.register("r-value", avro(node))

    with pytest.raises(SqlError) as caught:
        run(text)

    assert message in caught.value.message


def test_a_registry_that_no_client_is_known_for_is_an_error_with_a_hint() -> None:
    with pytest.raises(SqlError, match='cannot reach the schema registry "foo://a"') as caught:
        run(
            "CREATE STREAM s (a INT) WITH (kafka_topic='t', value_format='AVRO');",
            **{"ksql.schema.registry.url": "foo://a"},
        )

    assert "http://" in caught.value.hint


def test_a_stream_of_a_pattern_registers_nothing(registry: InProcessRegistry) -> None:
    run("CREATE STREAM s (a INT) WITH (topic_pattern='a-.*', value_format='AVRO');")

    assert registry.rules.subjects() == ()


STRATEGY = "ksql.schema.registry.value.subject.name.strategy"


@pytest.mark.parametrize(
    ("strategy", "name", "subject"),
    [
        ("TopicNameStrategy", "", "t-value"),
        ("RecordNameStrategy", "", "io.confluent.ksql.avro_schemas.KsqlDataSourceSchema"),
        ("RecordNameStrategy", "shop.Ride", "shop.Ride"),
        (
            "io.confluent.kafka.serializers.subject.TopicRecordNameStrategy",
            "shop.Ride",
            "t-shop.Ride",
        ),
    ],
)
def test_a_strategy_names_the_subject_of_columns(
    registry: InProcessRegistry, strategy: str, name: str, subject: str
) -> None:
    named = f", value_schema_full_name='{name}'" if name else ""

    run(
        f"CREATE STREAM s (k INT KEY, a INT) WITH (kafka_topic='t', value_format='AVRO'{named});",
        **{STRATEGY: strategy},
    )

    assert registry.rules.subjects() == (subject,)


def test_a_strategy_needs_the_name_of_the_record_to_infer_columns(
    registry: InProcessRegistry,
) -> None:
    node = {"type": "record", "name": "shop.Ride", "fields": [{"name": "km", "type": "int"}]}
    registry.register("shop.Ride", avro(node))
    given = {STRATEGY: "RecordNameStrategy"}

    with pytest.raises(SqlError, match="has no name for the subject name strategy") as caught:
        run("CREATE STREAM s WITH (kafka_topic='t', value_format='AVRO');", **given)
    session = run(
        "CREATE STREAM s WITH (kafka_topic='t', value_format='AVRO', "
        "value_schema_full_name='shop.Ride');",
        **given,
    )

    assert "VALUE_SCHEMA_FULL_NAME" in caught.value.hint
    assert [column.name for column in session.catalog.sources["S"].columns] == ["KM"]


def test_json_schemas_have_no_name_for_a_strategy(registry: InProcessRegistry) -> None:
    with pytest.raises(SqlError, match="value schema of topic 't' has no name"):
        run(
            "CREATE STREAM s (a INT) WITH (kafka_topic='t', value_format='JSON_SR');",
            **{STRATEGY: "RecordNameStrategy"},
        )

    assert registry.rules.subjects() == ()


def test_an_unknown_strategy_is_refused() -> None:
    with pytest.raises(SqlError, match="Invalid value MyStrategy") as caught:
        run(f"SET '{STRATEGY}' = 'MyStrategy';")

    assert "TopicRecordNameStrategy" in caught.value.hint


@pytest.mark.parametrize(
    ("schema", "given", "wrap"),
    [
        ("string", {}, False),
        ({"type": "record", "name": "R", "fields": [{"name": "rowval", "type": "int"}]}, {}, None),
        ("string", {"ksql.compatibility": "strict"}, None),
    ],
)
def test_a_value_whose_schema_is_not_a_record_is_read_without_one(
    registry: InProcessRegistry, schema: object, given: dict[str, str], *, wrap: bool | None
) -> None:
    registry.register("t-value", avro(schema))

    session = run("CREATE STREAM s WITH (kafka_topic='t', value_format='AVRO');", **given)

    source = session.catalog.sources["S"]
    assert [column.name for column in source.columns] == ["ROWVAL"]
    assert source.value_format.wrap is wrap
