"""Evaluates a plan in plain Python: slow, short, and the specification of the engine.

    evaluator = ReferenceEvaluator(topology.build(), tasks=2)
    evaluator.run([SourceRecord("flights", 0, 0, 1000, b"UA", b'{"dest":"SFO"}')])

Each `run` is one micro-batch: every ingress, then level by level every task. A task reads its
records in Kafka Streams' order. It has one queue for each source partition (or upstream task) that
sends to it. The next record is always the head with the smallest timestamp, then the smallest edge
id, then the smallest source partition or task. Rows of global tables come before all others, in
every task. If a node has several children, a record is passed all the way down to the first, then
to the second. Records with a new key are sent when the record that caused them has been processed.

With `cache`, an aggregate forwards only the last update of each key, at the end of the task's
micro-batch, in the order in which the keys were last updated, like Kafka Streams' record cache.

Source: Kafka Streams `PartitionGroup`, `StreamTask`, `CachingKeyValueStore`.
"""

import heapq
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from duolog.core.errors import SerdeError
from duolog.functions.processors.schedules import PunctuationType
from duolog.plan.cutting.levels import Edge, Ingress, SubTopology, find_levels
from duolog.plan.expressions.key_functions import PARTITIONS_MAX
from duolog.plan.formats import internal_key_format
from duolog.plan.nodes import (
    AggregateNode,
    Filter,
    GroupBy,
    Node,
    Plan,
    Process,
    ProcessorRows,
    Project,
    Sink,
    Source,
    Suppress,
)
from duolog.plan.partitioner import murmur2
from duolog.runtime.store_rows import StoredRow
from duolog.serde.row import Row
from duolog.serde.serde import Serde, key_serde, value_serde
from duolog.testing.reference.aggregating import tick_of
from duolog.testing.reference.chosen_topics import topic_chooser
from duolog.testing.reference.entries import Entry, NewRowFailed, Run, Stores, is_null
from duolog.testing.reference.evaluation import Headers, RecordPosition
from duolog.testing.reference.joining import PairsFailed
from duolog.testing.reference.metadata import SourceClock, partition_of_record
from duolog.testing.reference.operators import compile_node, kept_by, without_failed_old
from duolog.testing.reference.processing import TaskProcessors
from duolog.testing.reference.scalars import RecordError
from duolog.testing.reference.suppressing import waiting_rows

_FIRST: Final = -1


class SourceRecord(NamedTuple):
    """A record in a topic."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


class SinkRecord(NamedTuple):
    """A record for a topic. `task` wrote it; in an ingress, this is the source's partition."""

    topic: str
    task: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    partition: int | None = None
    """The partition that it chose; None: that of its key."""


class _Queued(NamedTuple):
    """A record in a queue of a task. Heads of queues are ordered by time, queue and source."""

    timestamp_ms: int
    queue: int
    source: "_From"
    edge: Edge
    entry: Entry


_From = tuple[str, int]
"""A partition of a topic, or an upstream task."""

Queues = dict[tuple[int, _From], list[_Queued]]
"""The queues of a task, by their first edge and by their source."""


class _Compiled:
    """A compiled plan: its levels, the function of each node, and the serdes."""

    def __init__(self, plan: Plan, tasks: int) -> None:
        self.levels = find_levels(plan, tasks)
        nodes = self.levels.nodes
        self.runs: dict[Node, Run] = {n: compile_node(n, self.levels.looked_up) for n in nodes}
        self.ticks = {
            node: tick_of(node)
            for node in nodes
            if isinstance(node, AggregateNode) and node.idle_ms is not None
        }
        """The tick functions of nodes that close windows without records."""
        self.successors = {node: self.levels.successors(node) for node in nodes}
        self.feeds = {source: self.levels.feeds(source) for source in plan.sources}
        self.serdes: dict[Node, tuple[Serde, Serde]] = {
            node: (
                key_serde(
                    node.key_format.name,
                    node.schema.key,
                    node.schema.window,
                    node.key_format.options,
                ),
                value_serde(node.value_format.name, node.schema.value, node.value_format.options),
            )
            for node in plan.nodes
            if isinstance(node, Source | Sink)
        }
        self.topics = {sink: topic_chooser(sink) for sink in plan.sinks}
        self.partitioners = {
            sink: partition_of_record(sink.partitioner, sink, at_most=PARTITIONS_MAX)
            for sink in plan.sinks
        }
        self.edge_keys = [
            key_serde(internal_key_format(edge.key).name, self.levels.task_key(edge))
            for edge in self.levels.edges
        ]
        self.senders = [
            partition_of_record(
                edge.repartition.partitioner if edge.repartition else None, edge.parent
            )
            for edge in self.levels.edges
        ]


