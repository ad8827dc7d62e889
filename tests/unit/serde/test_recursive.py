"""Values of types that contain themselves, as text."""

import io
import json
from decimal import Decimal
from typing import Any

import fastavro
import pytest

from duolog.core.errors import SerdeError
from duolog.registry.in_process import InProcessRegistry
from duolog.schemas.avro import parse as parse_avro
from duolog.schemas.protobuf import parse as parse_protobuf
from duolog.schemas.schema import Language
from duolog.schemas.source import SchemaText
from duolog.serde import recursive
from duolog.serde.readable import SchemaReader

NODE: Any = {
    "type": "record",
    "name": "Node",
    "namespace": "n",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "next", "type": ["null", "Node"]},
        {"name": "more", "type": {"type": "array", "items": "Node"}},
        {"name": "named", "type": {"type": "map", "values": "Node"}},
        {"name": "any", "type": ["null", "string", "Node"]},
    ],
}
LEAVES: Any = {
    "type": "record",
    "name": "Leaves",
    "fields": [
        {"name": "b", "type": "boolean"},
        {"name": "d", "type": "double"},
        {"name": "x", "type": ["null", "bytes"]},
        {"name": "u", "type": ["null", "int", "string"]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {
            "name": "price",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2},
        },
        {"name": "e", "type": ["null", {"type": "enum", "name": "E", "symbols": ["A"]}]},
        {"name": "m", "type": {"type": "map", "values": ["null", "float"]}},
        {
            "name": "entries",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "Entry",
                    "connect.internal.type": "MapEntry",
                    "fields": [
                        {"name": "key", "type": ["null", "int"]},
                        {"name": "value", "type": ["null", "string"]},
                    ],
                },
            },
        },
    ],
}
FILE = """
syntax = "proto3";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
message Node {
  int64 id = 1;
  Node next = 2;
  repeated Node more = 3;
  map<string, Node> named = 4;
  oneof any { string text = 5; Node node = 6; }
  optional int32 count = 7;
  bytes data = 8;
  google.protobuf.Timestamp at = 9;
  google.protobuf.StringValue maybe = 10;
  enum Kind { FIRST = 0; SECOND = 1; }
  Kind kind = 11;
  Other other = 12;
}
message Other { Node back = 1; map<int32, double> numbers = 2; }
message Plain { int64 id = 1; Leaf leaf = 2; repeated Leaf more = 3; map<bool, bytes> m = 4;
  oneof one { int32 a = 5; Leaf b = 6; } bytes data = 7; uint64 big = 8; }
message Leaf { string s = 1; double d = 2; }
"""


def node(number: int, **more: Any) -> dict[str, Any]:
    return {"id": number, "next": None, "more": [], "named": {}, "any": None} | more


def framed(language: Language, text: str, payload: bytes) -> tuple[SchemaReader, bytes]:
    registry = InProcessRegistry()
    schema_id = registry.register("t-value", SchemaText(language, text))
    return SchemaReader(registry), b"\0" + schema_id.to_bytes(4, "big") + payload


