"""Check what CREATE OR REPLACE may change.

Columns may be appended. Existing columns keep name and type; key, topic, formats and window stay
the same.
"""

from collections.abc import Sequence
from typing import Final

from duolog.ksql.catalog.catalog import SourceInfo, SqlColumn, SqlFormat
from duolog.ksql.catalog.format_support import features_of
from duolog.ksql.errors import SqlError
from duolog.ksql.planning.planner import Planned
from duolog.ksql.settings import settings_in_force
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
    """Refuse a new definition of a source that does not keep the parts above.

    Raises:
        SqlError: a part differs; the message names it.
    """
    if bool(old.query) != bool(new.query):
        made, other = ("", "not ") if old.query else ("not ", "")
        raise SqlError(
            f"Cannot upgrade data source: DataSource '{old.name}' is {made}made by CREATE ... AS "
            f"SELECT, and its replacement is {other}made by it.",
            hint=f"DROP {old.kind} {old.name} first.",
        )
    _ensure_same_topic(old, new)
    _ensure_same(old, "GLOBAL", old.is_global, new.is_global)
    _ensure_same(old, "TOPIC_PATTERN", old.is_pattern, new.is_pattern)
    _ensure_same(old, "timestampColumn", old.timestamp, new.timestamp)
    if (old.ttl_ms is None) != (new.ttl_ms is None):
        before, now = ("none" if one.ttl_ms is None else f"{one.ttl_ms} ms" for one in (old, new))
        _ensure_same(old, "TTL", before, now)
    _ensure_same_columns(old, new)


def _ensure_same(old: SourceInfo, what: str, before: object, now: object, hint: str = "") -> None:
    if before != now:
        raise _refused(old, what, before, now, hint=hint)


def _ensure_same_topic(old: SourceInfo, new: SourceInfo) -> None:
    """Refuse a different topic, format or key window."""
    facts = [
        ("KAFKA_TOPIC", old.topic_names, new.topic_names),
        ("KEY_FORMAT", old.key_format.name, new.key_format.name),
        ("VALUE_FORMAT", old.value_format.name, new.value_format.name),
        ("WINDOW_TYPE", _window_text(old), _window_text(new)),
    ]
    hint = "; ".join(
        f"{name} must stay {before}, and not become {now}"
        for name, before, now in facts
        if before != now
    )
    if hint:
        raise _refused(old, "topic", _topic_text(old), _topic_text(new), hint=f"{hint}.")


def _ensure_same_columns(old: SourceInfo, new: SourceInfo) -> None:
    """Refuse a different key, and changed or moved value columns."""
    for part, before, now in (("key ", old.key, new.key), ("", old.value, new.value)):
        changed = [
            column
            for number, column in enumerate(before)
            if number >= len(now) or now[number] != column
        ]
        if changed or (part and len(before) != len(now)):
            why = (
                f"The following {part}columns are changed, missing or reordered: "
                f"[{_listed(changed)}]"
            )
            why = f"Key columns must be identical. {why}" if part else why
            raise _refused(
                old, "schema", _listed(old.columns), _listed(new.columns), why=f" ({why})"
            )


def _refused(
    old: SourceInfo, what: str, before: object, now: object, *, why: str = "", hint: str = ""
) -> SqlError:
    return SqlError(
        f"Cannot upgrade data source: DataSource '{old.name}' has {what} = {before} "
        f"which is not upgradeable to {now}.{why}",
        hint=hint,
    )


def _topic_text(source: SourceInfo) -> str:
    """Format a topic and its formats as in ksqlDB's errors."""
    key = ", ".join(features_of("Key", source.key_format, source.key))
    value = ", ".join(features_of("Value", source.value_format, source.value))
    window = f"Optional[{_window_text(source)}]" if source.window else "Optional.empty"
    return (
        f"KsqlTopic{{kafkaTopicName='{source.topic_names}', "
        f"keyFormat=KeyFormat{{format={_format_text(source.key_format)}, features=[{key}], "
        f"window={window}}}, "
        f"valueFormat=ValueFormat{{format={_format_text(source.value_format)}, "
        f"features=[{value}]}}}}"
    )


