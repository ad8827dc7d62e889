"""Avro in the kernel: bytes of other writers as rows, and rows as bytes of registered schemas.

Bytes and rows are literal, so that they agree with Avro's specification and not only with our serde.
"""

import json
from functools import cache
from typing import Any, Final

import pytest

from unit.kernel.formats.schema_conversions import (
    REGISTRY,
    Answers,
    Bad,
    Converted,
    convert,
    shown,
    written,
)

pytestmark = pytest.mark.timeout(120)

FRAME: Final = b"\0\0\0\0"
LONG: Final = "long"
EMPTY: Final[Any] = {"type": "record", "name": "Empty", "fields": []}


def record(*fields: tuple[str, Any] | tuple[str, Any, Any]) -> Any:
    """Return a record of fields: name, type and perhaps a default."""
    named = [dict(zip(("name", "type", "default"), field, strict=False)) for field in fields]
    return {"type": "record", "name": "R", "fields": named}


def logical(kind: str, base: str = LONG, **more: Any) -> Any:
    return {"type": base, "logicalType": kind, **more}


def decimal(precision: int, scale: int, **more: Any) -> Any:
    return logical("decimal", more.pop("type", "bytes"), precision=precision, scale=scale, **more)


MARKED: Final = {"connect.internal.type": "MapEntry"}
CONNECT: Final = {"name": "MapEntry", "namespace": "io.confluent.connect.avro"}


def entries(
    key: Any, value: Any, mark: dict[str, str] = MARKED, *, value_first: bool = False
) -> Any:
    """Return the array of records that stands for a map whose keys are not texts."""
    fields = [{"name": "key", "type": key}, {"name": "value", "type": value}]
    item = {"type": "record", "name": "E", "fields": fields[::-1] if value_first else fields}
    return {"type": "array", "items": item | mark}


FIXED_4: Final[Any] = {"type": "fixed", "name": "F", "size": 4}
ENUM: Final[Any] = {"type": "enum", "name": "U", "symbols": ["KM", "MI"]}

