"""WINDOW …: the windows that records are aggregated in."""

from typing import Final

from duolog.ksql import nodes
from duolog.ksql.catalog import SourceWindow
from duolog.ksql.errors import SqlError
from duolog.ksql.nodes import place_of
from duolog.ksql.words import UNITS
from duolog.plan.windows import SessionWindows, TimeWindows

_DAY_MS: Final = 86_400_000


def milliseconds(node: nodes.Duration) -> int:
    """Return how long a number of a unit is."""
    return int(node.this.name) * UNITS[node.args["unit"].name]


def windows_of(node: nodes.StreamWindow) -> TimeWindows | SessionWindows:
    """Return the windows of a query.

    Where nothing is said of late records, they are taken for a day from the start of their window.

    Raises:
        SqlError: a window has no size, or advances beyond it.
    """
    size = milliseconds(node.args["size"])
    said = node.args.get("grace")
    grace = max(_DAY_MS - size, 0) if said is None else milliseconds(said)
    kind = node.args["kind"]
    _ensure_kept(node, size, grace)
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
    return TimeWindows(size, step, grace)


def retention_ms(node: nodes.StreamWindow) -> int | None:
    """Return how long rows of windows are kept, where that is longer than they take records."""
    said = node.args.get("retention")
    kept_ms = windows_of(node).kept_ms
    return None if said is None or milliseconds(said) <= kept_ms else milliseconds(said)


def source_window(node: nodes.StreamWindow) -> SourceWindow:
    """Return the window that is in the keys of what such a query makes."""
    kind = node.args["kind"]
    return SourceWindow(kind, None if kind == "SESSION" else milliseconds(node.args["size"]))


def _ensure_kept(node: nodes.StreamWindow, size: int, grace: int) -> None:
    """Raise a SqlError where windows would be let go before they close."""
    said = node.args.get("retention")
    if said is None:
        return
    kept = milliseconds(said)
    least = size + (grace if node.args.get("grace") is not None else 0)
    if kept < least:
        raise SqlError(
            f"The retention period '{kept} ms' must be at least the window's size and grace period, {least} ms",
            at=place_of(node),
        )
