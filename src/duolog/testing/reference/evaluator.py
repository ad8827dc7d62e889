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
from collections import defaultdict
from collections.abc import Iterable

from duolog.core.errors import QueryError, SerdeError
from duolog.plan.cutting.levels import Ingress, SubTopology
from duolog.plan.nodes import AggregateNode, Node, Plan, Process, ProcessorRows, Source, Suppress
from duolog.runtime.store_rows import StoredRow
from duolog.serde.wire_format import KEY_HEADER, VALUE_HEADER, SchemaUnavailableError, with_header
from duolog.testing.reference.compiled import CompiledPlan
from duolog.testing.reference.entries import Entry, Stores
from duolog.testing.reference.evaluation import RecordPosition
from duolog.testing.reference.kept_rows import kept_by
from duolog.testing.reference.metadata import SourceClock
from duolog.testing.reference.processing import TaskProcessors
from duolog.testing.reference.scalars import RecordError
from duolog.testing.reference.suppressing import waiting_rows
from duolog.testing.reference.task_pass import Queues, TaskPass
from duolog.testing.reference.topic_records import (
    SinkRecord,
    SourceRecord,
    by_topic_and_partition,
    topics_read,
)


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
        self._compiled = CompiledPlan(plan, tasks)
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
        by_topic = by_topic_and_partition(records)
        for topic in topics_read(levels.ingresses, sorted(by_topic)):
            readers = [ingress for ingress in levels.ingresses if ingress.source.reads_topic(topic)]
            readers.sort(key=lambda ingress: not ingress.source.is_table)
            for partition, ordered in by_topic.get(topic, {}).items():
                by_partition.append([])
                pass_on = TaskPass(
                    self._compiled, partition, queues, by_partition[-1], self._record_failed
                )
                pass_on.source = topic, partition
                for record in ordered:
                    for ingress in readers:
                        self._run_ingress(ingress, record, pass_on)
        written = list(heapq.merge(*by_partition, key=lambda record: record.timestamp_ms))
        for part in levels.subtopologies:
            for task in range(levels.tasks):
                pass_on = TaskPass(self._compiled, task, queues, written, self._record_failed)
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

    def _run_ingress(self, ingress: Ingress, record: SourceRecord, pass_on: "TaskPass") -> None:
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
            data = with_header(source.key_format.name, record.key, record.headers, KEY_HEADER)
            key = keys.deserialize(data) or (None,) * len(source.schema.key)
            data = with_header(source.value_format.name, record.value, record.headers, VALUE_HEADER)
            value = values.deserialize(data)
        except SchemaUnavailableError as error:
            raise QueryError(error.message, detail=error.detail, hint=error.hint) from error
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
        pass_on: "TaskPass",
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
