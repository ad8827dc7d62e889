"""Rows of `duolog queries`, from the answer of a SQL server to /v1/queries."""

from collections.abc import Mapping
from typing import Any, Final

from duolog.cli.terminal.output import Column

COLUMNS: Final = (
    Column("query", "string", "id of the query"),
    Column("state", "string", "STARTING, RUNNING, PAUSED, UNRESPONSIVE or ERROR"),
    Column("in_per_s", "float | null", "records read per second"),
    Column("out_per_s", "float | null", "records written per second"),
    Column("lag", "int | null", "unread records"),
    Column("lag_trend", "string | null", "rising, falling or steady"),
    Column("lag_s", "float | null", "age of the first unread record, in seconds"),
    Column("lag_s_trend", "string | null", "rising, falling or steady"),
    Column("errors", "int", "records skipped or dropped, and calls that failed"),
    Column("rows", "int | null", "rows in its stores, as last counted; null without stores"),
    Column("bytes", "int | null", "bytes of its state, in files and memory"),
    Column("restarts", "int", "starts after the first one"),
    Column("result_age_s", "float | null", "time since the last result was noticed, in seconds"),
    Column("uptime_s", "float | null", "time since the last start, in seconds"),
    Column("server", "string", "server that runs it"),
    Column("jvm_group", "string", "group of its JVM"),
    Column("error", "string", "last error"),
)
_ARROWS: Final = {"rising": "↑", "falling": "↓", "steady": "→"}
_LEFT_OUT_OF_TABLES: Final = {"lag_trend", "lag_s_trend", "bytes", "error"}
TABLE: Final = tuple(one for one in COLUMNS if one.name not in _LEFT_OUT_OF_TABLES)
"""Columns of the table, in which the trend follows the number."""


def row_of(query: Mapping[str, Any]) -> dict[str, object]:
    """Return a query of the server as a row."""
    lag = query["lag"]
    return {
        "query": query["id"],
        "state": query["state"],
        "in_per_s": _number(query["in"]["recordsPerSecond"]),
        "out_per_s": _number(query["out"]["recordsPerSecond"]),
        "lag": lag["records"],
        "lag_trend": lag["recordsTrend"],
        "lag_s": _seconds(lag["ms"]),
        "lag_s_trend": lag["msTrend"],
        "errors": sum(query["errors"].values()),
        "rows": sum(one["rows"] for one in query["stores"]) if query["stores"] else None,
        "bytes": query["stateBytes"],
        "restarts": query["restarts"],
        "result_age_s": _seconds(query["lastResultAgeMs"]),
        "uptime_s": _seconds(query["uptimeMs"]),
        "server": query["server"],
        "jvm_group": query["jvmGroup"],
        "error": query["error"],
    }


def table_row_of(row: Mapping[str, object]) -> dict[str, object]:
    """Return a row with the trends after the numbers, and - for what is unknown.

    Example:
        >>> row = {"query": "Q", "lag": 7, "lag_trend": "rising", "lag_s": 2.5, "rows": None}
        >>> shown = table_row_of(row)
        >>> shown["lag"], shown["lag_s"], shown["rows"]
        ('7 ↑', '2.5', '-')
    """
    shown = {one.name: row.get(one.name) for one in TABLE}
    for name in ("lag", "lag_s"):
        arrow = _ARROWS.get(str(row.get(f"{name}_trend")), "")
        shown[name] = None if row.get(name) is None else f"{row[name]} {arrow}".rstrip()
    return {name: "-" if value is None else value for name, value in shown.items()}


def _seconds(ms: int | None) -> float | None:
    return None if ms is None else round(ms / 1000, 1)


def _number(rate: float | None) -> float | None:
    return None if rate is None else round(float(rate), 1)
