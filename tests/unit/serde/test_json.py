import datetime as dt
import math
import sys
from decimal import Decimal

import pytest

from duolog.core.errors import SerdeError
from duolog.core.types import parse_columns
from duolog.serde.json import JsonSerde
from duolog.serde.ksql_json import KsqlJsonSerde
from duolog.serde.serde import key_serde, value_serde

EVERY_TYPE = parse_columns(
    "flag BOOLEAN, i INT, b BIGINT, d DOUBLE, s STRING, raw BYTES, day DATE, "
    "ts TIMESTAMP, price DECIMAL(10,2), list ARRAY<INT>, by_name MAP<STRING, DOUBLE>, "
    "place STRUCT<faa STRING, tz INT>"
)
ROW = (
    True, -5, 2**40, 0.1, 'a "b"\n\\é', b"\x00\xff", dt.date(2013, 1, 1),
    dt.datetime(2013, 1, 1, 10, tzinfo=dt.UTC), Decimal("1.50"), [1, None], {"x": 1.0},
    {"faa": "SFO", "tz": None},
)  # fmt: skip
TEXT = (
    '{"flag":true,"i":-5,"b":1099511627776,"d":0.1,"s":"a \\"b\\"\\n\\\\é","raw":"AP8=",'
    '"day":"2013-01-01","ts":"2013-01-01T10:00:00.000Z","price":1.50,'
    '"list":[1,null],"by_name":{"x":1.0},"place":{"faa":"SFO","tz":null}}'
).encode()


def read(columns: str, text: str) -> object:
    return value_serde("JSON", parse_columns(columns)).deserialize(text.encode())


def written(columns: str, *row: object) -> str:
    data = value_serde("JSON", parse_columns(columns)).serialize(row)
    assert data is not None
    return data.decode()


def test_every_type_round_trips() -> None:
    serde = JsonSerde(EVERY_TYPE)

    assert serde.serialize(ROW) == TEXT
    assert serde.deserialize(TEXT) == ROW


def test_nulls_are_written_and_missing_fields_are_read_as_null() -> None:
    serde = JsonSerde(EVERY_TYPE)
    nulls = (None,) * len(EVERY_TYPE)

    data = serde.serialize(nulls)

    assert data is not None
    assert data.startswith(b'{"flag":null,"i":null,')
    assert serde.deserialize(data) == nulls
    assert serde.deserialize(b"{}") == nulls


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"), (-0.0, "-0.0"), (1.0, "1.0"), (1e7, "1.0E7"), (9999999.0, "9999999.0"),
        (0.001, "0.001"), (0.00012, "1.2E-4"), (-1.25e-10, "-1.25E-10"), (1e300, "1.0E300"),
        (123456789.125, "1.23456789125E8"), (math.nan, '"NaN"'), (-math.inf, '"-Infinity"'),
    ],
)  # fmt: skip
def test_a_double_is_written_as_java_writes_it(value: float, text: str) -> None:
    assert written("d DOUBLE", value) == f'{{"d":{text}}}'


def test_control_characters_are_escaped_as_jackson_does() -> None:
    assert written("s STRING", "\x00\x1f\t/\x7f") == '{"s":"\\u0000\\u001F\\t/\x7f"}'


