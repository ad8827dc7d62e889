"""The state that a partition keeps of idempotent producers, so that a retry is not written twice.

For each producer id: its epoch and the last five batches. A batch equal to one of the five is a
duplicate and gets the first one's offset; a gap in the sequence is refused. A producer that is
not known may begin with any sequence, because its state may have expired. One with an open
transaction is never forgotten.

    known epoch > epoch             INVALID_PRODUCER_EPOCH
    one of the five batches         duplicate: the original offset
    epoch is new, sequence is 0     accepted; also after a marker that brought a new epoch
    sequence follows the last       accepted (2**31 - 1 is followed by 0)
    sequence before the five        DUPLICATE_SEQUENCE_NUMBER
    any other                       OUT_OF_ORDER_SEQUENCE_NUMBER

Snapshot: CRC32C u32 of what follows · format u16 = 2 · number of producers u32 · for each: producer
id i64, epoch i16, seen at i64 ms, coordinator epoch i32, marked at i64 ms, number of batches u8,
and for each batch base sequence i32, last sequence i32, base offset i64, last offset i64, max
timestamp i64 · number of open transactions u32 · for each: producer id i64, first offset i64.

Source: Kafka `ProducerStateManager`, `ProducerAppendInfo`.
"""

from collections import deque
from collections.abc import Iterator
from struct import Struct, error
from typing import Final, NamedTuple

from crc32c import crc32c

from duolog.log.errors import (
    CoordinatorFenced,
    DuplicateSequence,
    InvalidProducerEpoch,
    OutOfOrderSequence,
)
from duolog.log.producers.transactions import Ended, OpenTransaction, Transactions
from duolog.record.errors import InvalidRecord

BATCHES_KEPT: Final = 5
NO_SEQUENCE: Final = -1
NO_EPOCH: Final = -1
NO_TIMESTAMP: Final = -1
_SEQUENCES: Final = 2**31

_CRC: Final = Struct(">I")
_FORMAT: Final = 2
_HEAD: Final = Struct(">HI")
_COUNT: Final = Struct(">I")
_PRODUCER: Final = Struct(">qhqiqB")
_BATCH: Final = Struct(">iiqqq")
_OPEN: Final = Struct(">qq")


class KeptBatch(NamedTuple):
    """The part of a batch that is kept: enough to recognize a duplicate and to acknowledge it."""

    base_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    max_timestamp: int


def kept_batch(sequence: int, delta: int, base_offset: int, max_timestamp: int) -> KeptBatch:
    """Return the entry for a batch that starts at `sequence` and has `delta` more records."""
    last_sequence = (sequence + delta) % _SEQUENCES
    return KeptBatch(sequence, last_sequence, base_offset, base_offset + delta, max_timestamp)


