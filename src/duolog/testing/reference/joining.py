"""Joins of streams in plain Python: each side stores its records by key, in arrival order.

    store of a side     number, key                           -> row, time   and its stream time
    unmatched records   time, is left, key bytes, number, key -> row, time   emitted in this order

Source: Kafka Streams `KStreamKStreamJoin`, `KStreamJoinWindow`, `InMemoryWindowStore`.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, cast

from duolog.plan.expressions import Scope
from duolog.plan.formats import internal_key_format
from duolog.plan.nodes import StreamJoinSide
from duolog.serde.row import Row
from duolog.serde.serde import key_serde
from duolog.testing.reference.entries import (
    Entry,
    Run,
    Store,
    Stores,
    TimestampedRow,
    is_null,
    made,
    named,
)
from duolog.testing.reference.evaluation import Values, compile_expression
from duolog.testing.reference.scalars import RecordError

_WAITING_KEY: Final = 4
"""The index at which the key starts in the store key of an unmatched record."""


class PairsFailed(RecordError):
    """Some results of a record could not be computed; `left` are the others."""

    def __init__(self, errors: Sequence[RecordError], left: Sequence[Entry]) -> None:
        super().__init__("a row of a join has no value")
        self.errors = errors
        self.left = left


def stream_join_of(node: StreamJoinSide) -> Run:
    """Return the function that joins a record of one side, and stores it for the other."""
    side = _Side(node)

    def run(entry: Entry, stores: Stores) -> Sequence[Entry]:
        found, errors = [], []
        for result in list(side.results(entry, stores)):
            try:
                found.append(result())
            except RecordError as error:
                errors.append(error)
        if errors:
            raise PairsFailed(errors, found)
        return found

    return run


Result = Callable[[], Entry]


class _Side:
    def __init__(self, node: StreamJoinSide) -> None:
        self._node = node
        self._window = node.own_window
        of = node.schema
        self._keys = key_serde(internal_key_format(of.inner_key).name, of.key, of.window)
        scope = Scope(node.left.schema.columns, node.right.schema.value)
        self._values = [compile_expression(expression, scope) for _, expression in node.values]

    def results(self, entry: Entry, stores: Stores) -> Iterator[Result]:
        """Yield the functions that compute the record's results; store the record afterwards."""
        stream_time = _observe(self._node.called, entry, stores)
        if is_null(entry.key):
            if self._node.tells_unmatched and entry.value is not None:
                yield self._joined(entry, entry.key, entry.value, None, entry.timestamp_ms)
            return
        if entry.value is not None:
            if entry.timestamp_ms == stream_time:
                yield from self._closed(entry, stores)
            partners = self._partners(entry, stream_time, stores)
            for kept in partners:
                time = max(entry.timestamp_ms, kept.timestamp_ms)
                yield self._joined(entry, entry.key, entry.value, kept.row, time)
            if not partners and self._node.tells_unmatched:
                yield from self._alone(entry, entry.value, stream_time, stores)
        if self._node.fills:
            self._keep(entry, stores)

    def _partners(self, entry: Entry, stream_time: int, stores: Stores) -> list[TimestampedRow]:
        node = self._node
        first, last = self._window.bounds(entry.timestamp_ms)
        if node.other_unmatched and not node.window.again:
            # Earlier windows have closed: records without a partner have been emitted unmatched.
            first = max(first, stream_time - self._window.before_ms - self._window.grace_ms)
        first = max(first, _time(node.other_store, stores) - node.window.kept_ms + 1)
        partners = [
            kept
            for (_, *key), kept in stores[node.other_store].items()
            if tuple(key) == entry.key and first <= kept.timestamp_ms <= last
        ]
        if node.other_unmatched:
            waiting = stores[node.other_unmatched]
            met = {kept.timestamp_ms for kept in partners}
            for place in [at for at in waiting if at[_WAITING_KEY:] == entry.key and at[0] in met]:
                del waiting[place]
        return sorted(partners, key=lambda kept: kept.timestamp_ms)

    def _alone(
        self, entry: Entry, value: Row, stream_time: int, stores: Stores
    ) -> Iterator[Result]:
        key, at = entry.key, entry.timestamp_ms
        closes = self._window.bounds(at)[1] + self._window.waits_ms
        if self._node.unmatched is None or closes < stream_time:
            yield self._joined(entry, key, value, None, at)
        else:
            waiting = stores[self._node.unmatched]
            data = self._keys.serialize(key)
            waiting[(at, self._node.of_left, data, _next(waiting, 3), *key)] = TimestampedRow(
                value, at
            )

    def _closed(self, entry: Entry, stores: Stores) -> Iterator[Result]:
        """Yield the results of unmatched records whose windows have closed, and remove them."""
        unmatched: list[tuple[Row, TimestampedRow, bool]] = []
        for store, window, is_own in (
            (self._node.unmatched, self._window, True),
            (self._node.other_unmatched, self._window.reversed, False),
        ):
            waiting: Store = {} if store is None else stores[store]
            open_ms = window.after_ms + window.grace_ms
            closed = [
                at for at in waiting if waiting[at].timestamp_ms + open_ms < entry.timestamp_ms
            ]
            unmatched += [(at, waiting.pop(at), is_own) for at in closed]
        for place, kept, is_own in sorted(unmatched, key=lambda one: one[0][:_WAITING_KEY]):
            own, other = (kept.row, None) if is_own else (None, kept.row)
            yield self._joined(entry, place[_WAITING_KEY:], own, other, kept.timestamp_ms)

    def _keep(self, entry: Entry, stores: Stores) -> None:
        name = self._node.store
        store = stores[name]
        kept_since = _observe(name, entry, stores) - self._node.window.kept_ms
        for place in [at for at in store if store[at].timestamp_ms <= kept_since]:
            del store[place]
        if entry.value is not None and entry.timestamp_ms > kept_since:
            store[(_next(store, 0), *entry.key)] = TimestampedRow(entry.value, entry.timestamp_ms)

    def _joined(
        self, cause: Entry, key: Row, own: Row | None, other: Row | None, timestamp_ms: int
    ) -> Result:
        left, right = (own, other) if self._node.of_left else (other, own)
        columns = self._node.right.schema.value
        found = (None,) * len(columns) if right is None else right

        def compute() -> Entry:
            at_hand = Values(
                named(self._node.left.schema, key, left),
                {column.name: value for column, value in zip(columns, found, strict=True)},
                timestamp_ms=timestamp_ms,
            )
            row = tuple(value(at_hand) for value in self._values)
            return made(cause, row, timestamp_ms, key)

        return compute


def _next(store: Store, place: int) -> int:
    """Return a number greater than those at this index of a store's keys."""
    return 1 + max((cast("int", at[place]) for at in store), default=0)


def _observe(store: str, entry: Entry, stores: Stores) -> int:
    """Advance a stream time, and return it."""
    now = max(entry.timestamp_ms, _time(store, stores))
    stores.setdefault(f"{store}, stream time", {})[()] = TimestampedRow((), now)
    return now


def _time(store: str, stores: Stores) -> int:
    seen = stores.get(f"{store}, stream time", {}).get(())
    return seen.timestamp_ms if seen else -1
