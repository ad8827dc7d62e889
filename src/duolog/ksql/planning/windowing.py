"""Plan WINDOW …: the windows of an aggregation.

    TUMBLING (SIZE 1 HOUR, OFFSET 5 MINUTES)             adjacent, of fixed length
    TUMBLING (SIZE 1 MONTH, TIMEZONE 'Europe/Berlin')    calendar months in that zone; default UTC
    TUMBLING (SIZE 1 DAY, TIMEZONE 'Europe/Berlin', OFFSET 6 HOURS)     days from 6:00 local time
    SESSION (5 MINUTES, IDLE TIMEOUT 1 MINUTE)           with EMIT FINAL, closes without records

Weeks, months, quarters and years always follow the calendar; days do if a time zone is given.
"""

from typing import Final

from sqlglot import exp

from duolog.core.errors import StatementError
from duolog.ksql.catalog.catalog import SourceWindow
from duolog.ksql.errors import SqlError
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.durations import milliseconds
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.words import CALENDAR_UNITS
from duolog.plan.windows import SessionWindows, TimeWindows
from duolog.plan.windows.calendar_windows import CalendarWindows, Unit

_DAY_MS: Final = 86_400_000
_CALENDAR: Final[dict[tuple[int, str], Unit]] = {
    (1, "DAY"): "day",
    (1, "WEEK"): "week",
    (1, "MONTH"): "month",
    (3, "MONTH"): "quarter",
    (12, "MONTH"): "year",
    (1, "QUARTER"): "quarter",
    (4, "QUARTER"): "year",
    (1, "YEAR"): "year",
}


def is_final(select: exp.Expression | None) -> bool:
    """Return true for EMIT FINAL: results are emitted when their windows close."""
    emit = None if select is None else select.args.get("emit")
    return emit is not None and emit.this == "FINAL"


def windows_of(
    node: nodes.StreamWindow, *, final: bool
) -> TimeWindows | SessionWindows | CalendarWindows:
    """Return the windows of a query.

    Without GRACE PERIOD, late records are accepted until a day after the start of their window. If
    `final` is set, they are not accepted, so that results are emitted at the end of their window,
    as in ksqlDB.

    Raises:
        SqlError: size, advance, offset or time zone of a window is invalid.
    """
    try:
        return _calendar(node) if _is_calendar(node) else _fixed(node, final=final)
    except SqlError:
        raise
    except StatementError as error:
        raise SqlError(
            error.message, detail=error.detail, hint=error.hint, at=place_of(node)
        ) from error


def retention_ms(node: nodes.StreamWindow, *, final: bool) -> int | None:
    """Return RETENTION, if it is longer than the windows accept records, else None."""
    said = node.args.get("retention")
    kept_ms = windows_of(node, final=final).kept_ms
    return None if said is None or milliseconds(said) <= kept_ms else milliseconds(said)


def idle_ms(node: nodes.StreamWindow, *, on_close: bool) -> int | None:
    """Return the idle time after which ended windows close without further records.

    Raises:
        SqlError: results are emitted before windows close.
    """
    said = node.args.get("idle")
    if said is None:
        return None
    if not on_close:
        raise SqlError(
            "IDLE TIMEOUT requires EMIT FINAL: without it, results are emitted on each update",
            at=place_of(said),
            hint="Add EMIT FINAL, or remove IDLE TIMEOUT.",
        )
    if (after := milliseconds(said)) < 1:
        raise SqlError("Duration must be positive", at=place_of(said))
    return after


def source_window(node: nodes.StreamWindow) -> SourceWindow:
    """Return the window in the keys of the result."""
    kind = node.args["kind"]
    fixed = kind != "SESSION" and not _is_calendar(node)
    return SourceWindow(kind, milliseconds(node.args["size"]) if fixed else None)


def _is_calendar(node: nodes.StreamWindow) -> bool:
    if node.args["kind"] != "TUMBLING":
        return False
    zoned = node.args.get("zone") is not None
    return zoned or node.args["size"].args["unit"].name in CALENDAR_UNITS


def _calendar(node: nodes.StreamWindow) -> CalendarWindows:
    size, zone, said = (node.args.get(name) for name in ("size", "zone", "grace"))
    assert size is not None
    number, unit = int(size.this.name), size.args["unit"].name
    of = _CALENDAR.get((number, unit))
    if of is None:
        raise SqlError(
            f"Calendar windows cannot have SIZE {number} {unit}",
            at=place_of(size),
            hint="Use one day, week, month, quarter or year: SIZE 1 MONTH. For a fixed length, "
            "remove TIMEZONE: SIZE 14 DAYS, OFFSET 4 DAYS.",
        )
    windows = CalendarWindows(
        of,
        "UTC" if zone is None else zone.name,
        grace_ms=0 if said is None else milliseconds(said),
        offset_ms=_offset_ms(node),
    )
    _ensure_kept(node, windows.kept_ms)
    return windows


def _fixed(node: nodes.StreamWindow, *, final: bool) -> TimeWindows | SessionWindows:
    size = milliseconds(node.args["size"])
    said = node.args.get("grace")
    default_grace = 0 if final else max(_DAY_MS - size, 0)
    grace = default_grace if said is None else milliseconds(said)
    kind = node.args["kind"]
    _ensure_kept(node, size + (0 if said is None else grace))
    if size < 1:
        raise SqlError("Duration must be positive", at=place_of(node))
    if kind == "SESSION":
        return SessionWindows(size, grace)
    advance = node.args.get("advance")
    if kind == "HOPPING" and advance is None:
        raise SqlError("HOPPING windows need ADVANCE BY", at=place_of(node))
    step = size if advance is None else milliseconds(advance)
    if not 1 <= step <= size:
        raise SqlError(f"A window of {size} ms cannot advance by {step} ms", at=place_of(node))
    return TimeWindows(size, step, grace, _offset_ms(node))


def _offset_ms(node: nodes.StreamWindow) -> int:
    offset = node.args.get("offset")
    return 0 if offset is None else milliseconds(offset)


def _ensure_kept(node: nodes.StreamWindow, least: int) -> None:
    """Raise a SqlError if RETENTION is less than `least` ms, the time until windows close."""
    said = node.args.get("retention")
    if said is not None and milliseconds(said) < least:
        raise SqlError(
            f"The retention period '{milliseconds(said)} ms' must be at least the window's size "
            f"and grace period, {least} ms",
            at=place_of(node),
        )
