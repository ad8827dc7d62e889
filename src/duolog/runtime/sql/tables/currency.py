"""Bring tables to the state that an answer wants.

    latest      ask for the ends of the topics, and wait until the tables have passed them
    stale       nothing, if that was done a short time ago
    snapshot    hold the tables, ask for the ends until they are those of one moment, and let the
                tables proceed up to exactly these offsets

The ends of one moment: first the last stable offsets of all topic partitions are read, then the
high watermarks. Both only grow, and no last stable offset is beyond its high watermark. If they are
equal in every partition, they were equal at the moment between the two requests. No transaction was
open in any of the partitions then, so no half of a transaction is before these offsets.

Threads: any.
"""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import Final

from duolog.ksql.errors import SqlError
from duolog.ksql.settings import ANSWER_OFFSETS
from duolog.runtime.errors import BrokerUnavailable
from duolog.runtime.sql.answers import Offsets, offsets_text
from duolog.runtime.sql.tables.end_offsets import EndOffsets, Ends, Place, requester
from duolog.runtime.sql.tables.freshness import Wanted
from duolog.runtime.sql.tables.materialized_table import MaterializedTable
from duolog.security.clients.brokers import Brokers

_RETRY_S: Final = 0.005
"""Pause before the ends are read again; a transaction takes longer."""


class Outdated(Exception):
    """The topic of a table was created again, or the table is closed."""


