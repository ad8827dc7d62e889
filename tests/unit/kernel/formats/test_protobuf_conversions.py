"""Protobuf in the kernel: messages of other writers as rows, and rows as messages.

Bytes and rows are literal. `tests/conformance/spark/test_protobuf.py` compares random ones with our
serde; here are the cases that chance does not find.
"""

import base64
from functools import cache
from typing import Final

import pytest
from google.protobuf import descriptor_pb2

from duolog.schemas.protobuf import parse
from unit.kernel.formats.schema_conversions import (
    REGISTRY,
    Bad,
    Converted,
    convert,
    shown,
    written,
)

pytestmark = pytest.mark.timeout(120)

FRAME: Final = b"\0\0\0\0"
P2: Final = 'syntax = "proto2"; '
P3: Final = 'syntax = "proto3"; '
DATED: Final = 'edition = "2023"; '
IMPORTS: Final = P3 + "".join(
    f'import "{path}.proto"; '
    for path in ("google/type/date", "google/type/timeofday", "google/protobuf/timestamp")
)
DECIMAL: Final = (
    P3 + 'import "confluent/type/decimal.proto"; message R { confluent.type.Decimal d = 1; }'
)

READ: Final[dict[str, tuple[str, str, bytes, bytes | str]]] = {
    "the columns of two oneofs": (
        P3 + "message R { oneof a { int32 x = 1; } oneof b { int32 y = 2; string z = 3; } }",
        "A_0 STRUCT<X: INT>, B_1 STRUCT<Y: INT, Z: STRING>", b"\x08\1\x10\2\x1a\1z",
        b'{"A_0":{"X":1},"B_1":{"Y":null,"Z":"z"}}',
    ),
    "more than eight elements": (
        P3 + "message R { repeated int32 n = 1; }", "N ARRAY<INT>", b"\x0a\x09" + b"\1" * 9,
        b'{"N":[1,1,1,1,1,1,1,1,1]}',
    ),
    "an open enum of an edition": (
        DATED + "message R { E e = 1; } enum E { A = 0; }", "E STRING", b"\x08\7", b'{"E":"7"}',
    ),
    "an enum that is closed by a feature": (
        DATED + "message R { E e = 1; } enum E { option features.enum_type = CLOSED; A = 0; }",
        "E STRING", b"\x08\7", b'{"E":null}',
    ),
    "a text without a check of UTF-8": (
        DATED + "message R { string s = 1 [features.utf8_validation = NONE]; string t = 2; "
        "string unread = 3 [features.utf8_validation = NONE]; }",
        "T STRING", b"\x12\1t\x1a\1\xff", b'{"T":"t"}',
    ),
    "a text with a check of UTF-8": (
        DATED + "message R { string s = 1; string t = 2; }", "T STRING", b"\x0a\1\xff",
        "not UTF-8",
    ),
    "a field without presence by a feature of the file": (
        DATED + "option features.field_presence = IMPLICIT; message R { int32 n = 1; "
        "int32 m = 2 [features.field_presence = EXPLICIT]; }",
        "N INT, M INT", b"", b'{"N":0,"M":null}',
    ),
    "delimited messages, but not maps": (
        DATED + "option features.message_encoding = DELIMITED; "
        "message R { N n = 1; map<int32, N> m = 2; } message N { int32 x = 1; }",
        "N STRUCT<X: INT>, M MAP<INT, STRUCT<X: INT>>",
        b"\x0b\x08\5\x0c\x12\6\x08\1\x12\2\x08\7", b'{"N":{"X":5},"M":[{"key":1,"value":{"X":7}}]}',
    ),
    "year zero": (
        IMPORTS + "message R { google.type.Date d = 1; }", "D DATE", b"\x0a\4\x10\1\x18\1",
        "there is no year 0",
    ),
    "the last year": (
        IMPORTS + "message R { google.type.Date d = 1; }", "D DATE",
        b"\x0a\7\x08\x8f\x4e\x10\x0c\x18\x1f", b'{"D":2932896}',
    ),
    "a month that does not exist": (
        IMPORTS + "message R { google.type.Date d = 1; }", "D DATE", b"\x0a\6\x08\1\x10\x0d\x18\1",
        "out of range",
    ),
    "wrappers are the values in them": (
        P3 + 'import "google/protobuf/wrappers.proto"; message R { google.protobuf.Int32Value a = 1; '
        "google.protobuf.StringValue b = 2; google.protobuf.BytesValue c = 3; }",
        "A INT, B STRING, C BINARY", b"\x0a\2\x08\5\x12\0", b'{"A":5,"B":"","C":null}',
    ),
    "an entry without its message has an empty one": (
        P3 + "message R { map<string, N> m = 1; } message N { int32 x = 1; }",
        "M MAP<STRING, STRUCT<X: INT>>", b"\x0a\3\x0a\1k", b'{"M":[{"key":"k","value":{"X":0}}]}',
    ),
    "a zero of a large unit": (
        DECIMAL, "D DECIMAL(5, 2)", b"\x0a\x0e\x0a\1\0\x18" + b"\xff" * 9 + b"\1", b'{"D":0.00}',
    ),
    "the end of a day": (
        IMPORTS + "message R { google.type.TimeOfDay t = 1; }", "T SMALLINT", b"\x0a\2\x08\x18",
        "86400000 ms are not a time of day",
    ),
    "the last millisecond of a day": (
        IMPORTS + "message R { google.type.TimeOfDay t = 1; }", "T SMALLINT",
        b"\x0a\x0c\x08\x17\x10\x3b\x18\x3b\x20\xff\x93\xeb\xdc\3", b'{"T":86399999}',
    ),
    "nanoseconds before a second": (
        IMPORTS + "message R { google.protobuf.Timestamp t = 1; }", "T TIMESTAMP",
        b"\x0a\x0b\x10" + b"\xff" * 9 + b"\1", b'{"T":-1}',
    ),
    "a decimal of another scale": (DECIMAL, "D DECIMAL(5, 2)", b"\x0a\5\x0a\1\x0f\x18\1", b'{"D":1.50}'),
    "a decimal of the column's scale": (
        DECIMAL, "D DECIMAL(5, 2)", b"\x0a\6\x0a\2\x00\x96\x18\2", b'{"D":1.50}',
    ),
    "a decimal of too many digits": (
        DECIMAL, "D DECIMAL(5, 2)", b"\x0a\7\x0a\3\x0f\x42\x40\x18\2", "does not fit DECIMAL(5,2)",
    ),
    "a decimal of too small a unit": (
        DECIMAL, "D DECIMAL(5, 2)", b"\x0a\6\x0a\1\1\x18\xe9\7", "too many digits",
    ),
    "a tag of more than 32 bits": (
        P3 + "message R { int32 n = 1; }", "N INT", b"\x88\x80\x80\x80\x10\5", "no field of this number",
    ),
    "a length of more than 31 bits": (
        P3 + "message R { string s = 1; }", "S STRING", b"\x0a\xff\xff\xff\xff\x0f", "cut off",
    ),
    "entries with the value before the key": (
        P3 + "message R { repeated AEntry m = 1; } message AEntry { int32 key = 2; string value = 1; }",
        "M MAP<INT, STRING>", b"\x0a\5\x0a\1a\x10\1\x0a\5\x0a\1b\x10\1", b'{"M":[{"key":1,"value":"b"}]}',
    ),
    "messages with a key and a value are an array": (
        P3 + "message R { repeated A m = 1; } message A { int32 key = 1; string value = 2; }",
        "M ARRAY<STRUCT<KEY: INT>>", b"\x0a\2\x08\1\x0a\2\x08\1", b'{"M":[{"KEY":1},{"KEY":1}]}',
    ),
    "keys in bytes are compared by content": (
        P3 + "message R { repeated AEntry m = 1; } message AEntry { bytes key = 1; int32 value = 2; }",
        "M MAP<BINARY, INT>", b"\x0a\5\x0a\1k\x10\1\x0a\5\x0a\1l\x10\2\x0a\5\x0a\1k\x10\3",
        b'{"M":[{"key":"aw==","value":3},{"key":"bA==","value":2}]}',
    ),
    "an entry without a key": (
        P3 + "message R { repeated AEntry m = 1; } message AEntry { bytes key = 1; int32 value = 2; }",
        "M MAP<BINARY, INT>", b"\x0a\2\x10\1", "has no key",
    ),
    "the group of an extension is not merged with others": (
        P2 + "message R { extensions 100 to 200; optional int32 n = 1; } "
        "extend R { optional group More = 100 { optional int32 x = 1; } }",
        "N INT", b"\x08\5\xa3\6\x08\1\xa4\6", b'{"N":5}',
    ),
    "the group of an extension that does not end": (
        P2 + "message R { extensions 100 to 200; optional int32 n = 1; } "
        "message Other { extend R { optional group More = 100 { optional int32 x = 1; } } }",
        "N INT", b"\x08\5\xa3\6\x08\1", "does not end",
    ),
}  # fmt: skip

