"""What a partition remembers of idempotent producers, so that a retry is not written twice.

For each producer id: its epoch and the last five batches. A batch equal to one of the five is a
duplicate and gets the first one's offset; a gap in the sequence is refused. A producer that is
not known may begin with any sequence, because its state may have expired.

    known epoch > epoch             INVALID_PRODUCER_EPOCH
    one of the five batches         duplicate: the original offset
    epoch is new, sequence is 0     accepted
    sequence follows the last       accepted (2**31 - 1 is followed by 0)
    sequence before the five        DUPLICATE_SEQUENCE_NUMBER
    any other                       OUT_OF_ORDER_SEQUENCE_NUMBER

Snapshot file: CRC32C u32 of what follows · number of producers u32 · for each: producer id i64,
epoch i16, seen at i64 ms, number of batches u8, and for each batch base sequence i32, last
sequence i32, base offset i64, last offset i64, max timestamp i64.

Source: Kafka `ProducerStateManager`, `ProducerAppendInfo.checkSequence`.
"""

from collections import deque
from struct import Struct, error
from typing import Final, NamedTuple

from crc32c import crc32c

from duolog.log.errors import DuplicateSequence, InvalidProducerEpoch, OutOfOrderSequence
from duolog.record.errors import InvalidRecord

BATCHES_KEPT: Final = 5
_SEQUENCES: Final = 2**31

_CRC: Final = Struct(">I")
_COUNT: Final = Struct(">I")
_PRODUCER: Final = Struct(">qhqB")
_BATCH: Final = Struct(">iiqqq")


class KeptBatch(NamedTuple):
    """What is kept of a batch: enough to know it again and to answer for it."""

    base_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    max_timestamp: int


def kept_batch(sequence: int, delta: int, base_offset: int, max_timestamp: int) -> KeptBatch:
    """Return what is kept of a batch that begins with `sequence` and has `delta` more records."""
    last_sequence = (sequence + delta) % _SEQUENCES
    return KeptBatch(sequence, last_sequence, base_offset, base_offset + delta, max_timestamp)


class _Producer:
    __slots__ = ("active", "batches", "epoch", "seen_at_ms")

    def __init__(self, epoch: int, seen_at_ms: int) -> None:
        self.epoch = epoch
        self.seen_at_ms = seen_at_ms
        self.active = True
        self.batches: deque[KeptBatch] = deque(maxlen=BATCHES_KEPT)


class ProducerStates:
    """The producers of one partition. Used only by the thread that appends."""

    def __init__(self) -> None:
        self._producers: dict[int, _Producer] = {}

    def __len__(self) -> int:
        return len(self._producers)

    def check(self, producer_id: int, epoch: int, sequence: int, delta: int) -> KeptBatch | None:
        """Return the batch that this one repeats, or None if it is to be appended.

        Raises:
            KafkaError: the batch is refused; see the table at the top.
        """
        if sequence < 0 or epoch < 0:
            raise InvalidRecord(
                f"batch of producer {producer_id} has epoch {epoch} and sequence {sequence}"
            )
        known = self._producers.get(producer_id)
        if known is None:
            return None
        if epoch != known.epoch:
            _check_new_epoch(producer_id, known.epoch, epoch, sequence)
            return None
        if not known.batches:
            return None
        last = known.batches[-1]
        if sequence == (last.last_sequence + 1) % _SEQUENCES:
            return None
        return _find_duplicate(producer_id, known.batches, sequence, delta)

    def note(self, producer_id: int, epoch: int, batch: KeptBatch) -> None:
        """Remember a batch that was appended, or is read back at a start."""
        known = self._producers.get(producer_id)
        if known is None or known.epoch != epoch:
            known = self._producers[producer_id] = _Producer(epoch, 0)
        known.active = True
        known.batches.append(batch)

    def expire(self, now_ms: int, expiration_ms: int) -> None:
        """Forget producers that have been idle for `expiration_ms` of wall-clock time.

        Idle is measured from call to call, not by the records' timestamps: a producer of old
        events is not idle.
        """
        for producer_id, known in list(self._producers.items()):
            if known.active or known.seen_at_ms > now_ms:
                known.active, known.seen_at_ms = False, now_ms
            elif now_ms - known.seen_at_ms >= expiration_ms:
                del self._producers[producer_id]

    def encode(self) -> bytes:
        """Return the snapshot of all producers."""
        body = bytearray(_COUNT.pack(len(self._producers)))
        for producer_id, known in self._producers.items():
            # A count of idle time that had not begun begins at the next start.
            seen_at_ms = 0 if known.active else known.seen_at_ms
            body += _PRODUCER.pack(producer_id, known.epoch, seen_at_ms, len(known.batches))
            for batch in known.batches:
                body += _BATCH.pack(*batch)
        return _CRC.pack(crc32c(body)) + body

    @classmethod
    def decode(cls, data: bytes) -> "ProducerStates | None":
        """Read a snapshot; None where the checksum says that it is not whole."""
        if len(data) < _CRC.size or _CRC.unpack_from(data)[0] != crc32c(data[_CRC.size :]):
            return None
        states = cls()
        try:
            states._read(data)
        except error:
            return None
        return states

    def _read(self, data: bytes) -> None:
        (count,) = _COUNT.unpack_from(data, _CRC.size)
        position = _CRC.size + _COUNT.size
        for _ in range(count):
            producer_id, epoch, seen_at_ms, batches = _PRODUCER.unpack_from(data, position)
            position += _PRODUCER.size
            known = self._producers[producer_id] = _Producer(epoch, seen_at_ms)
            known.active = seen_at_ms == 0
            for _ in range(batches):
                known.batches.append(KeptBatch._make(_BATCH.unpack_from(data, position)))
                position += _BATCH.size


def _check_new_epoch(producer_id: int, known_epoch: int, epoch: int, sequence: int) -> None:
    if epoch < known_epoch:
        raise InvalidProducerEpoch(
            f"producer {producer_id} has the epoch {known_epoch}, and {epoch} is older"
        )
    if sequence != 0:
        raise OutOfOrderSequence(
            f"producer {producer_id} began the epoch {epoch} with sequence {sequence}"
        )


def _find_duplicate(
    producer_id: int, batches: deque[KeptBatch], sequence: int, delta: int
) -> KeptBatch:
    last_sequence = (sequence + delta) % _SEQUENCES
    for batch in batches:
        if batch.base_sequence == sequence and batch.last_sequence == last_sequence:
            return batch
    expected = (batches[-1].last_sequence + 1) % _SEQUENCES
    # Half the circle of sequences lies behind the expected one, half before it.
    if (expected - sequence) % _SEQUENCES <= _SEQUENCES // 2 and len(batches) == BATCHES_KEPT:
        oldest = batches[0].base_sequence
        if 0 < (oldest - sequence) % _SEQUENCES <= _SEQUENCES // 2:
            raise DuplicateSequence(
                f"producer {producer_id} sent sequence {sequence} again, too late to know it"
            )
    raise OutOfOrderSequence(
        f"producer {producer_id} sent sequence {sequence} where {expected} was expected"
    )
