"""Aggregates in plain Python: by key, by time window and by session; `sliding` has sliding windows.

Source: Kafka Streams `KStreamAggregate`, `KTableAggregate`, `KStreamWindowAggregate`,
`KStreamSessionWindowAggregate`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from duolog.plan.expressions import Expression, Scope
from duolog.plan.formats import internal_key_format
from duolog.plan.nodes import AggregateNode
from duolog.plan.windows import FixedWindows, SessionWindows, SlidingWindows
from duolog.serde.row import Row
from duolog.serde.serde import key_serde
from duolog.testing.reference.entries import (
    Entry,
    Run,
    Stores,
    TimestampedRow,
    after,
    bounds_of,
    is_null,
    made,
    named,
)
from duolog.testing.reference.evaluation import Evaluate, Values, compile_expression
from duolog.testing.reference.expiry import find, see
from duolog.testing.reference.idle import saw_record, tick
from duolog.testing.reference.sliding import in_sliding_windows


def fold_of(node: AggregateNode) -> Run:
    """Return the function that folds a grouped record into its row, or its rows."""
    match node.windows:
        case None:
            return _add_to_row(node)
        case SessionWindows() as windows:
            return _in_sessions(node, windows)
        case SlidingWindows() as windows:
            stream_time = partial(_stream_time, node)
            run = in_sliding_windows(node, windows, _adder(node), results_of(node), stream_time)
            return _told_on_close(node, run) if node.emits_on_close else run
        case windows:
            return _in_fixed_windows(node, windows)


def _in_fixed_windows(node: AggregateNode, windows: FixedWindows) -> Run:
    add = _add_to_row(node)

    def run(entry: Entry, stores: Stores) -> Sequence[Entry]:
        if is_null(entry.key) or entry.value is None:
            return []
        closed = _stream_time(node, entry, stores) - windows.closes_after_ms
        bounds = [(start, windows.end(start)) for start in windows.starts(entry.timestamp_ms)]
        return [
            result
            for start, end in bounds
            if end > closed
            for result in add(replace(entry, key=(*entry.key, start, end)), stores)
        ]

    return _told_on_close(node, run) if node.emits_on_close else run


def _in_sessions(node: AggregateNode, windows: SessionWindows) -> Run:
    add = _step(node, [kept.add for kept in node.accumulators])
    initial = [compile_expression(kept.initial, Scope(())) for kept in node.accumulators]
    results = results_of(node)
    merge = _merge(node)

    def joined(entry: Entry, touched: Sequence[Row], stores: Stores) -> tuple[Row, TimestampedRow]:
        assert entry.value is not None
        store, at = stores[node.store], entry.timestamp_ms
        row: Row = tuple(evaluate(Values()) for evaluate in initial)
        for session in touched:
            row = merge(row, store[session].row)
        row = add(entry.key, entry.value, row, at, entry)
        start = min([at, *(bounds_of(session)[0] for session in touched)])
        end = max([at, *(bounds_of(session)[1] for session in touched)])
        return (*entry.key, start, end), TimestampedRow(row, end)

    def run(entry: Entry, stores: Stores) -> Sequence[Entry]:
        if is_null(entry.key) or entry.value is None:
            return []
        store, at, gap = stores[node.store], entry.timestamp_ms, windows.gap_ms
        stream_time = _stream_time(node, entry, stores)
        closed, over = stream_time - windows.closes_after_ms, node.let_go_until(stream_time)
        earliest, latest = max(over + 1, at - gap), at + gap
        sessions = ((key, bounds_of(key)) for key in store if key[:-2] == entry.key)
        touched = sorted(
            key for key, (start, end) in sessions if end >= earliest and start <= latest
        )
        if max([at, *(bounds_of(key)[1] for key in touched)]) <= closed:
            return []
        key, now = joined(entry, touched, stores)
        result = replace(entry, key=key, value=results(key, now), timestamp_ms=now.timestamp_ms)
        found = []
        if key[-2:] != (at, at):
            for session in touched:
                before = store.pop(session)
                row = results(session, before)
                end = before.timestamp_ms
                gone = made(entry, None, end, session)
                found.append(after(gone, TimestampedRow(row, end)))
        kept = store.get(key)
        found.append(after(result, kept and TimestampedRow(results(key, kept), kept.timestamp_ms)))
        store[key] = now
        return found

    return _told_on_close(node, run) if node.emits_on_close else run


def _told_on_close(node: AggregateNode, update: Run) -> Run:
    """Return the function that updates rows, and emits those whose windows have closed.

    Rows stay in the store after they are emitted. The window end up to which rows were emitted is
    stored next to them, as of now and as of the previous record.
    """
    results = results_of(node)
    inner = node.schema.inner_key
    keys = key_serde(internal_key_format(inner).name, inner)

    def place(key: Row) -> tuple[object, object, bytes]:
        return key[-1], key[-2], keys.serialize(key[:-2]) or b""

    def run(entry: Entry, stores: Stores) -> Sequence[Entry]:
        if is_null(entry.key) or entry.value is None:
            return []
        update(entry, stores)
        saw_record(node, stores)
        return emit(entry, stores)

    def emit(entry: Entry, stores: Stores) -> Sequence[Entry]:
        emitted = stores.setdefault(_emitted(node), {}).get((), TimestampedRow((), -1)).timestamp_ms
        store = stores[node.store]
        assert node.windows is not None
        closed = _stream_time(node, entry, stores) - node.windows.closes_after_ms
        stores[_emitted(node)] = {(): TimestampedRow((emitted,), max(emitted, closed))}
        leaving = sorted((key for key in store if emitted < bounds_of(key)[1] <= closed), key=place)
        since = _emitted_since(node, entry, stores)
        return [
            made(entry, results(key, store[key]), store[key].timestamp_ms, key)
            for key in leaving
            if since is None or bounds_of(key)[0] >= since
        ]

    return _OnClose(node, run, emit)


@dataclass(frozen=True, slots=True)
class _OnClose:
    """Updates rows with a record and emits closed ones; without records, a tick emits more."""

    node: AggregateNode
    run: Run
    emit: Run

    def __call__(self, entry: Entry, stores: Stores) -> Sequence[Entry]:
        return self.run(entry, stores)

    def tick(self, now_ms: int, stores: Stores) -> Sequence[Entry]:
        return tick(self.node, now_ms, self.emit, stores)


def tick_of(node: AggregateNode) -> Callable[[int, Stores], Sequence[Entry]]:
    """Return the tick function of an aggregate that closes windows without records."""
    run = fold_of(node)
    assert isinstance(run, _OnClose)
    return run.tick


def _emitted_since(node: AggregateNode, entry: Entry, stores: Stores) -> int | None:
    """Return the first window start whose results are emitted, if earlier ones are lost."""
    if node.lost_ms is None:
        return None
    assert isinstance(node.windows, FixedWindows), node.windows
    return max(node.windows.starts(_stream_time(node, entry, stores))) - node.lost_ms


def _emitted(node: AggregateNode) -> str:
    """Return the store with the window end up to which rows were emitted, now and previously."""
    return f"{node.store}, emitted"


def _merge(node: AggregateNode) -> Callable[[Row, Row], Row]:
    columns = node.accumulator_columns
    names = [column.name for column in columns]
    merge = [
        compile_expression(kept.merge, Scope((), columns, columns))
        for kept in node.accumulators
        if kept.merge is not None
    ]

    def compute(row: Row, other: Row) -> Row:
        at_hand = Values(
            table_columns=dict(zip(names, other, strict=True)),
            accumulators=dict(zip(names, row, strict=True)),
        )
        return tuple(evaluate(at_hand) for evaluate in merge)

    return compute


def _stream_time(node: AggregateNode, entry: Entry, stores: Stores) -> int:
    """Return stream time including this record; it is stored next to the rows."""
    times = stores.setdefault(f"{node.store}, stream time", {})
    seen = times.get(())
    now = max(entry.timestamp_ms, seen.timestamp_ms if seen else entry.timestamp_ms)
    times[()] = TimestampedRow((), now)
    return now


def is_over(node: AggregateNode, key: Row, stores: Stores) -> bool:
    """Return True if a key's window closed so long ago that its row has been evicted."""
    times = stores.get(f"{node.store}, stream time")
    end = key[-1]
    if node.windows is None or not times:
        return False
    assert isinstance(end, int)
    over = node.let_go_until(times[()].timestamp_ms)
    if node.emits_on_close:
        (emitted,) = stores[_emitted(node)][()].row
        assert isinstance(emitted, int)
        over = min(over, emitted)
    return end <= over