MAPS: Final = (
    "message R { map<int32, int32> i = 1; map<string, int32> s = 2; map<bool, int32> b = 3; }"
)
WRITTEN: Final[dict[str, tuple[str, str, str, bytes | str]]] = {
    # The order of entries is that of google.protobuf with deterministic=True.
    "whole numbers as keys": (
        P3 + MAPS, "I MAP<INT, INT>",
        '{"I":[{"key":-1,"value":1},{"key":1,"value":2},{"key":0,"value":3}]}',
        b"\x0a\x0d\x08" + b"\xff" * 9 + b"\1\x10\1\x0a\4\x08\1\x10\2\x0a\4\x08\0\x10\3",
    ),
    "texts as keys": (
        P3 + MAPS, "S MAP<STRING, INT>",
        '{"S":[{"key":"a","value":1},{"key":"ab","value":2},{"key":"b","value":3}]}',
        b"\x12\6\x0a\2ab\x10\2\x12\5\x0a\1a\x10\1\x12\5\x0a\1b\x10\3",
    ),
    "entries with the value before the key": (
        P3 + "message R { repeated AEntry m = 1; } message AEntry { int32 key = 2; string value = 1; }",
        "M MAP<INT, STRING>", '{"M":[{"key":1,"value":"a"}]}', b"\x0a\5\x0a\1a\x10\1",
    ),
    "entries with the key before the value": (
        P3 + "message R { repeated AEntry m = 1; } message AEntry { int32 key = 1; string value = 2; }",
        "M MAP<INT, STRING>", '{"M":[{"key":1,"value":"a"},{"key":2,"value":null}]}',
        b"\x0a\5\x08\1\x12\1a\x0a\2\x08\2",
    ),
    "the members of a second oneof": (
        P3 + "message R { oneof a { int32 x = 1; } oneof b { int32 y = 2; string z = 3; } }",
        "B_1 STRUCT<Z: STRING, Y: INT>", '{"B_1":{"Y":1,"Z":"z"}}', b"\x1a\1z",
    ),
    "a null element": (
        P3 + "message R { repeated int32 n = 1; }", "N ARRAY<INT>", '{"N":[1,null]}',
        'no null inside "N"',
    ),
    "numbers that are not packed": (
        P2 + "message R { repeated int32 n = 1; }", "N ARRAY<INT>", '{"N":[1,2]}', b"\x08\1\x08\2",
    ),
    "a symbol that does not exist": (
        P3 + "message R { E e = 1; } enum E { A = 0; }", "E STRING", '{"E":"B"}',
        '"B" is not a value of the Protobuf enum',
    ),
    "times before 1970": (
        IMPORTS + "message R { google.protobuf.Timestamp t = 1; }", "T TIMESTAMP", '{"T":-1}',
        b"\x0a\x11\x08" + b"\xff" * 9 + b"\1\x10\xc0\x8f\xae\xdc\3",
    ),
    "wrappers": (
        P3 + 'import "google/protobuf/wrappers.proto"; message R { google.protobuf.Int32Value a = 1; '
        "google.protobuf.StringValue b = 2; google.protobuf.Int32Value c = 3; }",
        "A INT, B STRING, C INT", '{"A":5,"B":"","C":null}', b"\x0a\2\x08\5\x12\0",
    ),
    "a group": (
        P2 + "message R { optional group G = 1 { optional int32 x = 1; } }", "G STRUCT<X: INT>",
        '{"G":{"X":5}}', b"\x0b\x08\5\x0c",
    ),
    "a null message that needs a field": (
        P2 + "message R { map<int32, N> m = 1; } message N { required int32 x = 1; }",
        "M MAP<INT, STRUCT<X: INT>>", '{"M":[{"key":1,"value":null}]}', 'requires the field "x"',
    ),
    "a decimal": (DECIMAL, "D DECIMAL(5, 2)", '{"D":1.5}', b"\x0a\x08\x0a\2\0\x96\x10\5\x18\2"),
    "a message of one more kilobyte": (
        P3 + "message R { string s = 1; string t = 2; }", "S STRING, T STRING",
        f'{{"S":"{"s" * 200}","T":"{"t" * 1000}"}}',
        b"\x0a\xc8\1" + b"s" * 200 + b"\x12\xe8\7" + b"t" * 1000,
    ),
    "a required field that has no column": (
        P2 + "message R { required int32 n = 1; optional int32 m = 2; }", "M INT", '{"M":1}',
        'requires the field "n"',
    ),
    "a field that a feature requires": (
        DATED + "message R { int32 n = 1 [features.field_presence = LEGACY_REQUIRED]; }", "N INT",
        '{"N":null}', 'requires the field "n"',
    ),
}  # fmt: skip


