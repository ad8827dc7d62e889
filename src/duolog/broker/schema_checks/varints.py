"""Read the zigzag-encoded numbers of 32 bits in records.

Source: Kafka `ByteUtils.readVarint`.
"""

from typing import Final

from duolog.record.errors import CorruptBatch

_SHIFT_MAX: Final = 28
"""Of the last byte of a number of 32 bits."""


def read_signed(plain: bytes, position: int) -> tuple[int, int]:
    """Return the number at a position, and the position after it.

    Raises:
        CorruptBatch: it has more than five bytes.
        IndexError: the bytes end before it does.
    """
    zigzag, position = read_zigzag(plain, position)
    return (zigzag >> 1) ^ -(zigzag & 1), position


def read_zigzag(plain: bytes, position: int) -> tuple[int, int]:
    """Return the still encoded number at a position, and the position after it.

    Raises:
        CorruptBatch: it has more than five bytes.
        IndexError: the bytes end before it does.
    """
    value = shift = 0
    while True:
        byte = plain[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > _SHIFT_MAX:
            raise CorruptBatch("record has a length of more than five bytes")