@pytest.mark.parametrize(
    ("columns", "text", "expected"),
    [
        ("a INT, b INT", '{"b":2,"x":[1],"a":1}', (1, 2)),
        ("a INT", '{"A":1}', (None,)),
        ("a INT", '{"a":1,"a":2}', (2,)),
        ("a INT", ' {"a":1} trailing', (1,)),
        ("a DOUBLE", '{"a":1}', (1.0,)),
        ("a DOUBLE", '{"a":"-Infinity"}', (-math.inf,)),
        ("a DOUBLE", '{"a":Infinity}', (math.inf,)),
        ("a DOUBLE", '{"a":1e400}', (math.inf,)),
        ("a DOUBLE", '{"a":-1e400}', (-math.inf,)),
        ("a DOUBLE", f'{{"a":-1{"0" * 400}}}', (-math.inf,)),
        ("a DOUBLE", '{"a":1e-400}', (0.0,)),
        ("a DECIMAL(4,1)", '{"a":1.25}', (Decimal("1.3"),)),
        ("a DECIMAL(4,1)", '{"a":"7"}', (Decimal("7.0"),)),
        ("a STRING", '{"a":15}', ("15",)),
        ("a STRING", '{"a":true}', ("true",)),
        ("a STRING", '{"a":{"b":[1,null]}}', ('{"b":[1,null]}',)),
        ("a STRING", '{"a":{"b":1,"c":3,"b":2}}', ('{"b":2,"c":3}',)),
        ("a INT", "null", None),
        ("a INT", " null\n", None),
        ("a STRING", '{"a":1.50e3}', ("1.50e3",)),
        ("a STRING", '{"a":{"b":[1.50]}}', ('{"b":[1.50]}',)),
        ("a DECIMAL(4,1)", '{"a":-0.001}', (Decimal("0.0"),)),
        ("a DECIMAL(36,0)", f'{{"a":{"9" * 36}}}', (Decimal("9" * 36),)),
        ("a DECIMAL(4,1)", '{"a":1e-10000000}', (Decimal("0.0"),)),
        ("a MAP<STRING, INT>", '{"a":{"x":1,"x":2}}', ({"x": 2},)),
        ("a TIMESTAMP", '{"a":86400001}', (dt.datetime(1970, 1, 2, 0, 0, 0, 1000, dt.UTC),)),
    ],
)
def test_json_is_read_as_spark_reads_it(columns: str, text: str, expected: object) -> None:
    assert read(columns, text) == expected


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ("a INT", '{"a":"1"}'),
        ("a INT", '{"a":1.0}'),
        ("a INT", '{"a":true}'),
        ("a INT", '{"a":2147483648}'),
        ("a BIGINT", '{"a":9223372036854775808}'),
        ("a BOOLEAN", '{"a":1}'),
        ("a BOOLEAN", '{"a":"true"}'),
        ("a DOUBLE", '{"a":"1"}'),
        ("a DECIMAL(3,1)", '{"a":100}'),
        ("a ARRAY<INT>", '{"a":{"b":1}}'),
        ("a BYTES", '{"a":"%"}'),
        ("a DATE", '{"a":"someday"}'),
        ("a INT", "[1]"),
        ("a INT", "5"),
        ("a INT", '{"a":1'),
        ("a INT", ""),
        ("a INT", " "),
        ("a INT", "null x"),
        ("a DECIMAL(4,1)", '{"a":1e10000000}'),
        ("a DECIMAL(4,1)", '{"a":"1_0"}'),
        ("a DATE", '{"a":"20130101"}'),
        ("a TIMESTAMP", '{"a":1.5}'),
        ("a INT", '{"x":' + "[" * 200 + "]" * 200 + "}"),
        ("a INT", '{"x":' + "[" * 100_000),
    ],
)
def test_json_that_does_not_fit_the_columns_is_refused(columns: str, text: str) -> None:
    with pytest.raises(SerdeError):
        read(columns, text)


def test_bytes_that_are_not_utf8_are_refused() -> None:
    with pytest.raises(SerdeError, match="the bytes are not JSON"):
        JsonSerde(EVERY_TYPE).deserialize(b"\xff\xfe")


def test_writing_a_value_of_another_type_is_refused() -> None:
    with pytest.raises(SerdeError, match="cannot write a row"):
        written("a INT", "x")


def test_one_key_column_is_a_bare_value_and_several_are_an_object() -> None:
    one, two = parse_columns("a STRING"), parse_columns("a STRING, b BIGINT")

    assert key_serde("JSON", one).serialize(("x",)) == b'"x"'
    assert key_serde("JSON", one).deserialize(b'"x"') == ("x",)
    assert key_serde("JSON", two).serialize(("x", 1)) == b'{"a":"x","b":1}'


def test_a_bare_value_is_not_in_an_object() -> None:
    serde = key_serde("JSON", parse_columns("a BIGINT"))

    assert serde.deserialize(b" 1 ") == (1,)
    for text in (b'1,"a":2', b'1}{"a":2', b"1 2", b"1x"):
        with pytest.raises(SerdeError):
            serde.deserialize(text)


def test_a_null_row_has_no_bytes() -> None:
    serde = value_serde("JSON", EVERY_TYPE)

    assert serde.serialize(None) is None
    assert serde.deserialize(None) is None


@pytest.mark.parametrize("of", ["JSON", "KSQL_JSON"])
@pytest.mark.parametrize("column", ["a STRING", "a ARRAY<STRING>", "b INT"])
def test_json_that_is_nested_deeply_is_an_error_if_the_stack_is_nearly_full(
    of: str, column: str
) -> None:
    """199 levels raised a RecursionError when few frames of Python's stack were left."""
    columns = parse_columns(column)
    serde = value_serde("JSON", columns) if of == "JSON" else KsqlJsonSerde(columns)
    data = f'{{"a":{"[" * 198}{"]" * 198}}}'.encode()
    outcomes: list[str] = []

    def deeper() -> None:
        try:
            serde.deserialize(data)
        except SerdeError as error:
            outcomes.append(error.message)
        else:
            outcomes.append("read")
        deeper()

    with pytest.raises(RecursionError):
        deeper()

    assert outcomes[0] == "read"
    assert set(outcomes[1:]) <= {"read", *TOO_DEEP}
    # From Python 3.12 on, the scanner in C does not use up frames of Python's stack.
    assert set(outcomes) & TOO_DEEP or sys.version_info >= (3, 12)


TOO_DEEP = {
    "cannot read the bytes from JSON: nested too deeply",
    'cannot read column "a" from JSON: nested too deeply',
}
