"""One partition: an append-only log of record batches.

    log start ........ high watermark ........ log end
    |  segment 0  |  segment 1  |  active segment  |  staged
                                 on disk, synced up to the last group commit

`append` checks a batch, gives it its offset in place and stages it; `write_staged` writes all
that is staged with one writev. `GroupCommit` then makes it durable, and only after that the
broker moves `high_watermark`, which bounds what consumers see.

Threads: everything here belongs to the broker's loop. The group commit's thread gets files and
immutable descriptions of work (`take_unsynced`, `take_recovery_point`), never the log itself.

Source: Kafka `UnifiedLog`, `LogSegment`.
"""

from collections.abc import Callable

from duolog.log.checkpoints.recovery_point import (
    POINT_AT_CLOSE_BYTES,
    RecoveryPoint,
    RecoveryPointWrite,
)
from duolog.log.journal import SyncWork
from duolog.log.partition.appendable_log import AppendableLog, Appended
from duolog.log.partition.retention import expired_segments
from duolog.log.partition.unsynced import sync_now
from duolog.log.segments.index_builder import NO_TIMESTAMP
from duolog.record.batch import read_header
from duolog.record.control import encode_marker


class PartitionLog(AppendableLog):
    """An append-only log of record batches; see the picture at the top of the module."""

    __slots__ = ()

    # Transactions.

    def append_marker(
        self,
        producer_id: int,
        producer_epoch: int,
        *,
        commit: bool,
        coordinator_epoch: int,
        now_ms: int,
    ) -> Appended:
        """Stage the control batch that ends the producer's transaction here, if it has one.

        A newer epoch than the known one fences what the producer may still send in the old one.

        Raises:
            InvalidProducerEpoch: the producer has written in a newer epoch.
            CoordinatorFenced: a newer coordinator has ended a transaction of the producer.
        """
        self._producers.check_marker(producer_id, producer_epoch, coordinator_epoch)
        marker = encode_marker(
            producer_id,
            producer_epoch,
            commit=commit,
            coordinator_epoch=coordinator_epoch,
            timestamp_ms=now_ms,
        )
        appended = self._stage(marker, 0, now_ms)
        ended = self._producers.note_marker(
            producer_id,
            producer_epoch,
            coordinator_epoch=coordinator_epoch,
            timestamp_ms=now_ms,
            offset=appended.base_offset,
        )
        if ended is not None:
            self._transactions.hold(ended)
            if not commit:
                self._active.note_aborted(producer_id, ended)
        return appended

    def append_unsequenced(self, batch: bytearray) -> Appended:
        """Stage a transactional batch of the broker's own, which has a producer and no sequence.

        Raises:
            InvalidProducerEpoch: the producer has written in a newer epoch.
        """
        header = read_header(batch)
        assert header.transactional, "only a transaction's batch has a producer and no sequence"
        assert header.base_sequence < 0, header
        self._producers.check_epoch(header.producer_id, header.producer_epoch)
        appended = self._stage(batch, header.last_offset_delta, header.max_timestamp)
        self._transactions.note_batch(header.producer_id, appended.base_offset, transactional=True)
        self._producers.note_epoch(header.producer_id, header.producer_epoch)
        return appended

    # Durability.

    def take_unsynced(self) -> list[SyncWork]:
        """Return the writes since the last call; the caller makes them durable."""
        return self._unsynced.take_work()

    @property
    def unsaved_bytes(self) -> int:
        """Bytes that no recovery point covers: the next start after a crash reads them."""
        return self._unsynced.unsaved_bytes

    @property
    def knows_producers(self) -> bool:
        return len(self._producers) > 0

    def take_recovery_point(self, *, bytes_min: int | None = None) -> RecoveryPointWrite | None:
        """Return a new recovery point to write, if enough was written since the last."""
        enough = self.config.recovery_point_bytes if bytes_min is None else bytes_min
        if self._unsynced.unsaved_bytes < enough or self._staged or not self._active.created:
            return None
        active = self._active
        if self._max_timestamp != NO_TIMESTAMP:
            active.time_index.maybe_append(
                self._max_timestamp, self._max_timestamp_offset - active.base_offset
            )
        point = RecoveryPoint(
            active.base_offset, active.size_bytes, self.log_end_offset, self._producers.encode()
        )
        epochs = self._epochs.encode()
        files, tails = self._unsynced.take_for_point()  # Last: nothing may fail after it.
        return RecoveryPointWrite(self._disk, self.directory, files, tails, epochs, point)

    # Retention.

    def expired_below(self, now_ms: int) -> int | None:
        """Return the log start offset that retention requires; None if it need not change.

        Also expires idempotent producers that have been idle for too long. Segments above the high
        watermark never expire. The active segment is rolled if all of it has expired.

        Raises:
            LogDirOffline: a disk operation failed, now or earlier.
        """
        self._producers.expire(now_ms, self.config.producer_expiration_ms)
        if not self.config.deleted_when_old or self._start_pending:
            return None
        doomed = expired_segments(self._segments, self.config, now_ms, self.high_watermark)
        if not doomed:
            return None
        if doomed[-1] is self._active:
            if self._staged:
                return None  # It is being written: next time.
            self.roll()
        return self._segments.end_of(doomed[-1])

    def delete_old_segments(self, now_ms: int) -> int:
        """Delete the segments below `expired_below` at once; return their number.

        Raises:
            LogDirOffline: a disk operation failed, now or earlier.
        """
        offset = self.expired_below(now_ms)
        before = len(self._segments)
        if offset is not None:
            self.advance_log_start(offset)
        return before - len(self._segments)

    # The end.

    def close(self) -> None:
        """Write and sync everything, so that the next start reads next to nothing again.

        Raises:
            LogDirOffline: the disk refused, now or before.
        """
        with self._health.guard(f'closing "{self.topic_partition}"'):
            self.closing()()
        self.release()

    def closing(self) -> Callable[[], None]:
        """Write everything; return what syncs it, for any thread. `release` is to follow.

        Raises:
            LogDirOffline: the disk refused, now or before.
        """
        self.write_staged()
        if self._health.error is not None:
            raise self._health.error
        work = self.take_unsynced()
        # A few batches are read again faster than a recovery point is written.
        point = self.take_recovery_point(bytes_min=POINT_AT_CLOSE_BYTES)

        def sync() -> None:
            sync_now(work)
            if point is not None:
                point.write()

        return sync

    def forget_files(self) -> None:
        """Drop all files of a deleted topic; responses that still send from one can continue."""
        for segment in self._segments:
            segment.forget_file()

    def release(self) -> None:
        """Close the files as they are."""
        for segment in self._segments:
            segment.close()
