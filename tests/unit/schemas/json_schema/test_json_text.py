"""JSON is read within limits and with exact numbers, and written as Jackson writes it."""

import time
from decimal import Decimal

import pytest

from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.json_schema.json_text import (
    DEPTH_MAX,
    EXPONENT_MAX,
    NUMBER_CHARACTERS_MAX,
    TEXT_CHARACTERS_MAX,
    read,
    same,
    write,
)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ('{ "b" : 1 , "a" : [ ] }', '{"b":1,"a":[]}'),
        ("1.50", "1.50"),
        ("1e5", "1E+5"),
        ("1.5E-9", "1.5E-9"),
        ("0.0000001", "1E-7"),
        ("0.000001", "0.000001"),
        ("-0.0", "0.0"),
        ("-0", "0"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("0.1234567890123456789012345678901", "0.1234567890123456789012345678901"),
        ('"a/\\u00e9\\u0001\\u001f\\n\\t\\"\\\\"', '"a/é\\u0001\\u001F\\n\\t\\"\\\\"'),
        ('"\\ud83d\\ude00"', '"😀"'),
        ('{"":null,"\\u0000":true}', '{"":null,"\\u0000":true}'),
    ],
)
def test_a_value_is_written_as_jackson_writes_it(text: str, canonical: str) -> None:
    assert write(read(text)) == canonical


def test_sorted_keys_are_in_the_order_of_utf_16_code_units() -> None:
    value = read('{"\\uffee": 1, "\\ud83d\\ude00": 2, "b": {"z": 1, "a": 2}, "a": 3}')

    assert write(value, ordered=True) == '{"a":3,"b":{"a":2,"z":1},"😀":2,"\uffee":1}'


def test_numbers_are_never_floats() -> None:
    value = read("[0.1, 1e400, 9007199254740993]")

    assert isinstance(value, list)
    assert value == [Decimal("0.1"), Decimal("1E+400"), 9007199254740993]
    assert [type(item) for item in value] == [Decimal, Decimal, int]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not valid JSON"),
        ("{", "not valid JSON"),
        ('{"a": 1} x', "not valid JSON"),
        ("{'a': 1}", "not valid JSON"),
        ('{"a": 1, "b": 2, "a": 3}', 'the key "a" occurs twice in one object'),
        ("NaN", "NaN is not a JSON number"),
        ("[-Infinity]", "-Infinity is not a JSON number"),
        ('"\x01"', "not valid JSON"),
        ("9" * (NUMBER_CHARACTERS_MAX + 1), "is too long"),
        ("0." + "9" * NUMBER_CHARACTERS_MAX, "is too long"),
        (f"1e{EXPONENT_MAX + 1}", "exponent"),
        (f"1e-{'9' * 500}", "exponent"),
        ("[" * (DEPTH_MAX + 1) + "]" * (DEPTH_MAX + 1), "nested too deep"),
        ("[" * 10_000, "nested too deep"),
        ('{"a":' * 10_000, "nested too deep"),
        ('"' + "a" * TEXT_CHARACTERS_MAX + '"', "too long"),
    ],
)
def test_a_text_outside_the_limits_is_refused_with_a_short_message(text: str, message: str) -> None:
    with pytest.raises(InvalidSchemaError) as caught:
        read(text)

    assert message in caught.value.message
    assert len(caught.value.render()) < 400


def test_what_is_within_the_limits_is_read_and_written() -> None:
    deep = "[" * DEPTH_MAX + "]" * DEPTH_MAX

    assert write(read(deep)) == deep
    assert write(read("9" * NUMBER_CHARACTERS_MAX)) == "9" * NUMBER_CHARACTERS_MAX
    longest = "0." + "9" * (NUMBER_CHARACTERS_MAX - 2)
    assert write(read(longest)) == longest
    for exponent in (EXPONENT_MAX, -EXPONENT_MAX):
        assert read(f"1e{exponent}") == Decimal(f"1e{exponent}")
    assert read('"' + "a" * (TEXT_CHARACTERS_MAX - 2) + '"') == "a" * (TEXT_CHARACTERS_MAX - 2)
    assert write(read('{"a": "[[[", "b": "\\"]]"}')) == '{"a":"[[[","b":"\\"]]"}'


@pytest.mark.parametrize("text", ['"\\ud800"', '{"\\udc00": 1}', '["a\\ude00\\ud83d"]'])
def test_a_surrogate_without_a_partner_is_refused(text: str) -> None:
    with pytest.raises(InvalidSchemaError, match="surrogate"):
        write(read(text))


def test_a_text_of_escaped_quotes_without_an_end_is_refused_in_linear_time() -> None:
    text = '"' + '\\"' * (TEXT_CHARACTERS_MAX // 2 - 1)
    started = time.process_time()

    with pytest.raises(InvalidSchemaError, match="not valid JSON"):
        read(text)

    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        ("1", "1.0", True),
        ("1", "true", False),
        ("0", "false", False),
        ('{"a":1,"b":[2]}', '{"b":[2.0],"a":1}', True),
        ('[1,"1"]', '["1",1]', False),
        ("null", "[]", False),
    ],
)
def test_values_are_equal_by_the_rules_of_json_schema(
    left: str, right: str, *, equal: bool
) -> None:
    assert same(read(left), read(right)) is equal
