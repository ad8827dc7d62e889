"""Find schema ids in the headers of a record.

Source: Kafka `DefaultRecord.readHeaders`.
"""

from typing import Final

from duolog.broker.schema_checks.frames import UNFRAMED, frame_at
from duolog.broker.schema_checks.varints import read_signed
from duolog.record.errors import CorruptBatch

_KEY_HEADER: Final = b"__key_schema_id"
_VALUE_HEADER: Final = b"__value_schema_id"


def frames_in_headers(plain: bytes, position: int, end: int) -> tuple[bytes | None, bytes | None]:
    """Return the frames in the headers of a record: the one of its key, the one of its value.

    Raises:
        CorruptBatch: the headers cannot be read.
        IndexError: the bytes end before they do.
    """
    key: bytes | None = None
    value: bytes | None = None
    length, position = read_signed(plain, position)
    if length < 0:
        raise CorruptBatch("record has an impossible number of headers")
    for _ in range(length):
        length, position = read_signed(plain, position)
        if length < 0 or position + length > end:
            raise CorruptBatch("header of a record is cut off")
        name = plain[position : position + length]
        length, position = read_signed(plain, position + length)
        content = plain[position : position + max(length, 0)]
        position += max(length, 0)
        if position > end:
            raise CorruptBatch("header of a record is cut off")
        if name == _KEY_HEADER:
            key = _frame(content)
        elif name == _VALUE_HEADER:
            value = _frame(content)
    return key, value


def _frame(content: bytes) -> bytes:
    return frame_at(content, 0, len(content), names_record=True) if content else UNFRAMED
