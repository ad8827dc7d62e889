"""Write rows to standard output in the format of `-o`.

`table` is for reading; `json` is one array, `jsonl` one object per line. `csv` and `tsv` have a
header line and distinguish null (an empty cell) from the empty string (""). The columns and their
meanings are part of the interface of a command; `-o help` prints them.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

import click

from duolog.cli.text.json_text import JsonText, dumped
from duolog.core.printable import for_stream, json_safe

FORMATS: Final = ("table", "json", "jsonl", "csv", "tsv", "help")

Row = Mapping[str, object]
Command = TypeVar("Command", bound=Callable[..., object])


class Column(NamedTuple):
    """Name, type and meaning of a column in a command's output."""

    name: str
    type: str
    doc: str


def output_option(command: Command) -> Command:
    """Add `-o FORMAT` to a command."""
    return click.option(
        "-o",
        "--output",
        "form",
        type=click.Choice(FORMATS),
        default="table",
        show_default=True,
        help="Output format. help: describe the columns.",
    )(command)


def write_rows(rows: Sequence[Row], columns: Sequence[Column], form: str) -> None:
    """Write `rows` to standard output in the format `form`."""
    names = [column.name for column in columns]
    match form:
        case "json":
            shown = json.dumps([dict(row) for row in rows], indent=2, ensure_ascii=False)
            click.echo(json_safe(shown))
        case "jsonl":
            for row in rows:
                click.echo(json_line(row))
        case "csv" | "tsv":
            write_separated(rows, names, "," if form == "csv" else "\t")
        case _:
            click.echo(for_stream(text_table(rows, names)), nl=False)


def json_line(row: Row) -> str:
    return json_safe(dumped(dict(row)))


def write_separated(rows: Sequence[Row], names: Sequence[str], separator: str) -> None:
    click.echo(separated(list(names), separator))
    for row in rows:
        click.echo(for_stream(separated([row.get(name) for name in names], separator)))


def separated(values: Sequence[object], separator: str) -> str:
    """Return values as a line of CSV or TSV: None is an empty cell, the empty string is quoted.

    Example:
        >>> separated([None, "", "a, b", 7, [None]], ",")
        ',"","a, b",7,[null]'
    """
    return separator.join(_cell(value, separator) for value in values)


def _cell(value: object, separator: str) -> str:
    text = as_text(value)
    plain = text and not set(text) & {separator, '"', "\r", "\n"}
    return text if plain or value is None else '"' + text.replace('"', '""') + '"'


def text_table(rows: Sequence[Row], names: Sequence[str]) -> str:
    """Return rows as a table with headings; numbers are right-aligned.

    Example:
        >>> print(text_table([{"name": "orders", "partitions": 12}], ["name", "partitions"]))
        NAME    PARTITIONS
        orders          12
        <BLANKLINE>
    """
    cells = [[as_text(row.get(name)) for name in names] for row in rows]
    heads = [name.upper().replace("_", " ") for name in names]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    right = [bool(rows) and all(_numeric(row.get(name)) for row in rows) for name in names]
    lines = [
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in [heads, *cells]
    ]
    return "".join(f"{line}\n" for line in lines)


def help_text(columns: Sequence[Column]) -> str:
    """Return the output of `-o help`."""
    return text_table([column._asdict() for column in columns], Column._fields)


def as_text(value: object) -> str:
    """Return a value as the text of a cell: empty for None, JSON for lists and objects."""
    match value:
        case None:
            return ""
        case str():
            return value
        case [JsonText(), *_]:
            return dumped(value)
        case bool() | dict() | list():
            return json.dumps(value, ensure_ascii=False)
        case _:
            return str(value)


def _numeric(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
