"""Steps that derive a table or a stream from a table."""

from typing import Final

from duolog import col, concat, lit, row_time, when
from duolog.dsl.streams import Stream, Table
from duolog.plan.nodes import ForeignJoin, ancestors
from duolog.plan.schema import BOUNDS
from duolog.plan.types import STRING
from growing.growth import (
    WINDOW_MS,
    Growth,
    Ways,
    changes_twice,
    columns,
    finds_closed,
    has_aggregate,
    knows_time,
    leaves_on_close,
    sources,
)
from growing.of_groups import aggregate


def filter_(growth: Growth, table: Table) -> Table:
    # Kafka Streams' filter is not called for a null value: for tables only.
    by_time = knows_time(table) and growth.maybe(4)
    condition = row_time() % 2 == 0 if by_time else growth.condition(table)
    return table.filter_not(condition) if growth.maybe(3) else table.filter(condition)


def project(growth: Growth, table: Table) -> Table:
    numbers, texts = columns(table)
    name = f"c{growth.number}"
    computed = [lit(1).cast("BIGINT")]
    computed += [col(number) * 2 for number in numbers[:2]]
    computed += [when(col(text) == "x", "y").otherwise(col(text)) for text in texts[:2]]
    computed += [concat(col(text), "!") for text in texts[:1]]
    if knows_time(table):
        computed.append(row_time())
    if growth.maybe(3):
        kept = growth.few([column.name for column in table.schema.value], 2)
        return table.map_values(*kept, **{name: growth.rng.choice(computed)})
    return table.with_columns(**{name: growth.rng.choice(computed)})


def to_stream(_: Growth, table: Table) -> Stream:
    return table.to_stream()


def join(growth: Growth, table: Table) -> Table | None:
    if not _stays(growth, table):
        return None
    texts = [name for name in columns(table)[1] if name != table.schema.key[0].name]
    # A record may change both sides: Kafka Streams does not define which change comes first.
    by_text = [
        other
        for other in growth.tables
        if [one.type for one in other.schema.key] == [STRING]
        and not sources(table) & sources(other)
        and _stays(growth, other)
        and _asks_in_order(growth, table, other)
    ]
    # Of keys of several columns the order of rows that ask for one is that of their bytes, which
    # are our own.
    fits = table.schema.window is None and len(table.schema.key) == 1 and not changes_twice(table)
    if texts and by_text and fits and growth.maybe(2):
        join = growth.rng.choice([table.join, table.left_join])
        return join(growth.take(by_text), on=growth.rng.choice(texts), prefix=growth.prefix)
    fitting = [
        other
        for other in growth.tables
        if other.schema.key == table.schema.key
        and other.schema.window == table.schema.window
        and _is_found(growth, table)
        and _is_found(growth, other)
        and growth.may_meet(table, other)
        and not _is_told_twice(table, other)
    ]
    if not fitting:
        return None
    join = growth.rng.choice([table.join, table.left_join, table.outer_join])
    return join(growth.take(fitting), prefix=growth.prefix)


def join_windows(growth: Growth, table: Table) -> None:
    """Join by a foreign key where a side has windows in its key, or both, for a topic.

    Of the rows that ask for one the order is that of their keys' bytes, which are our own, and
    Streams' left join fails where a foreign key is null and the right table windowed.
    """
    if not (growth.alone and _is_found(growth, table)) or changes_twice(table):
        return
    numbers, texts = columns(table)
    by = [name for name in texts if name != table.schema.key[0].name]
    fitting = [
        other
        for other in growth.tables
        if (other.schema.window or table.schema.window)
        and other.schema.key[0].type == STRING
        and len(other.schema.inner_key) == 1
        and not sources(table) & sources(other)
        and _is_found(growth, other)
    ]
    if not by or not fitting:
        return
    other, text = growth.take(fitting), growth.rng.choice(by)
    if other.schema.window is None:
        join = growth.rng.choice([table.join, table.left_join])
        join(other, on=text, prefix=growth.prefix).to(growth.topic("foreign"))
    elif table.schema.window is not None:
        bounds = [text, *(column.name for column in BOUNDS)]
        table.join(other, on=bounds, prefix=growth.prefix).to(growth.topic("foreign"))
    elif numbers:
        start = col(numbers[0]) * WINDOW_MS
        some = table.filter(col(numbers[0]) >= 0)
        on = [col(text), start, start + WINDOW_MS]
        some.join(other, on=on, prefix=growth.prefix).to(growth.topic("foreign"))


def _is_told_twice(table: Table, other: Table) -> bool:
    """Return True if Streams would emit a row twice for one change: a join of three, one of them downstream of a foreign key.

    Its joins read one store; here one of them receives the change before the other's copy of the
    table does.
    """
    if not (changes_twice(table) or changes_twice(other)) or not sources(table) & sources(other):
        return False
    behind, others = (
        {node for node in ancestors(one.node) if isinstance(node, ForeignJoin)}
        for one in (table, other)
    )
    return behind != others


def _stays(growth: Growth, table: Table) -> bool:
    """Return True if rows can be looked up after they were emitted on close: if a retention says how long."""
    return not leaves_on_close(table) or finds_closed(growth, table)


def _is_found(growth: Growth, table: Table) -> bool:
    """Return True if a row of a closed window is found as in Streams; rows without a window always are."""
    return _stays(growth, table) and (table.schema.window is None or finds_closed(growth, table))


def _asks_in_order(growth: Growth, table: Table, other: Table) -> bool:
    """Return True if lookups have the same order: rows from a record cache look up by their time here, and last in Streams.

    If timestamps decrease, a newer row of Streams overtakes the answer to a deletion, and the
    joined row stays.
    """
    if growth.late:
        return False
    return growth.alone or not (has_aggregate(table.node) or has_aggregate(other.node))


def suppress(growth: Growth, table: Table) -> None:
    """Suppress changes, and write them to a topic: downstream, Streams reports old rows that were never emitted.

    Its buffer supports windows of one size only: none of a calendar.
    """
    if growth.has_calendar and table.schema.window:
        return
    if table.schema.window and not leaves_on_close(table) and growth.maybe(2):
        held = table.suppress(until="window close")
    else:
        held = table.suppress(growth.ms(0, 9), max_records=growth.rng.choice((None, 1, 2)))
    held.to(growth.topic("held"))


WAYS: Final[Ways[Table]] = (
    (3, filter_),
    (3, project),
    (5, aggregate),
    (8, join),
    (4, join_windows),
    (2, suppress),
    (4, to_stream),
)
