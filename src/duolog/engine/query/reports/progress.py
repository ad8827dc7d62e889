"""The progress of a query: reports of Spark and the kernel, compared with the ends of topics.

Spark reports once per micro-batch; a real-time epoch is reported only when it ends. So the
positions come from the kernel's counters if it runs in this JVM, else from Spark's report.
"""

import datetime as dt
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from duolog.core.counts import counted
from duolog.engine.json_object import Json
from duolog.engine.lowering.spec.ticks import TICKS
from duolog.engine.query.reports.metrics_merge import merge_snapshots
from duolog.engine.topics.offsets import EndOffsets


@dataclass(frozen=True, slots=True)
class Skipped:
    """Records that were skipped for one reason: their number, and the first of them.

    `str` describes it for people.
    """

    stage: str
    """What failed: deserialization, processing, production; or retention, if it was faster."""
    reason: str
    at: str
    """The node or the topic where it failed; empty if the stage says enough."""
    count: int
    topic: str | None
    """The topic of the first record; None if unknown."""
    partition: int
    offset: int
    key: str | None = None
    """Its key and the beginning of its value, as text or as 0x…; None if unavailable."""
    value: str | None = None

    def __str__(self) -> str:
        verb = {
            "deserialization": "read",
            "processing": "process",
            "production": "write",
            "retention": "read",
        }
        records = counted(self.count, "record")
        whence = f' of topic "{self.topic}"' if self.topic else ""
        at = f" at {self.at}" if self.at else ""
        first = f"; the first: partition {self.partition}, offset {self.offset}" if whence else ""
        parts = [
            f", {n} {v}" for n, v in (("key", self.key), ("value", self.value)) if v is not None
        ]
        return (
            f"cannot {verb.get(self.stage, self.stage)} {records}{whence}{at}: {self.reason}"
            f"{first}{''.join(parts)}"
        )

    @property
    def kind(self) -> tuple[str, str | None, str, str]:
        """The identity of the reason: numbers in its text are ignored."""
        return self.stage, self.topic, self.at, re.sub(r"\d+", "#", self.reason)

    def and_later(self, later: "Skipped") -> "Skipped":
        return replace(self, count=self.count + later.count)


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a query at one time. Counts are of records since this process started it."""

    mode: str
    state: str
    epoch_id: int = -1
    """Number of the last micro-batch or epoch that Spark reported, -1 before the first."""
    records_in: int = 0
    records_out: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    """Records that were skipped, by stage: deserialization, processing, production."""
    skipped_because: tuple[Skipped, ...] = ()
    """The same by reason, each with its first record."""
    late: Mapping[str, int] = field(default_factory=dict)
    """The number of records that were too late for a window, by operator."""
    records_per_second: float = 0.0
    """Input rate of the last micro-batch or epoch that read anything."""
    duration_ms: int = 0
    """The duration of the last micro-batch or epoch."""
    trouble: str = ""
    """The reason for the next start, while the state is `restarting`."""
    lag_records: Mapping[str, int] = field(default_factory=dict)
    """Unread records of each source topic; empty if no broker answers."""
    state_rows: int | None = None
    """Rows in all stores, as last counted; None before the first count."""

    @property
    def records_skipped(self) -> int:
        return sum(self.skipped.values())

    @property
    def lag_records_total(self) -> int | None:
        """The total of unread records; None if no broker reports the ends of topics."""
        return sum(self.lag_records.values()) if self.lag_records else None


@dataclass(frozen=True, slots=True)
class Report:
    """The content of one of Spark's progress reports."""

    epoch_id: int
    started_at_ms: int
    records_in: int
    records_by_topic: Mapping[str, int]
    """Records read from each topic."""
    records_per_second: float
    durations_ms: Mapping[str, int]
    """By phase, under Spark's names: `addBatch`, `queryPlanning`, `triggerExecution` (total), …"""
    positions: EndOffsets
    state_commit_ms: int = 0
    """Duration of the stores' commits, summed over the tasks of all levels, which are parallel."""

    @property
    def duration_ms(self) -> int:
        return self.durations_ms.get("triggerExecution", 0)

    @classmethod
    def parse(cls, text: str) -> "Report":
        """Parse Spark's `StreamingQueryProgress` in JSON."""
        report: Json = json.loads(text)
        positions: dict[str, dict[int, int]] = {}
        records: dict[str, int] = {}
        for source in report.get("sources", ()):
            read_to = _positions(source.get("endOffset"))
            positions.update(read_to)
            # A source has one topic.
            records.update(dict.fromkeys(read_to, int(source.get("numInputRows") or 0)))
        durations = report.get("durationMs") or {}
        return cls(
            epoch_id=int(report.get("batchId", -1)),
            started_at_ms=_epoch_ms(report.get("timestamp")),
            records_in=int(report.get("numInputRows", 0)),
            records_by_topic=records,
            records_per_second=float(report.get("processedRowsPerSecond") or 0.0),
            durations_ms={phase: int(spent) for phase, spent in durations.items()},
            positions=positions,
            state_commit_ms=sum(
                int(operator.get("commitTimeMs") or 0)
                for operator in report.get("stateOperators", ())
            ),
        )


