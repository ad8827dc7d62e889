"""Steps that aggregate groups of records: aggregates and windows of each kind."""

from typing import Final

from duolog import (
    acc,
    approx_count_distinct,
    avg,
    calendar,
    coalesce,
    col,
    collect_list,
    collect_map,
    collect_set,
    corr,
    count,
    count_distinct,
    first,
    histogram,
    hopping,
    last,
    lit,
    max_,
    min_,
    other,
    percentile,
    row_time,
    session,
    sliding,
    stddev,
    sum_,
    top_k,
    top_k_distinct,
    tumbling,
    unlimited,
    variance,
)
from duolog.dsl.expressions.columns import Expr
from duolog.dsl.streams import Grouped, Stream, Table
from duolog.plan.nodes.aggregate import EMITS, Emit
from duolog.plan.schema import BOUNDS
from duolog.plan.types import BIGINT
from duolog.plan.windows import SessionWindows, SlidingWindows, TimeWindows, Windows
from duolog.plan.windows.calendar_windows import CalendarWindows
from random_topologies.generator import (
    TopologyGenerator,
    changes_twice,
    columns,
    joins_aggregates,
    knows_time,
    ms,
    sources,
    waits,
)

AMPLE: Final = ms(1000)
"""A grace period in which nothing is late: the streams of a cogroup have one stream time each in Streams."""


def aggregate(generator: TopologyGenerator, handle: Stream | Table) -> Table | None:
    if isinstance(handle, Table) and changes_twice(handle):
        return None  # Streams takes a row back from a group that it was never in, and deletes that.
    if isinstance(handle, Table) and not generator.alone and joins_aggregates(handle):
        return None  # Streams commits a row joined twice, now and at a flush of a record cache, twice after an edge.
    grouped = _grouped(generator, handle)
    steps = [_named, _named, _named, _own]
    if any(column.name == "n" and column.type == BIGINT for column in handle.schema.value):
        steps.append(_reduced)
    return generator.rng.choice(steps)(generator, handle, grouped)


def cogroup(generator: TopologyGenerator, stream: Stream) -> Table | None:
    """Of two streams, grouped by a text each; here a record of both comes by one shuffle, in Streams by two or none."""
    fitting = [
        other_stream
        for other_stream in generator.streams
        if not sources(stream) & sources(other_stream)
        and generator.may_meet(stream, other_stream)
        and (generator.alone or not (waits(stream) or waits(other_stream)))
    ]
    if not fitting:
        return None
    other_stream = generator.take(fitting)
    name = generator.rng.choice(columns(stream)[1])
    by = generator.rng.choice(columns(other_stream)[1])
    of_one, of_other = stream.group_by(k=col(name)), other_stream.group_by(by)
    if (name in _keys(stream)) != (by in _keys(other_stream)):
        return None  # In Streams only the stream with a new key goes through an internal topic.
    one = of_one.cogroup({"t": acc("t") + coalesce(_number(stream), 0), "last": col(name)})
    adder = {"t": acc("t") - coalesce(_number(other_stream), 1), "c": acc("c") + 1}
    both = one.cogroup(of_other, adder)
    begin = {"t": lit(0).cast("BIGINT"), "c": lit(0), "last": lit(None).cast("STRING")}
    match generator.rng.randrange(4):
        case 0:
            windows = hopping(ms(7), ms(3), grace=AMPLE)
            return both.windowed_by(windows).aggregate(initializer=begin)
        case 1:
            merger = {"t": acc("t") + other("t"), "c": acc("c") + other("c"), "last": other("last")}
            sessions = both.windowed_by(session(ms(3), grace=AMPLE))
            return sessions.aggregate(initializer=begin, merger=merger)
        case _:
            return both.aggregate(initializer=begin)


def _keys(handle: Stream) -> list[str]:
    return [column.name for column in handle.schema.key]


def _number(handle: Stream | Table) -> Expr:
    numbers, _ = columns(handle)
    return col(numbers[0]) if numbers else lit(1).cast("BIGINT")


def _grouped(generator: TopologyGenerator, handle: Stream | Table) -> Grouped:
    _, texts = columns(handle)
    name = generator.rng.choice(texts)
    match generator.rng.randrange(4):
        case 0:
            return handle.group_by(*(column.name for column in handle.schema.key))
        case 1:
            return handle.group_by(k=col(name))
        case 2:
            return handle.group_by(*generator.few(texts, 2, 2))
        case _:
            return handle.group_by(name)


def _named(generator: TopologyGenerator, handle: Stream | Table, grouped: Grouped) -> Table:
    """By functions that the DSL has names for."""
    numbers, texts = columns(handle)
    results = [count()]
    for name in numbers[:2]:
        results += [sum_(name), avg(name), count(name), min_(name), max_(name), top_k(name, 2)]
    for name in texts[:2]:
        results += [max_(name), min_(name), count_distinct(name), collect_set(name, limit=2)]
        results += [collect_list(name, limit=3), top_k_distinct(name, 2)]
    if isinstance(handle, Stream):
        for name in [*numbers[:1], *texts[:1]]:
            results += [first(name), last(name), first(name, 2), last(name, 2, nulls=True)]
            results += [first(name, by="time"), last(name, by="time"), last(name, nulls=True)]
    if knows_time(handle):
        results.append(sum_(row_time()))
    if generator.maybe(8):
        results = _not_in_streams(generator, handle)
    chosen = generator.rng.choices(results, k=generator.rng.randint(1, 3))
    named = (result.alias(f"r{generator.number}_{at}") for at, result in enumerate(chosen))
    return _windowed(generator, handle, grouped).aggregate(*named)


