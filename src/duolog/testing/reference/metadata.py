"""Timestamps and headers of records, in plain Python."""

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import replace

from duolog.core.exception_text import describe_exception
from duolog.plan.expressions import Expression, Scope
from duolog.plan.expressions.key_functions import KeyFunction
from duolog.plan.nodes import Node, SetHeaders, SetTime, Source, scope_of
from duolog.plan.schema import Schema
from duolog.testing.reference.entries import Entry, Run, Stores, named
from duolog.testing.reference.evaluation import Headers, Values, compile_expression
from duolog.testing.reference.scalars import RecordError


def set_headers(node: SetHeaders) -> Run:
    scope = Scope(node.parent.schema.columns, of_record=True)
    compiled = [(name, compile_expression(of, scope)) for name, of in node.headers]
    gone = {*node.removed, *(name for name, _ in node.headers)}

    def run(entry: Entry, _stores: Stores) -> Sequence[Entry]:
        at_hand = values_of(entry, node.parent.schema)
        kept = () if node.clears else tuple(one for one in entry.headers if one[0] not in gone)
        written: Headers = tuple((name, _bytes(compute(at_hand))) for name, compute in compiled)
        return [replace(entry, headers=kept + written)]

    return run


def set_time(node: SetTime) -> Run:
    time = time_of(node.time, node.parent.schema)

    def run(entry: Entry, _stores: Stores) -> Sequence[Entry]:
        at = time(values_of(entry, node.parent.schema))
        if at is None or at < 0:
            raise RecordError(f"the new timestamp is {'null' if at is None else at}")
        return [replace(entry, timestamp_ms=at)]

    return run


class SourceClock:
    """The timestamps of sources' records, and the greatest timestamp of each partition."""

    def __init__(self) -> None:
        self._latest: dict[tuple[Source, int], int] = {}
        self._compiled: dict[Source, Callable[[Values], int | None]] = {}

    def stamped(self, source: Source, entry: Entry, wall_clock_ms: int) -> Entry | None:
        """Return a record with its timestamp; None if it is invalid and the record is skipped.

        Raises:
            RecordError: it is invalid, and the source is configured to fail.
        """
        at = self._time(source, entry, wall_clock_ms)
        invalid = at is None or at < 0
        if invalid and source.times.invalid == "fail":
            raise RecordError(f"its timestamp is {'null' if at is None else at}")
        partition = source, entry.place.partition
        if invalid and source.times.invalid == "partition_time":
            at = self._latest.get(partition, entry.timestamp_ms)
        if at is None or at < 0:
            return None
        self._latest[partition] = max(at, self._latest.get(partition, at))
        return replace(entry, timestamp_ms=at)

    def _time(self, source: Source, entry: Entry, wall_clock_ms: int) -> int | None:
        if source.times.of is None:
            return entry.timestamp_ms
        if source not in self._compiled:
            self._compiled[source] = time_of(source.times.of, source.schema)
        at_hand = replace(values_of(entry, source.schema), wall_clock_ms=wall_clock_ms)
        found = self._compiled[source](at_hand)
        return entry.timestamp_ms if found is None and entry.value is None else found


def time_of(time: Expression, schema: Schema) -> Callable[[Values], int | None]:
    """Return the function that computes a timestamp in milliseconds."""
    compute = compile_expression(time, Scope(schema.columns, of_record=True, of_source=True))

    def milliseconds(at_hand: Values) -> int | None:
        found = compute(at_hand)
        if isinstance(found, dt.datetime):
            since = found - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
            return since // dt.timedelta(milliseconds=1)
        assert found is None or isinstance(found, int), found
        return found

    return milliseconds


def partition_of_record(
    partitioner: Expression | None, of: Node, *, at_most: int | None = None
) -> Callable[[Entry], int | None]:
    """Return the function from a record to the partition that it chooses; None: that of its key."""
    if partitioner is None:
        return lambda _entry: None
    if isinstance(partitioner, KeyFunction):
        return lambda entry: _of_key(partitioner, entry)
    compute = compile_expression(partitioner, scope_of(of))

    def chosen(entry: Entry) -> int | None:
        found = compute(values_of(entry, of.schema))
        assert found is None or isinstance(found, int), found
        if found is not None and (found < 0 or (at_most is not None and found > at_most)):
            raise RecordError(f"the partition is {found}")
        return found

    return chosen


def _of_key(function: KeyFunction, entry: Entry) -> int | None:
    try:
        return function.partition(entry.key)
    except (Exception, SystemExit) as error:  # a user's function may raise anything
        message = describe_exception(error)
        raise RecordError(f"{function.called}: {message}") from error


def values_of(entry: Entry, schema: Schema) -> Values:
    """Return the values that expressions over a stream's record read."""
    return Values(
        named(schema, entry.key, entry.value),
        timestamp_ms=entry.timestamp_ms,
        record=entry,
    )


def _bytes(value: object) -> bytes | None:
    if isinstance(value, str):
        return value.encode()
    assert value is None or isinstance(value, bytes), value
    return value
