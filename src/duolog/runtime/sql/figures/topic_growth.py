"""Sizes of topics, and how fast they grow, from the ends of their partitions.

    records            offsets between the first and the last one, of all partitions
    records per second change of the ends since a sample that is 10 seconds old, or a little more

Control records of transactions and gaps of compaction count as records. The ends are read when
asked for, at most every two seconds, so the first answer about a topic has no rate.

Threads: any; one at a time asks the broker.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from duolog.core.clock import Clock
from duolog.core.errors import DuologError

logger: Final = logging.getLogger(__name__)

Spans = Callable[[Iterable[str]], dict[str, tuple[int, int]]]
"""Returns the numbers of offsets before, and up to the end of, topics; raises DuologError."""
TOPICS_MAX: Final = 1_000
"""Topics of one answer, and topics whose ends are remembered."""
RATE_MS: Final = 10_000
_REMEMBER_MS: Final = 2_000
_RATE_MS_MIN: Final = 1_000
_FORGET_MS: Final = 60_000
"""A rate over a longer pause would hide what happens now."""


class TopicSize(NamedTuple):
    """The size of a topic; the rate is None until the topic was seen for a second."""

    records: int
    per_second: float | None


class TopicGrowth:
    """The sizes of topics of one cluster."""

    def __init__(self, spans: Spans, clock: Clock) -> None:
        self._spans = spans
        self._clock = clock
        self._samples: dict[str, deque[tuple[int, int]]] = {}
        """Times and ends of each topic; those asked for last are at the end."""
        self._known: dict[str, tuple[int, TopicSize]] = {}
        self._lock = threading.Lock()

    def of(self, topics: Iterable[str]) -> dict[str, TopicSize]:
        """Return the sizes of topics; those that cannot be read are missing."""
        wanted = sorted(set(topics))[:TOPICS_MAX]
        with self._lock:
            now_ms = self._clock.now_ms()
            due = [name for name in wanted if not self._is_fresh(name, now_ms)]
            if due:
                self._read(due, now_ms)
            return {name: self._known[name][1] for name in wanted if name in self._known}

    def _is_fresh(self, topic: str, now_ms: int) -> bool:
        known = self._known.get(topic)
        return known is not None and 0 <= now_ms - known[0] < _REMEMBER_MS

    def _read(self, topics: list[str], now_ms: int) -> None:
        try:
            found = self._spans(topics)
        except DuologError as error:
            logger.debug("cannot read the ends of topics: %s", error.message)
            found = {}
        for topic in topics:
            if topic not in found:
                self._known.pop(topic, None)
                continue
            first, end = found[topic]
            size = TopicSize(max(0, end - first), self._rate(topic, now_ms, end))
            self._known[topic] = now_ms, size
        while len(self._samples) > TOPICS_MAX:
            oldest = next(iter(self._samples))
            del self._samples[oldest]
            self._known.pop(oldest, None)

    def _rate(self, topic: str, now_ms: int, end: int) -> float | None:
        samples = self._samples[topic] = self._samples.pop(topic, deque())
        if samples and (samples[-1][1] > end or now_ms - samples[-1][0] > _FORGET_MS):
            samples.clear()  # Created again, or not asked for.
        # Of the samples that are old enough, the newest one counts.
        while len(samples) > 1 and now_ms - samples[1][0] >= RATE_MS:
            samples.popleft()
        samples.append((now_ms, end))
        passed_ms = now_ms - samples[0][0]
        if passed_ms < _RATE_MS_MIN:
            return None
        return round((end - samples[0][1]) * 1000 / passed_ms, 3)
