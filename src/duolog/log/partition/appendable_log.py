"""The writing side of a partition: check a batch, give it its offset, stage it, write it.

    append ─▶ staged ─▶ write_staged ─▶ active segment ─▶ rolled when it is full or old

The hot path of the broker: each produced batch passes `append`. A batch gets its offset in the
caller's buffer, and all staged batches are written with one writev.

Threads: everything here belongs to the broker's loop.

Source: Kafka `UnifiedLog.append`, `LogSegment.append`.
"""

from functools import partial
from struct import Struct
from struct import error as struct_error
from typing import TYPE_CHECKING, Final, NamedTuple

from crc32c import crc32c

from duolog.core.counts import counted
from duolog.log.config import LogConfig
from duolog.log.data_directory.health import DirHealth
from duolog.log.partition.compactable_log import CompactableLog, LogLocation
from duolog.log.partition.validation import LARGEST_CODEC, checked_attributes, ensure_appendable
from duolog.log.producers.producer_state import kept_batch
from duolog.log.recovery.recovery import Recovered
from duolog.log.segments.index import RELATIVE_OFFSET_MAX
from duolog.log.segments.index_builder import NO_TIMESTAMP
from duolog.log.segments.segment import Segment
from duolog.record.batch import (
    CRC_START,
    HEADER_BYTES,
    LENGTH_END,
    MAGIC,
    RECORD_BYTES_MIN,
    TRANSACTIONAL_BIT,
    patch_batch,
)
from duolog.record.errors import CorruptBatch

if TYPE_CHECKING:
    from duolog.log.files.disk import Buffer

_ROLL_NOW: Final = -(2**63) - 1

_CHECKED: Final = Struct(">8xi4xbIhi8xqqhii")
"""The batch header without the fields that `append` does not look at."""
assert _CHECKED.size == HEADER_BYTES
_unpack_checked: Final = _CHECKED.unpack_from
_patch: Final = Struct(">qii").pack_into
"""Base offset, length (unchanged) and leader epoch in one go."""


class Appended(NamedTuple):
    """The position of a batch, or of the original if the batch is a duplicate."""

    base_offset: int
    last_offset: int
    max_timestamp_ms: int
    duplicate: bool


_appended: Final = partial(tuple.__new__, Appended)
"""Makes one of a tuple, three times as fast as `_make`."""


