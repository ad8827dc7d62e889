"""Steps that derive a stream or a table from a stream."""

from typing import Final

from duolog import (
    array,
    coalesce,
    col,
    concat,
    header,
    lit,
    offset,
    partition,
    row_time,
    topic,
    tumbling,
    when,
)
from duolog.dsl.streams import Stream, Table
from duolog.plan.nodes import AggregateNode, Merge, ancestors
from duolog.plan.windows import TimeWindows
from random_topologies.aggregate_steps import aggregate, cogroup
from random_topologies.generator import (
    HEADER,
    TEXTS,
    Steps,
    TopologyGenerator,
    columns,
    has_aggregate,
    has_new_key,
    is_at_the_source,
    ms,
    sources,
    waits,
)


def filter_(generator: TopologyGenerator, stream: Stream) -> Stream:
    condition = generator.condition(stream)
    return stream.filter_not(condition) if generator.maybe(3) else stream.filter(condition)


def project(generator: TopologyGenerator, stream: Stream) -> Stream:
    numbers, texts = columns(stream)
    name = f"c{generator.number}"
    computed = [lit(1).cast("BIGINT"), row_time(), header(HEADER).cast(str)]
    computed += [col(number) * 2 for number in numbers[:2]]
    computed += [when(col(text) == "x", "y").otherwise(col(text)) for text in texts[:2]]
    computed += [concat(col(text), coalesce(col(texts[-1]), "")) for text in texts[:1]]
    if generator.places and is_at_the_source(stream.node):
        computed += [offset(), topic(), partition().cast("BIGINT")]
    if generator.maybe(4):
        kept = generator.few([column.name for column in stream.schema.value], 2)
        return stream.map_values(*kept, **{name: generator.rng.choice(computed)})
    return stream.with_columns(**{name: generator.rng.choice(computed)})


def select_key(generator: TopologyGenerator, stream: Stream) -> Stream:
    _, texts = columns(stream)
    name = generator.rng.choice(texts)
    if generator.maybe(5) and len(texts) > 1:
        return stream.select_key(*generator.few(texts, 2, 2))
    return stream.select_key(k=col(name)) if generator.maybe(2) else stream.select_key(name)


def map_(generator: TopologyGenerator, stream: Stream) -> Stream:
    numbers, texts = columns(stream)
    computed = [coalesce(col(texts[0]), "none"), *(col(number) * 2 for number in numbers[:1])]
    kept = generator.few([column.name for column in stream.schema.value], 2, 0)
    named = {f"c{generator.number}": generator.rng.choice(computed)}
    return stream.map(*kept, key=generator.rng.choice(texts), **named)


def explode(generator: TopologyGenerator, stream: Stream) -> Stream:
    _, texts = columns(stream)
    elements = generator.rng.choices(texts, k=generator.rng.randint(1, 3))
    # Where the first column says so there are none at all.
    some = when(col(texts[0]) != "z", array(*map(col, elements)))
    name = f"e{generator.number}"
    match generator.rng.randrange(4):
        case 0:
            return stream.flat_map_values(some.alias(name))
        case 1:
            return stream.flat_map(some.alias(name), key=name)
        case _:
            return stream.explode(some.alias(name), outer=generator.maybe(2))


def split(generator: TopologyGenerator, stream: Stream) -> Stream:
    conditions = {str(n): generator.condition(stream) for n in range(generator.rng.randint(1, 2))}
    branches = stream.split(conditions, default="rest")
    chosen, *others = generator.few(list(branches), 2)
    for name in others:
        branches[name].to(generator.topic("branch"))
    return branches[chosen]


def merge(generator: TopologyGenerator, stream: Stream) -> Stream:
    """Merge streams whose records arrive at once: a record cache or a shuffle emits later, in no defined order."""
    alike = [
        other
        for other in generator.streams
        if other.schema == stream.schema
        and generator.may_meet(stream, other)
        and (generator.alone or not (waits(stream) or waits(other)))
    ]
    return stream.merge(*generator.few(alike, 2, 0))


def repartition(_: TopologyGenerator, stream: Stream) -> Stream:
    """With keys alone: Streams drops the others, but where a left join follows."""
    return stream.filter(col(stream.schema.key[0].name).is_not_null()).repartition()


def spread(generator: TopologyGenerator, stream: Stream) -> None:
    """Send records to other tasks than those of their keys, for a topic: nothing is joined there."""
    if stream.schema.window is not None:
        return
    key = stream.schema.key[0].name
    by = generator.rng.choice(
        [None, when(col(key) == "x", 1).otherwise(0), when(col(key) != "y", 2)]
    )
    sent = stream.filter(col(key).is_not_null()).repartition(
        partitioner=by, partitions=generator.rng.choice([None, 1, 2])
    )
    match generator.rng.randrange(4):
        case 0:
            sent.to(generator.topic("spread"))
        case 1:
            sent.to_table().to(generator.topic("spread"))
        case 2:
            sent.group_by_key().count(f"c{generator.number}").to(generator.topic("spread"))
        case _:
            windowed = sent.group_by_key().windowed_by(tumbling(ms(5), grace=ms(2)))
            windowed.count(f"c{generator.number}").to(generator.topic("spread"))


def to_table(generator: TopologyGenerator, stream: Stream) -> Table:
    return stream.to_table(ttl=generator.ms(5, 40) if generator.maybe(12) else None)


