"""Random cases for Kafka Streams: a topology, its records, and their batches.

A case is a number: the same number gives the same case, which can be shrunk by omitting steps of the
topology and records. If each record is its own micro-batch, times are arbitrary; else they rise
(`MODES`), or are out of order and distinct, because Streams takes equal ones of two topics in any
order.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import Final

from conformance.streams.comparison_cases import Mode, cache_of
from conformance.streams.oracle import Given
from duolog import Topology
from duolog.plan.nodes import AggregateNode, ForeignJoin, Plan
from duolog.plan.windows.calendar_windows import CalendarWindows
from random_topologies import stream_steps, table_steps
from random_topologies.generator import (
    GLOBAL,
    HEADER,
    STREAMS,
    TABLES,
    TEXTS,
    WINDOW_MS,
    WINDOWED,
    TopologyGenerator,
)

STEPS_MAX: Final = 8
RECORDS_MAX: Final = 60
TOPICS: Final = (*STREAMS, *STREAMS, *TABLES, GLOBAL, *WINDOWED)
MIXED: Final = ("x", "k5", "k10", "K", "0", "00", "~", "é", "aaa", "eight-by", "more-than-eight")
"""Keys of all lengths; the few of `TEXTS` meet more often."""
OF_ONE_LENGTH: Final = tuple(f"k{number}" for number in range(10))
_IN_MARCH_MS: Final = 1_774_000_000_000
_DAYS_MS: Final = 500 * 24 * 3_600_000


@dataclass(frozen=True)
class Case:
    """A topology, its records and batches; omitting steps or records shrinks it."""

    seed: int
    without_steps: frozenset[int] = frozenset()
    without_records: frozenset[int] = frozenset()

    @cached_property
    def mode(self) -> Mode:
        """The batching of records; mostly one by one, which works for all operators."""
        modes: list[Mode] = ["each", "each", "each", "micro-batch", "cache", "cache", "late"]
        return self._rng("mode").choice(modes)

    @cached_property
    def tasks(self) -> int:
        return self._rng("tasks").choice([1, 1, 2])

    @cached_property
    def partitions(self) -> int:
        return 1 if self.mode == "late" else self._rng("partitions").choice([1, 2])

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Keys and texts; foreign-key responses for texts of several lengths have our own order."""
        if self._rng("keys").randrange(6):
            return TEXTS
        asks = any(isinstance(node, ForeignJoin) for node in self.plan.nodes)
        return OF_ONE_LENGTH if asks else MIXED

    @cached_property
    def cache_bytes_max(self) -> int:
        return cache_of(self.mode)

    @cached_property
    def steps(self) -> int:
        return self._rng("steps").randint(2, STEPS_MAX)

    @cached_property
    def topology(self) -> Topology:
        alone = self.mode == "each"
        of = {"alone": alone, "places": self.partitions == 1, "late": self.mode == "late"}
        generator = TopologyGenerator(self._rng("sources"), **of)
        for step in range(self.steps):
            if step not in self.without_steps:
                generator.rng = self._rng(f"step {step}")
                generator.add_step(stream_steps.STEPS, table_steps.STEPS)
        return generator.finish()

    @cached_property
    def plan(self) -> Plan:
        return self.topology.build()

    @cached_property
    def records(self) -> dict[int, Given]:
        """The records that the plan reads, by their numbers."""
        read = {source.topic for source in self.plan.sources}
        versioned = {source.topic for source in self.plan.sources if source.history_ms is not None}
        found: dict[int, Given] = {}
        seen = set()
        for number, record in enumerate(self._drawn()):
            at = (record.topic, record.key, record.time)
            # Streams loses a deletion with the timestamp of the version that it deletes.
            forgotten = record.value is None and record.topic in versioned and at in seen
            if record.topic in read and number not in self.without_records and not forgotten:
                found[number] = record
                seen.add(at)
        return found

    @cached_property
    def batches(self) -> list[list[Given]]:
        """The records, with a commit after each batch."""
        if self.mode == "each":
            return [[record] for record in self.records.values()]
        rng = self._rng("batches")
        cuts = sorted(rng.sample(range(RECORDS_MAX), rng.randint(1, 3)))
        found: list[list[Given]] = [[] for _ in range(len(cuts) + 1)]
        for number, record in self.records.items():
            found[sum(cut <= number for cut in cuts)].append(record)
        return found if self.mode != "late" else list(_by_topic(found))

    def smaller(self, differs: Callable[["Case"], bool]) -> "Case":
        """Return this case restricted to this kind of records."""
        case = self
        for step in range(self.steps):
            case = _if_still(
                differs, case, replace(case, without_steps=case.without_steps | {step})
            )
        many = max(1, len(case.records) // 2)
        while many:
            for start in range(0, RECORDS_MAX, many):
                gone = set(range(start, start + many)) & case.records.keys()
                if gone:
                    fewer = replace(case, without_records=case.without_records | gone)
                    case = _if_still(differs, case, fewer)
            many //= 2
        return case

    def _rng(self, what: str) -> Random:
        return Random(f"{self.seed} {what}")  # noqa: S311 - the same each time

    def _drawn(self) -> Iterator[Given]:
        rng = self._rng("records")
        topics, times = self._topics_and_times(rng)
        at, scale = self._origin(rng, max(times))
        null_keys, null_values = rng.choice([(8, 8), (15, 4), (4, 15)])
        for number, (topic, time) in enumerate(zip(topics, times, strict=True)):
            key = None if rng.randrange(null_keys) == 0 else rng.choice(self.keys)
            row: tuple[object, ...] | None = (
                rng.choice([None, *self.keys, *self.keys]),
                rng.choice([None, *range(-3, 4)]),
            )
            if rng.randrange(null_values) == 0:
                row = None
            now = at + scale * time
            start = now // WINDOW_MS * WINDOW_MS
            bounds = (start, start + WINDOW_MS) if topic in WINDOWED else ()
            headers = ((HEADER, str(number).encode()),) if rng.randrange(3) else ()
            partition = self._partition(key)
            keys = None if key is None else (key, *bounds)
            yield Given(topic, keys, row, now, partition, headers)

    def _partition(self, key: str | None) -> int:
        return self.keys.index(key) % self.partitions if key else 0

    def _origin(self, rng: Random, latest: int) -> tuple[int, int]:
        """Return the start and unit of time; Streams has no windows before 1970."""
        at = rng.choice([0, 100])
        windows = [node.windows for node in self.plan.nodes if isinstance(node, AggregateNode)]
        if any(isinstance(of, CalendarWindows) for of in windows):
            return _IN_MARCH_MS, _DAYS_MS // (latest + 1)
        return (100 if any(getattr(of, "offset_ms", 0) for of in windows) else at), 1

    def _topics_and_times(self, rng: Random) -> tuple[list[str], list[int]]:
        times = _TIMES[self.mode](rng)
        return [rng.choice(TOPICS) for _ in times], times


def _by_topic(batches: list[list[Given]]) -> Iterator[list[Given]]:
    """Yield one-topic batches: in Streams, a record dropped later still delays the next ones."""
    for batch in batches:
        for topic in dict.fromkeys(record.topic for record in batch):
            yield [record for record in batch if record.topic == topic]


def _if_still(differs: Callable[[Case], bool], case: Case, fewer: Case) -> Case:
    return fewer if fewer.records and differs(fewer) else case


def _any_times(rng: Random) -> list[int]:
    """Times near each other in any order, or rising on average; sometimes far ahead."""
    many = rng.randint(RECORDS_MAX // 3, RECORDS_MAX)
    match rng.randrange(3):
        case 0:
            return [rng.randrange(10) for _ in range(many)]
        case 1:
            return [number // 2 + rng.randrange(8) for number in range(many)]
        case _:
            now, found = 0, []
            for _ in range(many):
                now += rng.choice([0, 0, 1, 1, 2, 5, 40])
                found.append(max(0, now - rng.choice([0, 0, 0, 1, 3, 9])))
            return found


def _rising_times(rng: Random) -> list[int]:
    many = rng.randint(RECORDS_MAX // 3, RECORDS_MAX)
    now, found = 0, []
    for _ in range(many):
        now += rng.choice([1, 1, 2, 3, 6, 10])
        found.append(now)
    return found


def _late_times(rng: Random) -> list[int]:
    many = rng.randint(RECORDS_MAX // 3, RECORDS_MAX)
    return sorted(range(many), key=lambda number: number + rng.random() * 9)


_TIMES: Final[dict[Mode, Callable[[Random], list[int]]]] = {
    "each": _any_times,
    "micro-batch": _rising_times,
    "cache": _rising_times,
    "late": _late_times,
}
