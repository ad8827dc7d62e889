"""The records of `__transaction_state`, in Kafka's own key and value schemas.

    key    version i16 = 0 · transactional id (i16 length)
    value  version i16 = 1 · producer id i64 · producer epoch i16 · timeout i32 ms · state i8 ·
           [topic, [partition i32]] or null · updated at i64 ms · started at i64 ms · tagged fields

Big-endian. Version 1 is flexible: compact lengths (unsigned varint of length + 1) and tagged
fields: 0 previous producer id, 1 next producer id, 2 transaction version of the client, and one of
our own, 10000: last producer epoch, by which a retry is known again after a restart. Kafka skips
what it does not know. Version 0, without them, is read. A null value is a tombstone.

Source: Kafka `TransactionLogKey.json`, `TransactionLogValue.json`, `TransactionLog`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from struct import Struct, error
from typing import Final

from duolog.coordinator.transactions.states import TransactionState
from duolog.core.errors import SerdeError
from duolog.core.ids import TopicPartition

NO_PRODUCER: Final = -1
NO_EPOCH: Final = -1
NO_TIME: Final = -1
TEXT_BYTES_MAX: Final = 2**15 - 1
"""The longest transactional id that a key holds."""

_KEY_VERSION: Final = 0
_VALUE_VERSION: Final = 1
_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_INT64: Final = Struct(">q")
_HEAD: Final = Struct(">hqhib")
_TIMES: Final = Struct(">qq")

_PREVIOUS_ID: Final = 0
_NEXT_ID: Final = 1
_CLIENT_VERSION: Final = 2
_LAST_EPOCH: Final = 10_000

_NUMBERS: Final = {
    TransactionState.EMPTY: 0,
    TransactionState.ONGOING: 1,
    TransactionState.PREPARE_COMMIT: 2,
    TransactionState.PREPARE_ABORT: 3,
    TransactionState.COMPLETE_COMMIT: 4,
    TransactionState.COMPLETE_ABORT: 5,
}
_STATES: Final = {number: state for state, number in _NUMBERS.items()}
_DEAD: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionRecord:
    """All that is known of a transactional id.

    Args:
        previous_producer_id: what `producer_id` was before the last change.
        next_producer_id: what it will be when the transaction is complete, if its epochs are
            used up.
        last_producer_epoch: the epoch that the producer had before it was given this one.
        client_version: the version of transactions that the client's last request was of.
    """

    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: TransactionState = TransactionState.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    updated_at_ms: int
    started_at_ms: int = NO_TIME
    previous_producer_id: int = NO_PRODUCER
    next_producer_id: int = NO_PRODUCER
    last_producer_epoch: int = NO_EPOCH
    client_version: int = 0


@dataclass(frozen=True, slots=True)
class TransactionChange:
    """The new record of a transactional id, or its removal."""

    transactional_id: str
    value: TransactionRecord | None

    def encode_key(self) -> bytes:
        """Return the record's key, the same bytes for the same transactional id."""
        data = self.transactional_id.encode()
        return _INT16.pack(_KEY_VERSION) + _INT16.pack(len(data)) + data

    def encode_value(self) -> bytes | None:
        """Return the record's value; None is a tombstone."""
        value = self.value
        if value is None:
            return None
        head = _HEAD.pack(
            _VALUE_VERSION,
            value.producer_id,
            value.producer_epoch,
            value.timeout_ms,
            _NUMBERS[value.state],
        )
        times = _TIMES.pack(value.updated_at_ms, value.started_at_ms)
        return b"".join((head, _encode_partitions(value), times, _encode_tags(value)))


def decode_record(key: bytes, value: bytes | None) -> TransactionChange | None:
    """Read a record of `__transaction_state`; None if it is of a kind that Duolog does not keep.

    Raises:
        SerdeError: the bytes end too early, or the value has an unknown version or state.
    """
    try:
        (version,) = _INT16.unpack_from(key)
        if version != _KEY_VERSION:
            return None
        (size,) = _INT16.unpack_from(key, _INT16.size)
        text = key[2 * _INT16.size :]
        if len(text) != size:
            raise SerdeError("record of __transaction_state has a key of another length")
        return TransactionChange(text.decode(), None if value is None else _decode_value(value))
    except (error, IndexError) as problem:
        raise SerdeError("record of __transaction_state ends too early") from problem


