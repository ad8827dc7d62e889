"""Values of types that no columns can have, as text."""

import io
import json
import time
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
from duolog.serde.readable import SchemaReader
from duolog.serde.walk import DEPTH_MAX, walked_reader

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


@pytest.mark.parametrize("length", [DEPTH_MAX + 1, 100_000])
def test_avro_is_read_up_to_a_depth(length: int) -> None:
    reader, fits = framed(Language.AVRO, json.dumps(NODE), chain(DEPTH_MAX))

    assert reader.read(fits).text.count('"id":1') == DEPTH_MAX
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

    walked = walked_reader(schema, None)(payload)

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

    walked = walked_reader(schema, "Plain")(payload)

    assert walked == reader.read(data).text


def test_damaged_bytes_are_a_serde_error() -> None:
    avro, data = framed(Language.AVRO, json.dumps(NODE), b"\2\2\2")
    protobuf, message_data = framed(Language.PROTOBUF, FILE, b"\0\x12\x7f")

    with pytest.raises(SerdeError):
        avro.read(data)
    with pytest.raises(SerdeError):
        protobuf.read(message_data)


def shown(schema: Any, value: Any) -> str:
    """Return the text of a value that fastavro writes."""
    reader, data = framed(Language.AVRO, json.dumps(schema), avro_bytes(schema, value))
    return reader.read(data).text


def record(name: str, *fields: tuple[str, Any]) -> Any:
    named = [{"name": field, "type": kind} for field, kind in fields]
    return {"type": "record", "name": name, "fields": named}


def test_a_topic_of_several_types_of_records_shows_each_under_its_name() -> None:
    either = [record("a.Order", ("id", "int")), record("a.Refund", ("why", "string"))]

    assert shown(either, ("a.Order", {"id": 1})) == '{"Order":{"id":1},"Refund":null}'
    assert shown(either, ("a.Refund", {"why": "x"})) == '{"Order":null,"Refund":{"why":"x"}}'


def test_types_of_a_union_with_the_same_name_in_two_namespaces_are_told_apart() -> None:
    either = ["null", record("a.Order", ("id", "int")), record("b.Order", ("id", "int"))]
    schema = record("R", ("one", either))

    assert shown(schema, {"one": ("b.Order", {"id": 2})}) == (
        '{"one":{"a.Order":null,"b.Order":{"id":2}}}'
    )


def test_a_field_that_is_always_null_hides_no_other() -> None:
    schema = record("R", ("no", "null"), ("never", ["null"]), ("id", "int"))

    assert shown(schema, {"no": None, "never": None, "id": 1}) == '{"no":null,"never":null,"id":1}'


def test_a_decimal_with_more_digits_than_a_column_is_shown_exactly() -> None:
    schema = record("R", ("d", decimal(64)), ("n", ["null", decimal(40)]))
    digits = "1234567890" * 6

    text = shown(schema, {"d": Decimal(f"-{digits}.07"), "n": None})

    assert text == f'{{"d":-{digits}.07,"n":null}}'


def decimal(precision: int) -> Any:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": 2}


@pytest.mark.parametrize(
    ("kind", "logical", "number"),
    [
        ("int", "date", 2**31 - 1),
        ("int", "date", -(2**31)),
        ("long", "timestamp-millis", 2**63 - 1),
        ("long", "timestamp-millis", -(2**63)),
        ("int", "time-millis", -1),
    ],
)
def test_a_date_or_time_of_any_year_is_shown(kind: str, logical: str, number: int) -> None:
    plain = record("R", ("at", kind))
    reader, data = framed(
        Language.AVRO,
        json.dumps(record("R", ("at", {"type": kind, "logicalType": logical}))),
        avro_bytes(plain, {"at": number}),
    )

    assert reader.read(data).text == f'{{"at":{number}}}'


@pytest.mark.parametrize("depth", [150, 390])
def test_lists_inside_each_other_beyond_the_limits_of_columns_are_no_crash(depth: int) -> None:
    nested: Any = "int"
    for _ in range(depth):
        nested = {"type": "array", "items": nested}
    payload = b"\2" * depth + b"\6" + b"\0" * depth
    schema = json.dumps(record("R", ("deep", nested)))
    reader, data = framed(Language.AVRO, schema, payload)

    if depth == 150:
        assert reader.read(data).text == f'{{"deep":{"[" * 150}3{"]" * 150}}}'
    else:
        with pytest.raises(SerdeError, match="nested too deep"):
            reader.read(data)


def test_entries_whose_keys_are_no_texts_or_whole_numbers_are_a_list() -> None:
    entry = record("Entry", ("key", "double"), ("value", "int"))
    schema = record(
        "R", ("m", {"type": "array", "items": entry | {"connect.internal.type": "MapEntry"}})
    )

    assert shown(schema, {"m": [{"key": 0.5, "value": 1}]}) == '{"m":[{"key":0.5,"value":1}]}'


def test_keys_of_maps_are_written_as_java_writes_them() -> None:
    text = 'syntax = "proto3"; message M { map<bool, string> m = 1; }'
    made = parse_protobuf(text, {}).message_class("M")
    payload = made(m={True: "a", False: "b"}).SerializeToString()
    reader, data = framed(Language.PROTOBUF, text, b"\0" + payload)

    assert json.loads(reader.read(data).text) == {"m": {"true": "a", "false": "b"}}
    walked = walked_reader(parse_protobuf(text, {}), "M")(payload)
    assert json.loads(walked) == {"m": {"true": "a", "false": "b"}}


def test_a_decimal_of_protobuf_needs_no_precision_in_its_schema() -> None:
    text = (
        'syntax = "proto3"; import "confluent/type/decimal.proto"; '
        "message M { confluent.type.Decimal d = 1; confluent.type.Decimal e = 2; }"
    )
    made = parse_protobuf(text, {}).message_class("M")
    payload = made(d={"value": b"\xff\x85", "scale": 2}).SerializeToString()
    reader, data = framed(Language.PROTOBUF, text, b"\0" + payload)

    assert reader.read(data).text == '{"d":-1.23,"e":null}'
    with pytest.raises(SerdeError):
        reader.read(data[:6] + made(d={"value": b"\5", "scale": 2**31 - 1}).SerializeToString())


def test_a_oneof_with_the_name_of_a_field_is_shown_by_its_own_name() -> None:
    text = 'syntax = "proto3"; message M { int32 o_0 = 3; oneof o { int32 a = 1; string b = 2; } }'
    made = parse_protobuf(text, {}).message_class("M")
    reader, data = framed(Language.PROTOBUF, text, b"\0" + made(o_0=5, a=1).SerializeToString())

    assert reader.read(data).text == '{"o":{"a":1,"b":null},"o_0":5}'


def test_many_optional_fields_are_found_in_linear_time() -> None:
    fields = "".join(f"optional int32 f{number} = {number};" for number in range(1, 4_000))
    text = f'syntax = "proto3"; message M {{ {fields} repeated M more = 5000; }}'
    made = parse_protobuf(text, {}).message_class("M")
    payload = made(more=[made(f1=number) for number in range(9)]).SerializeToString()
    reader, data = framed(Language.PROTOBUF, text, b"\0" + payload)
    started = time.process_time()

    found = reader.read(data).text

    assert found.count('"f2":null') == 10
    assert time.process_time() - started < 20, "each optional field cost a copy of its message"