READ: Final[dict[str, tuple[Any, str, bytes, bytes | str]]] = {
    "a float as a text has the digits of the double": (
        record(("a", "float")), "A STRING", b"\xcd\xcc\xcc\x3d", b'{"A":"0.10000000149011612"}',
    ),
    "microseconds of the day round down": (
        record(("a", logical("time-micros")), ("b", logical("time-micros")),
               ("c", logical("time-millis", "int"))),
        "A SMALLINT, B SMALLINT, C SMALLINT", b"\x9e\x1f\x01\x0e", b'{"A":1,"B":-1,"C":7}',
    ),
    "a union of several records has a column for each": (
        [record(("x", "int")) | {"name": "Ord"}, record(("y", "string")) | {"name": "Pay"}],
        "ORD STRUCT<X: INT>, PAY STRUCT<Y: STRING>", b"\2\2a", b'{"ORD":null,"PAY":{"Y":"a"}}',
    ),
    "a null of such a union": (
        ["null", record(("x", "int")), "string"], "R STRUCT<X: INT>, STRING STRING", b"\0",
        b'{"R":null,"STRING":null}',
    ),
    "a type of such a union without a column": (
        [record(("x", "int")), "string", LONG], "LONG BIGINT, STRING STRING", b"\0\2",
        b'{"LONG":null,"STRING":null}',
    ),
    "local timestamps": (
        record(("a", logical("local-timestamp-micros")), ("b", logical("local-timestamp-nanos"))),
        "A TIMESTAMP, B TIMESTAMP", b"\x80\x89\x7a\x01", b'{"A":1000,"B":-1}',
    ),
    "a date too far away": (
        record(("a", logical("date", "int"))), "A DATE", b"\xff\xff\xff\xff\x0f", "the limits",
    ),
    "an int is not a date": (record(("a", "int")), "A DATE", b"\2", "Avro type int as column"),
    "a timestamp is not a time": (
        record(("a", logical("timestamp-millis"))), "A SMALLINT", b"\2", 'column "A" TIME',
    ),
    "the scale of a decimal": (
        record(("a", decimal(4, 2)), ("b", decimal(4, 0)), ("c", decimal(4, 2))),
        "A DECIMAL(4, 2), B DECIMAL(4, 1), C DECIMAL(4, 2)",
        b"\x04\x04\xd2\x02\x05\x00", b'{"A":12.34,"B":5.0,"C":0.00}',
    ),
    "a decimal of too many bytes": (
        record(("a", decimal(4, 2))), "A DECIMAL(4, 2)", b"\xec\x07\x01" + 501 * b"\0",
        "too many digits",
    ),
    "a zero with too many decimal places": (
        record(("a", decimal(2000, 1500))), "A DECIMAL(4, 2)", b"\2\0", "too many digits",
    ),
    "an entry with a null key": (
        record(("m", entries(["null", "int"], "int"))), "M MAP<INT, INT>", b"\2\0\x0a\0",
        "key of a map is null",
    ),
    "a key after its value": (
        record(("m", entries("int", "string", value_first=True))), "M MAP<INT, STRING>",
        b"\4\2a\2\2b\2\0", b'{"M":[{"key":1,"value":"b"}]}',
    ),
    "a key before its value": (
        record(("m", entries("int", LONG))), "M MAP<INT, BIGINT>",
        b"\4\2\4\6\x08\0", b'{"M":[{"key":1,"value":2},{"key":3,"value":4}]}',
    ),
    "keys in bytes are compared by content": (
        record(("m", entries("bytes", "int"))), "M MAP<BINARY, INT>",
        b"\6\2k\2\2l\4\2k\6\0", b'{"M":[{"key":"aw==","value":3},{"key":"bA==","value":2}]}',
    ),
    "an entry with the name of Kafka Connect": (
        record(("m", entries("int", "int", CONNECT))), "M MAP<INT, INT>", b"\2\2\4\0",
        b'{"M":[{"key":1,"value":2}]}',
    ),
    "records with a key and a value are not entries": (
        record(("m", entries("int", "int", {"name": "Pair"}))), "M MAP<INT, INT>", b"\2\2\4\0",
        "Avro type array as column",
    ),
    "such records are an array": (
        record(("m", entries("int", "int", {"name": "Pair"}))), "M ARRAY<STRUCT<KEY: INT>>",
        b"\2\2\4\0", b'{"M":[{"KEY":1}]}',
    ),
    "entries without bytes": (
        record(("m", entries({"type": "fixed", "name": "Z", "size": 0}, EMPTY))),
        "M MAP<BINARY, STRUCT<X: INT>>", 2 * b"\xc0\x9a\x0c" + b"\0", "items without bytes",
    ),
    "items without bytes": (
        record(("m", {"type": "array", "items": EMPTY})), "M ARRAY<STRUCT<X: INT>>",
        2 * b"\xc0\x9a\x0c" + b"\0", "items without bytes",
    ),
    "items without bytes and without a column": (
        record(("m", {"type": "array", "items": EMPTY}), ("b", "int")), "B INT",
        2 * b"\xc0\x9a\x0c" + b"\0\2", "items without bytes",
    ),
    "a block with its size": (
        record(("a", {"type": "array", "items": "int"}), ("m", {"type": "map", "values": "int"})),
        "A ARRAY<INT>", b"\3\4\2\4\2\6\0\1\6\2x\2\0", b'{"A":[1,2,3]}',
    ),
    "a block of more items than bytes": (
        record(("a", {"type": "array", "items": "int"})), "A ARRAY<INT>", b"\xfe\xff\xff\xff\x0f",
        "end too early",
    ),
    "a block of 33 bits of items": (
        record(("a", {"type": "array", "items": "int"})), "A ARRAY<INT>", b"\x80\x80\x80\x80\x20\0",
        "end too early",
    ),
    "a block of the least number of items": (
        record(("a", {"type": "array", "items": "int"})), "A ARRAY<INT>",
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\0\0", "end too early",
    ),
    "a text of a negative length": (record(("a", "string")), "A STRING", b"\1", "end too early"),
    "a skipped text of a negative length": (
        record(("a", "string"), ("b", "int")), "B INT", b"\1\2", "end too early",
    ),
    "a text that is not UTF-8": (record(("a", "string")), "A STRING", b"\2\xff", "not UTF-8"),
    "a number of eleven bytes": (
        record(("a", LONG)), "A BIGINT", 10 * b"\x80" + b"\0", "too many bytes",
    ),
    "an int of 33 bits": (record(("a", "int")), "A INT", b"\x80\x80\x80\x80\x10", "not an Avro int"),
    "a negative branch": (
        record(("a", ["null", "int"])), "A INT", b"\1\2", "type or symbol -1 of 2",
    ),
    "a branch too many": (record(("a", ["null", "int"])), "A INT", b"\4\2", "type or symbol 2 of 2"),
    "a fixed that is cut off": (record(("a", FIXED_4)), "A BINARY", b"abc", "end too early"),
    "a skipped fixed that is cut off": (
        record(("a", FIXED_4), ("b", "int")), "B INT", b"abc", "end too early",
    ),
    "any byte but zero is true": (record(("a", "boolean")), "A BOOLEAN", b"\2", b'{"A":true}'),
    "a union of several types is a struct": (
        record(("u", ["string", "int", FIXED_4])), "U STRUCT<F: BINARY, `INT`: INT, STRING: STRING>",
        b"\2\x0e", b'{"U":{"F":null,"INT":7,"STRING":null}}',
    ),
    "a branch without a column": (
        record(("u", ["string", "int", LONG]), ("b", "int")),
        "U STRUCT<STRING: STRING, `INT`: INT>, B INT",
        b"\4\x0e\2", b'{"U":{"STRING":null,"INT":null},"B":1}',
    ),
    "a union of several types is not a number": (
        record(("u", ["int", LONG])), "U BIGINT", b"\0\2", "Avro type union as column",
    ),
    "a skipped union, map and enum": (
        record(("u", ["null", LONG, "string"]), ("m", {"type": "map", "values": "int"}), ("e", ENUM),
               ("b", "int")),
        "B INT", b"\4\2x\2\2k\x0e\0\2\x0a", b'{"B":5}',
    ),
    "a skipped record that contains itself": (
        record(("a", {"type": "record", "name": "Node", "fields": [
            {"name": "next", "type": ["null", "Node"]}]}), ("b", "int")),
        "B INT", b"\2\2\0\x0a", b'{"B":5}',
    ),
    "two columns of one field": (
        record(("a", "string"), ("b", "int")), "A STRING, a STRING, b INT", b"\2x\2",
        b'{"A":"x","a":"x","b":1}',
    ),
    "the exact name counts before another case": (
        record(("ab", "int"), ("AB", "int")), "ab INT, Ab INT", b"\2\4", b'{"ab":1,"Ab":2}',
    ),
    "a null record is a row of nulls": (["null", record(("a", "int"))], "A INT", b"\0", b'{"A":null}'),
    "no record": ("string", "A STRING", b"\2x", "WRAP_SINGLE_VALUE"),
}  # fmt: skip