def _encode_partitions(value: TransactionRecord) -> bytes:
    # Kafka writes null for an id that has no transaction, and its tools expect it.
    if value.state is TransactionState.EMPTY:
        return _varint(0)
    topics = [(topic, [p for _, p in some]) for topic, some in _by_topic(value.partitions)]
    parts = [_varint(len(topics) + 1)]
    for topic, partitions in topics:
        name = topic.encode()
        parts += (_varint(len(name) + 1), name, _varint(len(partitions) + 1))
        parts += (_INT32.pack(partition) for partition in partitions)
        parts.append(_varint(0))
    return b"".join(parts)


def _by_topic(
    partitions: frozenset[TopicPartition],
) -> Iterable[tuple[str, Iterable[TopicPartition]]]:
    return groupby(sorted(partitions), key=lambda topic_partition: topic_partition.topic)


def _encode_tags(value: TransactionRecord) -> bytes:
    tags = []
    if value.previous_producer_id != NO_PRODUCER:
        tags.append((_PREVIOUS_ID, _INT64.pack(value.previous_producer_id)))
    if value.next_producer_id != NO_PRODUCER:
        tags.append((_NEXT_ID, _INT64.pack(value.next_producer_id)))
    if value.client_version:
        tags.append((_CLIENT_VERSION, _INT16.pack(value.client_version)))
    if value.last_producer_epoch != NO_EPOCH:
        tags.append((_LAST_EPOCH, _INT16.pack(value.last_producer_epoch)))
    parts = [_varint(len(tags))]
    for tag, data in tags:
        parts += (_varint(tag), _varint(len(data)), data)
    return b"".join(parts)


def _decode_value(value: bytes) -> TransactionRecord:
    version, producer_id, producer_epoch, timeout_ms, number = _HEAD.unpack_from(value)
    if not 0 <= version <= _VALUE_VERSION or (number not in _STATES and number != _DEAD):
        raise SerdeError(
            f"record of __transaction_state has version {version} and state {number}",
            hint="It was written by a newer broker; use that one.",
        )
    reader = _Reader(value, _HEAD.size, flexible=version == _VALUE_VERSION)
    partitions = reader.partitions()
    updated_at_ms, started_at_ms = reader.take(_TIMES)
    tags = reader.tags()
    return TransactionRecord(
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        timeout_ms=timeout_ms,
        # Kafka writes Dead just before a tombstone; nothing of the id counts then.
        state=_STATES.get(number, TransactionState.EMPTY),
        partitions=partitions,
        updated_at_ms=updated_at_ms,
        started_at_ms=started_at_ms,
        previous_producer_id=_tag(tags, _PREVIOUS_ID, _INT64, NO_PRODUCER),
        next_producer_id=_tag(tags, _NEXT_ID, _INT64, NO_PRODUCER),
        last_producer_epoch=_tag(tags, _LAST_EPOCH, _INT16, NO_EPOCH),
        client_version=_tag(tags, _CLIENT_VERSION, _INT16, 0),
    )


def _tag(tags: dict[int, bytes], tag: int, form: Struct, default: int) -> int:
    found: int = form.unpack(tags[tag])[0] if tag in tags else default
    return found


def _varint(number: int) -> bytes:
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)
    return bytes(data)


class _Reader:
    """Reads one field after the other; `flexible` has compact lengths and tagged fields."""

    def __init__(self, data: bytes, position: int, *, flexible: bool) -> None:
        self._data = data
        self._position = position
        self._flexible = flexible

    def take(self, form: Struct) -> tuple[int, ...]:
        taken = form.unpack_from(self._data, self._position)
        self._position += form.size
        return taken

    def partitions(self) -> frozenset[TopicPartition]:
        found: list[TopicPartition] = []
        for _ in range(self._length(_INT32)):
            topic = self._bytes(self._length(_INT16)).decode()
            count = self._length(_INT32)
            found += (TopicPartition(topic, self.take(_INT32)[0]) for _ in range(count))
            self.tags()
        return frozenset(found)

    def tags(self) -> dict[int, bytes]:
        if not self._flexible:
            return {}
        return {self._varint(): self._bytes(self._varint()) for _ in range(self._varint())}

    def _length(self, form: Struct) -> int:
        return self._varint() - 1 if self._flexible else self.take(form)[0]

    def _bytes(self, size: int) -> bytes:
        taken = self._data[self._position : self._position + size]
        if len(taken) < size:
            raise IndexError(size)
        self._position += size
        return taken

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._data[self._position]
            self._position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
