"""CREATE OR REPLACE: what a new definition may change of an old one.

Columns may be added at the end; what is there keeps name, type, key, topic, formats and window.
"""

from typing import Final

from duolog.ksql.catalog import SourceInfo, SqlColumn
from duolog.ksql.errors import SqlError
from duolog.ksql.planner import Planned
from duolog.plan.nodes import (
    AggregateNode,
    ForeignJoin,
    GlobalTableJoin,
    Node,
    Plan,
    StreamJoin,
    StreamTableJoin,
    TableJoin,
)

_JOINS: Final[dict[type[Node], str]] = {
    StreamTableJoin: "StreamTableJoin",
    GlobalTableJoin: "StreamTableJoin",
    StreamJoin: "StreamStreamJoin",
    TableJoin: "TableTableJoin",
    ForeignJoin: "ForeignKeyTableTableJoin",
}


def ensure_upgradable(old: SourceInfo, new: SourceInfo) -> None:
    """Refuse a new definition of a stream or table that does not keep what the old one had.

    Raises:
        SqlError: it does not; the text says what differs.
    """
    if bool(old.query) != bool(new.query):
        raise _refused(old, "(One of the two is made by CREATE ... AS SELECT, the other is not.)")
    _ensure_same(old, "KAFKA_TOPIC", old.topics_told, new.topics_told)
    _ensure_same(old, "GLOBAL", old.is_global, new.is_global)
    _ensure_same(old, "TOPIC_PATTERN", old.is_pattern, new.is_pattern)
    _ensure_same(old, "KEY_FORMAT", old.key_format.name, new.key_format.name)
    _ensure_same(old, "VALUE_FORMAT", old.value_format.name, new.value_format.name)
    _ensure_same(old, "WINDOW_TYPE", old.window, new.window)
    _ensure_same(old, "TIMESTAMP", old.timestamp, new.timestamp)
    if (old.ttl_ms is None) != (new.ttl_ms is None):
        raise _refused(old, "(Rows that stay cannot be given a TTL, nor can theirs be taken.)")
    if old.key != new.key:
        raise _refused(
            old, f"(Key columns must be identical.) {_told(old.key)} -> {_told(new.key)}"
        )
    changed = [
        column
        for number, column in enumerate(old.value)
        if number >= len(new.value) or new.value[number] != column
    ]
    if changed:
        raise _refused(
            old,
            f"(The following columns are changed, missing or reordered: [{_told(tuple(changed))}])",
        )


def _ensure_same(old: SourceInfo, what: str, before: object, now: object) -> None:
    if before != now:
        raise _refused(
            old,
            f"(DataSource '{old.name}' has {what} = {before} which is not upgradeable to {now})",
        )


def _refused(old: SourceInfo, why: str) -> SqlError:
    return SqlError(f"Cannot upgrade data source '{old.name}'. {why}")


def _told(columns: tuple[SqlColumn, ...]) -> str:
    return ", ".join(map(str, columns))


def ensure_query_upgradable(old: Planned, new: Planned) -> None:
    """Refuse a query that takes the place of another and whose state ksqlDB could not take over.

    Duolog keeps what it can and rebuilds the rest (ADR 0074): it asks this in strict compatibility alone.

    Raises:
        SqlError: it reads other sources, joins, or aggregates otherwise than over a stream without windows and in the
            same way as before.
    """
    before, now = (tuple(source.name for source in one.sources) for one in (old, new))
    if before != now:
        raise SqlError(
            f"Cannot replace a query that reads {', '.join(before)} by one that reads {', '.join(now)}."
        )
    for source in new.sources:
        if source.window is not None:
            kind = source.kind.capitalize()
            raise SqlError(f"Upgrades not yet supported for Windowed{kind}Source")
    for node in (*old.plan.nodes, *new.plan.nodes):
        if (step := _not_upgraded(node)) is not None:
            raise SqlError(f"Upgrades not yet supported for {step}")
    if _state_of(old.plan) != _state_of(new.plan):
        raise SqlError(
            "Cannot replace a query by one that groups by other keys or computes other aggregates."
        )


def _not_upgraded(node: Node) -> str | None:
    """Return ksqlDB's name of a step whose state a changed query could not take over."""
    match node:
        case AggregateNode(windows=windows) if windows is not None:
            return "StreamWindowedAggregate"
        case AggregateNode(group=group) if group.is_table:
            return "TableAggregate"
        case _:
            return next((step for kind, step in _JOINS.items() if isinstance(node, kind)), None)


def _state_of(plan: Plan) -> list[object]:
    """Return what the rows in the stores of aggregates are made of."""
    return [
        (node.group.keys, node.accumulators)
        for node in plan.nodes
        if isinstance(node, AggregateNode)
    ]