WRITTEN: Final[dict[str, tuple[Any, str, str, bytes | str]]] = {
    "null after another type": (record(("a", ["int", "null"])), "A INT", '{"A":null}', b"\2"),
    "a type before null": (record(("a", ["int", "null"])), "A INT", '{"A":3}', b"\0\6"),
    "a type after null": (record(("a", ["null", "int"])), "A INT", '{"A":3}', b"\2\6"),
    "a null that is not allowed": (
        record(("a", "int")), "A INT", '{"A":null}', 'does not allow null in "a"',
    ),
    "a union of several types": (
        record(("u", ["null", "int", "string"])), "U STRUCT<STRING: STRING, `INT`: INT>",
        '{"U":{"INT":3}}', b"\2\6",
    ),
    "the first column of a union that is not null": (
        record(("u", ["null", "int", "string"])), "U STRUCT<STRING: STRING, `INT`: INT>",
        '{"U":{"INT":3,"STRING":"x"}}', b"\4\2x",
    ),
    "a union without a value": (
        record(("u", ["int", "string"])), "U STRUCT<STRING: STRING, `INT`: INT>", '{"U":{}}',
        "does not allow null",
    ),
    "a null with a default": (record(("a", "int", 7)), "A INT", '{"A":null}', b"\x0e"),
    "a value with a default": (record(("a", "int", 7)), "A INT", '{"A":1}', b"\2"),
    "a null with a default that is not null": (
        record(("a", ["int", "null"], 7)), "A INT", '{"A":null}', b"\2",
    ),
    "the default of a field without a column": (
        record(("a", "int"), ("b", "string", "xy"), ("c", ["int", "null"], 5)), "A INT",
        '{"A":1}', b"\2\4xy\0\x0a",
    ),
    "a field without a column and a default": (
        record(("a", "int"), ("b", ["int", "null"])), "A INT", '{"A":1}', b"\2\2",
    ),
    "a field that needs a value": (
        record(("a", "int"), ("b", "int")), "A INT", '{"A":1}', "has no column and no default",
    ),
    "decimals in a fixed have their sign": (
        record(("a", decimal(5, 1, type="fixed", name="D", size=4)),
               ("b", decimal(5, 1, type="fixed", name="G", size=4))),
        "A DECIMAL(5, 1), B DECIMAL(5, 1)", '{"A":-1.5,"B":1.5}', b"\xff\xff\xff\xf1\0\0\0\x0f",
    ),
    "a decimal with another scale": (
        record(("a", decimal(9, 3))), "A DECIMAL(5, 1)", '{"A":1.5}', b"\4\x05\xdc",
    ),
    "a decimal that would lose digits": (
        record(("a", decimal(9, 0))), "A DECIMAL(5, 1)", '{"A":1.5}', "does not fit its schema",
    ),
    "a decimal at the limit": (
        record(("a", decimal(2, 0))), "A DECIMAL(5, 0)", '{"A":100}', "not a decimal(2,0)",
    ),
    "a decimal below the limit": (
        record(("a", decimal(2, 0))), "A DECIMAL(5, 0)", '{"A":-99}', b"\2\x9d",
    ),
    "times in smaller units": (
        record(("a", logical("timestamp-micros")), ("b", logical("time-micros")),
               ("c", logical("timestamp-nanos")), ("d", logical("date", "int"))),
        "A TIMESTAMP, B SMALLINT, C TIMESTAMP, D DATE", '{"A":-1,"B":86399999,"C":1,"D":-1}',
        b"\xcf\x0f" + b"\xb0\xf0\xba\xdd\x83\x05" + b"\x80\x89\x7a\1",
    ),
    "the key after the value": (
        record(("m", entries("int", "string", value_first=True))), "M MAP<INT, STRING>",
        '{"M":[{"key":1,"value":"a"}]}', b"\2\2a\2\0",
    ),
    "the key before the value": (
        record(("m", entries("int", "string"))), "M MAP<INT, STRING>",
        '{"M":[{"key":1,"value":"a"}]}', b"\2\2\2a\0",
    ),
    "entries are not an array": (
        record(("m", entries("int", "string"))), "M ARRAY<STRUCT<KEY: INT, VALUE: STRING>>",
        '{"M":[]}', "Avro type array as column",
    ),
    "a symbol of an enum": (record(("a", ENUM)), "A STRING", '{"A":"MI"}', b"\2"),
    "a symbol that does not exist": (
        record(("a", ENUM)), "A STRING", '{"A":"FT"}', '"FT" is not a symbol',
    ),
    "bytes of another length": (
        record(("a", FIXED_4)), "A BINARY", '{"A":"YWI="}', "2 bytes are not a fixed of 4",
    ),
    "bytes longer than the buffer": (
        record(("a", "string")), "A STRING", f'{{"A":"{"x" * 3000}"}}', b"\xf0\x2e" + 3000 * b"x",
    ),
}  # fmt: skip