def descriptor(text: str) -> dict[str, str]:
    return {"descriptor": parse(text, {}).formatted("serialized")}


@cache
def converted() -> Converted:
    """Convert all cases in one JVM."""
    reads = [
        shown(columns, "PROTOBUF_NOSR", descriptor(text), data)
        for text, columns, data, _ in READ.values()
    ]
    writes = [
        written(columns, "PROTOBUF_NOSR", descriptor(text), row)
        for text, columns, row, _ in WRITTEN.values()
    ]
    return convert(*reads, *writes)


def assert_outcome(number: int, expected: bytes | str) -> None:
    (outcome,) = converted().outcomes[number]
    if isinstance(expected, bytes):
        assert outcome == expected
    else:
        assert isinstance(outcome, Bad)
        assert expected in outcome


@pytest.mark.parametrize("case", READ)
def test_messages_of_other_writers(case: str) -> None:
    assert_outcome(list(READ).index(case), READ[case][-1])


@pytest.mark.parametrize("case", WRITTEN)
def test_rows_as_messages(case: str) -> None:
    assert_outcome(len(READ) + list(WRITTEN).index(case), WRITTEN[case][-1])


def test_a_described_schema_needs_no_registry() -> None:
    options = {"id": "7", **descriptor(P3 + "message A { int32 n = 1; }")}

    (found,) = convert(written("N INT", "PROTOBUF", options, '{"N":5}')).outcomes

    assert found == [FRAME + b"\7\0\x08\5"]


