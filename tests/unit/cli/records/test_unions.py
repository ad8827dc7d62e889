"""A line that gives two alternatives of a union is refused, because one would be lost."""

import json
from typing import Any, Final

import pytest

from duolog.cli.records.record_schemas import writing_form
from duolog.core.errors import SerdeError
from duolog.registry.in_process import InProcessRegistry
from duolog.schemas.schema import Language
from duolog.schemas.source import SchemaText


def record(name: str, *fields: tuple[str, Any]) -> Any:
    named = [{"name": field, "type": kind} for field, kind in fields]
    return {"type": "record", "name": name, "fields": named}


EITHER: Final = ["null", "int", record("P", ("x", ["null", "int"]))]
ROOT: Final = [record("A", ("id", "int")), record("B", ("why", "string"))]
AVRO: Final = record(
    "R",
    ("u", EITHER),
    ("l", {"type": "array", "items": ["null", "long", "string"]}),
    ("m", {"type": "map", "values": ["boolean", "string"]}),
    ("o", ["null", record("O", ("u", ["null", "float", "bytes"]))]),
)
PROTO: Final = """syntax = "proto3";
message M { oneof o { int32 a = 1; Inner b = 2; } Inner one = 3; repeated Inner many = 4; map<string, Inner> named = 5; }
message Inner { oneof i { int32 x = 1; string y = 2; } }"""
NONE: Final[dict[str, object]] = {"u": None, "l": [], "m": {}, "o": None}


def encode(language: Language, text: str, value: object) -> bytes:
    registry = InProcessRegistry()
    number = registry.register("t-value", SchemaText(language, text))
    return writing_form(registry.by_id(number), number, registry).encode(json.dumps(value))


@pytest.mark.parametrize(
    ("schema", "value", "refused"),
    [
        (ROOT, {"A": {"id": 1}, "B": None}, None),
        (ROOT, {"A": {"id": 1}, "B": {"why": "x"}}, "the value has A and B"),
        (AVRO, NONE | {"u": {"int": 1, "P": None}}, None),
        (AVRO, NONE | {"u": {"int": 1, "P": {"x": 1}}}, 'field "u" has int and P'),
        (AVRO, NONE | {"l": [None, {"long": 1}, {"long": 1, "string": "x"}]}, 'field "l[2]" has long'),
        (AVRO, NONE | {"m": {"k": {"boolean": True, "string": "x"}}}, 'field "m.k" has boolean'),
        (AVRO, NONE | {"o": {"u": {"float": 1, "bytes": "AA=="}}}, 'field "o.u" has float and bytes'),
        (AVRO, NONE | {"o": {"u": {"float": 1}}}, None),
    ],
)  # fmt: skip
def test_a_union_of_avro_has_one_value(schema: Any, value: object, refused: str | None) -> None:
    if refused is None:
        assert encode(Language.AVRO, json.dumps(schema), value)
        return
    with pytest.raises(SerdeError) as caught:
        encode(Language.AVRO, json.dumps(schema), value)

    assert refused in caught.value.detail


@pytest.mark.parametrize(
    ("value", "refused"),
    [
        ({"o_0": {"a": 1}, "one": {"i_0": {"x": 1}}, "many": [{"i_0": None}], "named": {}}, None),
        ({"o_0": {"a": 1, "b": {"i_0": None}}}, 'field "o_0" has a and b'),
        ({"o_0": {"b": {"i_0": {"x": 1, "y": "z"}}}}, 'field "o_0.b.i_0" has x and y'),
        ({"one": {"i_0": {"x": 1, "y": "z"}}}, 'field "one.i_0" has x and y'),
        ({"many": [{}, {"i_0": {"x": 1, "y": "z"}}]}, 'field "many[1].i_0" has x and y'),
        ({"named": {"k": {"i_0": {"x": 1, "y": "z"}}}}, 'field "named.k.i_0" has x and y'),
    ],
)
def test_a_oneof_of_protobuf_has_one_value(value: object, refused: str | None) -> None:
    if refused is None:
        assert encode(Language.PROTOBUF, PROTO, value)
        return
    with pytest.raises(SerdeError) as caught:
        encode(Language.PROTOBUF, PROTO, value)

    assert refused in caught.value.detail
