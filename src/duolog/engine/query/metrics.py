"""The metrics of a running application: its tasks and nodes, topics, epochs and state.

    Metrics ─┬─ tasks     one for each task of a sub-topology, and each topic partition that is read
             │    ├─ nodes    by the plan's names
             │    └─ stores   rows and bytes
             ├─ sources   topic partitions: positions and ends
             ├─ sinks     topics: what was written, and how old it was then
             ├─ epochs    durations by phase; the most recent ones individually
             └─ state     by level, as of the last epoch

Counts are those of the JVM that runs the application now; a new JVM starts at 0, as Prometheus
allows for counters. Source: Kafka Streams' metrics (KIP-444, KIP-613, KIP-846), under whose names
`duolog.runtime.metrics` exports them.
"""

import contextlib
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from duolog.engine.json_object import Json

if TYPE_CHECKING:
    from duolog.engine.query.query import RunningQuery
    from duolog.engine.topics.offsets import EndOffsets

_NEVER: Final = -1
"""The kernel's value for a time before the first record."""


@dataclass(frozen=True, slots=True)
class NodeMetrics:
    """The work of a node of the plan in one task."""

    node: str
    process_total: int
    """Records received."""
    forward_total: int
    """Records forwarded, however many nodes receive them."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Records dropped, by reason: null_key, null_value, late, out_of_order, error."""


@dataclass(frozen=True, slots=True)
class StoreMetrics:
    """The contents of a store in one task."""

    store: str
    rows: int
    """Number of entries according to RocksDB, counted at commits.

    Counting takes a hundredth of the time: for a large store the number is as old as
    `counted_at_ms`, so it is an estimate while rows change.
    """
    bytes: int
    """Size of their keys and values, before compression."""
    counted_at_ms: int | None
    """The time of the last complete count; None while `rows` is only a lower bound."""


