"""An Avro schema for the registry and the serdes: equality, forms, types, plain JSON values."""

import io
import json
from decimal import Decimal
from typing import Any

import fastavro
import pytest

from duolog.schemas.avro import AvroSchema, parse
from duolog.schemas.avro.types import Enum, Fixed, Record
from duolog.schemas.schema import InvalidSchemaError, Policy, Schema
from unit.schemas.avro.generated import Generator, text_of

ORDER = {
    "type": "record",
    "name": "shop.Order",
    "doc": "An order",
    "aliases": ["Purchase"],
    "fields": [
        {"name": "id", "type": "long", "aliases": ["number"]},
        {
            "name": "state",
            "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"], "default": "NEW"},
        },
        {
            "name": "total",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        },
        {"name": "previous", "type": ["null", "Order"], "default": None},
        {
            "name": "hashes",
            "type": {
                "type": "map",
                "values": {
                    "type": "array",
                    "items": {"type": "fixed", "name": "other.Hash", "size": 2},
                },
            },
            "default": {},
        },
    ],
}


def of(schema: object, **references: object) -> AvroSchema:
    texts = {name: json.dumps(reference) for name, reference in references.items()}
    return parse(json.dumps(schema), texts)


def test_a_schema_keeps_the_protocol_of_all_languages() -> None:
    schema: Schema = of(ORDER)

    assert schema.name == "shop.Order"
    assert schema.incompatibilities(of(ORDER), Policy.LENIENT) == ()
    assert of({"type": "enum", "name": "E", "symbols": []}).name is None


def test_schemas_are_equal_if_their_canonical_texts_are() -> None:
    assert of({"type": "string"}) == of("string")
    assert hash(of({"type": "string"})) == hash(of("string"))
    assert of("string") != of("bytes")
    assert len({of(ORDER), of(json.loads(of(ORDER).canonical))}) == 1


def test_equivalent_schemas_differ_in_the_order_of_unknown_attributes_only() -> None:
    one, other = (
        {"type": "string", "a": 1, "b": {"c": 1, "d": 2}},
        {"type": "string", "b": {"d": 2, "c": 1}, "a": 1},
    )

    assert of(one) != of(other)
    assert of(one).equivalent(of(other))
    assert not of(one).equivalent(of({**one, "a": 2}))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("doc",), "Another doc"),
        (("aliases",), []),
        (("name",), "other.Order"),
        (("fields", 0, "doc"), "A doc"),
        (("fields", 0, "aliases"), ["no"]),
        (("fields", 0, "name"), "ident"),
        (("fields", 0, "order"), "ignore"),
        (("fields", 0, "default"), 0),
        (("fields", 1, "type", "default"), "PAID"),
        (("fields", 1, "type", "symbols"), ["PAID", "NEW"]),
        (("fields", 2, "type", "scale"), 3),
        (("fields", 3, "type"), ["Order", "null"]),
        (("fields", 4, "type", "values", "items", "size"), 3),
        (("fields", 4, "type", "values", "items", "doc"), ""),
    ],
)
def test_schemas_that_differ_elsewhere_are_not_equivalent(
    path: tuple[str | int, ...], value: object
) -> None:
    changed: Any = json.loads(json.dumps(ORDER))
    place = changed
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value

    other = parse(json.dumps(changed), {}, strict=False)

    assert not of(ORDER).equivalent(other)
    assert not other.equivalent(of(ORDER))


def test_a_schema_is_equivalent_wherever_its_types_are_defined() -> None:
    fixed = {"type": "fixed", "name": "F", "size": 1}
    field = {"name": "f", "type": "F"}
    record = {"type": "record", "name": "R", "fields": [field]}

    alone = of({**record, "fields": [{**field, "type": fixed}]})
    with_reference = of(record, F=fixed)

    assert alone != with_reference
    assert alone.equivalent(with_reference)


@pytest.mark.parametrize(
    ("form", "is_resolved"),
    [("", False), ("default", False), ("resolved", True), (" RESOLVED", True), ("unknown", False)],
)
def test_an_unknown_form_is_the_canonical_text(form: str, *, is_resolved: bool) -> None:
    schema = of("F", F={"type": "fixed", "name": "F", "size": 1})

    assert schema.canonical == '"F"'
    assert schema.formatted(form) == (schema.resolved if is_resolved else '"F"')
    assert schema.resolved == '{"type":"fixed","name":"F","size":1}'


def test_named_types_are_listed_with_their_parts() -> None:
    types = of(ORDER).named_types

    assert list(types) == ["shop.Order", "shop.State", "other.Hash"]
    order, state, hashed = types.values()
    assert isinstance(order, Record)
    assert [field.aliases for field in order.fields] == [("number",), (), (), (), ()]
    assert order.alias_texts == ("shop.Purchase",)
    assert isinstance(state, Enum)
    assert state.default == "NEW"
    assert isinstance(hashed, Fixed)
    assert hashed.size == 2


def test_fastavro_reads_and_writes_with_the_plain_values() -> None:
    plain: Any = of(ORDER).plain()
    order = {
        "id": 1,
        "state": "NEW",
        "total": Decimal("1.25"),
        "previous": None,
        "hashes": {"a": [b"xy"]},
    }
    row = {**order, "previous": {**order, "state": "PAID"}}
    buffer = io.BytesIO()

    fastavro.schemaless_writer(buffer, fastavro.parse_schema(plain), row)
    buffer.seek(0)

    assert fastavro.schemaless_reader(buffer, fastavro.parse_schema(plain), None) == row


def test_fastavro_finds_a_name_without_a_namespace_inside_one() -> None:
    fields = [{"name": name, "type": "F"} for name in ("f", "g")]
    schema = of(
        {"type": "record", "name": "a.R", "fields": fields},
        F={"type": "fixed", "name": "F", "size": 1},
    )
    plain: Any = schema.plain()
    buffer = io.BytesIO()

    fastavro.schemaless_writer(buffer, fastavro.parse_schema(plain), {"f": b"x", "g": b"y"})

    assert buffer.getvalue() == b"xy"


def test_fastavro_accepts_the_plain_values_of_generated_schemas() -> None:
    accepted = 0
    for seed in range(600):
        try:
            schema = parse(text_of(Generator(seed).schema(), seed), {})
        except InvalidSchemaError:
            continue  # the generator makes some of these on purpose
        plain: Any = schema.plain()
        fastavro.parse_schema(plain)
        accepted += 1

    assert accepted > 400


def test_plain_values_have_full_names_and_only_what_matters_for_the_bytes() -> None:
    schema = of(
        {
            "type": "record",
            "name": "a.R",
            "doc": "x",
            "fields": [
                {"name": "f", "type": {"type": "int", "logicalType": "date", "x": 1}, "order": "ignore"},
                {"name": "g", "type": {"type": "long", "logicalType": "date"}, "default": 1},
                {"name": "h", "type": ["null", "R", "F"]},
            ],
        },
        F={"type": "fixed", "name": "F", "size": 1, "aliases": ["G"]},
    )  # fmt: skip

    assert schema.plain() == {
        "type": "record",
        "name": "a.R",
        "fields": [
            {"name": "f", "type": {"type": "int", "logicalType": "date"}},
            {"name": "g", "type": "long", "default": 1},
            {
                "name": "h",
                "type": [
                    "null",
                    "a.R",
                    {"type": "fixed", "name": ".F", "aliases": [".G"], "size": 1},
                ],
            },
        ],
    }
