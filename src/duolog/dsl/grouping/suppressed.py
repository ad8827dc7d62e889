"""Adds the node of `Table.suppress` to the plan."""

from typing import Final, TypeVar, get_args
from typing import Literal as OneOf

from duolog.dsl.steps.records import Records
from duolog.plan.durations import Duration, milliseconds
from duolog.plan.errors import InvalidPlan
from duolog.plan.nodes import Suppress

Until = OneOf["window close"]
WhenFull = OneOf["emit", "shut down"]
_WHEN_FULL: Final = get_args(WhenFull)

TableT = TypeVar("TableT", bound=Records)


def suppressed(
    table: TableT,
    time_limit: Duration | None,
    *,
    until: Until | None,
    max_records: int | None,
    max_bytes: int | None,
    when_full: WhenFull | None,
    store: str | None,
) -> TableT:
    """Add the node that buffers changes, and return the resulting table."""
    if (time_limit is None) == (until is None):
        raise InvalidPlan(
            "suppress needs either a time limit or until=",
            hint='Write suppress(until="window close"), or suppress("10 minutes").',
        )
    if until not in {None, "window close"}:
        raise InvalidPlan(
            f"changes cannot be buffered until {until!r}",
            hint='Write suppress(until="window close").',
        )
    if when_full not in {None, *_WHEN_FULL}:
        raise InvalidPlan(
            f"when_full={when_full!r} is unknown",
            hint='Write when_full="emit" or when_full="shut down".',
        )
    limit_ms = None if time_limit is None else milliseconds(time_limit, "time limit")
    # A result that is emitted early would not be the window's last one.
    shut_down = until is not None if when_full is None else when_full == "shut down"
    node = table.builder.add(
        "suppress",
        lambda name: Suppress(
            name,
            table.node,
            store or f"{name}-store",
            limit_ms,
            max_records,
            max_bytes,
            shut_down,
        ),
    )
    return type(table)(table.builder, node)