def _add_to_row(node: AggregateNode) -> Run:
    """Return the function that adds a record to the row of its key, or subtracts it."""
    initial = [compile_expression(kept.initial, Scope(())) for kept in node.accumulators]
    add = _step(node, [kept.add for kept in node.accumulators])
    subtract = _step(node, [kept.subtract for kept in node.accumulators if kept.subtract])
    results = results_of(node)

    def run(entry: Entry, stores: Stores) -> Sequence[Entry]:
        if is_null(entry.key) or (entry.value is None and entry.old is None):
            return []
        see(node, entry, stores)
        store, kept = stores[node.store], find(node, entry.key, stores)
        row = kept.row if kept else None
        if entry.old is not None and row is not None:
            row = subtract(entry.key, entry.old, row, entry.old_timestamp_ms)
        if entry.value is not None:
            started = tuple(evaluate(Values()) for evaluate in initial) if row is None else row
            row = add(entry.key, entry.value, started, entry.timestamp_ms, entry)
        if row is None:
            return []
        time = max(entry.timestamp_ms, kept.timestamp_ms if kept else entry.timestamp_ms)
        now = TimestampedRow(row, time)
        before = TimestampedRow(results(entry.key, kept), kept.timestamp_ms) if kept else None
        updated = after(made(entry, results(entry.key, now), time), before)
        # Update the store last: a record that fails must not change it.
        store[entry.key] = now
        return [updated]

    return run


