"""Reads the fields of a record of `__consumer_offsets`, one after the other.

What both forms of Kafka's messages share: integers, and unsigned varints. Lengths differ, so each
form has its own reader: `records` and `flexible`.
"""

from struct import Struct
from typing import Final

from duolog.core.errors import SerdeError

INT16: Final = Struct(">h")
INT32: Final = Struct(">i")
INT64: Final = Struct(">q")


class FieldReader:
    """A position in some bytes, which every read moves on.

    Raises:
        SerdeError: a field ends after the bytes do.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def int16(self) -> int:
        return self._fixed(INT16)

    def int32(self) -> int:
        return self._fixed(INT32)

    def int64(self) -> int:
        return self._fixed(INT64)

    def varint(self) -> int:
        """Read an unsigned varint."""
        value = shift = 0
        while True:
            byte = self._take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def _fixed(self, form: Struct) -> int:
        value: int = form.unpack(self._take(form.size))[0]
        return value

    def _take(self, size: int) -> bytes:
        taken = self._data[self._position : self._position + size]
        if len(taken) < size:
            raise SerdeError("record of __consumer_offsets ends too early")
        self._position += size
        return taken
