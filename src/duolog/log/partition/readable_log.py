"""The reader's side of a partition: offsets, file slices, lookups by time or by epoch.

    log start ........ last stable offset ........ high watermark ........ log end
    |  read_committed sees this      |   read_uncommitted this  |  not durable yet

Threads: everything here belongs to the broker's loop.

Source: Kafka `UnifiedLog.read`, `collectAbortedTransactions`.
"""

from collections.abc import Iterator

from duolog.core.ids import TopicPartition
from duolog.log.checkpoints.leader_epochs import EpochEnd
from duolog.log.errors import OffsetOutOfRange
from duolog.log.producers.aborted_index import AbortedTransaction
from duolog.log.producers.producer_state import ActiveProducer
from duolog.log.producers.transactions import OpenTransaction
from duolog.log.recovery.recovery import Recovered
from duolog.log.segments.segments import Available, Segments, Slice
from duolog.log.segments.time_search import Search, TimestampOffset, first_from, largest, run


class ReadableLog:
    """The reading side of a `PartitionLog`."""

    __slots__ = (
        "_epochs",
        "_opened_at",
        "_producers",
        "_segments",
        "_transactions",
        "high_watermark",
        "log_end_offset",
        "log_start_offset",
        "topic_partition",
    )

    def __init__(self, topic_partition: TopicPartition, recovered: Recovered) -> None:
        self.topic_partition = topic_partition
        self.log_start_offset = recovered.log_start_offset
        self.log_end_offset = recovered.next_offset
        self.high_watermark = recovered.next_offset
        self._segments = Segments(recovered.segments, recovered.next_offset)
        self._segments.holes_below = recovered.checkpoint.holes_below
        self._opened_at = recovered.next_offset
        self._epochs = recovered.epochs
        self._producers = recovered.producers
        self._transactions = recovered.producers.transactions

    @property
    def size_bytes(self) -> int:
        """Bytes of all segments on disk."""
        return self._segments.size_bytes

    @property
    def segments_count(self) -> int:
        return len(self._segments)

    @property
    def appended_bytes(self) -> int:
        """Bytes that were appended since the log was opened."""
        return self._segments.written_bytes

    @property
    def appended_records(self) -> int:
        """Records that were appended since the log was opened."""
        return self.log_end_offset - self._opened_at

    # Batches.

    def read(self, offset: int, max_bytes: int, *, up_to_offset: int) -> Slice:
        """Return the whole batches from the one that holds `offset`, up to `up_to_offset`.

        The first batch is included even if it is larger than `max_bytes`. A slice does not extend
        past its segment, and is empty if `offset` is at or above `up_to_offset`. Its file stays
        readable while the slice is held, even if the segment is deleted.

        Raises:
            OffsetOutOfRange: `offset` is below the log start or above the log end.
            CorruptLog: the bytes on disk are not those that were written.
        """
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise OffsetOutOfRange(
                f'offset {offset} of "{self.topic_partition}" is out of range',
                detail=f"The log holds {self.log_start_offset} to {self.log_end_offset}.",
            )
        return self._segments.read(offset, max_bytes, up_to_offset)

    def available(self, offset: int, *, up_to_offset: int) -> Available:
        """Return how much `read` could return at most, were `max_bytes` large enough."""
        return self._segments.available(offset, up_to_offset)

    def read_bytes(self, offset: int, max_bytes: int, *, up_to_offset: int) -> bytes:
        """Return the bytes that `read` would point at."""
        found = self.read(offset, max_bytes, up_to_offset=up_to_offset)
        return found.file.pread(found.position, found.size_bytes) if found.file else b""

    # Transactions.

    @property
    def last_stable_offset(self) -> int:
        """The offset up to which every transaction is decided; at most the high watermark."""
        return self._transactions.last_stable_offset(self.high_watermark, self.log_start_offset)

    def aborted_transactions(
        self, first_offset: int, up_to_offset: int
    ) -> list[AbortedTransaction]:
        """Return the aborted transactions with records from `first_offset` to `up_to_offset`.

        They are in the order of their markers. `up_to_offset` is at most the last stable offset.

        Raises:
            CorruptLog: the bytes on disk are not those that were written.
        """
        return self._segments.aborted(first_offset, up_to_offset)

    def aborted_in(self, found: Slice, up_to_offset: int) -> list[AbortedTransaction]:
        """Return the aborted transactions with records in a slice that `read` has returned."""
        if found.file is None or not self._segments.aborted_from(found.first_offset):
            return []
        end = min(self._segments.offset_bound(found), up_to_offset)
        return self._segments.aborted(found.first_offset, end)

    def open_transactions(self) -> list[OpenTransaction]:
        """Return the transactions that have no marker here, by their first offset."""
        return self._producers.open_transactions()

    def transaction_start(self, producer_id: int) -> int | None:
        """Return the first offset of the producer's open transaction, or None."""
        return self._transactions.open.get(producer_id)

    def knows_producer(self, producer_id: int) -> bool:
        """Return whether the producer has written here and is still known."""
        return producer_id in self._producers

    def active_producers(self) -> Iterator[ActiveProducer]:
        """Yield what is known of each producer that wrote here, as DescribeProducers asks it."""
        return self._producers.active_producers()

    # Places.

    def search_time(self, timestamp_ms: int) -> Search:
        """Look for the first record with this timestamp or a later one, in steps.

        The caller hides what lies above the high watermark.
        """
        return first_from(self._segments, timestamp_ms, self.log_start_offset)

    def search_largest_time(self) -> Search:
        """Look for the first record with the largest timestamp, in steps."""
        return largest(self._segments, self.log_start_offset)

    def offset_for_timestamp(self, timestamp_ms: int) -> TimestampOffset | None:
        """Return the first record with this timestamp or a later one, or None."""
        return run(self.search_time(timestamp_ms))

    def max_timestamp(self) -> TimestampOffset | None:
        """Return the first record with the largest timestamp, or None."""
        return run(self.search_largest_time())

    def offset_for_leader_epoch(self, epoch: int) -> EpochEnd:
        """Return where `epoch` ended; (-1, -1) for one that is not known yet."""
        return self._epochs.end_of(epoch, self.log_end_offset)

    @property
    def epoch_of_log_start(self) -> int:
        """The leader epoch of the first record, or of the one to come."""
        return self._epochs.epoch_at(self.log_start_offset)
