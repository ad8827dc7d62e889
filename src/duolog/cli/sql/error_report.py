"""Print the errors of statements: the message, on a terminal the line with a caret, and the hint.

error: line 2:6: FLIGTHS does not exist.
  FROM fligths EMIT CHANGES;
       ^
hint: Did you mean FLIGHTS?
"""

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from duolog.cli.errors import report
from duolog.core.errors import DuologError, StatementError
from duolog.core.printable import for_stream

if TYPE_CHECKING:
    from duolog.ksql.errors import SqlError


def report_error(
    error: BaseException,
    text: str,
    *,
    file: str = "",
    names: Iterable[str] = (),
    caret: bool | None = None,
) -> None:
    """Print an error raised by running `text` to standard error.

    Args:
        error: the error; one that is not about a statement is printed as by other commands.
        text: the statements.
        file: their file; empty if they were typed.
        names: existing names, for suggestions.
        caret: whether to show the line; default: on a terminal.
    """
    if not isinstance(error, StatementError):
        report(error)
        return
    click.secho("error: ", fg="red", bold=True, nl=False, err=True)
    shown = sys.stderr.isatty() if caret is None else caret
    for line in lines_of(error, text, file=file, names=names, caret=shown):
        click.echo(for_stream(line, sys.stderr), err=True)


def lines_of(
    error: DuologError, text: str, *, file: str = "", names: Iterable[str] = (), caret: bool = True
) -> list[str]:
    """Return an error as lines; the first one starts with the position if it is known."""
    # Imported late: only needed for errors.
    from duolog.ksql.editor.error_texts import without_place, without_statement  # noqa: PLC0415
    from duolog.ksql.errors import SqlError  # noqa: PLC0415

    message, hint = error.message, error.hint
    lines: list[str] = []
    if isinstance(error, SqlError):
        message = without_statement(message)
        hint = hint or _meant(error, text, names)
        if error.at is not None:
            message = without_place(message)
            place = f"{error.at.line}:{error.at.column}"
            message = f"{f'{file}:' if file else 'line '}{place}: {message}"
            lines = _pointed(text, error.at.line, error.at.column) if caret else []
    if file and not message.startswith(f"{file}:"):
        message = f"{file}: {message}"
    lines = [*message.splitlines(), *lines]
    if error.detail:
        lines.append(f"detail: {error.detail}")
    if hint:
        lines.append(f"hint: {hint}")
    return lines


def _pointed(text: str, line: int, column: int) -> list[str]:
    written = text.splitlines()
    if not 1 <= line <= len(written):
        return []
    # Keep tabs, so that the caret is below the word.
    before = "".join(one if one == "\t" else " " for one in written[line - 1][: column - 1])
    return [f"  {written[line - 1]}", f"  {before}^"]


def _meant(error: "SqlError", text: str, names: Iterable[str]) -> str:
    """Return a hint with the known name most similar to an unknown one."""
    # Imported late: only needed for errors.
    from duolog.ksql.editor.error_texts import meant, word_at  # noqa: PLC0415

    if error.at is None or "Did you mean" in error.message:
        return ""
    return meant(word_at(text, error.at.line, error.at.column), names)
