"""Packs many records for one call of the kernel's driver, as `PackedRecords.java` does."""

import struct
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from duolog.testing.reference import SourceRecord

_NONE: Final = -1
_LENGTH: Final = struct.Struct(">i")
_PLACE: Final = struct.Struct(">iqq")
_WRITTEN: Final = struct.Struct(">iq")


class Sunk(NamedTuple):
    """A record that a sink wrote; its partition unless the key decides."""

    topic: str
    partition: int | None
    ts: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


def pack(records: Iterable[SourceRecord]) -> bytearray:
    """Return records in the driver's input format."""
    packed = bytearray()
    for record in records:
        packed += _bytes(record.topic.encode())
        packed += _PLACE.pack(record.partition, record.offset, record.timestamp_ms)
        packed += _bytes(record.key) + _bytes(record.value) + _LENGTH.pack(len(record.headers))
        for name, data in record.headers:
            packed += _bytes(name.encode()) + _bytes(data)
    return packed


def unpack(packed: bytes) -> Iterator[Sunk]:
    """Yield the records that the driver wrote."""
    at = 0

    def take() -> bytes | None:
        nonlocal at
        (length,) = _LENGTH.unpack_from(packed, at)
        at += _LENGTH.size + max(length, 0)
        return None if length == _NONE else packed[at - length : at]

    def text() -> str:
        return (take() or b"").decode()

    while at < len(packed):
        topic = text()
        partition, ts = _WRITTEN.unpack_from(packed, at)
        at += _WRITTEN.size
        key, value = take(), take()
        (count,) = _LENGTH.unpack_from(packed, at)
        at += _LENGTH.size
        headers = tuple((text(), take()) for _ in range(count))
        yield Sunk(topic, None if partition == _NONE else partition, ts, key, value, headers)


def _bytes(data: bytes | None) -> bytes:
    return _LENGTH.pack(_NONE) if data is None else _LENGTH.pack(len(data)) + data
