"""The shared reader of one source: decodes each record once, for all push queries over it.

    topic ─▶ batch ─▶ query 1 ─▶ buffers of its clients
               │  └─▶ query 2 ─▶ buffers of its clients
               ▼
             recent batches, from which clients that arrive are brought to the reader's position

Hand-over: a client with position P joins the reader at position S if R ≤ P ≤ S in each partition,
where R is the start of the recent batches. It first gets the rows between P and S. If P is after S
in a partition, it waits for the reader; if P is before R, it catches up by a reader of its own.

A table's reader starts at the first retained record and keeps the current rows in memory.
Partitions that are added are read from their first record on.

Threads: an own one reads; any may admit clients. The lock is held while a batch is evaluated.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Literal

from duolog.ksql.catalog.catalog import SourceInfo
from duolog.runtime.sql.fanout.batch_database import BatchDatabase
from duolog.runtime.sql.fanout.errors import ReadersClosed, error_of_query
from duolog.runtime.sql.fanout.evaluators import Evaluator, Shape, load
from duolog.runtime.sql.fanout.member import Member, Snapshot
from duolog.runtime.sql.fanout.offset_reader import OffsetReader
from duolog.runtime.sql.fanout.positions import Place, Positions, reaches
from duolog.runtime.sql.fanout.records import Batch, Decoder, Record, together
from duolog.security.clients.brokers import Brokers

if TYPE_CHECKING:
    from duolog.runtime.sql.fanout.row_buffer import RowBuffer

Admission = Literal["joined", "waits", "too early"]
CatchUp = Callable[[Member], None]

_RECORDS_MAX: Final = 5_000
_RECENT_RECORDS: Final = 5_000
_RECENT_BYTES: Final = 8 * 1024 * 1024
_WAIT_S: Final = 0.1
_IDLE_CHECK_S: Final = 1.0


class _Group:
    """Clients with equal queries."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.buffers: list[RowBuffer] = []