def _not_in_streams(generator: TopologyGenerator, handle: Stream | Table) -> list[Expr]:
    """Return aggregates for the reference evaluator alone: the oracle supports no maps, structs and sketches."""
    numbers, texts = columns(handle)
    text = generator.rng.choice(texts)
    results = [histogram(text), histogram(text, limit=2)]
    for name in numbers[:2]:
        results += [collect_map(text, name), collect_map(text, name, limit=2)]
        # Java's and Python's powers differ in the last digit.
        results += [percentile(name, at).round() for at in (0, 0.5, 0.9)]
        results += [top_k(name, 2, text)]
        results += [variance(name), variance(name, population=True), stddev(name)]
        results += [corr(name, numbers[0])]
    if isinstance(handle, Stream):
        results.append(approx_count_distinct(text))
    return results


def _own(generator: TopologyGenerator, handle: Stream | Table, grouped: Grouped) -> Table:
    """By steps of the user's own."""
    number = coalesce(_number(handle), 1)
    begin = {"t": lit(0).cast("BIGINT"), "c": lit(0).cast("BIGINT")}
    add = {"t": acc("t") * 2 + number, "c": acc("c") + 1}
    subtract = {"t": acc("t") - number, "c": acc("c") - 1}
    merger = {"t": acc("t") * 10 + other("t"), "c": acc("c") + other("c")}
    if isinstance(handle, Table):
        return grouped.aggregate(initializer=begin, adder=add, subtractor=subtract)
    windowed = _windowed(generator, handle, grouped)
    return windowed.aggregate(initializer=begin, adder=add, merger=merger)


def _reduced(generator: TopologyGenerator, handle: Stream | Table, grouped: Grouped) -> Table:
    """The oracle reduces in no sliding windows, and in none that Streams has no class for."""
    number = coalesce(col("n"), 1)
    add = {"n": coalesce(acc("n"), 0) * 2 + number}
    if isinstance(handle, Table):
        return grouped.reduce(add, {"n": coalesce(acc("n"), 0) - number})
    return _windowed(generator, handle, grouped, reduces=True).reduce(add)


def _windowed(
    generator: TopologyGenerator, handle: Stream | Table, grouped: Grouped, *, reduces: bool = False
) -> Grouped:
    names = grouped.schema.key
    if isinstance(handle, Table) or any(column in BOUNDS for column in names):
        return grouped
    grace = generator.ms(0, 4)
    # A session that has closed is opened again in Streams as long as a record cache has it, and
    # never here.
    open_for = AMPLE if generator.late else grace
    kinds: list[Windows | None] = [
        None,
        None,
        tumbling(ms(5), grace=grace),
        hopping(ms(7), ms(3), grace=grace),
        session(ms(3), grace=open_for),
        session(ms(2), grace=open_for),
    ]
    if not reduces:
        kinds += [sliding(ms(6), grace=grace), sliding(ms(2), grace=grace), unlimited()]
        if not generator.has_own_times:
            kinds.append(hopping(ms(8), ms(4), offset=ms(2), grace=grace))
            kinds.append(tumbling(ms(4), offset=ms(1), grace=grace))
        if generator.alone and not (generator.has_own_times or generator.leaves_on_close):
            # A cache of Streams knows windows of one size only.
            kinds.append(calendar("month", time_zone="Europe/Berlin", grace=grace))
    windows = generator.rng.choice(kinds)
    if windows is None:
        return grouped.materialized(ttl=generator.ms(5, 40)) if generator.maybe(20) else grouped
    emit = _emit(generator, windows)
    generator.has_calendar |= isinstance(windows, CalendarWindows)
    generator.leaves_on_close |= emit == "on close"
    windowed = grouped.windowed_by(windows, emit=emit)
    if generator.alone and _is_in_streams(windows) and generator.maybe(2):
        # On close Streams loses what closes when time jumps by more than the retention.
        kept = generator.rng.choice((40, 400)) if emit == "on update" else 10_000
        return windowed.materialized(retention=ms(kept))
    return windowed


def _is_in_streams(windows: Windows) -> bool:
    """Return True if Streams has a class for such windows, which computes when they close."""
    known = isinstance(windows, TimeWindows | SessionWindows | SlidingWindows)
    return known and not getattr(windows, "offset_ms", 0)


def _emit(generator: TopologyGenerator, windows: Windows) -> Emit:
    """Choose "on close" if possible: windows with an offset use the oracle's own store, which keeps no such results.

    Streams loses results of a window if time jumps past it by more than its store's retention: by months, for
    calendar windows.
    """
    fits = _is_in_streams(windows) and not generator.has_calendar
    return generator.rng.choice(EMITS) if fits else "on update"
