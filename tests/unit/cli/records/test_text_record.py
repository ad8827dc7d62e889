import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.cli.records.text_record import (
    TextRecord,
    parse_format,
    read_record_object,
    record_object,
    render,
)
from duolog.cli.text.json_bytes import from_json_text, to_json_text
from duolog.core.errors import SerdeError

DATA = st.none() | st.binary(max_size=20) | st.text(max_size=10).map(str.encode)


@given(key=DATA, value=DATA, header=DATA, timestamp_ms=st.integers(0, 2**50))
def test_produce_reads_back_output_of_consume_byte_for_byte(
    key: bytes | None, value: bytes | None, header: bytes | None, timestamp_ms: int
) -> None:
    record = TextRecord(key, value, [("h", header)], timestamp_ms, "orders", 3, 42)

    again = read_record_object(json.dumps(record_object(record)))

    assert again == TextRecord(key, value, [("h", header)], timestamp_ms)


def test_bytes_that_are_no_text_are_base64() -> None:
    assert to_json_text(b"\xff\x00") == {"base64": "/wA="}


def test_a_json_value_that_is_not_a_string_becomes_json_text() -> None:
    assert (
        from_json_text('{"city": "Köln", "n": [1, null]}')
        == '{"city":"Köln","n":[1,null]}'.encode()
    )


@pytest.mark.parametrize(
    "value",
    [
        "12345678901234567.89",
        "1.10",
        "1e400",
        "-0.0",
        "1E+2",
        "9" * 5000,
        '{"amount":12345678901234567.89,"rate":1.10}',
        '{"x":1,"x":2}',
        '[1.0,{"a b":[],"c":{}},"\\ud800","\\u00f6","\\" ,"]',
        '{"base64":"AA==","x":1}',
        '{"base64":7}',
        '{"base64":"AA==","base64":"AA=="}',
        "true",
    ],
    ids=lambda text: text[:30],
)
@pytest.mark.parametrize("field", ["key", "value"])
def test_a_json_value_is_written_unchanged(field: str, value: str) -> None:
    record = read_record_object(f' {{ "timestamp" : 7 , "{field}" : {value} }} ')

    assert getattr(record, field) == value.encode()


def test_a_header_value_is_written_unchanged_too() -> None:
    pairs = '[["a", 1.10], ["b", null], ["b", "x"], ["c", {"base64": "/w=="}], ["d", [1.0]]]'

    record = read_record_object(f'{{"key": "k", "headers": {pairs}}}')

    assert record.headers == [
        ("a", b"1.10"),
        ("b", None),
        ("b", b"x"),
        ("c", b"\xff"),
        ("d", b"[1.0]"),
    ]
    assert read_record_object('{"key": "k", "headers": {"a": 1.10}}').headers == [("a", b"1.10")]


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)),
       st.sampled_from([None, 1]))  # fmt: skip
def test_any_json_value_keeps_its_meaning(value: object, indent: int | None) -> None:
    line = json.dumps({"key": None, "value": [value]}, indent=indent)

    assert json.loads(read_record_object(line).value or b"") == [value]


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", '{"x": NaN}', "[1, -Infinity]"])
def test_words_that_are_no_json_numbers_are_refused(value: str) -> None:
    with pytest.raises(SerdeError) as caught:
        read_record_object(f'{{"key": "k", "value": {value}}}')

    assert "is not a JSON number" in caught.value.detail


@pytest.mark.parametrize(
    "line", ["42", "[]", "not json", '{"key": {"base64": "?"}}', '{"headers": 3}']
)
def test_an_invalid_line_is_refused_with_the_correct_form(line: str) -> None:
    with pytest.raises(SerdeError, match="is not a record") as caught:
        read_record_object(line)

    assert '{"key": "bob"' in caught.value.hint


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('{"name": "bob"}', 'unknown field "name"'),
        ('{"key": "a", "Value": "b"}', 'unknown field "Value"'),
        ("{}", "neither key nor value"),
        ('{"key": "a", "value": 1, "key": "b"}', 'duplicate field "key"'),
        ('{"key": "a", "headers": [["a"]]}', "not a pair"),
        ('{"key": "a", "headers": [["\\ud800", "x"]]}', "surrogates not allowed"),
        ('{"key": "a", "headers": {"\\ud800": "x"}}', "surrogates not allowed"),
        ('{"key": "a"} x', "Extra data"),
        ('{"key": "a",}', "Expecting property name"),
        ('{"key": "a", "timestamp": "yesterday"}', "yesterday"),
        ('{"key": "a", "timestamp": true}', "timestamp is neither"),
        ('{"key": "a", "timestamp": -1}', "is not between 0"),
        ('{"key": "a", "timestamp": 1e400}', "infinity"),
        ('{"key": "a", "timestamp": "1960-01-01"}', "before 1970"),
        ('{"key": ' + "[" * 100_000, "recursion"),
    ],
    ids=lambda text: text[:30],
)
def test_a_field_that_no_record_has_and_a_bad_time_are_refused_by_name(
    line: str, what: str
) -> None:
    with pytest.raises(SerdeError) as caught:
        read_record_object(line)

    assert what in caught.value.detail


@pytest.mark.parametrize(
    "timestamp", [1_357_035_300_000, "1357035300000", "2013-01-01T10:15:00Z", "2013-01-01 10:15"]
)
def test_a_timestamp_is_ms_or_a_text_of_rfc_3339(timestamp: object) -> None:
    record = read_record_object(json.dumps({"key": "a", "timestamp": timestamp}))

    assert record.timestamp_ms == 1_357_035_300_000


def test_the_format_language_is_kcats() -> None:
    record = TextRecord(b"bob", None, [("a", b"1")], 1000, "orders", 3, 42)

    assert render(parse_format(r"%t[%p]@%o %T %k(%K)=%v(%S) %h 100%%\x41\n"), record) == (
        b"orders[3]@42 1000 bob(3)=(-1) a=1 100%A\n"
    )


@pytest.mark.parametrize("pattern", ["%z", "%k %", r"\q", "%k\\"])
def test_an_unknown_letter_is_refused_with_those_that_are_known(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"unknown .*; use %t %p"):
        parse_format(pattern)
