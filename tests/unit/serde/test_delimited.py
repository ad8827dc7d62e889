import datetime as dt
from decimal import Decimal

import pytest

from duolog.core.errors import SerdeError
from duolog.core.types import TIME, Column, parse_columns
from duolog.serde.serde import key_serde, value_serde

EVERY_TYPE = (
    *parse_columns(
        "FLAG BOOLEAN, I INT, B BIGINT, D DOUBLE, S STRING, RAW BYTES, DAY DATE, TS TIMESTAMP, P DECIMAL(10,8)"
    ),
    Column("AT", TIME),
)
ROW = (
    True, -5, 2**40, 1e7, "a,b", b"\x00\xff", dt.date(2013, 1, 1),
    dt.datetime(2013, 1, 1, 10, tzinfo=dt.UTC), Decimal("0.00000010"), 36_000_000,
)  # fmt: skip
TEXT = b'true,-5,1099511627776,1.0E7,"a,b",AP8=,15706,1357034400000,0.00000010,36000000'


def test_every_type_round_trips() -> None:
    serde = value_serde("DELIMITED", EVERY_TYPE)

    assert serde.serialize(ROW) == TEXT
    assert serde.deserialize(TEXT) == ROW


def test_an_empty_column_is_null() -> None:
    serde = value_serde("DELIMITED", EVERY_TYPE)
    nulls = (None,) * len(EVERY_TYPE)

    assert serde.serialize(nulls) == b",,,,,,,,,"
    assert serde.deserialize(b",,,,,,,,,") == nulls


@pytest.mark.parametrize(
    ("row", "line"),
    [
        (("a", "b"), "a,b"),
        (("", ""), '"",'),
        (("-1", "-1"), '"-1",-1'),
        (("é", "é"), '"é",é'),
        ((" a", "a "), '" a","a "'),
        (("a", " a"), 'a," a"'),
        (("a", "#a"), 'a,"#a"'),
        (("a", "$a"), "a,$a"),
        (('say "x"', "two\nlines"), '"say ""x""","two\nlines"'),
        ((None, "b"), ",b"),
    ],
)
def test_texts_are_quoted_if_needed(row: tuple[str | None, str | None], line: str) -> None:
    serde = value_serde("DELIMITED", parse_columns("A STRING, B STRING"))

    assert serde.serialize(row) == line.encode()
    assert serde.deserialize(line.encode()) == tuple(text or None for text in row)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('"22" ,x', (22, "x")),
        ("1,a b ", (1, "a b ")),
        ('1,a"b', (1, 'a"b')),
        ("\r\n1,x\n2,y", (1, "x")),
    ],
)
def test_lines_are_read_leniently(line: str, expected: object) -> None:
    serde = value_serde("DELIMITED", parse_columns("A INT, B STRING"))

    assert serde.deserialize(line.encode()) == expected


@pytest.mark.parametrize("line", ["", "\n", "1", "1,2,3", "x,y", " 1,y", '"1"x,y', '1,"y', "1.5,y"])
def test_invalid_lines_are_refused(line: str) -> None:
    with pytest.raises(SerdeError):
        value_serde("DELIMITED", parse_columns("A INT, B STRING")).deserialize(line.encode())


def test_another_delimiter_can_separate_columns() -> None:
    serde = value_serde("DELIMITED", parse_columns("A STRING, B STRING"), (("delimiter", "\t"),))

    assert serde.serialize(("a,b", "c\td")) == b'a,b\t"c\td"'
    assert serde.deserialize(b'a,b\t"c\td"') == ("a,b", "c\td")


def test_a_single_null_is_a_null_key_and_an_empty_value() -> None:
    column = parse_columns("A INT")

    assert key_serde("DELIMITED", column).serialize((None,)) is None
    assert value_serde("DELIMITED", column).serialize((None,)) == b""
