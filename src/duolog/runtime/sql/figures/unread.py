"""The first unread record of each partition: its timestamp, by reading it.

While a position does not move, the answer is remembered for a minute: retention may remove the
record meanwhile. Only committed records count. The ends of partitions are asked of the broker for
queries that do not run.

Threads: one at a time.
"""

import contextlib
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from duolog.core.errors import DuologError
from duolog.runtime.sql.figures.observation import Partition
from duolog.security.clients.brokers import Brokers

if TYPE_CHECKING:
    from duolog.engine.topics.topic_reader import TopicReader

NO_RECORD: Final = -1
"""In place of a timestamp: there are only control records or aborted ones up to the end."""
_TIMEOUT_S: Final = 3.0
_REMEMBER_S: Final = 60.0
_REMEMBERED_MAX: Final = 100_000

Positions = Mapping[Partition, int]


class _Known(NamedTuple):
    timestamp_ms: int
    end: int
    at_s: float

    def holds(self, end: int, now_s: float) -> bool:
        """Return true if the answer still holds for this end of the partition."""
        if now_s - self.at_s > _REMEMBER_S:
            return False
        # A topic that has become shorter was recreated.
        return end == self.end if self.timestamp_ms == NO_RECORD else end >= self.end


class Unread(Protocol):
    """Answers questions about unread records."""

    def first_timestamps(self, positions: Positions, ends: Positions) -> dict[Partition, int]:
        """Return the timestamp of the first record from each position on, in ms since 1970.

        `NO_RECORD` without one. Partitions that have not answered in time are missing.
        """

    def ends(self, counts: Mapping[str, int]) -> dict[Partition, int] | None:
        """Return where the partitions of topics end; None if no broker answers."""

    def close(self) -> None:
        """Close the connections."""


class UnreadOnBroker:
    """Asks the brokers of a cluster; connects with the first question."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers
        self._opened: TopicReader | None = None
        self._known: dict[tuple[Partition, int], _Known] = {}
        """By partition and position."""

    def first_timestamps(self, positions: Positions, ends: Positions) -> dict[Partition, int]:
        """See `Unread.first_timestamps`."""
        found: dict[Partition, int] = {}
        unknown: dict[Partition, int] = {}
        now_s = time.monotonic()
        for at, position in positions.items():
            known = self._known.get((at, position))
            if known is not None and known.holds(ends[at], now_s):
                found[at] = known.timestamp_ms
            else:
                unknown[at] = position
        if len(self._known) > _REMEMBERED_MAX:
            self._known.clear()
        sampled = self._reader.unread.sampler.sample(unknown, records_max=1, timeout_s=_TIMEOUT_S)
        for at, sample in sampled.items():
            if sample.first_ms is not None:
                found[at] = sample.first_ms
            elif sample.reached_end:
                found[at] = NO_RECORD
            else:
                continue
            self._known[at, unknown[at]] = _Known(found[at], ends[at], now_s)
        return found

    def ends(self, counts: Mapping[str, int]) -> dict[Partition, int] | None:
        """See `Unread.ends`."""
        with contextlib.suppress(DuologError):
            found = self._reader.end_offsets(counts, _TIMEOUT_S)
            return {
                (topic, number): end
                for topic, ends in found.items()
                for number, end in ends.items()
            }
        return None

    def close(self) -> None:
        """Close the connections; do nothing if there are none."""
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.unread.sampler.close()

    @property
    def _reader(self) -> "TopicReader":
        if self._opened is None:
            from duolog.engine.topics.topic_reader import TopicReader  # noqa: PLC0415 - few servers need it

            options = self._brokers.client()
            self._opened = TopicReader(self._brokers.servers, options)
        return self._opened
