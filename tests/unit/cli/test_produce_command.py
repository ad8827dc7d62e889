import io

import pytest

from duolog.cli.commands.produce import LineRules, read_lines
from duolog.cli.records import TextRecord
from duolog.core.errors import SerdeError


def read(text: str, **rules: object) -> list[TextRecord]:
    return list(read_lines(io.BytesIO(text.encode()), LineRules(**rules)))  # type: ignore[arg-type]


def test_a_line_is_a_value_without_key() -> None:
    assert read('{"a": 1}\nx\r\n') == [
        TextRecord(None, b'{"a": 1}', []),
        TextRecord(None, b"x", []),
    ]


def test_a_line_is_parted_at_the_first_separator() -> None:
    assert read('bob:{"a": 1}\n', separator=":") == [TextRecord(b"bob", b'{"a": 1}', [])]


def test_an_empty_value_is_null_only_if_asked_for() -> None:
    assert read("bob:\n", separator=":")[0].value == b""
    assert read("bob:\n", separator=":", empty_is_null=True)[0].value is None


def test_a_line_without_separator_is_refused_by_its_number() -> None:
    with pytest.raises(SerdeError, match="line 2 is not a record"):
        read("bob:1\namy\n", separator=":")


def test_headers_and_timestamp_are_those_of_every_record() -> None:
    records = read("1\n2\n", headers=(("a", b"b"),), timestamp_ms=7, key="k")

    assert records == [TextRecord(b"k", value, [("a", b"b")], 7) for value in (b"1", b"2")]


def test_empty_lines_between_json_lines_are_nothing() -> None:
    assert len(read('{"key": "a"}\n\n{"key": "b"}\n', form="jsonl")) == 2
