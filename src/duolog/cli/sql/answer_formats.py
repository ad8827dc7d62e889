"""Answers in the form that was asked for, as they come.

table      for people, in columns; rows of many columns one below the other
vertical   for people, each row on lines of its own
json       an object for each row, on one line
csv        the names, then the rows; null is nothing, the empty text ""

What a statement says in words goes to standard error in the last two, so that a program reads rows only.
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
from duolog.core.printable import for_stream, json_safe

if TYPE_CHECKING:
    from duolog.runtime.sql.answers import Answer, Rows

FORMS: Final = ("table", "json", "csv", "vertical")
_SAMPLE: Final = 500
"""Rows of which the widths of a table are taken."""
_LIVE_WIDTH: Final = 20
"""Of a column whose rows are still to come, where nothing else says how wide."""


def write(answer: "Answer", form: str, *, titled: bool = False, folds: bool = True) -> int:
    """Write an answer to standard output; return how many rows it had.

    `folds`: whether a table folds values that are wider than the terminal has room for.

    Raises:
        DuologError: rows cannot be computed; those before it are written.
    """
    # Imported here: what starts a shell need not wait for it.
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
    """Passes rows on and counts them."""

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
        yield f"({rows.count} {'row' if rows.count == 1 else 'rows'})"


def _expected(columns: Sequence[tuple[str, str]], width: int | None) -> tuple[str, ...]:
    """Return a row as wide as those that may come: nobody knows them yet."""
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
        yield f"({rows.count} {'row' if rows.count == 1 else 'rows'})"


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
    """Return how wide the terminal is; None where there is none, and nothing is folded."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


_WRITERS: Final[dict[str, Callable[["Rows", _Counted], Iterator[str]]]] = {
    "table": _table,
    "vertical": _vertical,
    "json": _json,
    "csv": _csv,
}
_UNFOLDED: Final = _WRITERS | {"table": functools.partial(_table, folds=False)}
"""The same, with values as wide as they are."""
