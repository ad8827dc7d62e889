"""Tables of `duolog top`: all applications, and the parts of a selected one."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

Row = Mapping[str, object]

_HEADS: Final = {
    "application": "APPLICATION",
    "where": "WHERE",
    "state": "STATE",
    "mode": "MODE",
    "in_per_s": "IN/S",
    "out_per_s": "OUT/S",
    "lag_records": "LAG",
    "lag_s": "LAG S",
    "late": "LATE",
    "dropped": "DROPPED",
    "state_rows": "ROWS",
    "state_bytes": "STORES",
    "epoch_ms": "EPOCH",
    "phases_ms": "SPENT ON",
    "node": "NODE",
    "tasks": "TASKS",
    "process_total": "IN",
    "forward_total": "OUT",
    "topic": "TOPIC",
    "partition": "PARTITION",
    "position": "POSITION",
    "end": "END",
    "store": "STORE",
    "task": "TASK",
    "rows": "ROWS",
    "bytes": "BYTES",
    "counted_s_ago": "COUNT AGE S",
}
_OF_ALL: Final = (
    "application",
    "where",
    "state",
    "mode",
    "in_per_s",
    "out_per_s",
    "lag_records",
    "lag_s",
    "late",
    "dropped",
    "state_rows",
    "state_bytes",
    "epoch_ms",
    "phases_ms",
)
_OF_NODES: Final = ("node", "tasks", "in_per_s", "process_total", "forward_total", "dropped")
_OF_STORES: Final = ("store", "task", "rows", "bytes", "counted_s_ago")
_OF_PARTITIONS: Final = ("topic", "partition", "position", "end", "lag_records", "lag_s")
_FIRST_LEFT_OUT: Final = (
    "phases_ms",
    "epoch_ms",
    "state_rows",
    "state_bytes",
    "dropped",
    "late",
    "tasks",
    "mode",
    "lag_s",
    "position",
    "end",
    "out_per_s",
    "forward_total",
    "in_per_s",
    "where",
    "counted_s_ago",
    "bytes",
)
_NAMES: Final = frozenset({"application", "where", "node", "topic", "store"})
"""Columns whose text may wrap. Numbers never wrap."""
_TEXTS: Final = _NAMES | {"state", "mode", "phases_ms", "task"}
_SIZES: Final = frozenset({"state_bytes", "bytes"})
_STATES: Final = {"running": "green", "failed": "red", "restarting": "yellow"}
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")


class Inside(NamedTuple):
    """Location, nodes, stores and topic partitions of one application."""

    where: str
    nodes: Sequence[Row]
    stores: Sequence[Row]
    partitions: Sequence[Row]


def with_warnings(shown: RenderableType, insecure: Sequence[str]) -> RenderableType:
    """Return the screen below a line for each server that is open to the network."""
    lines = [Text(f"INSECURE: {server}", style="bold red") for server in insecure]
    return Group(*lines, shown) if lines else shown


def screen(
    applications: Sequence[Row], insides: Sequence[Inside] = (), awaited: str | None = None
) -> RenderableType:
    """Return all non-empty tables; `awaited` is the selected application."""
    if not applications:
        nothing = (
            "No application is running. Start one with: duolog run FILE"
            if awaited is None
            else f'Application "{awaited}" is not running. It appears here when it starts.'
        )
        return Text(nothing, style="dim")
    parts: list[RenderableType] = [_Fitting(applications, _OF_ALL)]
    for inside in insides:
        # Applications with the same name are distinguished by location.
        parts += [Text(f"\n{inside.where}", style="bold")] if len(insides) > 1 else []
        tables = (
            (inside.nodes, _OF_NODES),
            (inside.stores, _OF_STORES),
            (inside.partitions, _OF_PARTITIONS),
        )
        parts += [_Fitting(rows, columns) for rows, columns in tables if rows]
    return Group(*parts)


class _Fitting:
    """A table with as many columns as fit into the current width of the terminal."""

    def __init__(self, rows: Sequence[Row], columns: Sequence[str]) -> None:
        self._rows = rows
        self._columns = columns

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        yield table(self._rows, fitting(self._rows, self._columns, options.max_width))


def fitting(rows: Sequence[Row], columns: Sequence[str], width: int) -> list[str]:
    """Return the columns that fit completely; a truncated number would be wrong."""
    kept = list(columns)
    names = [row.get("application") for row in rows]
    told_apart = "where" if len(set(names)) < len(names) else None
    for name in _FIRST_LEFT_OUT:
        if name == told_apart:
            continue
        if sum(_width(rows, one) for one in kept) <= width:
            break
        if name in kept:
            kept.remove(name)
    return kept


def _width(rows: Sequence[Row], name: str) -> int:
    widest = max((len(cell(name, row[name])) for row in rows), default=0)
    # The phases may wrap.
    return max(len(_HEADS[name]), min(widest, 12) if name == "phases_ms" else widest) + 2


def table(rows: Sequence[Row], columns: Sequence[str]) -> Table:
    """Return rows as a table with headings; numbers are right-aligned."""
    made = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for name in columns:
        made.add_column(
            _HEADS[name],
            justify="left" if name in _TEXTS else "right",
            overflow="fold",
            no_wrap=name != "phases_ms" and name not in _NAMES,
        )
    for row in rows:
        made.add_row(*(Text(cell(name, row[name]), style=_style(name, row)) for name in columns))
    return made


def cell(name: str, value: object) -> str:
    """Return a value as readable text, `-` if it is unknown.

    Example:
        >>> cell("lag_records", 12345), cell("state_bytes", 3 << 20), cell("lag_s", None)
        ('12,345', '3.0 MiB', '-')
        >>> cell("phases_ms", {"work": 70, "commit": 8}), cell("epoch_ms", 1834)
        ('work 70 ms, commit 8 ms', '1.8 s')
    """
    match value:
        case None:
            return "-"
        case dict():
            return ", ".join(f"{phase} {_time(ms)}" for phase, ms in value.items()) or "-"
        case int() if name in _SIZES:
            return _size(value)
        case int() if name == "epoch_ms":
            return _time(value)
        case int() | float():
            return f"{value:,}"
    return str(value)


def _time(ms: int) -> str:
    return f"{ms} ms" if ms < 1000 else f"{ms / 1000:,.1f} s"


def _size(count: float) -> str:
    unit = 0
    while count >= 1024 and unit < len(_UNITS) - 1:
        count, unit = count / 1024, unit + 1
    return f"{count:.0f} B" if unit == 0 else f"{count:.1f} {_UNITS[unit]}"


def _style(name: str, row: Row) -> str:
    if name == "state":
        return _STATES.get(str(row[name]), "")
    return "yellow" if name in {"late", "dropped"} and row[name] else ""
