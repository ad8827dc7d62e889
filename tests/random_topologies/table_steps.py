"""Steps that derive a table or a stream from a table."""

from typing import Final

from duolog import col, concat, lit, row_time, when
from duolog.dsl.streams import Stream, Table
from duolog.plan.nodes import ForeignJoin, ancestors
from duolog.plan.schema import BOUNDS
from duolog.plan.types import STRING
from random_topologies.aggregate_steps import aggregate
from random_topologies.generator import (
    WINDOW_MS,
    Steps,
    TopologyGenerator,
    changes_twice,
    columns,
    finds_closed,
    has_aggregate,
    knows_time,
    leaves_on_close,
    sources,
)


def filter_(generator: TopologyGenerator, table: Table) -> Table:
    # Kafka Streams' filter is not called for a null value: for tables only.
    by_time = knows_time(table) and generator.maybe(4)
    condition = row_time() % 2 == 0 if by_time else generator.condition(table)
    return table.filter_not(condition) if generator.maybe(3) else table.filter(condition)


def project(generator: TopologyGenerator, table: Table) -> Table:
    numbers, texts = columns(table)
    name = f"c{generator.number}"
    computed = [lit(1).cast("BIGINT")]
    computed += [col(number) * 2 for number in numbers[:2]]
    computed += [when(col(text) == "x", "y").otherwise(col(text)) for text in texts[:2]]
    computed += [concat(col(text), "!") for text in texts[:1]]
    if knows_time(table):
        computed.append(row_time())
    if generator.maybe(3):
        kept = generator.few([column.name for column in table.schema.value], 2)
        return table.map_values(*kept, **{name: generator.rng.choice(computed)})
    return table.with_columns(**{name: generator.rng.choice(computed)})


def to_stream(_: TopologyGenerator, table: Table) -> Stream:
    return table.to_stream()


def join(generator: TopologyGenerator, table: Table) -> Table | None:
    if not _stays(generator, table):
        return None
    texts = [name for name in columns(table)[1] if name != table.schema.key[0].name]
    # A record may change both sides: Kafka Streams does not define which change comes first.
    by_text = [
        other
        for other in generator.tables
        if [one.type for one in other.schema.key] == [STRING]
        and not sources(table) & sources(other)
        and _stays(generator, other)
        and _asks_in_order(generator, table, other)
    ]
    # Of keys of several columns the order of rows that ask for one is that of their bytes, which
    # are our own.
    fits = table.schema.window is None and len(table.schema.key) == 1 and not changes_twice(table)
    if texts and by_text and fits and generator.maybe(2):
        join = generator.rng.choice([table.join, table.left_join])
        return join(
            generator.take(by_text), on=generator.rng.choice(texts), prefix=generator.prefix
        )
    fitting = [
        other
        for other in generator.tables
        if other.schema.key == table.schema.key
        and other.schema.window == table.schema.window
        and _is_found(generator, table)
        and _is_found(generator, other)
        and generator.may_meet(table, other)
        and not _is_emitted_twice(table, other)
    ]
    if not fitting:
        return None
    join = generator.rng.choice([table.join, table.left_join, table.outer_join])
    return join(generator.take(fitting), prefix=generator.prefix)


def join_windows(generator: TopologyGenerator, table: Table) -> None:
    """Join by a foreign key where a side has windows in its key, or both, for a topic.

    Of the rows that ask for one the order is that of their keys' bytes, which are our own, and
    Streams' left join fails where a foreign key is null and the right table windowed.
    """
    if not (generator.alone and _is_found(generator, table)) or changes_twice(table):
        return
    numbers, texts = columns(table)
    by = [name for name in texts if name != table.schema.key[0].name]
    fitting = [
        other
        for other in generator.tables
        if (other.schema.window or table.schema.window)
        and other.schema.key[0].type == STRING
        and len(other.schema.inner_key) == 1
        and not sources(table) & sources(other)
        and _is_found(generator, other)
    ]
    if not by or not fitting:
        return
    other, text = generator.take(fitting), generator.rng.choice(by)
    if other.schema.window is None:
        join = generator.rng.choice([table.join, table.left_join])
        join(other, on=text, prefix=generator.prefix).to(generator.topic("foreign"))
    elif table.schema.window is not None:
        bounds = [text, *(column.name for column in BOUNDS)]
        table.join(other, on=bounds, prefix=generator.prefix).to(generator.topic("foreign"))
    elif numbers:
        start = col(numbers[0]) * WINDOW_MS
        some = table.filter(col(numbers[0]) >= 0)
        on = [col(text), start, start + WINDOW_MS]
        some.join(other, on=on, prefix=generator.prefix).to(generator.topic("foreign"))


def _is_emitted_twice(table: Table, other: Table) -> bool:
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


def _stays(generator: TopologyGenerator, table: Table) -> bool:
    """Return True if rows can be looked up after they were emitted on close: if a retention says how long."""
    return not leaves_on_close(table) or finds_closed(generator, table)


def _is_found(generator: TopologyGenerator, table: Table) -> bool:
    """Return True if a row of a closed window is found as in Streams; rows without a window always are."""
    return _stays(generator, table) and (
        table.schema.window is None or finds_closed(generator, table)
    )


def _asks_in_order(generator: TopologyGenerator, table: Table, other: Table) -> bool:
    """Return True if lookups have the same order: rows from a record cache look up by their time here, and last in Streams.

    If timestamps decrease, a newer row of Streams overtakes the answer to a deletion, and the
    joined row stays.
    """
    if generator.late:
        return False
    return generator.alone or not (has_aggregate(table.node) or has_aggregate(other.node))


def suppress(generator: TopologyGenerator, table: Table) -> None:
    """Suppress changes, and write them to a topic: downstream, Streams reports old rows that were never emitted.

    Its buffer supports windows of one size only: none of a calendar.
    """
    if generator.has_calendar and table.schema.window:
        return
    if table.schema.window and not leaves_on_close(table) and generator.maybe(2):
        held = table.suppress(until="window close")
    else:
        held = table.suppress(generator.ms(0, 9), max_records=generator.rng.choice((None, 1, 2)))
    held.to(generator.topic("held"))


STEPS: Final[Steps[Table]] = (
    (3, filter_),
    (3, project),
    (5, aggregate),
    (8, join),
    (4, join_windows),
    (2, suppress),
    (4, to_stream),
)