def answers() -> Answers:
    """Return the registry's answers: the schema of each case to read has an id."""
    return {
        f"/schemas/ids/{number}?format=resolved": [(200, {"schema": json.dumps(schema)})]
        for number, (schema, *_) in enumerate(READ.values(), 1)
    }


@cache
def converted() -> Converted:
    """Convert all cases in one JVM."""
    reads = [
        shown(columns, "AVRO", {"registry": REGISTRY}, FRAME + bytes([number]) + data)
        for number, (_, columns, data, _) in enumerate(READ.values(), 1)
    ]
    writes = [
        written(columns, "AVRO", {"id": "7", "schema": json.dumps(schema)}, row)
        for schema, columns, row, _ in WRITTEN.values()
    ]
    return convert(*reads, *writes, answers=answers())


def assert_outcome(number: int, expected: bytes | str, frame: bytes = b"") -> None:
    (outcome,) = converted().outcomes[number]
    if isinstance(expected, bytes):
        assert outcome == frame + expected
    else:
        assert isinstance(outcome, Bad)
        assert expected in outcome


@pytest.mark.parametrize("case", READ)
def test_values_of_other_writers(case: str) -> None:
    assert_outcome(list(READ).index(case), READ[case][-1])


@pytest.mark.parametrize("case", WRITTEN)
def test_rows_with_a_registered_schema(case: str) -> None:
    number = len(READ) + list(WRITTEN).index(case)

    assert_outcome(number, WRITTEN[case][-1], FRAME + b"\7")


def test_each_record_may_have_many_items_without_bytes() -> None:
    schema = record(("m", {"type": "array", "items": EMPTY}))
    data = FRAME + b"\1" + b"\xc0\x9a\x0c\0"
    answer = {"/schemas/ids/1?format=resolved": [(200, {"schema": json.dumps(schema)})]}
    given = shown("M ARRAY<STRUCT<X: INT>>", "AVRO", {"registry": REGISTRY}, data, data)

    (outcome,) = convert(given, answers=answer).outcomes

    one = b'{"M":[' + b",".join([b'{"X":null}'] * 100_000) + b"]}"
    assert outcome == [one, one]


def test_bare_values() -> None:
    bare = {"single": "bare"}
    schema = json.dumps(["null", "int"])
    answer = {"/schemas/ids/1?format=resolved": [(200, {"schema": schema})]}
    read = shown(
        "A INT", "AVRO", {"registry": REGISTRY, **bare}, FRAME + b"\1\2\x0e", FRAME + b"\1\0"
    )
    write = written("A INT", "AVRO", {"id": "7", "schema": schema, **bare}, '{"A":7}', '{"A":null}')

    found = convert(read, write, answers=answer).outcomes

    assert found[0] == [b'{"A":7}', b'{"A":null}']
    assert found[1] == [FRAME + b"\7\2\x0e", None]
