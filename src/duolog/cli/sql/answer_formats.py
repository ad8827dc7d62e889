"""Print results row by row in one of four formats.

table      columns side by side; falls back to `vertical` if there are too many columns
vertical   one line per column
json       one object per row and line
csv        a header line, then the rows; null is an empty cell, the empty string ""

In the last two formats, messages go to standard error, so that standard output contains only rows.
"""

import functools
import itertools
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import click

from duolog.cli.sql.table import Table
from duolog.cli.sql.values import csv_of, json_of, text_of
from duolog.cli.terminal.display_width import cells
from duolog.cli.terminal.output import separated
from duolog.core.counts import counted
from duolog.core.printable import for_stream, json_safe

if TYPE_CHECKING:
    from duolog.runtime.sql.answers import Answer, Rows

FORMS: Final = ("table", "json", "csv", "vertical")
_SAMPLE: Final = 500
"""Number of rows that determine the column widths of a table."""
_LIVE_WIDTH: Final = 20
"""Width of a column if the rows are not known yet and the terminal has no width."""


def write(answer: "Answer", form: str, *, titled: bool = False, folds: bool = True) -> int:
    """Print an answer to standard output; return its number of rows.

    `folds`: whether a table wraps values that do not fit into the terminal.

    Raises:
        DuologError: rows cannot be computed; earlier rows are already printed.
    """
    # Imported late so that a shell starts fast.
    from duolog.runtime.sql.answers import Message  # noqa: PLC0415
    from duolog.runtime.sql.reply.readable import readable  # noqa: PLC0415

    if isinstance(answer, Message):
        if answer.text:
            click.echo(for_stream(answer.text), err=form in {"json", "csv"})
        return 0
    with answer:
        counted = _Counted(readable(iter(answer), answer.columns))
        if titled and answer.title and form in {"table", "vertical"}:
            click.echo(answer.title)
        lines = _WRITERS[form](answer, counted) if folds else _UNFOLDED[form](answer, counted)
        for line in lines:
            click.echo(for_stream(line))
    if counted.count == 0 and (reason := answer.why_none()):
        click.echo(reason, err=True)
    return counted.count


class _Counted:
    """Iterates over rows and counts them."""

    def __init__(self, rows: Iterator[tuple[object, ...]]) -> None:
        self.count = 0
        self._rows = rows

    def __iter__(self) -> Iterator[tuple[object, ...]]:
        for row in self._rows:
            self.count += 1
            yield row


def _table(answer: "Rows", rows: _Counted, *, folds: bool = True) -> Iterator[str]:
    width = _width() if folds else None
    if not Table.fits(len(answer.columns), width):
        yield from _vertical(answer, rows)
        return
    coming = iter(rows)
    sample: list[tuple[object, ...]] = []
    if answer.unbounded:
        table = Table(answer.columns, [_expected(answer.columns, width)], width)
    else:
        sample = list(itertools.islice(coming, _SAMPLE))
        table = Table(answer.columns, sample, width)
    yield from table.head()
    for row in itertools.chain(sample, coming):
        yield from table.row(row)
    if not answer.unbounded:
        yield f"({counted(rows.count, 'row')})"


def _expected(columns: Sequence[tuple[str, str]], width: int | None) -> tuple[str, ...]:
    """Return a placeholder row that sets the column widths before any row is known."""
    even = _LIVE_WIDTH if width is None else (width - 2) // max(len(columns), 1) - 3
    return tuple("x" * min(even, _LIVE_WIDTH) for _ in columns)


def _vertical(answer: "Rows", rows: _Counted) -> Iterator[str]:
    names = [name for name, _ in answer.columns]
    widest = max(map(cells, names), default=0)
    for number, row in enumerate(rows, 1):
        yield f"-[ {number} ]".ljust(widest + 6, "-")
        for name, value in zip(names, row, strict=True):
            yield f"{name}{' ' * (widest - cells(name))} | {text_of(value)}"
    if not answer.unbounded:
        yield f"({counted(rows.count, 'row')})"


def _json(answer: "Rows", rows: _Counted) -> Iterator[str]:
    names = [name for name, _ in answer.columns]
    for row in rows:
        yield json_safe(json_of(dict(zip(names, row, strict=True))))


def _csv(answer: "Rows", rows: _Counted) -> Iterator[str]:
    yield _csv_line([name for name, _ in answer.columns])
    for row in rows:
        yield _csv_line([csv_of(value) for value in row])


def _csv_line(values: Sequence[str | None]) -> str:
    return separated(values, ",")


def _width() -> int | None:
    """Return the width of the terminal; None without one, and then nothing is wrapped."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


_WRITERS: Final[dict[str, Callable[["Rows", _Counted], Iterator[str]]]] = {
    "table": _table,
    "vertical": _vertical,
    "json": _json,
    "csv": _csv,
}
_UNFOLDED: Final = _WRITERS | {"table": functools.partial(_table, folds=False)}
"""The same writers without wrapping."""