@dataclass(frozen=True, slots=True)
class TaskMetrics:
    """The work of a task: `1_0` is task 0 of sub-topology 1, `flights-0` reads that partition."""

    task: str
    records: int
    stream_time_ms: int | None
    """The greatest timestamp so far, in ms since 1970; None before the first record."""
    lateness_sum_ms: int
    """The sum of the lateness of all records: stream time on arrival minus timestamp."""
    lateness_max_ms: int
    nodes: tuple[NodeMetrics, ...] = ()
    stores: tuple[StoreMetrics, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceMetrics:
    """The read progress of a topic partition."""

    topic: str
    partition: int
    records_consumed: int
    position: int
    """The next offset to read."""
    end: int | None
    """The offset after its last record; None if no broker answers."""
    last_timestamp_ms: int | None
    """The timestamp of the last record read; None before the first."""

    @property
    def lag_records(self) -> int | None:
        return None if self.end is None else max(0, self.end - self.position)

    def lag_ms(self, now_ms: int) -> int | None:
        """Return the age of the last record read if more records wait; 0 if none does.

        None if that is unknown: no broker answers, or nothing was read yet.

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
    """The records written to a topic."""

    topic: str
    records_produced: int
    bytes_produced: int
    """Size of their keys and values."""
    e2e_latency_sum_ms: int
    """The sum of the records' ages by timestamp when they were written."""
    e2e_latency_counts: tuple[int, ...] = ()
    """A histogram of ages: 0-1, 1-2, 2-4, 4-8, … ms; the last bucket has the rest."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """A real-time epoch, or a micro-batch, that has ended."""

    number: int
    """Its position in the sequence of epochs of this JVM."""
    id: int
    """Spark's number, which continues from one JVM to the next."""
    started_at_ms: int
    records_in: int
    phases_ms: Mapping[str, int] = field(default_factory=dict)
    """Durations of its phases, under Spark's names; `triggerExecution` is the total."""


@dataclass(frozen=True, slots=True)
class EpochMetrics:
    """All epochs that have ended."""

    count: int = 0
    longest_ms: int = 0
    phases_ms: Mapping[str, int] = field(default_factory=dict)
    """Total duration of each phase."""
    last: tuple[Epoch, ...] = ()
    """The most recent ones, oldest first."""


@dataclass(frozen=True, slots=True)
class StateMetrics:
    """The state of a level, in all tasks."""

    level: int
    bytes: int
    """Size of RocksDB's files."""
    memory_bytes: int
    commit_ms: int
    """Duration of the last commit, summed over tasks, which commit in parallel."""


@dataclass(frozen=True, slots=True)
class Metrics:
    """The metrics of an application at one point in time."""

    application_id: str
    state: str
    mode: str
    at_ms: int
    """The time at which these metrics were collected."""
    records_in: int = 0
    records_out: int = 0
    failed_calls: int = 0
    """Calls in SQL expressions that failed and returned null."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """Records that were skipped, by the stage that failed."""
    late: Mapping[str, int] = field(default_factory=dict)
    """The number of records that were too late for a window, by operator."""
    tasks: tuple[TaskMetrics, ...] = ()
    sources: tuple[SourceMetrics, ...] = ()
    sinks: tuple[SinkMetrics, ...] = ()
    epochs: EpochMetrics = field(default_factory=EpochMetrics)
    states: tuple[StateMetrics, ...] = ()

    @property
    def lag_records(self) -> int | None:
        """Return how many records wait in all topics; None if no broker answers."""
        lags = [source.lag_records for source in self.sources]
        return None if None in lags else sum(lag for lag in lags if lag is not None)

    @property
    def lag_ms(self) -> int | None:
        """Return the greatest time lag of a partition; None if none is known."""
        lags = (source.lag_ms(self.at_ms) for source in self.sources)
        return max((lag for lag in lags if lag is not None), default=None)

    @property
    def dropped(self) -> int:
        """Return how many records nodes have dropped for any reason except lateness."""
        return sum(
            count
            for task in self.tasks
            for node in task.nodes
            for reason, count in node.dropped.items()
            if reason != "late"
        ) + self.skipped.get("deserialization", 0)

    @property
    def state_rows(self) -> int | None:
        """Return the number of rows in all stores; None before the first count."""
        rows = [store.rows for task in self.tasks for store in task.stores]
        return sum(rows) if rows else None

    @property
    def state_bytes(self) -> int:
        """Return the size of the state: files and memory, as rows are in either."""
        return sum(state.bytes + state.memory_bytes for state in self.states)

    def to_json(self) -> Json:
        """Return the metrics as JSON, which `from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> "Metrics":
        """Read the result of `to_json`, possibly from another process."""
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


_PLAIN: Final = (
    *("application_id", "state", "mode", "at_ms", "records_in", "records_out"),
    *("failed_calls", "skipped", "late"),
)


def metrics_of(query: "RunningQuery") -> Metrics:
    """Return the metrics of a query; after its end, the final ones, as long as its JVM exists.

    If no broker answers at once, the ends of topics are unknown.
    """
    # Imported here: reading the metrics of another process needs no Spark.
    from duolog.engine.spark.failures import JVM_IS_GONE  # noqa: PLC0415
    from duolog.engine.topics.topic_client import GLANCE_S  # noqa: PLC0415

    counters = query.counters()
    counted: Json = {}
    read: EndOffsets = counters.positions
    ends: EndOffsets = {}
    # The thread that waits for Spark reports why a JVM has ended.
    with contextlib.suppress(*JVM_IS_GONE):
        counted = query.launcher.exchange.counted()
        # While the query waits for its broker, do not wait for it here, too.
        if query.state != "restarting":
            read, ends = query.reach(GLANCE_S)
    return Metrics(
        application_id=query.application_id,
        state=query.state,
        mode=query.mode,
        at_ms=time.time_ns() // 1_000_000,
        records_in=counters.records_in,
        records_out=counters.records_out,
        failed_calls=counters.failed_calls,
        skipped=counters.skipped,
        late=counters.late,
        tasks=read_tasks(counted),
        sources=read_sources(counted, read, ends),
        sinks=read_sinks(counted),
        epochs=read_epochs(counted),
        states=read_states(counted),
    )


def read_tasks(counted: Json) -> tuple[TaskMetrics, ...]:
    """Return the tasks in a snapshot of the kernel."""
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
    counted: Json, positions: "EndOffsets", ends: "EndOffsets"
) -> tuple[SourceMetrics, ...]:
    """Return the topic partitions that are read, with their ends as reported by the broker."""
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


def read_sinks(counted: Json) -> tuple[SinkMetrics, ...]:
    """Return the topics that were written to, summed over Spark partitions."""
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


def read_epochs(counted: Json) -> EpochMetrics:
    """Return the epochs in a snapshot."""
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


def read_states(counted: Json) -> tuple[StateMetrics, ...]:
    """Return the state of the levels, first level first."""
    # Spark reports the last operator of a chain first.
    states = reversed(counted.get("epochs", {}).get("state", ()))
    return tuple(
        StateMetrics(level, one["bytes"], one["memory_bytes"], one["commit_ms"])
        for level, one in enumerate(states)
    )


def _time(ms: int) -> int | None:
    return None if ms == _NEVER else ms
