"""Processors in the reference evaluator: called in this process, with dicts as stores.

Processors and their stores use the production code (`duolog.functions.processors`); the order of
records and times is implemented independently here.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace

from duolog.core.errors import QueryError
from duolog.functions.processors.entries import Entries, Held, StoreKey, Writes
from duolog.functions.processors.processor_runtime import (
    Given,
    InitFailed,
    ProcessorId,
    ProcessorOutput,
    ProcessorRuntime,
)
from duolog.functions.processors.records import RecordMetadata
from duolog.functions.processors.schedules import PunctuationType
from duolog.functions.processors.store import Store
from duolog.functions.processors.stored import StoreEntry, rows_of
from duolog.functions.processors.stores import KINDS
from duolog.plan.nodes import Process, ProcessorRows
from duolog.runtime.store_rows import StoredRow
from duolog.testing.reference.entries import Entry
from duolog.testing.reference.scalars import RecordError

Failed = Callable[[RecordError], None]


class DictStores:
    """The stores of a task, in memory."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[int, dict[bytes, Held]]] = defaultdict(lambda: defaultdict(dict))

    def get(self, store: str, place: StoreKey) -> Held | None:
        bucket, key = place
        return self.rows[store][bucket].get(key)

    def scan(self, store: str, bucket: int) -> dict[bytes, Held]:
        return dict(self.rows[store][bucket])

    def write(self, store: str, writes: Writes) -> None:
        for (bucket, key), held in writes.items():
            if held is None:
                self.rows[store][bucket].pop(key, None)
            else:
                self.rows[store][bucket][key] = held


class TaskProcessors:
    """The processors of a task: when to call them, and what they forward."""

    def __init__(
        self,
        nodes: Sequence[Process],
        application_id: str,
        task_id: str,
        clock: Callable[[], int],
    ) -> None:
        self._backend = DictStores()
        self._stores = dict[str, Store]()
        self._stream_time = -1
        self._runtimes: dict[Process, ProcessorRuntime] = {}
        self._begun = False
        for node in nodes:
            for kept in node.kept:
                if kept.name not in self._stores:
                    entries = Entries(kept.name, self._backend)
                    self._stores[kept.name] = KINDS[kept.kind](kept, entries)
            stores = {kept.name: self._stores[kept.name] for kept in node.kept}
            processor_id = ProcessorId(application_id, task_id, node.name)
            self._runtimes[node] = ProcessorRuntime(node.definition, processor_id, stores, clock)

    def begin(self) -> list[tuple[Process, list[Entry]]]:
        """Start the processors, unless done; return the records that they forward."""
        if self._begun:
            return []
        self._begun = True
        found = []
        for node, runtime in self._runtimes.items():
            try:
                output = runtime.begin(self._stream_time, None)
            except InitFailed as error:
                raise QueryError(f"processor {node} cannot begin", detail=str(error)) from error
            found.append((node, self._entries(node, output, None)))
        return found

    def observe(self, timestamp_ms: int) -> None:
        """Advance stream time to the timestamp of a record."""
        self._stream_time = max(self._stream_time, timestamp_ms)

    def process(self, node: Process, entry: Entry, failed: Failed) -> list[Entry]:
        """Call a processor with a record."""
        is_null = all(part is None for part in entry.key)
        given = Given(
            None if is_null else entry.key,
            entry.value,
            entry.timestamp_ms,
            entry.headers,
            RecordMetadata(*entry.place),
        )
        return self._done(
            node, self._runtimes[node].process(given, self._stream_time), entry, failed
        )

    def due(self) -> Process | None:
        """Return the processor that is due by stream time, the earliest of several."""
        kind = PunctuationType.STREAM_TIME
        by_time = sorted(self._runtimes, key=lambda node: self._runtimes[node].schedules.next(kind))
        if not by_time or self._stream_time < 0:
            return None
        is_due = self._runtimes[by_time[0]].schedules.next(kind) <= self._stream_time
        return by_time[0] if is_due else None

    def punctuate(
        self, node: Process, kind: PunctuationType, now: int, failed: Failed
    ) -> list[Entry]:
        """Make the scheduled calls of a processor that are due."""
        output = self._runtimes[node].punctuate(kind, now, self._stream_time)
        return self._done(node, output, None, failed)

    @property
    def stream_time(self) -> int:
        return self._stream_time

    def rows(self, of: ProcessorRows) -> list[StoredRow]:
        """Return the rows of a store."""
        if of.kept.name not in self._stores:
            return []
        kept = (
            StoreEntry(0, key, one.data, one.timestamp_ms)
            for bucket in self._backend.rows[of.kept.name].values()
            for key, one in bucket.items()
        )
        return [StoredRow(*row) for row in rows_of(of.kept, kept)]

    def close(self) -> None:
        for runtime in self._runtimes.values():
            runtime.close()

    def _done(
        self, node: Process, output: ProcessorOutput, cause: Entry | None, failed: Failed
    ) -> list[Entry]:
        for store in self._stores.values():
            store.flush()
        entries = self._entries(node, output, cause)
        for error in output.errors:
            failed(RecordError(error))
        return entries

    def _entries(self, node: Process, output: ProcessorOutput, cause: Entry | None) -> list[Entry]:
        found = []
        for one in output.forwarded:
            columns = node.definition.outputs[one.output].schema.key
            key = (None,) * len(columns) if one.key is None else tuple(one.key.values())
            value = None if one.value is None else tuple(one.value.values())
            entry = Entry(key, value, one.timestamp_ms, branch=one.output, headers=one.headers)
            found.append(entry if cause is None else replace(entry, place=cause.place))
        return found
