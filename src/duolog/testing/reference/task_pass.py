"""One task's part of a micro-batch: runs nodes, and passes records to edges and sinks."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from duolog.functions.processors.schedules import PunctuationType
from duolog.plan.cutting.levels import Edge
from duolog.plan.nodes import Filter, GroupBy, Node, Process, Project, Sink
from duolog.plan.partitioner import murmur2
from duolog.serde.row import Row
from duolog.serde.wire_format import without_frames
from duolog.testing.reference.compiled import CompiledPlan
from duolog.testing.reference.entries import Entry, NewRowFailed, Stores, is_null
from duolog.testing.reference.joining import PairsFailed
from duolog.testing.reference.processing import TaskProcessors
from duolog.testing.reference.record_cache import keep_back
from duolog.testing.reference.scalars import RecordError
from duolog.testing.reference.shaping import without_failed_old
from duolog.testing.reference.topic_records import SinkRecord

_FIRST: Final = -1


class Queued(NamedTuple):
    """A record in a queue of a task. Heads of queues are ordered by time, queue and source."""

    timestamp_ms: int
    queue: int
    source: "From"
    edge: Edge
    entry: Entry


From = tuple[str, int]
"""A partition of a topic, or an upstream task."""
Queues = dict[tuple[int, From], list[Queued]]
"""The queues of a task, by their first edge and by their source."""


class TaskPass:
    """One task's part of a micro-batch: runs nodes, and passes records to edges and sinks."""

    def __init__(
        self,
        compiled: CompiledPlan,
        task: int,
        queues: dict[tuple[int, int], Queues],
        written: list[SinkRecord],
        record_failed: Callable[[RecordError], None],
    ) -> None:
        self._compiled = compiled
        self._record_failed = record_failed
        self._task = task
        self.source: From = "", task
        self._queues = queues
        self._written = written
        self.cached = dict[Node, dict[Row, Entry]]()
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
            keep_back(self.cached[node], forwarded)
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
            queue.append(Queued(time, edge.queue, self.source, edge, entry))

    def _write(self, sink: Sink, entry: Entry) -> None:
        keys, values = self._compiled.serdes[sink]
        key = keys.serialize(None if is_null(entry.key) else entry.key)
        value = values.serialize(entry.value)
        topic = self._compiled.topics[sink](entry)
        formats = sink.key_format.name, sink.value_format.name
        beside = without_frames(entry.headers, *formats), self._compiled.partitioners[sink](entry)
        written = SinkRecord(topic, self._task, entry.timestamp_ms, key, value, *beside)
        self._written.append(written)