class ReferenceEvaluator:
    """Evaluates a plan over records, keeping its state from one `run` to the next."""

    def __init__(
        self, plan: Plan, *, tasks: int = 1, cache: bool = False, passes_over: bool = False
    ) -> None:
        """Create an evaluator.

        Args:
            plan: the plan to evaluate.
            tasks: the number of tasks.
            cache: aggregates forward only the last update of a key.
            passes_over: records that cannot be processed are skipped and counted.
        """
        self._compiled = _Compiled(plan, tasks)
        self._cache = cache
        self._passes_over = passes_over
        self.failed = 0
        """The number of records that were skipped because they could not be processed."""
        self._stores: dict[tuple[int, int], Stores] = {}
        self.dropped = 0
        """The number of records that were dropped because they could not be read."""
        self.wall_clock_ms = 0
        self.application_id = "topology-driver"
        self._times = SourceClock()
        self._processors: dict[tuple[int, int], TaskProcessors] = {}

    def run(self, records: Iterable[SourceRecord], tick_ms: int | None = None) -> list[SinkRecord]:
        """Process records as one micro-batch; return what sinks write, in order.

        `tick_ms` is a tick after the records: the wall-clock time.

        The records of a topic partition are processed in the order of their offsets.
        """
        levels = self._compiled.levels
        by_partition: list[list[SinkRecord]] = []
        queues: dict[tuple[int, int], Queues] = defaultdict(lambda: defaultdict(list))
        by_topic = _by_partition(records)
        for topic in _topics_read(levels.ingresses, sorted(by_topic)):
            readers = [ingress for ingress in levels.ingresses if ingress.source.reads_topic(topic)]
            readers.sort(key=lambda ingress: not ingress.source.is_table)
            for partition, ordered in by_topic.get(topic, {}).items():
                by_partition.append([])
                pass_on = _Pass(
                    self._compiled, partition, queues, by_partition[-1], self._record_failed
                )
                pass_on.source = topic, partition
                for record in ordered:
                    for ingress in readers:
                        self._run_ingress(ingress, record, pass_on)
        written = list(heapq.merge(*by_partition, key=lambda record: record.timestamp_ms))
        for part in levels.subtopologies:
            for task in range(levels.tasks):
                pass_on = _Pass(self._compiled, task, queues, written, self._record_failed)
                self._run_task(part, task, queues[part.id, task], pass_on, tick_ms)
        return written

    def rows(self, table: Node) -> list[StoredRow]:
        """Return the rows in the store of `table`, of all tasks; for a suppress, its buffer."""
        if isinstance(table, ProcessorRows):
            return [row for task in self._processors.values() for row in task.rows(table)]
        (store,) = table.stores
        if isinstance(table, Suppress):
            return waiting_rows(task.get(store, {}) for task in self._stores.values())
        row_of = kept_by(table, self._compiled.levels.looked_up)
        found = (
            (key, row_of(key, task, None))
            for task in self._stores.values()
            for key in task.get(store, ())
        )
        return [
            StoredRow(key, kept.row, kept.timestamp_ms) for key, kept in found if kept is not None
        ]

    def close(self) -> None:
        """Close the evaluator and its processors."""
        for processors in self._processors.values():
            processors.close()

    def _record_failed(self, error: RecordError) -> None:
        if not self._passes_over:
            raise error
        self.failed += 1

    def _run_ingress(self, ingress: Ingress, record: SourceRecord, pass_on: "_Pass") -> None:
        source = ingress.source
        entry = self._read(source, record)
        if entry is None:
            self.dropped += 1
        elif feeds := self._compiled.feeds[source]:
            for edge in feeds:
                pass_on.route(edge, entry)
        else:
            pass_on.forward(source, [entry], {})
            pass_on.release()

    def _read(self, source: Source, record: SourceRecord) -> Entry | None:
        keys, values = self._compiled.serdes[source]
        try:
            key = keys.deserialize(record.key) or (None,) * len(source.schema.key)
            value = values.deserialize(record.value)
        except SerdeError:
            return None
        place = RecordPosition(record.topic, record.partition, record.offset)
        entry = Entry(key, value, record.timestamp_ms, place=place, headers=record.headers)
        return self._times.stamped(source, entry, self.wall_clock_ms)

    def _run_task(
        self,
        part: SubTopology,
        task: int,
        queues: Queues,
        pass_on: "_Pass",
        tick_ms: int | None,
    ) -> None:
        stores = self._stores.setdefault((part.id, task), {store: {} for store in part.stores})
        if self._cache:
            copied = self._compiled.levels.cut.copied
            pass_on.cached = {
                node: {}
                for node in part.nodes
                if isinstance(node, AggregateNode)
                and node not in copied
                and not node.emits_on_close
                and not node.at_once
            }
        if any(queues.values()) or tick_ms is not None:
            pass_on.processors = self._processors_of(part, task)
            pass_on.begin(stores)
        # The queues are not sorted by time: merging by their heads is the specified order.
        for queued in heapq.merge(*queues.values()):
            if not queued.edge.everywhere:
                pass_on.processors.observe(queued.timestamp_ms)
            for consumer in queued.edge.consumers:
                pass_on.process(consumer, queued.entry, stores)
            pass_on.release()
            pass_on.punctuate(stores)
        for node in part.nodes:
            if tick_ms is not None and isinstance(node, Process):
                pass_on.tick(node, tick_ms, stores)
            if tick_ms is not None and node in self._compiled.ticks:
                pass_on.forward(node, self._compiled.ticks[node](tick_ms, stores), stores)
                pass_on.release()
        for node in list(pass_on.cached):
            pass_on.flush(node, stores)
        pass_on.release()

    def _processors_of(self, part: SubTopology, task: int) -> TaskProcessors:
        known = self._processors.get((part.id, task))
        if known is None:
            nodes = [node for node in part.nodes if isinstance(node, Process)]
            given = nodes, self.application_id, f"{part.id}_{task}", lambda: self.wall_clock_ms
            known = self._processors[part.id, task] = TaskProcessors(*given)
        return known


