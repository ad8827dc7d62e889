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
from duolog.ksql.settings import ANSWER_OFFSETS, ANSWER_TIMEOUT
from duolog.runtime.errors import BrokerUnavailable
from duolog.runtime.sql.answers import Offsets, offsets_text
from duolog.runtime.sql.tables.end_offsets import EndOffsets, Ends, Place, requester
from duolog.runtime.sql.tables.freshness import Wanted
from duolog.runtime.sql.tables.materialized_table import MaterializedTable
from duolog.security.clients.brokers import Brokers

_NO_PROGRESS_S: Final = 300.0
"""Without a time limit, an answer waits for this time while nothing is applied."""
_CHECK_S: Final = 2.0
"""An answer that has waited for this time checks that the topic is still the same."""
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
        deadline = _deadline(wanted)
        known_at_s = _complete_at(tables)
        oldest_s = time.monotonic() - wanted.staleness_ms_max / 1000
        if known_at_s is None or not wanted.staleness_ms_max or known_at_s < oldest_s:
            ends = self._ends(tables)
            for table in tables:
                self._wait(table, ends.of(table.source.topic), deadline)
                _note_complete(table, ends)
            known_at_s = ends.asked_at_s if tables else None
        for table in tables:
            self._wait_for_wanted(table, wanted)
        return known_at_s

    def _ends(self, tables: Sequence[MaterializedTable]) -> Ends:
        """Return the ends of the committed records, and follow partitions that were added.

        Raises:
            Outdated: a topic was created again.
        """
        while True:
            before = [table.reached() for table in tables]
            ends = self._committed.of(_places(tables))
            for table, reached in zip(tables, before, strict=True):
                _ensure_same_topic(table, reached, ends)
            have_grown = [_has_grown(table, ends) for table in tables]
            if not any(have_grown):
                return ends

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
                        self._wait(table, ends.of(table.source.topic), _deadline(wanted))
                        _note_complete(table, ends)
                    yield ends.asked_at_s
                    return
            if time.monotonic() >= deadline:
                raise _no_moment(tables, wanted)
            threading.Event().wait(_RETRY_S)

    def _one_moment(self, tables: Sequence[MaterializedTable]) -> Ends | None:
        """Return the ends of one moment without transactions; None if there may be none."""
        committed = self._ends(tables)
        written = self._written.of(_places(tables))
        return committed if committed.offsets == written.offsets else None

    def _wait(
        self, table: MaterializedTable, ends: Mapping[int, int], deadline: float | None
    ) -> None:
        """Wait until the rows include all records before these offsets."""
        applied, moved_at_s = -1, time.monotonic()
        while True:
            limit_s = moved_at_s + _NO_PROGRESS_S if deadline is None else deadline
            left_s = max(0.0, limit_s - time.monotonic())
            if table.follower.wait_for(ends, min(left_s, _CHECK_S)):
                return
            if table.follower.is_closed:
                table.is_outdated = True
                raise Outdated
            if time.monotonic() >= limit_s:
                raise _not_read(table, ends, deadline)
            # The offsets may be those of a topic that was created again before they were read.
            self._ends([table])
            now_applied = sum(table.reached().values())
            if now_applied > applied:
                applied, moved_at_s = now_applied, time.monotonic()

    def _wait_for_wanted(self, table: MaterializedTable, wanted: Wanted) -> None:
        """Wait until the offsets that the caller wants are in the rows."""
        offsets = wanted.offsets_min.get(table.source.topic)
        if not offsets:
            return
        if offsets.keys() - set(table.follower.partitions):
            self._ends([table])
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
    """Raise Outdated if the topic is another one, or ends before the offsets reached earlier."""
    now, state = ends.of(table.source.topic), ends.topics.get(table.source.topic)
    is_other = state is not None and not state.is_same(table.follower.topic_id)
    if is_other or any(now.get(at, -1) < offset for at, offset in reached.items()):
        table.is_outdated = True
        raise Outdated


def _has_grown(table: MaterializedTable, ends: Ends) -> bool:
    """Follow the partitions that were added to a topic; return true if there are any."""
    state = ends.topics.get(table.source.topic)
    added = set() if state is None else state.partitions - set(table.follower.partitions)
    table.follower.add_partitions(sorted(added))
    return bool(added)


def _deadline(wanted: Wanted) -> float | None:
    return None if wanted.timeout_s is None else time.monotonic() + wanted.timeout_s


def _not_read(
    table: MaterializedTable, ends: Mapping[int, int], deadline: float | None
) -> BrokerUnavailable:
    topic, progress = table.source.topic, table.follower.progress()
    return BrokerUnavailable(
        f'cannot read topic "{topic}" to its end' + ("" if deadline is None else " in time"),
        detail=f"Wanted {offsets_text({topic: ends})}, reached "
        f"{offsets_text({topic: table.reached()})}. Reading {progress}.",
        hint=""
        if deadline is None
        else f"Ask again, or increase '{ANSWER_TIMEOUT}'; the topic is being read meanwhile.",
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
