"""Control characters of other people's text do not reach a terminal."""

import io
import json
from typing import Any

import click
import pytest

from duolog.cli.commands.consume import RecordWriter
from duolog.cli.errors import report
from duolog.cli.records.text_record import TextRecord, parse_format
from duolog.cli.sql.answer_formats import FORMS, write
from duolog.cli.sql.error_report import report_error
from duolog.cli.terminal import output
from duolog.cli.terminal.logging_setup import emit
from duolog.cli.terminal.output import Column
from duolog.core.errors import SerdeError
from duolog.core.printable import printable
from duolog.engine.query.callbacks.printing import write_printed
from duolog.runtime.sql.answers import Message, Rows

NASTY = b"a\x1b[2J\x00\xff" + "\x9b1m".encode()
TEXT = "a\x1b[2J\x07\x9b1m"


class _Bytes(io.BytesIO):
    def isatty(self) -> bool:
        return True


class Terminal:
    """A text stream that says that it is a terminal, in place of standard output and standard error."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._bytes = _Bytes()
        stream = io.TextIOWrapper(self._bytes, write_through=True)
        monkeypatch.setattr("sys.stdout", stream)
        monkeypatch.setattr("sys.stderr", stream)

    @property
    def shown(self) -> str:
        return self._bytes.getvalue().decode()


def is_safe(text: str) -> bool:
    return text != "" and printable(text) == text


@pytest.mark.parametrize("form", ["table", "json", "jsonl", "csv", "tsv"])
def test_records_are_shown_with_escapes_in_every_form(
    monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    terminal = Terminal(monkeypatch)

    RecordWriter(form, None).write(TextRecord(NASTY, TEXT.encode(), [(TEXT, NASTY)], 7, "t", 0, 1))

    assert is_safe(terminal.shown)


def test_a_format_of_the_users_own_may_have_escapes_but_not_the_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = Terminal(monkeypatch)
    pattern = parse_format(r"\x1b[31m%k\x1b[0m\n")

    RecordWriter("table", pattern).write(TextRecord(NASTY, None, []))

    assert terminal.shown == "\x1b[31ma\\x1b[2J\\x00\\xff\\x9b1m\x1b[0m\n"


def test_a_pipe_gets_the_bytes_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe: Any = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr("sys.stdout", pipe)

    RecordWriter("table", parse_format("%k")).write(TextRecord(NASTY, None, []))

    assert pipe.buffer.getvalue() == NASTY


@pytest.mark.parametrize("form", ["table", "json", "jsonl", "csv", "tsv"])
def test_rows_are_shown_with_escapes_in_every_form(
    monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    terminal = Terminal(monkeypatch)

    output.write_rows([{"group": TEXT}], [Column("group", "string", "name")], form)

    assert is_safe(terminal.shown)


@pytest.mark.parametrize("form", FORMS)
def test_answers_of_sql_are_shown_with_escapes_in_every_form(
    monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    terminal = Terminal(monkeypatch)

    rows = Rows((("A", "STRING"),), iter([(TEXT,)]))

    write(rows, form)
    write(Message(TEXT), form)

    assert is_safe(terminal.shown)


def test_printed_control_characters_are_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal(monkeypatch)
    record = {"label": TEXT, "ts": 1000, "key": TEXT, "value": TEXT}

    write_printed(json.dumps({"records": [record], "left_out": 0}))

    assert is_safe(terminal.shown)


@pytest.mark.parametrize(
    "message",
    [
        lambda: emit(TEXT),
        lambda: report(SerdeError(TEXT, detail=TEXT, hint=TEXT)),
        lambda: report(FileNotFoundError(2, "No such file", TEXT)),
        lambda: report_error(SerdeError(TEXT), ""),
    ],
    ids=["say", "report", "os error", "sql"],
)
def test_lines_on_standard_error_have_escapes(
    monkeypatch: pytest.MonkeyPatch, message: Any
) -> None:
    terminal = Terminal(monkeypatch)

    message()

    shown = click.unstyle(terminal.shown)
    assert is_safe(shown)
