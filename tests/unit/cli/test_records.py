import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.cli.records import (
    TextRecord,
    from_json_text,
    parse_format,
    read_record_object,
    record_object,
    render,
    to_json_text,
)
from duolog.core.errors import SerdeError

DATA = st.none() | st.binary(max_size=20) | st.text(max_size=10).map(str.encode)


@given(key=DATA, value=DATA, header=DATA, timestamp_ms=st.integers(0, 2**50))
def test_what_consume_writes_produce_reads_back_byte_for_byte(
    key: bytes | None, value: bytes | None, header: bytes | None, timestamp_ms: int
) -> None:
    record = TextRecord(key, value, [("h", header)], timestamp_ms, "orders", 3, 42)

    again = read_record_object(json.dumps(record_object(record)))

    assert again == TextRecord(key, value, [("h", header)], timestamp_ms)


def test_bytes_that_are_no_text_are_base64() -> None:
    assert to_json_text(b"\xff\x00") == {"base64": "/wA="}


def test_a_json_value_that_is_no_text_becomes_json_text() -> None:
    assert (
        from_json_text({"city": "Köln", "n": [1, None]}) == '{"city":"Köln","n":[1,null]}'.encode()
    )


@pytest.mark.parametrize(
    "line", ["42", "[]", "not json", '{"key": {"base64": "?"}}', '{"headers": 3}']
)
def test_a_line_that_is_no_record_is_refused_with_what_to_write(line: str) -> None:
    with pytest.raises(SerdeError, match="is not a record") as caught:
        read_record_object(line)

    assert '{"key": "bob"' in caught.value.hint


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('{"name": "bob"}', 'unknown field "name"'),
        ('{"key": "a", "Value": "b"}', 'unknown field "Value"'),
        ("{}", "neither key nor value"),
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
    with pytest.raises(ValueError, match="stands for nothing; known are %t %p"):
        parse_format(pattern)
