"""A checksum over the records of a partition that can be continued after an interruption."""

import struct
from collections.abc import Sequence
from typing import Final

import crc32c

Headers = Sequence[tuple[str, bytes | None]]

_NULL: Final = struct.pack(">i", -1)
_TIMESTAMP_WRITTEN_FOR_ZERO: Final = 1


def add_record(
    checksum: int, key: bytes | None, value: bytes | None, timestamp_ms: int, headers: Headers
) -> int:
    """Return the CRC32C of all records so far and this one.

    Lengths are part of it, so that no two different records have the same bytes. Null differs from
    an empty text.
    """
    parts = [struct.pack(">qi", timestamp_ms, len(headers)), _field(key), _field(value)]
    for name, content in headers:
        parts += (_field(name.encode()), _field(content))
    return int(crc32c.crc32c(b"".join(parts), checksum))


def writable_timestamp(timestamp_ms: int) -> int:
    """Return the timestamp with which a record is copied: 0 becomes 1 ms.

    librdkafka replaces a timestamp of 0 by the current time.
    """
    return timestamp_ms or _TIMESTAMP_WRITTEN_FOR_ZERO


def _field(content: bytes | None) -> bytes:
    return _NULL if content is None else struct.pack(">i", len(content)) + content