def test_a_row_that_is_not_written_leaves_nothing_for_the_next_one() -> None:
    text = P3 + "message R { string s = 1; repeated int32 n = 2; }"
    rows = ('{"S":"x","N":[null,1]}', '{"S":"y","N":[2]}')

    ((first, second),) = convert(
        written("S STRING, N ARRAY<INT>", "PROTOBUF_NOSR", descriptor(text), *rows)
    ).outcomes

    assert isinstance(first, Bad)
    assert second == b"\x0a\1y\x12\1\2"


PLACES: Final = """syntax = "proto2"; package o;
message R { extensions 100 to 200;
  message A { optional int32 n = 1; } message AB { optional int32 n = 2; }
  extend R { optional group Inner = 101 { optional int32 x = 1; } } message C { optional int32 n = 3; } }
extend R { optional group Outer = 100 { optional int32 x = 1; } }
message Last { optional int32 n = 4; }"""


def test_groups_have_no_place_among_messages() -> None:
    """Writers count the other messages only, as Confluent's parser does."""
    path = "/schemas/ids/1?format=serialized"
    answer = {"schema": parse(PLACES, {}).formatted("serialized"), "schemaType": "PROTOBUF"}
    records = [
        FRAME + b"\1" + rest
        for rest in (b"\2\2\x20\5", b"\4\0\0\x08\5", b"\4\0\2\x10\5", b"\4\0\4\x18\5", b"\2\4", b"\4\0\6")
    ]  # fmt: skip
    read = shown("N INT", "PROTOBUF", {"registry": REGISTRY}, *records)
    names = ("o.R.A", "o.R.AB", "o.R.C", "o.Last", "o.R")
    writes = [
        written("N INT", "PROTOBUF", {"id": "1", "registry": REGISTRY, "message": name}, '{"N":5}')
        for name in names
    ]

    found = convert(read, *writes, answers={path: [(200, answer)]}).outcomes

    assert found[0][:4] == [b'{"N":5}'] * 4
    assert [str(one) for one in found[0][4:]] == ["the schema has no message at this place"] * 2
    assert found[1:] == [[records[place]] for place in (1, 2, 3, 0)] + [[FRAME + b"\1\0"]]