def _format_text(of: SqlFormat) -> str:
    options = ", ".join(f"{name}={value}" for name, value in of.properties)
    return f"FormatInfo{{format={of.name}, properties={{{options}}}}}"


def _window_text(source: SourceInfo) -> str:
    window = source.window
    if window is None:
        return "none"
    size = "" if window.size_ms is None else f" of {window.size_ms} ms"
    return f"{window.kind}{size}"


def _listed(columns: Sequence[SqlColumn]) -> str:
    return ", ".join(map(str, columns))


def ensure_query_upgradable(old: Planned, new: Planned) -> None:
    """Refuse a replacement of a query whose state ksqlDB cannot keep.

    Only in strict mode: Duolog keeps what it can and recomputes the rest (ADR 0074).

    Raises:
        SqlError: the query has other sources, has joins, or aggregates anything but an unwindowed
            stream, or aggregates it
            differently than before.
    """
    before, now = (tuple(source.topic for source in one.sources) for one in (old, new))
    if before != now:
        reads = f"{old.sources[0].kind.capitalize()}Source"
        raise SqlError(
            f"Query is not upgradeable. Plan step of type {reads} must have matching topicName. "
            f"Values differ: {', '.join(before)} vs. {', '.join(now)}"
        )
    for source in new.sources:
        if source.window is not None:
            kind = source.kind.capitalize()
            raise SqlError(f"Upgrades not yet supported for Windowed{kind}Source")
    for node in (*old.plan.nodes, *new.plan.nodes):
        if (step := _not_upgraded(node)) is not None:
            raise SqlError(f"Upgrades not yet supported for {step}")
    if settings_in_force().refuses_early:
        for one, other in zip(*map(_aggregates_of, (old.plan, new.plan)), strict=False):
            _ensure_same_state(one, other)
    if _state_of(old.plan) != _state_of(new.plan):
        raise SqlError(
            "Query is not upgradeable. The new query groups by other keys or computes "
            "other aggregates."
        )


def _ensure_same_state(old: AggregateNode, new: AggregateNode) -> None:
    """Refuse different groups or aggregates; the message quotes the statement's text."""
    facts = [
        # Columns of a source are prefixed with its name.
        (
            "StreamGroupBy",
            "groupByExpressions",
            [[name.rpartition(".")[2] for name, _ in one.group.keys] for one in (old, new)],
        ),
        (
            "StreamAggregate",
            "aggregationFunctions",
            [[name for name, _ in one.results] for one in (old, new)],
        ),
    ]
    for step, what, (before, now) in facts:
        if before != now:
            raise SqlError(
                f"Query is not upgradeable. Plan step of type {step} must have matching {what}. "
                f"Values differ: [{', '.join(before)}] vs. [{', '.join(now)}]",
                hint="UNSET 'ksql.compatibility' first: Duolog then recomputes what "
                "the state lacks.",
            )


def _aggregates_of(plan: Plan) -> list[AggregateNode]:
    return [node for node in plan.nodes if isinstance(node, AggregateNode)]


def _not_upgraded(node: Node) -> str | None:
    """Return ksqlDB's name of a step whose state cannot be kept."""
    match node:
        case AggregateNode(windows=windows) if windows is not None:
            return "StreamWindowedAggregate"
        case AggregateNode(group=group) if group.is_table:
            return "TableAggregate"
        case _:
            return next((step for kind, step in _JOINS.items() if isinstance(node, kind)), None)


def _state_of(plan: Plan) -> list[object]:
    """Return the layout of the aggregate stores."""
    return [(node.group.keys, node.accumulators) for node in _aggregates_of(plan)]