def set_headers(generator: TopologyGenerator, stream: Stream) -> Stream:
    _, texts = columns(stream)
    match generator.rng.randrange(3):
        case 0:
            return stream.without_headers(*generator.few([HEADER, "h"], 2, 0))
        case 1:
            return stream.with_headers(h=col(generator.rng.choice(texts)), constant=lit("c"))
        case _:
            return stream.with_headers({HEADER: concat(coalesce(col(texts[0]), lit("none")), "!")})


def set_time(generator: TopologyGenerator, stream: Stream) -> Stream | None:
    """Set timestamps if records arrive one by one: after an edge, the new time orders records here, but not in Streams."""
    if not generator.alone:
        return None
    numbers, _ = columns(stream)
    later = coalesce(when(col(numbers[0]) > 0, col(numbers[0])), 0) if numbers else lit(3)
    return stream.with_time(row_time() + later)


def to_chosen_topics(generator: TopologyGenerator, stream: Stream) -> None:
    _, texts = columns(stream)
    name = generator.topic("of") + "-"
    chosen = concat(name, coalesce(when(col(texts[0]).isin(*TEXTS), col(texts[0])), "none"))
    partitioner = (
        col(columns(stream)[0][0]).abs() % 2 if columns(stream)[0] and generator.maybe(3) else None
    )
    stream.to(
        chosen,
        topics=[name + text for text in (*TEXTS, "none")],
        partitioner=None if partitioner is None else partitioner.cast("INT"),
    )


def join(generator: TopologyGenerator, stream: Stream) -> Stream | None:
    fitting = [
        table
        for table in generator.tables
        if [one.type for one in table.schema.key] == [one.type for one in stream.schema.key]
        and _finds_the_same(generator, table)
        and not _has_other_bounds(stream, table)
        and generator.may_meet(stream, table)
    ]
    if not fitting:
        return None
    table = generator.take(fitting)
    on = keys = [column.name for column in stream.schema.key]
    if generator.maybe(4) and table.schema.window is None and len(on) == 1:
        on = [generator.rng.choice(columns(stream)[1])]
    # Windows that differ are another key, too.
    moved = on != keys or stream.schema.window != table.schema.window
    if moved and not generator.may_meet(stream, table, under_new_key=True):
        return None
    of = {"prefix": generator.prefix, "on": on}
    if generator.maybe(2):
        return stream.left_join(table, **of)  # type: ignore[arg-type]
    waits = table.node.history_ms is not None and generator.maybe(2)
    # Streams' left join fails for a null key that is to wait.
    return stream.join(table, **of, grace=ms(3) if waits else None)  # type: ignore[arg-type]


def _has_other_bounds(stream: Stream, table: Table) -> bool:
    """Return True if a window in the key may have another end than its start implies: only the start is written."""
    return stream.schema.window != table.schema.window and has_aggregate(stream.node)


def _finds_the_same(generator: TopologyGenerator, table: Table) -> bool:
    """Return True if lookups agree: Streams finds closed windows while they are cached; the oracle keeps all session rows."""
    if table.schema.window is None:
        return True
    kinds = [node.windows for node in ancestors(table.node) if isinstance(node, AggregateNode)]
    return not any(kinds) or (
        generator.alone and all(isinstance(of, TimeWindows) for of in kinds if of)
    )


def join_global(generator: TopologyGenerator, stream: Stream) -> Stream:
    on = generator.rng.choice(columns(stream)[1])
    join = generator.rng.choice([stream.join, stream.left_join])
    return join(generator.rows, on=on, prefix=generator.prefix)


def join_streams(generator: TopologyGenerator, stream: Stream) -> Stream | None:
    """Join streams if records arrive one by one: with several, a second level reads late results before Streams' other work."""
    if not generator.alone:
        return None
    types = [column.type for column in stream.schema.key]
    # Under a new key a record meets itself over two internal topics in Streams, and either may come
    # first.
    twice = has_new_key(stream.node)
    fitting = [
        other
        for other in generator.streams
        if [one.type for one in other.schema.key] == types
        and generator.may_meet(stream, other)
        and not (twice and other is stream)
    ]
    if not fitting:
        return None
    time = {
        "before": generator.ms(-1, 4),
        "after": generator.ms(1, 5),
        "grace": generator.ms(1, 4),
        "prefix": generator.prefix,
        "on": [column.name for column in stream.schema.key],
    }
    other = generator.take(fitting)
    if generator.maybe(3) or _meets_itself(stream, other):
        return stream.join(other, **time)  # type: ignore[arg-type]
    join = generator.rng.choice([stream.left_join, stream.outer_join])
    return join(other, **time, eager=generator.maybe(3))  # type: ignore[arg-type]


def _meets_itself(stream: Stream, other: Stream) -> bool:
    """Return True if one is a merge that contains the other: the order of the two sides is then specific to Duolog.

    All readers of a stream receive a record at once, before or after the merge; that matters if
    unmatched results may be emitted before the other side has received the record.
    """
    merges, others = (
        {node for node in ancestors(one.node) if isinstance(node, Merge)} for one in (stream, other)
    )
    return merges != others and bool(sources(stream) & sources(other))


STEPS: Final[Steps[Stream]] = (
    (3, filter_),
    (4, project),
    (4, select_key),
    (2, map_),
    (4, explode),
    (3, split),
    (3, merge),
    (3, to_table),
    (2, repartition),
    (1, spread),
    (2, set_headers),
    (2, set_time),
    (1, to_chosen_topics),
    (8, aggregate),
    (2, cogroup),
    (6, join),
    (3, join_global),
    (10, join_streams),
)
