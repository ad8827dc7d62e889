"""JSON as Java reads and writes it."""

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.schemas.avro.json_text import (
    json_text,
    parse_double,
    quoted,
    read_json,
    same_json,
    shortest_float,
)
from duolog.schemas.schema import InvalidSchemaError


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (10**30, str(10**30)),
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (100.0, "100.0"),
        (-12.25, "-12.25"),
        (0.001, "0.001"),
        (0.00095, "9.5E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (12345678.9, "1.23456789E7"),
        (1e22, "1.0E22"),
        (5e-324, "5.0E-324"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (math.nan, '"NaN"'),
        (math.inf, '"Infinity"'),
        (-math.inf, '"-Infinity"'),
    ],
)
def test_numbers_are_written_as_java_writes_them(number: float, text: str) -> None:
    assert json_text(number) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_keeps_its_value(number: float) -> None:
    assert float(json_text(number)) == number


def test_strings_have_the_escapes_of_java() -> None:
    assert quoted('a"b\\c/\x00\x1f\b\f\n\r\t\x7f\u00e9\U0001f600') == (
        '"a\\"b\\\\c/\\u0000\\u001F\\b\\f\\n\\r\\t\x7f\u00e9\U0001f600"'
    )


def test_keys_are_sorted_only_if_wanted() -> None:
    value = read_json('{"b": {"d": 1, "c": [null, true, false]}, "a": "x"}')

    assert json_text(value) == '{"b":{"d":1,"c":[null,true,false]},"a":"x"}'
    assert json_text(value, sort=True) == '{"a":"x","b":{"c":[null,true,false],"d":1}}'


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (1, 1.0, False),
        (1, True, False),
        (0, None, False),
        (math.nan, math.nan, True),
        ([1, {"a": 1, "b": 2}], [1, {"b": 2, "a": 1}], True),
        ([1, 2], [2, 1], False),
        ([1], [1, 1], False),
        ({"a": 1}, {"a": 1, "b": None}, False),
    ],
)
def test_values_of_different_kinds_differ(left: object, right: object, *, same: bool) -> None:
    assert same_json(left, right) is same  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text", ["[1 // comment\n]", "/**/[1]", '[/* [ } " */ 1]', "[1]// at the end"]
)
def test_comments_are_left_out(text: str) -> None:
    assert read_json(text) == [1]


@pytest.mark.parametrize("text", ['"// no comment"', '"/* no comment */"', '"\\"// no comment"'])
def test_a_string_is_not_a_comment(text: str) -> None:
    assert "no comment" in str(read_json(text))


@pytest.mark.parametrize(
    "text",
    ["/* no end", "[1] /", "[NaN]", "[-Infinity]", "[01]", "['a']", '["\n"]', "[1,]", "\ufeff1"],
)
def test_other_texts_are_not_json(text: str) -> None:
    with pytest.raises(InvalidSchemaError, match="not JSON"):
        read_json(text)


@pytest.mark.parametrize("text", ['"\\ud800"', '{"\\uDFFF": 1}', '"\ud800"', '["\\udc00\\ud800"]'])
def test_half_of_a_surrogate_pair_is_refused(text: str) -> None:
    with pytest.raises(InvalidSchemaError, match="half of a surrogate pair"):
        read_json(text)


def test_a_whole_surrogate_pair_is_a_character() -> None:
    assert read_json('"\\ud83d\\ude00"') == "\U0001f600"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1.0),
        (" -1.5e3\n", -1500.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e400", math.inf),
        ("2f", 2.0),
        ("2D", 2.0),
        ("0x1.8p1", 3.0),
        ("-Infinity", -math.inf),
        ("0x1p9999", math.inf),
    ],
)
def test_a_text_is_a_number_by_the_rules_of_java(text: str, number: float) -> None:
    assert parse_double(text) == number


@pytest.mark.parametrize(
    "text", ["", "inf", "nan", "1_000", "0x1", "1e", "+-1", "\u0661", "1 2", "9" * 2000]
)
def test_other_texts_are_not_numbers(text: str) -> None:
    assert parse_double(text) is None


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_the_shortest_text_of_a_float_means_the_same_float(number: float) -> None:
    shortest = shortest_float(number)

    assert struct.pack("<f", shortest) == struct.pack("<f", number)
    assert len(repr(shortest)) <= len(repr(number))
