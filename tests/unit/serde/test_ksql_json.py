import datetime as dt
import math
from decimal import Decimal

import pytest

from duolog.core.errors import SerdeError
from duolog.core.types import TIME, Column, parse_columns
from duolog.serde.serde import key_serde, value_serde

KSQL = (("dialect", "ksqldb"),)
BARE = (*KSQL, ("single", "bare"))
EVERY_TYPE = (
    *parse_columns(
        "FLAG BOOLEAN, I INT, B BIGINT, D DOUBLE, S STRING, RAW BYTES, DAY DATE, TS TIMESTAMP, "
        "PRICE DECIMAL(10,8), LIST ARRAY<INT>, BY_NAME MAP<STRING, DOUBLE>, PLACE STRUCT<FAA STRING, TZ INT>"
    ),
    Column("AT", TIME),
)
ROW = (
    True, -5, 2**40, 0.1, 'a "b"\n\\é', b"\x00\xff", dt.date(2013, 1, 1),
    dt.datetime(2013, 1, 1, 10, tzinfo=dt.UTC), Decimal("0.00000010"), [1, None], {"x": 1.0},
    {"FAA": "SFO", "TZ": None}, 36_000_000,
)  # fmt: skip
TEXT = (
    '{"FLAG":true,"I":-5,"B":1099511627776,"D":0.1,"S":"a \\"b\\"\\n\\\\é","RAW":"AP8=",'
    '"DAY":15706,"TS":1357034400000,"PRICE":0.00000010,'
    '"LIST":[1,null],"BY_NAME":{"x":1.0},"PLACE":{"FAA":"SFO","TZ":null},"AT":36000000}'
).encode()


def read(columns: str, text: str) -> object:
    return value_serde("JSON", parse_columns(columns), KSQL).deserialize(text.encode())


def test_every_type_round_trips() -> None:
    serde = value_serde("JSON", EVERY_TYPE, KSQL)

    assert serde.serialize(ROW) == TEXT
    assert serde.deserialize(TEXT) == ROW


def test_nulls_are_written_and_missing_fields_are_read_as_null() -> None:
    serde = value_serde("JSON", EVERY_TYPE, KSQL)
    nulls = (None,) * len(EVERY_TYPE)

    data = serde.serialize(nulls)

    assert data is not None
    assert data.startswith(b'{"FLAG":null,"I":null,')
    assert serde.deserialize(data) == nulls
    assert serde.deserialize(b"{}") == nulls


@pytest.mark.parametrize(
    ("columns", "text", "expected"),
    [
        ("A INT, B INT", '{"b":2,"x":[1],"a":1}', (1, 2)),
        ("A INT", '{"a":1,"A":2}', (2,)),
        ("A INT", '{"A":2,"a":1}', (2,)),
        ("FOO INT", '{"foo":1,"Foo":2}', (2,)),
        ("FOO INT", '{"foo":1,"FOO":2,"Foo":3}', (2,)),
        ("a INT", '{"A":1}', (None,)),
        ("a INT, A INT", '{"a":1}', (1, 1)),
        ("a INT, A INT", '{"A":2,"a":1}', (1, 2)),
        ("P STRUCT<F DOUBLE>", '{"p":{"f":1}}', ({"F": 1.0},)),
        ("A INT", '{"A":"12"}', (12,)),
        ("A INT", '{"A":1.9}', (1,)),
        ("A INT", '{"A":-0.5}', (0,)),
        ("A BIGINT", '{"A":1e3}', (1000,)),
        ("A DOUBLE", '{"A":"1.5"}', (1.5,)),
        ("A DOUBLE", '{"A":"-Infinity"}', (-math.inf,)),
        ("A DOUBLE", '{"A":1e400}', (math.inf,)),
        ("A DOUBLE", '{"A":"-1e400"}', (-math.inf,)),
        ("A DOUBLE", f'{{"A":1{"0" * 400}}}', (math.inf,)),
        ("A DOUBLE", '{"A":" 1.5\\n"}', (1.5,)),
        ("A DECIMAL(4,2)", '{"A":10}', (Decimal("10.00"),)),
        ("A DECIMAL(4,2)", '{"A":"1.500"}', (Decimal("1.50"),)),
        ("A DECIMAL(4,2)", '{"A":0e10}', (Decimal("0.00"),)),
        ("A STRING", '{"A":15}', ("15",)),
        ("A STRING", '{"A":1.50e3}', ("1.50E+3",)),
        ("A STRING", '{"A":0.10}', ("0.10",)),
        ("A STRING", '{"A":{"b":[1,null]}}', ('{"b":[1,null]}',)),
        ("A STRING", '{"A":["x",1,null]}', ("[x, 1, null]",)),
        ("A DATE", '{"A":-1}', (dt.date(1969, 12, 31),)),
        ("A TIMESTAMP", '{"A":"1"}', (dt.datetime(1970, 1, 1, 0, 0, 0, 1000, dt.UTC),)),
        ("A INT", "null", None),
    ],
)
def test_json_is_read_as_ksqldb_reads_it(columns: str, text: str, expected: object) -> None:
    assert read(columns, text) == expected


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ("A INT", '{"A":"x"}'),
        ("A INT", '{"A":"1.0"}'),
        ("A INT", '{"A":true}'),
        ("A INT", '{"A":2147483648}'),
        ("A BIGINT", '{"A":1e10000000}'),
        ("A DOUBLE", '{"A":NaN}'),
        ("A BOOLEAN", '{"A":"true"}'),
        ("A DECIMAL(4,2)", '{"A":1.005}'),
        ("A DECIMAL(4,2)", '{"A":100}'),
        ("A DECIMAL(4,2)", '{"A":1e-10000000}'),
        ("A ARRAY<INT>", '{"A":{"b":1}}'),
        ("A DATE", '{"A":"2013-01-01"}'),
        ("A TIMESTAMP", '{"A":1e30}'),
        ("A INT", "[1]"),
        ("A INT", "5"),
    ],
)
def test_json_that_does_not_fit_the_columns_is_refused(columns: str, text: str) -> None:
    with pytest.raises(SerdeError):
        read(columns, text)


def test_a_single_column_is_unwrapped_in_a_key_and_on_request() -> None:
    one, two = parse_columns("A STRING"), parse_columns("A STRING, B BIGINT")

    assert key_serde("JSON", one, options=KSQL).serialize(("x",)) == b'"x"'
    assert key_serde("JSON", two, options=KSQL).serialize((None, None)) == b'{"A":null,"B":null}'
    assert value_serde("JSON", one, BARE).serialize(("x",)) == b'"x"'
    assert value_serde("JSON", one, BARE).serialize((None,)) is None
    assert value_serde("JSON", one, BARE).deserialize(b'"x"') == ("x",)
    assert value_serde("JSON", one, KSQL).serialize((None,)) == b'{"A":null}'
    assert value_serde("JSON", (), KSQL).serialize(()) == b"{}"