def _adder(node: AggregateNode) -> Callable[[Entry, Row | None], Row]:
    """Return the function from a record and accumulators, if any, to new accumulators."""
    initial = [compile_expression(kept.initial, Scope(())) for kept in node.accumulators]
    add = _step(node, [kept.add for kept in node.accumulators])

    def compute(entry: Entry, row: Row | None) -> Row:
        assert entry.value is not None
        started = tuple(evaluate(Values()) for evaluate in initial) if row is None else row
        return add(entry.key, entry.value, started, entry.timestamp_ms, entry)

    return compute


def _step(node: AggregateNode, expressions: Sequence[Expression]) -> Callable[..., Row]:
    """Return the function from key, record, accumulators and time to new accumulators."""
    scope = Scope(node.group.schema.columns, accumulators=node.accumulator_columns, of_record=True)
    steps: list[Evaluate] = [compile_expression(expression, scope) for expression in expressions]

    def compute(
        key: Row, row: Row, accumulators: Row, timestamp_ms: int, of: Entry | None = None
    ) -> Row:
        at_hand = Values(
            named(node.group.schema, key[: len(node.group.schema.key)], row),
            accumulators={
                kept.name: value
                for kept, value in zip(node.accumulators, accumulators, strict=True)
            },
            timestamp_ms=timestamp_ms,
            record=of,
        )
        return tuple(evaluate(at_hand) for evaluate in steps)

    return compute


def results_of(node: AggregateNode) -> Callable[[Row, TimestampedRow], Row]:
    """Return the function from key and accumulators to the row of results."""
    scope = Scope(node.schema.key, accumulators=node.accumulator_columns)
    results = [compile_expression(expression, scope) for _, expression in node.results]

    def compute(key: Row, kept: TimestampedRow) -> Row:
        at_hand = Values(
            {column.name: value for column, value in zip(scope.columns, key, strict=True)},
            accumulators={
                accumulator.name: value
                for accumulator, value in zip(node.accumulators, kept.row, strict=True)
            },
            timestamp_ms=kept.timestamp_ms,
        )
        return tuple(result(at_hand) for result in results)

    return compute