class _Pass:
    """One task's part of a micro-batch: runs nodes, and passes records to edges and sinks."""

    def __init__(
        self,
        compiled: _Compiled,
        task: int,
        queues: dict[tuple[int, int], Queues],
        written: list[SinkRecord],
        record_failed: Callable[[RecordError], None],
    ) -> None:
        self._compiled = compiled
        self._record_failed = record_failed
        self._task = task
        self.source: _From = "", task
        self._queues = queues
        self._written = written
        self.cached: dict[Node, dict[Row, Entry]] = {}
        self._rekeyed: list[tuple[Edge, Entry, int | None]] = []
        self.processors = TaskProcessors((), "", "", lambda: 0)

    def process(self, node: Node, entry: Entry, stores: Stores) -> None:
        """Run `node` on a record, then its children."""
        if isinstance(node, Sink):
            try:
                self._write(node, entry)
            except RecordError as error:
                self._record_failed(error)
            return
        forwarded = self._run(node, entry, stores)
        if node in self.cached:
            _keep_back(self.cached[node], forwarded)
        else:
            self.forward(node, forwarded, stores)

    def begin(self, stores: Stores) -> None:
        """Start the processors of the task."""
        for node, forwarded in self.processors.begin():
            self.forward(node, forwarded, stores)
            self.release()

    def punctuate(self, stores: Stores) -> None:
        """Call the processors that are due by stream time, after a record has been processed."""
        while (node := self.processors.due()) is not None:
            now, kind = self.processors.stream_time, PunctuationType.STREAM_TIME
            forwarded = self.processors.punctuate(node, kind, now, self._record_failed)
            self.forward(node, forwarded, stores)
            self.release()

    def tick(self, node: Process, now: int, stores: Stores) -> None:
        """Pass the wall-clock time to a processor."""
        kind = PunctuationType.WALL_CLOCK_TIME
        forwarded = self.processors.punctuate(node, kind, now, self._record_failed)
        self.forward(node, forwarded, stores)
        self.release()

    def _run(self, node: Node, entry: Entry, stores: Stores) -> Sequence[Entry]:
        if isinstance(node, Process):
            return self.processors.process(node, entry, self._record_failed)
        run = self._compiled.runs[node]
        of_table = isinstance(node, Filter | Project | GroupBy) and node.is_table
        if of_table and entry.old is not None:
            entry = without_failed_old(run, entry)
        try:
            return run(entry, stores)
        except PairsFailed as failed:
            for error in failed.errors:
                self._record_failed(error)
            return failed.left
        except RecordError as error:
            self._record_failed(error)
            if isinstance(error, NewRowFailed):
                return [error.left]
            # From here on, the row of a table counts as deleted.
            return run(replace(entry, value=None), stores) if of_table else []

    def forward(self, node: Node, entries: Sequence[Entry], stores: Stores) -> None:
        for entry in entries:
            for successor in self._compiled.successors[node]:
                if not isinstance(successor, Edge):
                    self.process(successor, entry, stores)
                elif successor.rekeyed:
                    self._repartition(successor, entry)
                else:
                    self.route(successor, entry)

    def flush(self, node: Node, stores: Stores) -> None:
        """Forward the cached updates."""
        held = self.cached.pop(node).values()
        # A row that was both created and deleted is not forwarded.
        forwarded = [entry for entry in held if (entry.value, entry.old) != (None, None)]
        self.forward(node, forwarded, stores)

    def release(self) -> None:
        """Send records with a new key: the record that caused them has been processed."""
        for edge, entry, chosen in self._rekeyed:
            self.route(edge, entry, chosen)
        self._rekeyed.clear()

    def _repartition(self, edge: Edge, entry: Entry) -> None:
        try:
            chosen = self._compiled.senders[edge.id](entry)
        except RecordError as error:
            self._record_failed(error)
        else:
            self._rekeyed.append((edge, entry, chosen))

    def route(self, edge: Edge, entry: Entry, chosen: int | None = None) -> None:
        """Append a record to the queue of its key's task, or of the partition that it chose."""
        tasks = self._compiled.levels.tasks
        data = self._compiled.edge_keys[edge.id].serialize(
            None if is_null(entry.key) else entry.key[: len(edge.key)]
        )
        among = (edge.repartition and edge.repartition.partitions) or sys.maxsize
        if chosen is None:
            chosen = self._task if data is None else murmur2(data) & 0x7FFFFFFF
        task = chosen % among % tasks
        # Rows of a global table precede all other records.
        time = _FIRST if edge.everywhere else entry.timestamp_ms
        for to in range(tasks) if edge.everywhere else [task]:
            queue = self._queues[edge.target, to][edge.queue, self.source]
            queue.append(_Queued(time, edge.queue, self.source, edge, entry))

    def _write(self, sink: Sink, entry: Entry) -> None:
        keys, values = self._compiled.serdes[sink]
        key = keys.serialize(None if is_null(entry.key) else entry.key)
        value = values.serialize(entry.value)
        topic = self._compiled.topics[sink](entry)
        beside = entry.headers, self._compiled.partitioners[sink](entry)
        written = SinkRecord(topic, self._task, entry.timestamp_ms, key, value, *beside)
        self._written.append(written)


