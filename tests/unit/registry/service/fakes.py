"""A topic in memory, its writers, and a replica of it."""

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from duolog.registry.store.errors import StoreUnavailable, WriterFenced
from duolog.registry.store.stored import NewRecord, StoredRecord

if TYPE_CHECKING:
    from duolog.registry.service.replica import Replica

BARRIER = NewRecord(b"noop", None)


class MemoryTopic:
    """Records in order, written by the newest writer and delivered to replicas."""

    def __init__(self) -> None:
        self.records: list[StoredRecord] = []
        self.writers: list[MemoryWriter] = []
        self.replicas: list[Replica] = []
        self.delivering = True
        self.unavailable = 0
        """The number of further writers that cannot be opened."""

    def open_writer(self) -> "MemoryWriter":
        if self.unavailable:
            self.unavailable -= 1
            raise StoreUnavailable("no broker", code=-195)
        self.writers.append(MemoryWriter(self))
        return self.writers[-1]

    def append(self, record: NewRecord) -> None:
        self.records.append(StoredRecord(len(self.records), record.key, record.value, 0))

    def deliver(self) -> None:
        for replica in self.replicas:
            replica.deliver(self.records[replica.next_offset :])


class MemoryWriter:
    """Appends until a newer writer is opened."""

    def __init__(self, topic: MemoryTopic) -> None:
        self._topic = topic
        self.closed = threading.Event()
        self.error: Exception | None = None
        """Raised by the next append."""

    def append(self, records: Sequence[NewRecord]) -> int:
        if self._topic.writers[-1] is not self:
            raise WriterFenced("a newer writer is open", code=-144)
        if self.error is not None:
            raise self.error
        for record in records:
            self._topic.append(record)
        if self._topic.delivering:
            self._topic.deliver()
        return len(self._topic.records) - 1

    def close(self) -> None:
        self.closed.set()
