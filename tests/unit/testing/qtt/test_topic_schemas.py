"""The schema registry of a case, and the conversion of its values."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from duolog.core.types import TIME, parse_type
from duolog.ksql.catalog.catalog import SqlColumn, SqlFormat
from duolog.schemas.source import source_at
from duolog.testing.qtt.bytes import decode, encode
from duolog.testing.qtt.cases import Case
from duolog.testing.qtt.json_values import from_spec, to_spec
from duolog.testing.qtt.topic_schemas import TopicSchemas, java_order

POINT = {
    "type": "record",
    "name": "Point",
    "fields": [{"name": "x", "type": "int"}, {"name": "b", "type": ["null", "bytes"]}],
}


def case(*statements: str, topics: Any = ()) -> Case:
    return Case("own.json", "own", "own", statements, {"topics": list(topics)})


@pytest.fixture
def schemas() -> Iterator[TopicSchemas]:
    made = TopicSchemas(
        case(
            "CREATE STREAM d (a INT KEY, b DECIMAL(4, 2)) WITH (kafka_topic='d', format='AVRO');",
            topics=[{"name": "p", "valueSchema": POINT, "keySchema": {"type": "long"}}],
        ),
        {},
    )
    yield made
    made.close()


def test_topics_have_the_schemas_of_the_case_and_of_its_statements(schemas: TopicSchemas) -> None:
    registry = source_at(schemas.address)

    found = {name: registry.latest(name) for name in ("d-key", "d-value", "p-key", "p-value")}

    assert all(found.values())
    # In the order of a HashMap, in which p is before d; keys before values.
    assert [version.schema_id for version in found.values() if version] == [3, 4, 1, 2]


def test_values_are_written_by_the_schema_of_the_topic_and_read_by_their_own(
    schemas: TopicSchemas,
) -> None:
    avro = SqlFormat("AVRO")

    point = schemas.encode(avro, "p", "Value", {"X": 1, "B": "AP8=", "unknown": 1})
    key = schemas.encode(avro, "p", "Key", 5)
    amount = schemas.encode(avro, "d", "Value", {"b": Decimal("1.5")})

    assert point is not None
    assert key is not None
    assert amount is not None
    assert schemas.decode(avro, point) == {"x": 1, "b": "AP8="}
    assert schemas.decode(avro, key) == 5
    assert schemas.decode(avro, amount) == {"B": Decimal("1.50")}


def test_schemas_are_compared_without_their_layout(schemas: TopicSchemas) -> None:
    reordered = dict(reversed(POINT.items()))
    other = POINT | {"name": "Other"}

    found, wanted = schemas.compared("p-value", reordered, "AVRO")
    assert found == wanted
    found, wanted = schemas.compared("p-value", other, "AVRO")
    assert found != wanted
    assert schemas.compared("unknown-value", POINT, "AVRO")[0] is None


def test_an_id_of_a_case_is_that_of_the_schema_and_not_of_what_it_refers_to() -> None:
    made = TopicSchemas(
        case(
            topics=[
                {
                    "name": "t",
                    "valueFormat": "PROTOBUF",
                    "valueSchema": 'syntax = "proto3"; import "e.proto"; message R { E e = 1; }',
                    "valueSchemaReferences": [
                        {
                            "name": "e.proto",
                            "format": "PROTOBUF",
                            "schema": 'syntax = "proto3"; message E { int32 x = 1; }',
                        }
                    ],
                }
            ]
        ),
        {},
    )

    latest = source_at(made.address).latest("t-value")
    data = made.encode(SqlFormat("PROTOBUF"), "t", "Value", {"e": {"x": 1}})

    assert latest is not None
    assert latest.schema_id == 1
    assert data is not None
    assert made.decode(SqlFormat("PROTOBUF"), data) == {"e": {"x": 1}}
    made.close()


def test_names_are_in_the_order_of_a_hash_map_of_java() -> None:
    assert java_order(["OUTPUT", "input", "input_topic"]) == ["input", "OUTPUT", "input_topic"]
    many = [f"t{number}" for number in range(20)]
    assert sorted(java_order(many)) == sorted(many)


def test_protobuf_without_a_registry_has_the_schema_of_its_columns() -> None:
    of = SqlFormat("PROTOBUF_NOSR")
    columns = (SqlColumn("A", parse_type("INT")), SqlColumn("B", parse_type("STRING")))

    data = encode(of, columns, {"a": 1, "b": None})

    assert data == b"\x08\x01"
    assert decode(of, columns, data) == {"A": 1, "B": ""}


@pytest.mark.parametrize(
    ("type_text", "spec"),
    [
        ("BOOLEAN", True),
        ("INT", 1),
        ("BIGINT", 2**40),
        ("DOUBLE", 1.5),
        ("STRING", "x"),
        ("BYTES", "AP8="),
        ("DATE", 15_706),
        ("TIMESTAMP", 1_356_998_400_123),
        ("DECIMAL(4,2)", Decimal("1.50")),
        ("ARRAY<DATE>", [1, None]),
        ("MAP<BIGINT, DATE>", {"5": 1, "6": None}),
        ("STRUCT<A INT, B MAP<STRING, BYTES>>", {"A": None, "B": {"x": "AA=="}}),
    ],
)
def test_values_of_cases_are_those_of_columns_and_back(type_text: str, spec: object) -> None:
    of = parse_type(type_text)

    assert to_spec(from_spec(spec, of), of) == spec


def test_fields_match_without_case_and_numbers_are_converted() -> None:
    of = parse_type("STRUCT<Ab INT, T DOUBLE, S STRING>")

    assert from_spec({"aB": "7", "t": 1, "s": 5}, of) == {"Ab": 7, "T": 1.0, "S": "5"}
    assert from_spec(36_000, TIME) == 36_000