@dataclass(frozen=True, slots=True)
class Counters:
    """The kernel's counts of an application in this JVM."""

    records_in: int = 0
    records_out: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    bytes_in: int = 0
    """Size of the keys and values that were read."""
    positions: EndOffsets = field(default_factory=dict)
    skipped_because: tuple[Skipped, ...] = ()
    failed_calls: int = 0
    """Calls in SQL expressions that failed and returned null."""
    late: Mapping[str, int] = field(default_factory=dict)
    state_rows: int | None = None
    """In this JVM and its executors; counts of earlier JVMs are of the same rows."""

    @property
    def mean_bytes(self) -> float:
        """The mean size of a record; 0 without records."""
        return self.bytes_in / self.records_in if self.records_in else 0.0

    def since(self, before: "Counters") -> "Counters":
        """Return the counts since `before`."""
        return Counters(
            records_in=self.records_in - before.records_in,
            bytes_in=self.bytes_in - before.bytes_in,
        )

    def added_to(self, before: "Counters") -> "Counters":
        """Return the sum of these counts and those of an earlier JVM; the positions are these."""
        reasons = {skipped.kind: skipped for skipped in before.skipped_because}
        for skipped in self.skipped_because:
            first = reasons.get(skipped.kind)
            reasons[skipped.kind] = first.and_later(skipped) if first else skipped
        return replace(
            self,
            records_in=before.records_in + self.records_in,
            records_out=before.records_out + self.records_out,
            skipped=_summed(before.skipped, self.skipped),
            late=_summed(before.late, self.late),
            bytes_in=before.bytes_in + self.bytes_in,
            failed_calls=before.failed_calls + self.failed_calls,
            skipped_because=tuple(reasons.values()),
        )

    @classmethod
    def parse(cls, text: str) -> "Counters":
        """Parse the kernel's snapshot: of this JVM, and of executors in others."""
        return cls.of(merge_snapshots(json.loads(text)))

    @classmethod
    def of(cls, counted: Json) -> "Counters":
        samples: dict[tuple[str, str | None, str, str], Skipped] = {}
        for sample in counted.get("samples", ()):
            skipped = Skipped(**sample)
            first = samples.get(skipped.kind)
            samples[skipped.kind] = first.and_later(skipped) if first else skipped
        tasks = counted.get("tasks", {}).values()
        rows = [int(store["rows"]) for task in tasks for store in task["stores"].values()]
        return cls(
            records_in=int(counted.get("records_in", 0)),
            records_out=int(counted.get("records_out", 0)),
            skipped={what: int(count) for what, count in counted.get("skipped", {}).items()},
            late={operator: int(count) for operator, count in counted.get("late", {}).items()},
            bytes_in=int(counted.get("bytes_in", 0)),
            failed_calls=int(counted.get("failed_calls", 0)),
            positions=_positions(counted.get("positions")),
            skipped_because=tuple(samples.values()),
            state_rows=sum(rows) if rows else None,
        )


def _summed(before: Mapping[str, int], now: Mapping[str, int]) -> dict[str, int]:
    return {of: before.get(of, 0) + now.get(of, 0) for of in before.keys() | now.keys()}


def merge_positions(*reported: EndOffsets) -> dict[str, dict[int, int]]:
    """Return the furthest position of each partition."""
    furthest: dict[str, dict[int, int]] = {}
    for positions in reported:
        for topic, offsets in positions.items():
            kept = furthest.setdefault(topic, {})
            for partition, offset in offsets.items():
                kept[partition] = max(offset, kept.get(partition, 0))
    return furthest


def lag_of(positions: EndOffsets, ends: EndOffsets) -> dict[str, int]:
    """Return, for each topic in `ends`, the number of records between position and end.

    Example:
        >>> lag_of({"flights": {0: 90}}, {"flights": {0: 100, 1: 5}})
        {'flights': 15}
    """
    return {
        topic: sum(
            max(0, end - positions.get(topic, {}).get(partition, 0))
            for partition, end in offsets.items()
        )
        for topic, offsets in ends.items()
    }


def _epoch_ms(timestamp: object) -> int:
    if not isinstance(timestamp, str):
        return 0
    return int(dt.datetime.fromisoformat(timestamp).timestamp() * 1000)


def _positions(offsets: object) -> dict[str, dict[int, int]]:
    # Spark nests JSON in JSON for some sources and versions.
    if isinstance(offsets, str):
        offsets = json.loads(offsets)
    if not isinstance(offsets, dict):
        return {}
    return {
        topic: {int(partition): int(offset) for partition, offset in partitions.items()}
        for topic, partitions in offsets.items()
        if topic != TICKS
    }
