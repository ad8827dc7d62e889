"""What runs, in numbers: an application, its tasks and nodes, its topics, its epochs, its state.

    Metrics ─┬─ tasks     one for each task of a sub-topology, and for each topic partition that is read
             │    ├─ nodes    by the plan's names
             │    └─ stores   rows and bytes
             ├─ sources   topic partitions: how far they are read, how far they go
             ├─ sinks     topics: what was written, and how old it was by then
             ├─ epochs    how long they took, by phase; the last ones each
             └─ state     by level, as the last epoch has left it

Counts are those of the JVM that runs the application now; a new JVM begins at 0, as a counter of Prometheus may. Source:
Kafka Streams' metrics (KIP-444, KIP-613, KIP-846), whose names they have where `duolog.runtime.metrics` tells them.
"""

import contextlib
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from duolog.engine.query.query import RunningQuery
    from duolog.engine.topics.topic_reader import EndOffsets

_NEVER: Final = -1
"""What the kernel says of a time where no record has come."""


@dataclass(frozen=True, slots=True)
class NodeMetrics:
    """What a node of the plan has done for one task."""

    node: str
    process_total: int
    """Records that came."""
    forward_total: int
    """Records that it handed on, to however many nodes."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Records that it dropped, by reason: null_key, null_value, late, out_of_order, error."""


@dataclass(frozen=True, slots=True)
class StoreMetrics:
    """What a store has in one task."""

    store: str
    rows: int
    """Its entries, as RocksDB has them. Counted at commits, in a hundredth of the time: that of a large store is as old as
    `counted_at_ms`, so it is an estimate while rows come and go."""
    bytes: int
    """Of their keys and values, before compression."""
    counted_at_ms: int | None
    """When all of them were counted last; None as long as there are so many at least."""


