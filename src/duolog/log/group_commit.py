"""Group commit: one sync makes the writes of all waiting requests durable.

    loop    write_staged(log) ... request(logs) -> ticket 7 ........ wake(): answer up to 7
    thread                        | sync writes of 5, 6, 7 |

Requests that arrive during a sync are all served by the next one. A ticket is complete when all
writes before it are durable. Tickets complete in order.

A failed sync is final: no further ticket completes, `failed` has the reason, and the log directory
is offline (see `health`).

Work handed over to the group commit is recorded nowhere else. Steps that can fail come first; only
then does the log drop its reference to the data.

Threads: `request` and `close` are called by the loop; `wake` is called by the thread. A test that
needs every step in order creates it without a thread and calls `run_pending`.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import Final, Literal, NamedTuple

from duolog.core.errors import DuologError
from duolog.core.histogram import TIMES_S, Histogram
from duolog.log.checkpoints.recovery_point import RecoveryPointWrite
from duolog.log.data_directory.health import DirHealth
from duolog.log.errors import LogDirOffline
from duolog.log.files.disk import Disk
from duolog.log.journal import Journal, SyncWork
from duolog.log.partition.partition_log import PartitionLog

logger = logging.getLogger(__name__)

Durability = Literal["fsync", "os"]

JOURNAL_FILES_MIN: Final = 8
"""From this many dirty segments on, the journal costs less than one sync per segment."""
JOURNAL_BYTES_PER_FILE_MAX: Final = 64 * 1024
"""Above this mean, writing the bytes twice costs more than the syncs that it saves."""
IDLE_SECONDS: Final = 0.5
"""After this idle time, the segments covered by the journal are synced."""
POINT_PAUSE_SECONDS: Final = 5.0
"""So long a log is left alone whose recovery point could not be taken."""


class _Request(NamedTuple):
    ticket: int
    work: Sequence[SyncWork]
    points: Sequence["RecoveryPointWrite | _NotedPoint"]


class _NotedPoint:
    """A recovery point with a caller that waits until it is written."""

    def __init__(self, point: RecoveryPointWrite, on_saved: Callable[[], None]) -> None:
        self.disk = point.disk
        self.directory = point.directory
        self._point = point
        self._on_saved = on_saved

    def write(self) -> None:
        # Callbacks run even if the topic is gone, so that the waiting code finds out.
        with _unless_deleted(self.disk, self.directory):
            self._point.write()
        self._on_saved()


class GroupCommit:
    """The thread that syncs, and the tickets of those who wait for it.

    Attributes:
        completed_ticket: all tickets up to this one are durable.
        failed: why no ticket completes any more, or None.
    """

    def __init__(
        self,
        durability: Durability,
        wake: Callable[[], None],
        *,
        health: DirHealth | None = None,
        journal: Journal | None = None,
        threaded: bool = True,
    ) -> None:
        self._synced = durability == "fsync"
        self._wake = wake
        self._health = health or DirHealth()
        self._journal = journal
        self._ticket = 0
        self.completed_ticket = 0
        self.commit_times = Histogram(TIMES_S)
        """Duration of the syncs in seconds; the thread writes it."""
        self._retry_points_at: dict[PartitionLog, float] = {}
        self._requests: SimpleQueue[_Request | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name="group-commit", daemon=True)
        if threaded:
            self._thread.start()

    @property
    def failed(self) -> LogDirOffline | None:
        return self._health.error

    def request(self, logs: Iterable[PartitionLog]) -> int:
        """Ask for a sync of all that `logs` have written; returns the ticket to wait for.

        With `durability="os"` the ticket is complete at once, and `wake` is not called.

        Raises:
            LogDirOffline: a write or a sync failed before.
            OSError: a file cannot be opened; what was taken of other logs is synced all the same.
        """
        if self._health.error is not None:
            raise self._health.error
        work: list[SyncWork] = []
        points: list[RecoveryPointWrite] = []
        try:
            for log in logs:
                work += self._unsynced(log)
                points += self._points_of(log, None)
        finally:
            # The logs no longer hold the data that they handed over: sync it even if one fails.
            ticket = self._put(work, points)
        return ticket

    def _put(self, work: Sequence[SyncWork], points: Sequence[RecoveryPointWrite]) -> int:
        self._ticket = ticket = self._ticket + 1
        if self._synced:
            self._requests.put(_Request(ticket, work, points))
            return ticket
        self.completed_ticket = ticket
        if points:
            self._requests.put(_Request(ticket, (), points))
        return ticket

    def request_points(self, logs: Iterable[PartitionLog]) -> None:
        """Ask for a recovery point of each of `logs`, however little it covers."""
        for log in logs:
            try:
                work = self._unsynced(log)
            except OSError:
                continue  # Nothing was taken of it.
            points = self._points_of(log, 1)
            if work or points:
                self._requests.put(_Request(self._ticket, work, points))

    def _unsynced(self, log: PartitionLog) -> list[SyncWork]:
        """Take the unsynced writes of a log; must precede its recovery point, which drops them.

        Later writes may be acknowledged before the point is complete, and depend on these.
        """
        return log.take_unsynced() if self._synced else []

    def _points_of(self, log: PartitionLog, bytes_min: int | None) -> list[RecoveryPointWrite]:
        """Return the log's recovery point, if one is due and can be taken now.

        One that cannot costs nothing but time at the next start, so it stops nothing: neither the
        request at hand nor the points of other logs.
        """
        if self._retry_points_at and self._retry_points_at.get(log, 0.0) > monotonic():
            return []
        try:
            point = log.take_recovery_point(bytes_min=bytes_min)
        except (OSError, DuologError) as error:
            self._retry_points_at[log] = monotonic() + POINT_PAUSE_SECONDS
            logger.warning(
                "cannot set a recovery point; trying again soon",
                extra={"topic_partition": str(log.topic_partition), "reason": str(error)},
            )
            return []
        if point is None:
            return []
        self._retry_points_at.pop(log, None)
        return [point]

    def save(self, log: PartitionLog, on_saved: Callable[[], None]) -> bool:
        """Set a recovery point at the end of `log`; False if something is staged there.

        `on_saved` is called on the thread, when this point and all taken before it are written, or
        the topic is deleted.

        Raises:
            LogDirOffline: a write or a sync failed before.
            OSError, CorruptLog: a segment or its index cannot be read.
        """
        if self._health.error is not None:
            raise self._health.error
        work, points = self._unsynced(log), list[_NotedPoint]()
        try:
            point = log.take_recovery_point(bytes_min=0)
            if point is not None:
                points.append(_NotedPoint(point, on_saved))
        finally:
            self._requests.put(_Request(self._ticket, work, points))
        return bool(points)

    def close(self) -> None:
        """Finish what was asked for, empty the journal and end the thread."""
        self._requests.put(None)
        if self._thread.ident is None:
            self.run_pending()
        else:
            self._thread.join()

    def run_pending(self) -> bool:
        """Do all that was asked for, on the calling thread; returns whether more may come."""
        requests: list[_Request] = []
        with suppress(Empty):
            while (item := self._requests.get_nowait()) is not None:
                requests.append(item)
            return self._step(requests, ended=True)
        return self._step(requests, ended=False)

    def _run(self) -> None:
        more = True
        while more:
            more = self._step(*self._collect())

    def _collect(self) -> tuple[list[_Request], bool]:
        """Wait for requests and return all; none after an idle while with a busy journal."""
        journal_busy = self._journal is not None and self._journal.busy
        requests: list[_Request] = []
        with suppress(Empty):
            item = self._requests.get(timeout=IDLE_SECONDS if journal_busy else None)
            while item is not None:
                requests.append(item)
                item = self._requests.get_nowait()
            return requests, True
        return requests, False

    def _step(self, requests: Sequence[_Request], ended: bool) -> bool:  # noqa: FBT001
        try:
            self._serve(requests)
            if ended and self._journal is not None:
                self._journal.drain()
        except Exception as cause:  # noqa: BLE001 - the top of a thread: no caller would see it
            self._health.fail(cause, "syncing")
            self._wake()
            return False
        return not ended

    def _serve(self, requests: Sequence[_Request]) -> None:
        if not requests:
            if self._journal is not None:
                self._journal.drain()
            return
        if self._synced:
            started = monotonic()
            self._commit([item for request in requests for item in request.work])
            self.commit_times.observe(monotonic() - started)
            self.completed_ticket = requests[-1].ticket
            self._wake()
        for point in [point for request in requests for point in request.points]:
            with _unless_deleted(point.disk, point.directory):
                point.write()
        if self._journal is not None:
            self._journal.sync_segments()

    def _commit(self, work: Sequence[SyncWork]) -> None:
        files = {item.path: item.file for item in work}
        size_bytes = sum(item.end - item.start for item in work)
        many = len(files) >= JOURNAL_FILES_MIN
        small = size_bytes <= len(files) * JOURNAL_BYTES_PER_FILE_MAX
        if self._journal is not None and many and small:
            self._journal.commit(work)
        else:
            for file in files.values():
                file.sync()
        for directory, disk in {d: item.disk for item in work for d in item.directories}.items():
            with _unless_deleted(disk, directory):
                disk.sync_dir(directory)


@contextmanager
def _unless_deleted(disk: Disk, directory: str) -> Iterator[None]:
    """Let a missing file pass if the loop has deleted the whole topic in the meantime."""
    try:
        yield
    except FileNotFoundError:
        if disk.exists(directory):
            raise
