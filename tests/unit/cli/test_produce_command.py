import io
import os

import pytest
from click.testing import CliRunner

from duolog.cli.commands.produce import LineRules, lines_of, produce, read_lines, too_large
from duolog.cli.records.text_record import TextRecord
from duolog.core.errors import SerdeError


def read(text: str, **rules: object) -> list[TextRecord]:
    return list(read_lines(io.BytesIO(text.encode()), LineRules(**rules)))  # type: ignore[arg-type]


def test_a_line_is_a_value_without_key() -> None:
    assert read('{"a": 1}\nx\r\n') == [
        TextRecord(None, b'{"a": 1}', []),
        TextRecord(None, b"x", []),
    ]


def test_a_record_may_be_too_large_because_of_its_headers() -> None:
    """The error named the bytes of key and value only: 2, with 2 MB of headers."""
    record = TextRecord(b"k", b"v", [("é", b"12345"), ("none", None)])

    error = too_large(record, 7, "orders")

    assert error.message == "record 7 is too large; it and the following lines are not written"
    assert "Its key, value and headers have 13 bytes" in error.detail


def test_a_line_is_split_at_the_first_separator() -> None:
    assert read('bob:{"a": 1}\n', separator=":") == [TextRecord(b"bob", b'{"a": 1}', [])]


def test_an_empty_value_is_null_only_if_asked_for() -> None:
    assert read("bob:\n", separator=":")[0].value == b""
    assert read("bob:\n", separator=":", empty_is_null=True)[0].value is None


def test_a_line_without_separator_is_refused_by_its_number() -> None:
    with pytest.raises(SerdeError, match="line 2 is not a record"):
        read("bob:1\namy\n", separator=":")


def test_headers_and_timestamp_are_those_of_every_record() -> None:
    records = read("1\n2\n", headers=(("a", b"b"),), timestamp_ms=7, key=b"k")

    assert records == [TextRecord(b"k", value, [("a", b"b")], 7) for value in (b"1", b"2")]


def test_empty_lines_between_json_lines_are_nothing() -> None:
    assert len(read('{"key": "a"}\n\n{"key": "b"}\n', form="jsonl")) == 2


def test_a_byte_order_mark_before_the_first_json_line_is_passed_over() -> None:
    assert read('\ufeff{"key": "a"}\n', form="jsonl") == [TextRecord(b"a", None, [])]


def test_a_json_line_in_latin_1_is_refused_by_its_number_and_byte() -> None:
    lines = [b'{"key": "a"}\n', '{"key": "ü"}\n'.encode("latin-1")]

    with pytest.raises(SerdeError, match="line 2 is not a record") as caught:
        list(read_lines(lines, LineRules(form="jsonl")))

    assert caught.value.detail == "it is not UTF-8: it contains the byte 0xfc"


def test_lines_are_read_while_something_else_is_looked_after() -> None:
    polls = 0

    def poll() -> None:
        nonlocal polls
        polls += 1
        if polls == 1:
            os.write(writing, b"b\nc")
            os.close(writing)

    reading, writing = os.pipe()
    os.write(writing, b"a\n")

    with os.fdopen(reading, "rb") as stream:
        assert list(lines_of(stream, poll)) == [b"a", b"b", b"c"]
    assert polls >= 1


def test_a_line_may_come_in_many_pieces() -> None:
    pieces = [b"a" * 70_000, b"b", b"c\nd\n", b"", b"\ne", b"f"]

    def poll() -> None:
        if pieces:
            os.write(writing, pieces.pop(0)[:60_000])
        else:
            os.close(writing)

    reading, writing = os.pipe()

    with os.fdopen(reading, "rb") as stream:
        assert list(lines_of(stream, poll)) == [b"a" * 60_000 + b"bc", b"d", b"", b"ef"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-i", "jsonl", "-k", "a"], "apply to -i text only"),
        (["-i", "jsonl", "-Z"], "apply to -i text only"),
        (["-K", ":", "-k", "a"], "Use either -K"),
        (["-K", ""], "-K is empty"),
        (["-p", "-3"], "-p"),
        (["-H", "novalue"], "is not NAME=VALUE"),
    ],
)
def test_options_that_contradict_each_other_are_refused(words: list[str], message: str) -> None:
    result = CliRunner().invoke(produce, ["t", "-b", "127.0.0.1:1", *words])

    assert result.exit_code == 2
    assert message in result.output
