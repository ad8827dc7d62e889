"""Few bytes that claim many values do not cost more than their length."""

import io
import json
from dataclasses import make_dataclass
from typing import Any

import fastavro
import pytest

from duolog.cli.registry.observed_records import ObservedRecords
from duolog.core.errors import SerdeError
from duolog.core.types import STRING, Column
from duolog.registry.in_process import InProcessRegistry
from duolog.runtime.impact.records import reader_of
from duolog.schemas.avro import AvroSchema, parse
from duolog.schemas.schema import Language
from duolog.schemas.source import SchemaText
from duolog.serde.avro import AvroSerde
from duolog.serde.avro_bounds import EMPTY_ITEMS_MAX, bounded_reader
from duolog.serde.typed.class_serde import ClassSerde

EMPTY = [
    "null",
    {"type": "record", "name": "Nothing", "fields": []},
    {"type": "fixed", "name": "Fixed", "size": 0},
    {"type": "record", "name": "Nulls", "fields": [{"name": "n", "type": "null"}]},
]
TAIL = b"\x02a"
"""The text "a", the field after the array."""


def schema_of(items: Any) -> dict[str, Any]:
    fields = [
        {"name": "many", "type": {"type": "array", "items": items}},
        {"name": "s", "type": "string"},
    ]
    return {"type": "record", "name": "R", "fields": fields}


def number(value: int) -> bytes:
    """Return a number as Avro writes it."""
    zigzag, found = (value << 1) ^ (value >> 63), b""
    while zigzag > 0x7F:
        found += bytes((zigzag & 0x7F | 0x80,))
        zigzag >>= 7
    return found + bytes((zigzag,))


def claims(*counts: int) -> bytes:
    blocks = b"".join(number(one) + (number(0) if one < 0 else b"") for one in counts)
    return blocks + number(0) + TAIL


def registered(schema: Any) -> InProcessRegistry:
    registry = InProcessRegistry()
    registry.register("t-value", SchemaText(Language.AVRO, json.dumps(schema)))
    return registry


@pytest.mark.timeout(60)
@pytest.mark.parametrize("items", EMPTY, ids=["null", "record", "fixed", "nulls"])
@pytest.mark.parametrize("counts", [(2**40,), (-(2**40),), (60_000, 60_000)])
def test_an_array_of_billions_of_empty_items_is_a_bad_record(
    items: Any, counts: tuple[int, ...]
) -> None:
    serde = AvroSerde((Column("S", STRING),), registered(schema_of(items)))

    assert serde.deserialize(b"\0\0\0\0\1" + claims(EMPTY_ITEMS_MAX)) == ("a",)
    with pytest.raises(SerdeError, match="more than 100000 items without bytes"):
        serde.deserialize(b"\0\0\0\0\1" + claims(*counts))


@pytest.mark.timeout(60)
def test_all_readers_have_the_bound() -> None:
    schema = schema_of("null")
    registry = registered(schema)
    data = b"\0\0\0\0\1" + claims(2**40)
    of: Any = make_dataclass("R", [("s", str)])
    typed = ClassSerde(of, registry, topic="t")
    seen = ObservedRecords(registry)
    parsed = parse(json.dumps(schema), {})

    assert typed.deserialize(b"\0\0\0\0\1" + claims(3)) == of("a")
    with pytest.raises(SerdeError, match="items without bytes"):
        typed.deserialize(data)
    seen.add(data)
    assert dict(seen.skipped) == {"not of their schema (id 1)": 1}
    with pytest.raises(SerdeError, match="items without bytes"):
        reader_of(parsed, parsed)(data[5:])


def test_deep_data_of_a_recursive_schema_ends_no_process() -> None:
    fields = [{"name": "next", "type": ["null", "N"]}]
    node = parse(json.dumps({"type": "record", "name": "N", "fields": fields}), {})

    with pytest.raises(SerdeError, match="recursion"):
        reader_of(node, node)(b"\x02" * 200_000 + b"\x00")


def test_the_walk_finds_the_array_after_values_of_every_type() -> None:
    kinds: list[Any] = ["null", "boolean", "int", "long", "float", "double", "bytes", "string"]
    kinds += [
        {"type": "fixed", "name": "F", "size": 3},
        {"type": "enum", "name": "E", "symbols": ["A", "B"]},
        {"type": "map", "values": "int"},
        {"type": "array", "items": ["null", "string"]},
        {"type": "array", "items": {"type": "array", "items": "null"}},
    ]
    fields = [{"name": f"f{number}", "type": kind} for number, kind in enumerate(kinds)]
    text = json.dumps({"type": "record", "name": "R", "fields": fields})
    schema: AvroSchema = parse(text, {})
    parsed = fastavro.parse_schema(json.loads(text))
    values = [None, True, -3, 2**60, 1.5, -0.1, b"abc", "é", b"123", "B", {"k": 1}, [None, "x"]]
    row = {f"f{number}": value for number, value in enumerate([*values, [[None] * 3, []]])}
    out = io.BytesIO()
    fastavro.schemaless_writer(out, parsed, row)
    read = bounded_reader(schema.root, parsed)

    found = read(out.getvalue())

    assert found["f12"] == [[None] * 3, []]
    with pytest.raises(ValueError, match="items without bytes"):
        read(out.getvalue().replace(number(2) + number(3), number(2) + number(2**40)))