NO_MESSAGES: Final = (
    (b"\2\x80\x80\x80\x80\x20", "no message at this place"),
    (b"\2\x80\x80\x80\x80\x80\0", "more than 32 bits"),
    (b"\x82\1" + b"\0" * 65, "65 message indexes"),
    (b"\1", "-1 message indexes"),
    (b"\2\1", "no message at this place"),
    (b"\2", "cut off"),
)


def test_indexes_of_no_message_are_bad_records() -> None:
    path = "/schemas/ids/1?format=serialized"
    answer = {"schema": parse(PLACES, {}).formatted("serialized"), "schemaType": "PROTOBUF"}
    records = [FRAME + b"\1" + indexes for indexes, _ in NO_MESSAGES]

    (found,) = convert(
        shown("N INT", "PROTOBUF", {"registry": REGISTRY}, *records),
        answers={path: [(200, answer)]},
    ).outcomes

    for outcome, (_, message) in zip(found, NO_MESSAGES, strict=True):
        assert isinstance(outcome, Bad)
        assert message in outcome


def test_a_file_has_the_messages_of_one_that_it_imports_publicly() -> None:
    part = P3 + "message Part { int32 n = 1; }"
    answers: dict[str, list[tuple[int, object]]] = {
        "/subjects/p/versions/1?format=serialized": [
            (200, {"schema": parse(part, {}).formatted("serialized")})
        ]
    }
    for number, kind in enumerate(("public ", ""), 1):
        text = P3 + f'import {kind}"part.proto";'
        answers[f"/schemas/ids/{number}?format=serialized"] = [(200, {
            "schema": parse(text, {"part.proto": part}).formatted("serialized"),
            "schemaType": "PROTOBUF",
            "references": [{"name": "part.proto", "subject": "p", "version": 1}],
        })]  # fmt: skip
    records = [FRAME + bytes([number]) + b"\0\x08\5" for number in (1, 2)]

    (found,) = convert(
        shown("N INT", "PROTOBUF", {"registry": REGISTRY}, *records), answers=answers
    ).outcomes

    assert found == [b'{"N":5}', "the schema has no message at this place"]


def encoded(file: descriptor_pb2.FileDescriptorProto, more: bytes = b"") -> dict[str, str]:
    return {"descriptor": base64.b64encode(file.SerializeToString() + more).decode()}


def test_descriptors_of_other_compilers() -> None:
    file = descriptor_pb2.FileDescriptorProto(name="d.proto")
    message = file.message_type.add(name="R")
    field = message.field.add(name="n", number=1, label=1, type=5)
    proto3 = encoded(file, b"\x70\xe7\7")  # edition = EDITION_PROTO3
    # options { features { field_presence: IMPLICIT } } in two parts, the second one empty
    parts = encoded(file, b"\x70\xe8\7" + b"\x42\5\x92\3\2\x08\2" + b"\x42\0")
    field.type_name = ".Missing"
    missing = encoded(file)

    found = convert(
        *(shown("N INT", "PROTOBUF_NOSR", one, b"") for one in (proto3, parts, missing))
    ).outcomes

    assert found[:2] == [[b'{"N":0}']] * 2
    problem = "the schema to read with cannot be used: the schema does not define the type .Missing"
    assert found[2] == [Bad(problem)]


def test_an_extension_inside_a_message_is_found_by_the_names_of_the_text() -> None:
    """Confluent's registry has no full names; the content of an extension is checked."""
    file = descriptor_pb2.FileDescriptorProto(name="d.proto", package="p")
    message = file.message_type.add(name="R")
    message.extension_range.add(start=100, end=201)
    message.field.add(name="n", number=1, label=1, type=5)
    other = file.message_type.add(name="Other")
    other.nested_type.add(name="N").field.add(name="s", number=1, label=1, type=9)
    other.extension.add(name="more", number=100, label=1, type_name="N", extendee="R")
    data = (b"\x08\5\xa2\6\3\x0a\1s", b"\x08\5\xa2\6\1\x80")

    ((whole, damaged),) = convert(shown("N INT", "PROTOBUF_NOSR", encoded(file), *data)).outcomes

    assert whole == b'{"N":5}'
    assert isinstance(damaged, Bad)