class Feed:
    """Reads one source.

    Args:
        source: the source.
        topic_id: the id of its topic; empty if the broker has no topic ids.
        brokers: the brokers of the cluster.
        database: for the evaluation.
        starts: the positions to start from.
        ends: for a table, the position from which on its current rows are known.
        catch_up: called with clients that must catch up by a reader of their own.
        failed: called when the feed has ended by an error.
    """

    def __init__(
        self,
        source: SourceInfo,
        topic_id: str,
        brokers: Brokers,
        database: BatchDatabase,
        *,
        starts: Positions,
        ends: Positions,
        catch_up: CatchUp,
        failed: Callable[[], None],
    ) -> None:
        self.source = source
        self.topic_id = topic_id
        self._added: dict[int, int] = {}
        """First offsets of partitions that were added after the start."""
        self._decoder = Decoder(source)
        self._catch_up = catch_up
        self._failed = failed
        self._lock = threading.Lock()
        self._positions = dict(starts)
        self._ends = dict(ends)
        self._ready = not source.is_table or reaches(starts, ends)
        self._current: dict[bytes, Record] = {}
        self._snapshot: Snapshot | None = None
        self._recent: deque[Batch] = deque()
        self._groups: dict[Shape, _Group] = {}
        self._waiting: list[Member] = []
        self._buffers: list[RowBuffer] = []
        """Buffers of all clients, also of those that have not joined."""
        self._checked_at = time.monotonic()
        self._error: BaseException | None = None
        self._stopping = False
        self._tables = database.tables(source)
        try:
            self._reader = OffsetReader(brokers)
        except BaseException:
            self._tables.close()
            raise
        self._reader.seek(source.topic, starts)
        self._thread = threading.Thread(
            target=self._run, name=f"duolog-push-{source.topic}", daemon=True
        )
        self._thread.start()

    def add(self, member: Member) -> None:
        """Serve a client; it may have to catch up first.

        Raises:
            DuologError: the reader has failed, or the query cannot be evaluated.
        """
        with self._lock:
            self._buffers.append(member.buffer)
        try:
            if self.admit(member) == "too early":
                self._catch_up(member)
        except BaseException:
            member.buffer.close()
            raise

    def admit(self, member: Member) -> Admission:
        """Let a client join, now or as soon as the reader is at its position.

        Raises:
            DuologError: the reader has failed, or the query cannot be evaluated.
        """
        with self._lock:
            self._ensure_well()
            admission = self._admit(member)
            if admission == "waits":
                self._waiting.append(member)
            return admission

    @property
    def partitions(self) -> list[int]:
        """The partitions that are read, or will be with the next batch."""
        with self._lock:
            return sorted({*self._positions, *self._added})

    def add_partitions(self, firsts: Positions) -> None:
        """Read further partitions from these offsets. Does nothing for those that are read."""
        with self._lock:
            for number, first in firsts.items():
                if number not in self._positions:
                    self._added.setdefault(number, first)

    def with_all_partitions(self, positions: Positions) -> dict[int, int]:
        """Return positions with those of partitions that were added later: their first records."""
        with self._lock:
            return {**self._added, **positions}

    def fail(self, error: BaseException) -> None:
        """End the queries of all clients with an error, and stop."""
        self._stopping = True
        self._fail(error)

    def snapshot(self) -> Snapshot:
        """Return the current rows of the table.

        Raises:
            DuologError: the reader has failed.
        """
        with self._lock:
            self._ensure_well()
            if self._snapshot is None or self._snapshot.positions != self._positions:
                self._snapshot = Snapshot(list(self._current.values()), dict(self._positions))
            return self._snapshot

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def stop(self) -> None:
        """Stop reading, without waiting for the thread."""
        self._stopping = True

    def close(self) -> None:
        """End the queries of all clients, and wait until the thread has ended."""
        self._stopping = True
        with self._lock:
            self._error = self._error or ReadersClosed()
            buffers = list(self._buffers)
        for buffer in buffers:
            buffer.fail(ReadersClosed())
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._stopping:
                self._read_added()
                messages, after = self._reader.read(_RECORDS_MAX, _WAIT_S)
                batch = self._decoder.batch(messages, self._positions, after)
                with self._lock:
                    if after != batch.before:
                        self._deliver(batch)
                    self._prune()
                    arriving, self._waiting = self._waiting, []
                for member in arriving:
                    self._admit_again(member)
        except BaseException as error:  # noqa: BLE001 - reported to the clients
            self._fail(error)
        finally:
            self._reader.close()
            self._tables.close()

    def _read_added(self) -> None:
        """Read the partitions that were added since the last batch, too."""
        with self._lock:
            if self._added.keys() <= self._positions.keys():
                return
            self._positions = {**self._added, **self._positions}
            positions = dict(self._positions)
        self._reader.seek(self.source.topic, positions)

    def _deliver(self, batch: Batch) -> None:
        self._positions = dict(batch.after)
        if self.source.is_table:
            self._keep(batch)
        if not self._ready:
            return
        self._remember(batch)
        if batch.records and self._groups:
            load(batch.records, self._tables)
        before, after = Place(batch.before), Place(batch.after)
        for shape, group in list(self._groups.items()):
            try:
                emitted = group.evaluator.emitted(batch.records, self._tables)
            except Exception as error:  # noqa: BLE001 - an error of this query, not of the others
                del self._groups[shape]
                for buffer in group.buffers:
                    buffer.fail(error_of_query(error))
                continue
            for buffer in group.buffers:
                buffer.offer(emitted, before, after)

    def _remember(self, batch: Batch) -> None:
        """Add a batch to the recent ones, and remove the oldest beyond the limits."""
        self._recent.append(batch)
        count = sum(len(one.records) for one in self._recent)
        size = sum(one.size for one in self._recent)
        while len(self._recent) > 1 and (count > _RECENT_RECORDS or size > _RECENT_BYTES):
            oldest = self._recent.popleft()
            count -= len(oldest.records)
            size -= oldest.size

    def _keep(self, batch: Batch) -> None:
        """Apply the changes of a table to its current rows."""
        for one in batch.records:
            assert one.identity is not None
            self._current.pop(one.identity, None)
            if one.row is not None:
                self._current[one.identity] = one
        self._ready = self._ready or reaches(batch.after, self._ends)
        self._snapshot = None

    def _admit(self, member: Member) -> Admission:
        if not self._ready:
            return "waits"
        if member.positions is None or member.in_snapshot:
            return "too early"
        oldest = self._recent[0].before if self._recent else self._positions
        if not reaches(member.positions, oldest):
            return "too early"
        if not reaches(self._positions, member.positions):
            return "waits"
        # Without recent batches, they differ only by a partition that was added just now.
        if self._recent and member.positions != self._positions:
            member.take(together(self._recent), self._tables)
        group = self._groups.get(member.shape)
        if group is None:
            group = self._groups[member.shape] = _Group(member.evaluator)
        group.buffers.append(member.buffer)
        return "joined"

    def _admit_again(self, member: Member) -> None:
        try:
            if not member.buffer.ended and self.admit(member) == "too early":
                self._catch_up(member)
        except Exception as error:  # noqa: BLE001 - as in `_deliver`
            member.buffer.fail(error_of_query(error))

    def _prune(self) -> None:
        """Forget clients that have left; end those that have read nothing for too long."""
        now = time.monotonic()
        if now - self._checked_at > _IDLE_CHECK_S:
            self._checked_at = now
            self._buffers = [one for one in self._buffers if not one.ended]
            for one in self._buffers:
                one.check_idle(now)
        for shape, group in list(self._groups.items()):
            if any(buffer.ended for buffer in group.buffers):
                group.buffers = [one for one in group.buffers if not one.ended]
            if not group.buffers:
                del self._groups[shape]

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            self._error = error
            self._groups, self._waiting = {}, []
            buffers = list(self._buffers)
        self._failed()
        for buffer in buffers:
            buffer.fail(error)

    def _ensure_well(self) -> None:
        if self._error is not None:
            raise self._error
