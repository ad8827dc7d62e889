import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.cli.records import (
    TextRecord,
    from_json_text,
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


def test_the_format_language_is_kcats() -> None:
    record = TextRecord(b"bob", None, [("a", b"1")], 1000, "orders", 3, 42)

    assert render(r"%t[%p]@%o %T %k(%K)=%v(%S) %h 100%%\n", record) == (
        b"orders[3]@42 1000 bob(3)=(-1) a=1 100%\n"
    )


def test_an_unknown_token_stays_as_it_is() -> None:
    assert render(r"%z\q", TextRecord(None, None, [])) == rb"%z\q"