def latest(written: Iterable[SinkRecord], topic: str) -> dict[bytes | None, bytes]:
    """Return the table that results from the changelog in `topic`: the latest value of each key."""
    table: dict[bytes | None, bytes] = {}
    for record in written:
        if record.topic == topic and record.value is None:
            table.pop(record.key, None)
        elif record.topic == topic and record.value is not None:
            table[record.key] = record.value
    return table


def _keep_back(cache: dict[Row, Entry], entries: Sequence[Entry]) -> None:
    for entry in entries:
        if entry.old is None and entry.key in cache and cache[entry.key].value is not None:
            _set_aside(cache, entry.key)
        # The old row is the one before the micro-batch; the position is that of the last update.
        first = cache.pop(entry.key, None)
        cache[entry.key] = (
            replace(entry, old=first.old, old_timestamp_ms=first.old_timestamp_ms)
            if first
            else entry
        )


def _set_aside(cache: dict[Row, Entry], key: Row) -> None:
    """Keep a deleted row at its position in the cache, next to the new row of its key."""
    held = list(cache.items())
    cache.clear()
    for at, (known, entry) in enumerate(held):
        cache[(*known, "gone", at) if known == key else known] = entry


def _topics_read(ingresses: Iterable[Ingress], topics: Sequence[str]) -> list[str]:
    """Return the topics with records, in the order of the sources that read them."""
    read = (filter(ingress.source.reads_topic, topics) for ingress in ingresses)
    return list(dict.fromkeys(topic for of_source in read for topic in of_source))


def _by_partition(records: Iterable[SourceRecord]) -> dict[str, dict[int, list[SourceRecord]]]:
    found: dict[str, dict[int, list[SourceRecord]]] = defaultdict(lambda: defaultdict(list))
    for record in sorted(records, key=lambda record: (record.partition, record.offset)):
        found[record.topic][record.partition].append(record)
    return found