@dataclass(frozen=True, slots=True)
class TaskMetrics:
    """What a task has done: `1_0` is task 0 of sub-topology 1, `flights-0` reads partition 0 of that topic."""

    task: str
    records: int
    stream_time_ms: int | None
    """The greatest timestamp so far, in ms since 1970; None before the first record."""
    lateness_sum_ms: int
    """How far records were behind stream time when they came, summed up."""
    lateness_max_ms: int
    nodes: tuple[NodeMetrics, ...] = ()
    stores: tuple[StoreMetrics, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceMetrics:
    """How far a topic partition is read."""

    topic: str
    partition: int
    records_consumed: int
    position: int
    """The next offset to read."""
    end: int | None
    """The offset behind its last record; None where no broker tells."""
    last_timestamp_ms: int | None
    """That of the record that was read last; None before the first."""

    @property
    def lag_records(self) -> int | None:
        return None if self.end is None else max(0, self.end - self.position)

    def lag_ms(self, now_ms: int) -> int | None:
        """Return how old the last record is that was read, where more wait: 0 where none does.

        None where that is not known: no broker answers, or nothing was read yet.

        Example:
            >>> SourceMetrics("t", 0, 5, 5, 9, 1000).lag_ms(4000)
            3000
            >>> SourceMetrics("t", 0, 5, 9, 9, 1000).lag_ms(4000)
            0
        """
        if self.lag_records == 0:
            return 0
        if self.lag_records is None or self.last_timestamp_ms is None:
            return None
        return max(0, now_ms - self.last_timestamp_ms)


@dataclass(frozen=True, slots=True)
class SinkMetrics:
    """What was written to a topic."""

    topic: str
    records_produced: int
    bytes_produced: int
    """Of keys and values."""
    e2e_latency_sum_ms: int
    """How old records were by their timestamp when they were written, summed up."""
    e2e_latency_counts: tuple[int, ...] = ()
    """How many were younger than 1, 2, 4, 8, … ms, and not than the step before; the last one has all others."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """An epoch of real time, or a micro-batch, that has ended."""

    number: int
    """It is the so-manieth that has ended in this JVM."""
    id: int
    """Spark's number, which goes on from one JVM to the next."""
    started_at_ms: int
    records_in: int
    phases_ms: Mapping[str, int] = field(default_factory=dict)
    """How long its phases took, under Spark's names; `triggerExecution` is all of it."""


@dataclass(frozen=True, slots=True)
class EpochMetrics:
    """All epochs that have ended."""

    count: int = 0
    longest_ms: int = 0
    phases_ms: Mapping[str, int] = field(default_factory=dict)
    """By phase, summed up."""
    last: tuple[Epoch, ...] = ()
    """The last ones, the oldest first."""


@dataclass(frozen=True, slots=True)
class StateMetrics:
    """The state of a level, in all tasks."""

    level: int
    bytes: int
    """Of RocksDB's files."""
    memory_bytes: int
    commit_ms: int
    """How long the last commit took, summed over tasks, which commit side by side."""


@dataclass(frozen=True, slots=True)
class Metrics:
    """An application at a moment."""

    application_id: str
    state: str
    mode: str
    at_ms: int
    """When this was asked."""
    records_in: int = 0
    records_out: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    """Records that were passed over, by what failed."""
    late: Mapping[str, int] = field(default_factory=dict)
    """How often a record came too late for a window, by operator."""
    tasks: tuple[TaskMetrics, ...] = ()
    sources: tuple[SourceMetrics, ...] = ()
    sinks: tuple[SinkMetrics, ...] = ()
    epochs: EpochMetrics = field(default_factory=EpochMetrics)
    states: tuple[StateMetrics, ...] = ()

    @property
    def lag_records(self) -> int | None:
        """Return how many records wait in all topics; None where no broker tells."""
        lags = [source.lag_records for source in self.sources]
        return None if None in lags else sum(lag for lag in lags if lag is not None)

    @property
    def lag_ms(self) -> int | None:
        """Return the greatest lag in time of a partition; None where none is known."""
        lags = (source.lag_ms(self.at_ms) for source in self.sources)
        return max((lag for lag in lags if lag is not None), default=None)

    @property
    def dropped(self) -> int:
        """Return how many records nodes have dropped, for whatever reason but lateness."""
        return sum(
            count
            for task in self.tasks
            for node in task.nodes
            for reason, count in node.dropped.items()
            if reason != "late"
        ) + self.skipped.get("deserialization", 0)

    @property
    def state_rows(self) -> int | None:
        """Return how many rows all stores have; None where none was counted yet, or none is there."""
        rows = [store.rows for task in self.tasks for store in task.stores]
        return sum(rows) if rows else None

    @property
    def state_bytes(self) -> int:
        """Return how large the state is: files and memory, as rows lie in either."""
        return sum(state.bytes + state.memory_bytes for state in self.states)

    def to_json(self) -> dict[str, Any]:
        """Return all of it as JSON has it; `from_json` reads it."""
        return asdict(self)

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> "Metrics":
        """Read what `to_json` gave, in another process maybe."""
        epochs = told["epochs"]
        rest = {name: told[name] for name in _PLAIN}
        return cls(
            **rest,
            tasks=tuple(
                TaskMetrics(
                    **{
                        **task,
                        "nodes": tuple(NodeMetrics(**one) for one in task["nodes"]),
                        "stores": tuple(StoreMetrics(**one) for one in task["stores"]),
                    }
                )
                for task in told["tasks"]
            ),
            sources=tuple(SourceMetrics(**source) for source in told["sources"]),
            sinks=tuple(
                SinkMetrics(**{**sink, "e2e_latency_counts": tuple(sink["e2e_latency_counts"])})
                for sink in told["sinks"]
            ),
            epochs=EpochMetrics(
                **{**epochs, "last": tuple(Epoch(**one) for one in epochs["last"])}
            ),
            states=tuple(StateMetrics(**state) for state in told["states"]),
        )


_PLAIN: Final = ("application_id", "state", "mode", "at_ms", "records_in", "records_out",
                 "skipped", "late")  # fmt: skip


def metrics_of(query: "RunningQuery") -> Metrics:
    """Return what has run of a query so far; after its end, what had run by then, as long as its JVM is there.

    Where no broker answers within a moment, nothing is told of where topics end.
    """
    # Imported here: who reads numbers of another process needs no Spark.
    from duolog.engine.query.query import JVM_IS_GONE  # noqa: PLC0415
    from duolog.engine.topics.topic_reader import GLANCE_S  # noqa: PLC0415

    counters = query.counters()
    counted: Mapping[str, Any] = {}
    read: EndOffsets = counters.positions
    ends: EndOffsets = {}
    # The thread that waits for Spark tells why a JVM has gone.
    with contextlib.suppress(*JVM_IS_GONE):
        counted = query.launcher.counted()
        # While it waits for its broker nobody needs to wait for that too.
        if query.state != "restarting":
            read, ends = query.reach(GLANCE_S)
    return Metrics(
        application_id=query.application_id,
        state=query.state,
        mode=query.mode,
        at_ms=time.time_ns() // 1_000_000,
        records_in=counters.records_in,
        records_out=counters.records_out,
        skipped=counters.skipped,
        late=counters.late,
        tasks=read_tasks(counted),
        sources=read_sources(counted, read, ends),
        sinks=read_sinks(counted),
        epochs=read_epochs(counted),
        states=read_states(counted),
    )


def read_tasks(counted: Mapping[str, Any]) -> tuple[TaskMetrics, ...]:
    """Return the tasks of a snapshot of the kernel."""
    return tuple(
        TaskMetrics(
            task=name,
            records=task["records"],
            stream_time_ms=_time(task["stream_time"]),
            lateness_sum_ms=task["lateness_sum"],
            lateness_max_ms=task["lateness_max"],
            nodes=tuple(
                NodeMetrics(node, told["process"], told["forward"], told["dropped"])
                for node, told in sorted(task["nodes"].items())
            ),
            stores=tuple(
                StoreMetrics(store, told["rows"], told["bytes"], told["counted_at"] or None)
                for store, told in sorted(task["stores"].items())
            ),
        )
        for name, task in sorted(counted.get("tasks", {}).items())
    )


def read_sources(
    counted: Mapping[str, Any], positions: "EndOffsets", ends: "EndOffsets"
) -> tuple[SourceMetrics, ...]:
    """Return the topic partitions that are read, with where they end as the broker says."""
    tasks = counted.get("tasks", {})
    known = {(t, p) for offsets in (positions, ends) for t, each in offsets.items() for p in each}
    found = []
    for topic, partition in sorted(known):
        task = tasks.get(f"{topic}-{partition}", {})
        found.append(
            SourceMetrics(
                topic=topic,
                partition=partition,
                records_consumed=task.get("records", 0),
                position=positions.get(topic, {}).get(partition, 0),
                end=ends.get(topic, {}).get(partition),
                last_timestamp_ms=_time(task.get("last_ts", _NEVER)),
            )
        )
    return tuple(found)


def read_sinks(counted: Mapping[str, Any]) -> tuple[SinkMetrics, ...]:
    """Return the topics that were written to, all Spark partitions together."""
    return tuple(
        SinkMetrics(
            topic=topic,
            records_produced=sum(part["records"] for part in parts.values()),
            bytes_produced=sum(part["bytes"] for part in parts.values()),
            e2e_latency_sum_ms=sum(part["age_sum"] for part in parts.values()),
            e2e_latency_counts=tuple(
                map(sum, zip(*(part["ages"] for part in parts.values()), strict=True))
            ),
        )
        for topic, parts in sorted(counted.get("sinks", {}).items())
    )


def read_epochs(counted: Mapping[str, Any]) -> EpochMetrics:
    """Return the epochs of a snapshot."""
    told = counted.get("epochs", {})
    return EpochMetrics(
        count=told.get("count", 0),
        longest_ms=told.get("longest_ms", 0),
        phases_ms=told.get("phases", {}),
        last=tuple(
            Epoch(one["number"], one["id"], one["started_at"], one["records_in"], one["phases"])
            for one in told.get("last", ())
        ),
    )


def read_states(counted: Mapping[str, Any]) -> tuple[StateMetrics, ...]:
    """Return what levels keep, the first level first."""
    # Spark tells the last operator of a chain first.
    states = reversed(counted.get("epochs", {}).get("state", ()))
    return tuple(
        StateMetrics(level, one["bytes"], one["memory_bytes"], one["commit_ms"])
        for level, one in enumerate(states)
    )


def _time(ms: int) -> int | None:
    return None if ms == _NEVER else ms