class ActiveProducer(NamedTuple):
    """A producer as DescribeProducers returns it; -1 for missing values."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp_ms: int
    coordinator_epoch: int
    transaction_start: int


class _Producer:
    __slots__ = ("active", "batches", "coordinator_epoch", "epoch", "marked_at_ms", "seen_at_ms")

    def __init__(self, epoch: int, seen_at_ms: int) -> None:
        self.epoch = epoch
        self.seen_at_ms = seen_at_ms
        self.active = True
        self.batches: deque[KeptBatch] = deque(maxlen=BATCHES_KEPT)
        self.coordinator_epoch = NO_EPOCH
        self.marked_at_ms = NO_TIMESTAMP


class ProducerStates:
    """The producers of one partition. Used only by the thread that appends."""

    def __init__(self) -> None:
        self._producers: dict[int, _Producer] = {}
        self.transactions = Transactions()

    def __len__(self) -> int:
        return len(self._producers)

    def __contains__(self, producer_id: int) -> bool:
        return producer_id in self._producers

    def check(self, producer_id: int, epoch: int, sequence: int, delta: int) -> KeptBatch | None:
        """Return the batch that this one duplicates, or None if it must be appended.

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
        if not known.batches:  # A marker began this epoch.
            if sequence == 0:
                return None
            raise OutOfOrderSequence(
                f"producer {producer_id} began the epoch {epoch} with sequence {sequence}"
            )
        last = known.batches[-1]
        if sequence == (last.last_sequence + 1) % _SEQUENCES:
            return None
        return _find_duplicate(producer_id, known.batches, sequence, delta)

    def note(self, producer_id: int, epoch: int, batch: KeptBatch) -> None:
        """Remember a batch that was appended, or is read back at a start."""
        known = self._producers.get(producer_id)
        if known is None or known.epoch != epoch:
            known = self._begin_epoch(producer_id, epoch)
        known.active = True
        known.batches.append(batch)

    def note_epoch(self, producer_id: int, epoch: int) -> None:
        """Remember a producer whose batch has no sequence."""
        known = self._producers.get(producer_id)
        if known is None or known.epoch != epoch:
            known = self._begin_epoch(producer_id, epoch)
        known.active = True

    def _begin_epoch(self, producer_id: int, epoch: int) -> _Producer:
        known = self._producers.get(producer_id)
        begun = self._producers[producer_id] = _Producer(epoch, 0)
        if known is not None:
            begun.coordinator_epoch, begun.marked_at_ms = (
                known.coordinator_epoch,
                known.marked_at_ms,
            )
        return begun

    def check_epoch(self, producer_id: int, epoch: int) -> None:
        """Return if no newer epoch of the producer is known.

        Raises:
            InvalidProducerEpoch: there is one.
        """
        known = self._producers.get(producer_id)
        if known is not None and epoch < known.epoch:
            raise InvalidProducerEpoch(
                f"producer {producer_id} has the epoch {known.epoch}, and {epoch} is older"
            )

    def check_marker(self, producer_id: int, epoch: int, coordinator_epoch: int) -> None:
        """Return if the producer's transaction may be ended in this name.

        Raises:
            InvalidProducerEpoch: the producer has written in a newer epoch.
            CoordinatorFenced: a newer coordinator has ended a transaction of the producer.
        """
        self.check_epoch(producer_id, epoch)
        known = self._producers.get(producer_id)
        if known is not None and coordinator_epoch < known.coordinator_epoch:
            raise CoordinatorFenced(
                f"producer {producer_id} was last ended by a coordinator of epoch "
                f"{known.coordinator_epoch}, and {coordinator_epoch} is older"
            )

    def note_marker(
        self,
        producer_id: int,
        epoch: int,
        *,
        coordinator_epoch: int,
        timestamp_ms: int,
        offset: int,
    ) -> Ended | None:
        """Remember a marker at `offset`; return the transaction that it ended, or None."""
        self.note_epoch(producer_id, epoch)
        known = self._producers[producer_id]
        known.coordinator_epoch = coordinator_epoch
        known.marked_at_ms = timestamp_ms
        return self.transactions.end(producer_id, offset)

    def open_transactions(self) -> list[OpenTransaction]:
        """Return the transactions without a marker, by their first offset."""
        return [
            OpenTransaction(producer_id, self._producers[producer_id].epoch, first_offset)
            for producer_id, first_offset in self.transactions.open.items()
        ]

    def last_offsets(self) -> dict[int, tuple[int, int]]:
        """Return, for each producer, the last offset of its data, -1 if unknown, and its epoch."""
        return {
            producer_id: (known.batches[-1].last_offset if known.batches else -1, known.epoch)
            for producer_id, known in self._producers.items()
        }

    def active_producers(self) -> Iterator[ActiveProducer]:
        """Yield all that is known of each producer, in the order of their ids.

        There may be very many: what is forgotten in between is left out.
        """
        for producer_id in sorted(self._producers):
            known = self._producers.get(producer_id)
            if known is not None:
                last = known.batches[-1] if known.batches else None
                yield ActiveProducer(
                    producer_id,
                    known.epoch,
                    NO_SEQUENCE if last is None else last.last_sequence,
                    max(known.marked_at_ms, -1 if last is None else last.max_timestamp),
                    known.coordinator_epoch,
                    self.transactions.open.get(producer_id, -1),
                )

    def expire(self, now_ms: int, expiration_ms: int) -> None:
        """Forget producers that have been idle for `expiration_ms` of wall-clock time.

        Idle is measured from call to call, not by the records' timestamps: a producer of old
        events is not idle.
        """
        in_transaction = self.transactions.open
        for producer_id, known in list(self._producers.items()):
            if known.active or known.seen_at_ms > now_ms or producer_id in in_transaction:
                known.active, known.seen_at_ms = False, now_ms
            elif now_ms - known.seen_at_ms >= expiration_ms:
                del self._producers[producer_id]

    def encode(self) -> bytes:
        """Return the snapshot of all producers and open transactions."""
        body = bytearray(_HEAD.pack(_FORMAT, len(self._producers)))
        for producer_id, known in self._producers.items():
            # A count of idle time that had not begun begins at the next start.
            seen_at_ms = 0 if known.active else known.seen_at_ms
            body += _PRODUCER.pack(
                producer_id,
                known.epoch,
                seen_at_ms,
                known.coordinator_epoch,
                known.marked_at_ms,
                len(known.batches),
            )
            for batch in known.batches:
                body += _BATCH.pack(*batch)
        body += _COUNT.pack(len(self.transactions.open))
        for item in self.transactions.open.items():
            body += _OPEN.pack(*item)
        return _CRC.pack(crc32c(body)) + body

    @classmethod
    def decode(cls, data: bytes) -> "ProducerStates | None":
        """Decode a snapshot; return None if it is incomplete or has another format."""
        if len(data) < _CRC.size or _CRC.unpack_from(data)[0] != crc32c(data[_CRC.size :]):
            return None
        states = cls()
        try:
            return states if states._read(data) else None
        except error:
            return None

    def _read(self, data: bytes) -> bool:
        form, count = _HEAD.unpack_from(data, _CRC.size)
        if form != _FORMAT:
            return False
        position = _CRC.size + _HEAD.size
        for _ in range(count):
            producer_id, epoch, seen_at_ms, coordinator_epoch, marked_at_ms, batches = (
                _PRODUCER.unpack_from(data, position)
            )
            position += _PRODUCER.size
            known = self._producers[producer_id] = _Producer(epoch, seen_at_ms)
            known.active = seen_at_ms == 0
            known.coordinator_epoch, known.marked_at_ms = coordinator_epoch, marked_at_ms
            for _ in range(batches):
                known.batches.append(KeptBatch._make(_BATCH.unpack_from(data, position)))
                position += _BATCH.size
        (count,) = _COUNT.unpack_from(data, position)
        position += _COUNT.size
        for _ in range(count):
            producer_id, first_offset = _OPEN.unpack_from(data, position)
            self.transactions.open[producer_id] = first_offset
            position += _OPEN.size
        return True


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
    # Half the circle of sequences is after the expected one, half before it.
    if (expected - sequence) % _SEQUENCES <= _SEQUENCES // 2 and len(batches) == BATCHES_KEPT:
        oldest = batches[0].base_sequence
        if 0 < (oldest - sequence) % _SEQUENCES <= _SEQUENCES // 2:
            raise DuplicateSequence(
                f"producer {producer_id} sent sequence {sequence} again, too late to know it"
            )
    raise OutOfOrderSequence(
        f"producer {producer_id} sent sequence {sequence} where {expected} was expected"
    )