class AppendableLog(CompactableLog):
    """A log that takes batches: they are checked, staged, and written in one go."""

    __slots__ = (
        "_active",
        "_checked_attributes",
        "_max_timestamp",
        "_max_timestamp_offset",
        "_message_bytes_max",
        "_next_index_position",
        "_position",
        "_roll_offset",
        "_roll_position",
        "_roll_timestamp",
        "_staged",
        "leader_epoch",
    )

    def __init__(
        self,
        location: LogLocation,
        config: LogConfig,
        *,
        health: DirHealth,
        leader_epoch: int,
        recovered: Recovered,
    ) -> None:
        super().__init__(location, health, recovered)
        self.leader_epoch = leader_epoch
        self._epochs.begin(leader_epoch, recovered.next_offset)
        self._staged: list[Buffer] = []
        self.configure(config)
        self._activate(
            self._segments.active, recovered.max_timestamp, recovered.max_timestamp_offset
        )

    def configure(self, config: LogConfig) -> None:
        """Use another config from the next append on."""
        self.config = config
        self._message_bytes_max = config.message_bytes_max
        self._checked_attributes = checked_attributes(log_append_time=config.log_append_time)
        self._roll_position = config.segment_bytes_max
        self._roll_timestamp = _ROLL_NOW

    def _activate(self, segment: Segment, max_timestamp: int, max_timestamp_offset: int) -> None:
        self._active = segment
        self._position = segment.size_bytes
        self._max_timestamp = max_timestamp
        self._max_timestamp_offset = max_timestamp_offset
        self._next_index_position = segment.size_bytes + self.config.index_interval_bytes + 1
        self._roll_offset = segment.base_offset + RELATIVE_OFFSET_MAX
        self._roll_timestamp = _ROLL_NOW

    # Appending.

    def append(self, batch: memoryview | bytearray) -> Appended:
        """Check `batch`, assign its offset in place and stage it for `write_staged`.

        The caller keeps the buffer as it is until `write_staged` has returned. An acknowledgement
        of a duplicate waits for a group commit, too: the first copy may still be on its way to the
        disk.

        Raises:
            KafkaError: the batch is refused, with the code for the client; nothing is staged.
        """
        try:
            (
                length,
                magic,
                crc,
                attributes,
                last_delta,
                max_timestamp,
                producer_id,
                producer_epoch,
                sequence,
                count,
            ) = _unpack_checked(batch)
        except struct_error:
            found = counted(len(batch), "byte")
            raise CorruptBatch("record batch is cut off", detail=found) from None
        size = len(batch)
        if (
            magic != MAGIC
            or length + LENGTH_END != size
            or size > self._message_bytes_max
            or crc32c(batch[CRC_START:]) != crc
            or count != last_delta + 1
            or count < 1
            or count * RECORD_BYTES_MIN > size - HEADER_BYTES
            or attributes & self._checked_attributes > LARGEST_CODEC
        ):
            self._ensure_appendable(batch)

        base_offset = self.log_end_offset
        last_offset = base_offset + last_delta
        if producer_id >= 0:
            known = self._producers.check(producer_id, producer_epoch, sequence, last_delta)
            if known is not None:
                return Appended(known.base_offset, known.last_offset, known.max_timestamp, True)  # noqa: FBT003
            if attributes & TRANSACTIONAL_BIT or self._transactions.open:
                self._transactions.note_batch(
                    producer_id, base_offset, transactional=bool(attributes & TRANSACTIONAL_BIT)
                )
        position = self._position
        if (
            position + size > self._roll_position
            or max_timestamp > self._roll_timestamp
            or last_offset > self._roll_offset
        ):
            position = self._maybe_roll(size, max_timestamp, last_offset)
        if producer_id >= 0:
            kept = kept_batch(sequence, last_delta, base_offset, max_timestamp)
            self._producers.note(producer_id, producer_epoch, kept)

        _patch(batch, 0, base_offset, length, self.leader_epoch)
        self._staged.append(batch)
        self._position = position + size
        self.log_end_offset = last_offset + 1
        if max_timestamp > self._max_timestamp:
            self._max_timestamp = max_timestamp
            self._max_timestamp_offset = last_offset
        if position >= self._next_index_position:
            self._add_index_entry(last_offset, position)
        return _appended((base_offset, last_offset, max_timestamp, False))

    def _ensure_appendable(self, batch: memoryview | bytearray) -> None:
        config = self.config
        ensure_appendable(batch, config.message_bytes_max, log_append_time=config.log_append_time)

    def _stage(self, batch: bytearray, last_delta: int, max_timestamp: int) -> Appended:
        """Stage a batch that needs no check. `append` has the same in line: a call is 6 % of it."""
        base_offset = self.log_end_offset
        last_offset = base_offset + last_delta
        position = self._maybe_roll(len(batch), max_timestamp, last_offset)
        patch_batch(batch, base_offset, self.leader_epoch)
        self._staged.append(batch)
        self._position = position + len(batch)
        self.log_end_offset = last_offset + 1
        if max_timestamp > self._max_timestamp:
            self._max_timestamp = max_timestamp
            self._max_timestamp_offset = last_offset
        if position >= self._next_index_position:
            self._add_index_entry(last_offset, position)
        return Appended(base_offset, last_offset, max_timestamp, duplicate=False)

    def _add_index_entry(self, last_offset: int, position: int) -> None:
        # Staged bytes are in the index before they are in the file. No one reads above the
        # written offset, and a crash loses the index in memory with them.
        segment = self._active
        segment.offset_index.append(last_offset - segment.base_offset, position)
        segment.time_index.maybe_append(
            self._max_timestamp, self._max_timestamp_offset - segment.base_offset
        )
        self._next_index_position = position + self.config.index_interval_bytes + 1

    def _maybe_roll(self, size: int, max_timestamp: int, last_offset: int) -> int:
        """Roll if the batch does not fit the active segment; returns the batch's position."""
        if self._roll_timestamp == _ROLL_NOW:
            self._roll_timestamp = self._first_timestamp(max_timestamp) + self.config.segment_ms
        too_large = self._position + size > self._roll_position
        too_old = max_timestamp > self._roll_timestamp
        if self._position > 0 and (too_large or too_old or last_offset > self._roll_offset):
            self.roll()
            self._roll_timestamp = max_timestamp + self.config.segment_ms
        return self._position

    def _first_timestamp(self, otherwise: int) -> int:
        """Return the time of the active segment's first batch, or of the one to come."""
        segment = self._active
        if not segment.size_bytes:
            return otherwise
        return next(segment.places(0)).max_timestamp

    def write_staged(self) -> None:
        """Write all staged batches at the end of the log. Durable only after a group commit.

        Raises:
            LogDirOffline: the disk refused, now or before.
        """
        staged = self._staged
        if not staged:
            return
        health = self._health
        if health.error is not None:
            raise health.error
        segment = self._active
        try:
            if not segment.created:
                self._create_active()
            segment.file.append(staged)
        except OSError as cause:
            raise health.fail(cause, f'writing to "{self.topic_partition}"') from cause
        staged.clear()
        self._unsynced.unsaved_bytes += self._position - segment.size_bytes
        segment.max_timestamp = self._max_timestamp
        self._segments.grow(self._position, self.log_end_offset)

    def _create_active(self) -> None:
        """Make the directory of the partition, and the file of its active segment."""
        self._disk.make_dir(self.directory)
        self._active.create()
        self._unsynced.begin(self._active, self.directory)

    def roll(self) -> None:
        """Seal the active segment and begin one at the log end offset.

        Raises:
            LogDirOffline: the disk refused, now or before.
        """
        self.write_staged()
        sealed = self._active
        assert sealed.size_bytes > 0, "an empty segment is never rolled"
        if self._max_timestamp != NO_TIMESTAMP:
            sealed.time_index.maybe_append(
                self._max_timestamp, self._max_timestamp_offset - sealed.base_offset
            )
        self._unsynced.seal()
        segment = Segment(self._disk, self.directory, self.log_end_offset)
        self._segments.add(segment)
        self._activate(segment, NO_TIMESTAMP, segment.base_offset)
        try:
            self._create_active()
        except OSError as cause:
            raise self._health.fail(cause, f'rolling "{self.topic_partition}"') from cause