class Currency:
    """Brings tables of a cluster up to date."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers

    @cached_property
    def _committed(self) -> EndOffsets:
        return EndOffsets(requester(self._brokers, committed=True))

    @cached_property
    def _written(self) -> EndOffsets:
        return EndOffsets(requester(self._brokers, committed=False))

    @contextmanager
    def current(
        self, tables: Sequence[MaterializedTable], wanted: Wanted
    ) -> Iterator[float | None]:
        """Bring tables up to date; in the `with` block, a snapshot does not change.

        Yields the latest time, by `time.monotonic`, before which all commits are in the rows, or
        None if it is unknown.

        Raises:
            KafkaError: a topic cannot be read.
            BrokerUnavailable: offsets are not reached, or no moment is found, in time.
            Outdated: a topic was created again; the table has `is_outdated` set.
            SqlError: a wanted offset is of an unknown partition.
        """
        if wanted.snapshot and tables:
            with self._snapshot(tables, wanted) as known_at_s:
                yield known_at_s
        else:
            yield self._latest(tables, wanted)

    def _latest(self, tables: Sequence[MaterializedTable], wanted: Wanted) -> float | None:
        known_at_s = _complete_at(tables)
        oldest_s = time.monotonic() - wanted.staleness_ms_max / 1000
        if known_at_s is None or not wanted.staleness_ms_max or known_at_s < oldest_s:
            before = [table.reached() for table in tables]
            ends = self._committed.of(_places(tables))
            for table, reached in zip(tables, before, strict=True):
                _ensure_same_topic(table, reached, ends)
            for table in tables:
                _wait(table, ends.of(table.source.topic), None)
                _note_complete(table, ends)
            known_at_s = ends.asked_at_s if tables else None
        for table in tables:
            _wait_for_wanted(table, wanted)
        return known_at_s

    @contextmanager
    def _snapshot(
        self, tables: Sequence[MaterializedTable], wanted: Wanted
    ) -> Iterator[float | None]:
        deadline = time.monotonic() + wanted.wait_s
        # The same order for all answers: none waits for another in a circle.
        ordered = sorted({id(table): table for table in tables}.values(), key=_name)
        while True:
            with ExitStack() as held:
                for table in ordered:
                    if not table.moment.acquire(timeout=max(0.0, deadline - time.monotonic())):
                        raise _no_moment(tables, wanted)
                    held.callback(table.moment.release)
                for table in ordered:
                    table.follower.hold()
                    held.callback(table.follower.release)
                ends = self._one_moment(ordered)
                if ends is not None and _includes(ends, tables, wanted):
                    for table in ordered:
                        table.follower.proceed(ends.of(table.source.topic))
                    for table in ordered:
                        _wait(table, ends.of(table.source.topic), None)
                        _note_complete(table, ends)
                    yield ends.asked_at_s
                    return
            if time.monotonic() >= deadline:
                raise _no_moment(tables, wanted)
            threading.Event().wait(_RETRY_S)

    def _one_moment(self, tables: Sequence[MaterializedTable]) -> Ends | None:
        """Return the ends of one moment without transactions; None if there may be none."""
        before = [table.reached() for table in tables]
        places = _places(tables)
        committed = self._committed.of(places)
        written = self._written.of(places)
        for table, reached in zip(tables, before, strict=True):
            _ensure_same_topic(table, reached, committed)
        return committed if committed.offsets == written.offsets else None


def offsets_of_tables(tables: Sequence[MaterializedTable]) -> Offsets:
    """Return the offsets that tables have reached; of two tables of one topic, the lower ones."""
    found: dict[str, dict[int, int]] = {}
    for table in tables:
        of_topic = found.setdefault(table.source.topic, {})
        for partition, offset in table.reached().items():
            of_topic[partition] = min(offset, of_topic.get(partition, offset))
    return found


def _places(tables: Sequence[MaterializedTable]) -> set[Place]:
    return {(one.source.topic, at) for one in tables for at in one.follower.partitions}


def _name(table: MaterializedTable) -> str:
    return table.source.name


def _complete_at(tables: Sequence[MaterializedTable]) -> float | None:
    times = [table.complete_at_s for table in tables]
    return min((at for at in times if at is not None), default=None) if None not in times else None


def _note_complete(table: MaterializedTable, ends: Ends) -> None:
    table.complete_at_s = max(ends.asked_at_s, table.complete_at_s or 0.0)


def _ensure_same_topic(table: MaterializedTable, reached: Mapping[int, int], ends: Ends) -> None:
    """Raise Outdated if the topic ends before the offsets reached earlier."""
    now = ends.of(table.source.topic)
    if any(now[at] < offset for at, offset in reached.items()):
        table.is_outdated = True
        raise Outdated


def _wait(table: MaterializedTable, ends: Mapping[int, int], timeout_s: float | None) -> None:
    if table.follower.wait_for(ends, timeout_s):
        return
    if table.follower.is_closed:
        table.is_outdated = True
        raise Outdated
    topic = table.source.topic
    raise BrokerUnavailable(
        f'cannot read topic "{topic}" to its end',
        detail=f"Wanted {offsets_text({topic: ends})}, reached "
        f"{offsets_text({topic: table.reached()})}.",
    )


def _wait_for_wanted(table: MaterializedTable, wanted: Wanted) -> None:
    """Wait until the offsets that the caller wants are in the rows."""
    offsets = wanted.offsets_min.get(table.source.topic)
    if not offsets:
        return
    unknown = offsets.keys() - set(table.follower.partitions)
    if unknown:
        raise SqlError(
            f'topic "{table.source.topic}" has no partition {min(unknown)}',
            detail=f"{ANSWER_OFFSETS} names it.",
        )
    if not table.follower.wait_for(offsets, wanted.wait_s):
        topic = table.source.topic
        raise BrokerUnavailable(
            f'topic "{topic}" has not reached the wanted offsets in {wanted.wait_s:g} s',
            detail=f"Wanted {offsets_text({topic: offsets})}, reached "
            f"{offsets_text({topic: table.reached()})}.",
            hint="Check that they were written and committed.",
        )


def _includes(ends: Ends, tables: Sequence[MaterializedTable], wanted: Wanted) -> bool:
    """Return true if a moment is not before the offsets that the caller wants."""
    topics = {table.source.topic for table in tables}
    return all(
        ends.offsets.get((topic, at), offset) >= offset
        for topic, of_topic in wanted.offsets_min.items()
        if topic in topics
        for at, offset in of_topic.items()
    )


def _no_moment(tables: Sequence[MaterializedTable], wanted: Wanted) -> BrokerUnavailable:
    topics = ", ".join(sorted({f'"{table.source.topic}"' for table in tables}))
    return BrokerUnavailable(
        f"no consistent moment of {topics} was found in {wanted.wait_s:g} s",
        detail="Transactions were open in them all the time, or the wanted offsets do not exist.",
        hint="Ask again, or SET 'ksql.query.pull.consistency' = 'latest'.",
    )
