"""Print the errors of statements: the message, on a terminal the line with a caret, and the hint.

error: line 2:6: FLIGTHS does not exist.
  FROM fligths EMIT CHANGES;
       ^
hint: Did you mean FLIGHTS?
"""

import re
import sys
from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

import click

from duolog.cli.errors import report
from duolog.core.errors import DuologError, StatementError
from duolog.core.printable import for_stream

if TYPE_CHECKING:
    from duolog.ksql.errors import SqlError

_PLACED: Final = re.compile(r"line \d+:\d+: |Line: \d+, Col: \d+: ")
_STATEMENT: Final = re.compile(r"\n?Statement: .*", re.DOTALL)
_WORD: Final = re.compile(r"\w+")
_ALIKE: Final = 0.7


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
    from duolog.ksql.errors import SqlError  # noqa: PLC0415

    message, hint = error.message, error.hint
    lines: list[str] = []
    if isinstance(error, SqlError):
        message = _STATEMENT.sub("", message)
        hint = hint or _meant(error, text, names)
        if error.at is not None:
            message = _PLACED.sub("", message, count=1)
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
    if error.at is None or "Did you mean" in error.message:
        return ""
    lines = text.splitlines()
    if error.at.line > len(lines):
        return ""
    word = _WORD.match(lines[error.at.line - 1], max(error.at.column - 1, 0))
    # Imported late, as above.
    from duolog.cli.sql.words import KEYWORDS  # noqa: PLC0415

    known = {*names, *KEYWORDS}
    if word is None or word[0].upper() in known or word[0] in known:
        return ""
    alike = get_close_matches(word[0].upper(), sorted(known), n=1, cutoff=_ALIKE)
    return f"Did you mean {alike[0]}?" if alike else ""