def avro_bytes(schema: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def chain(length: int) -> bytes:
    """Return the Avro of nodes inside each other."""
    return b"\2\2" * (length - 1) + b"\2\0" + b"\0\0\0" * length


def test_avro_that_contains_itself_is_text() -> None:
    value = node(
        1,
        next=node(2),
        more=[node(3), node(4, any="x")],
        named={"a": node(5)},
        any=("n.Node", node(6)),
    )
    reader, data = framed(Language.AVRO, json.dumps(NODE), avro_bytes(NODE, value))

    found = json.loads(reader.read(data).text)

    wanted = node(
        1,
        next=node(2),
        more=[node(3), node(4, any={"string": "x", "Node": None})],
        named={"a": node(5)},
        any={"string": None, "Node": node(6)},
    )
    assert found == wanted


@pytest.mark.parametrize("length", [recursive.DEPTH_MAX + 1, 100_000])
def test_avro_is_read_up_to_a_depth(length: int) -> None:
    reader, fits = framed(Language.AVRO, json.dumps(NODE), chain(recursive.DEPTH_MAX))

    assert reader.read(fits).text.count('"id":1') == recursive.DEPTH_MAX
    with pytest.raises(SerdeError):
        reader.read(fits[:5] + chain(length))


def test_leaves_of_avro_have_the_text_of_columns() -> None:
    value = {
        "b": True, "d": 1e10, "x": b"\xff", "u": 7, "at": 1_500, "price": Decimal("1.50"), "e": "A",
        "m": {"a": 0.5, "b": None}, "entries": [{"key": 3, "value": None}],
    }  # fmt: skip
    payload = avro_bytes(LEAVES, value)
    reader, data = framed(Language.AVRO, json.dumps(LEAVES), payload)
    schema = parse_avro(json.dumps(LEAVES), {})

    walked = recursive._avro_reader(schema)(payload)  # noqa: SLF001 - not recursive: to compare

    assert walked == reader.read(data).text
    assert '"u":{"int":7,"string":null}' in walked


def message(name: str) -> Any:
    return parse_protobuf(FILE, {}).message_class(name)


def test_protobuf_that_contains_itself_is_text() -> None:
    made = message("Node")
    value = made(
        id=1,
        next=made(id=2, text="t"),
        more=[made(id=3)],
        named={"a": made(id=4)},
        node=made(id=5, count=0, data=b"\xff", kind=1),
        at={"seconds": 1, "nanos": 500_000_000},
        maybe={"value": "m"},
        other={"back": {"id": 6}, "numbers": {7: 0.5}},
    )
    reader, data = framed(Language.PROTOBUF, FILE, b"\0" + value.SerializeToString())

    found = json.loads(reader.read(data).text)

    assert found["next"]["any_0"] == {"text": "t", "node": None}
    assert found["next"]["next"] is None
    assert [one["id"] for one in found["more"]] == [3]
    assert found["named"]["a"]["id"] == 4
    inner = found["any_0"]["node"]
    assert (inner["id"], inner["count"], inner["data"], inner["kind"]) == (5, 0, "/w==", "SECOND")
    assert (found["count"], found["data"], found["any_0"]["text"]) == (None, None, None)
    assert (found["at"], found["maybe"], found["kind"]) == (1500, "m", "FIRST")
    assert found["other"]["back"]["id"] == 6
    assert found["other"]["numbers"] == {"7": 0.5}


def test_protobuf_that_is_nested_too_deep_is_refused() -> None:
    def nested(depth: int) -> bytes:
        data = b""
        for _ in range(depth):
            size, prefix = len(data), b""
            while size > 0x7F:
                prefix += bytes((size & 0x7F | 0x80,))
                size >>= 7
            data = b"\x12" + prefix + bytes((size,)) + data
        return data

    reader, data = framed(Language.PROTOBUF, FILE, b"\0" + nested(50))

    assert reader.read(data).text.count('"id":0') == 51
    with pytest.raises(SerdeError):
        reader.read(data[:6] + nested(5000))


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"id": -1, "leaf": {"s": "x", "d": 1e10}, "more": [{"s": "y"}], "m": {True: b"a"}, "a": 0},
        {"b": {"d": float("nan")}, "data": b"z", "big": 2**64 - 1},
    ],
)
def test_fields_of_protobuf_have_the_text_of_columns(fields: dict[str, Any]) -> None:
    schema = parse_protobuf(FILE, {})
    made = schema.message_class("Plain")
    payload = made(**fields).SerializeToString()
    reader, data = framed(Language.PROTOBUF, FILE, b"\2\4" + payload)

    walked = recursive._protobuf_reader(schema, made)(payload)  # noqa: SLF001 - to compare

    assert walked == reader.read(data).text


def test_damaged_bytes_are_a_serde_error() -> None:
    avro, data = framed(Language.AVRO, json.dumps(NODE), b"\2\2\2")
    protobuf, message_data = framed(Language.PROTOBUF, FILE, b"\0\x12\x7f")

    with pytest.raises(SerdeError):
        avro.read(data)
    with pytest.raises(SerdeError):
        protobuf.read(message_data)
