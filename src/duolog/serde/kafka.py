"""Format KAFKA: one column, in the format of Kafka's own serializers.

    BOOLEAN   1 byte, 0 or 1
    INT       4 bytes, big endian
    BIGINT    8 bytes, big endian
    DOUBLE    8 bytes, big endian IEEE 754
    STRING    UTF-8
    BYTES     unchanged

Source: `org.apache.kafka.common.serialization`.
"""

import math
import struct
from collections.abc import Callable
from typing import Final, cast

from duolog.core.counts import counted_are
from duolog.core.errors import SerdeError
from duolog.core.types import BIGINT, BOOLEAN, BYTES, DOUBLE, INT, STRING, Column, Type
from duolog.serde.row import Row

_PACKED: Final = {BOOLEAN: "?", INT: ">i", BIGINT: ">q", DOUBLE: ">d"}


class KafkaSerde:
    """Reads and writes rows of one column of a plain type."""

    def __init__(self, columns: tuple[Column, ...]) -> None:
        if len(columns) != 1 or columns[0].type not in (*_PACKED, STRING, BYTES):
            raise SerdeError("format KAFKA carries one column of a plain type")
        self._column = columns[0]
        self._write, self._read = _functions(columns[0].type)

    def serialize(self, row: Row | None) -> bytes | None:
        if row is None or row[0] is None:
            return None
        try:
            return self._write(row[0])
        except (struct.error, AttributeError, TypeError, UnicodeEncodeError) as error:
            raise SerdeError(
                f'cannot write column "{self._column.name}"',
                detail=f"{row[0]!r} is not a valid {self._column.type}.",
            ) from error

    def deserialize(self, data: bytes | None) -> Row | None:
        if data is None:
            return None
        try:
            return (self._read(data),)
        except (struct.error, UnicodeDecodeError) as error:
            raise SerdeError(
                f'cannot read column "{self._column.name}"',
                detail=f"{counted_are(len(data), 'byte')} not a valid {self._column.type}: "
                f"{error}.",
            ) from error


def _functions(of: Type) -> tuple[Callable[[object], bytes], Callable[[bytes], object]]:
    if of == STRING:
        return (lambda value: cast("str", value).encode(), lambda data: data.decode())
    if of == BYTES:
        return (lambda value: memoryview(cast("bytes", value)).tobytes(), lambda data: data)
    packed = struct.Struct(_PACKED[of])
    if of == BOOLEAN:
        return (packed.pack, _boolean)
    if of == DOUBLE:
        return (lambda value: packed.pack(_one_nan(value)), lambda data: packed.unpack(data)[0])
    return (packed.pack, lambda data: packed.unpack(data)[0])


def _one_nan(value: object) -> object:
    """Return a number, with one NaN for all, as in Kafka's serializer: equal keys, equal bytes."""
    return math.nan if value != value else value  # noqa: PLR0124 - what NaN is


def _boolean(data: bytes) -> bool:
    if data not in {b"\0", b"\1"}:
        raise struct.error("neither 0 nor 1")
    return data == b"\1"
