"""The flexible form of Kafka's messages: compact lengths, and tagged fields at the end.

    compact length  unsigned varint of length + 1, 0 = null
    tagged fields   count · (tag · size · bytes), all unsigned varints

Source: KIP-482.
"""

from collections.abc import Callable, Iterable
from typing import Final, TypeVar
from uuid import UUID

from duolog.coordinator.field_reader import FieldReader
from duolog.core.errors import SerdeError

NO_TAGS: Final = b"\0"

Item = TypeVar("Item")


def varint(value: int) -> bytes:
    """Return an unsigned varint.

    Example:
        >>> varint(300).hex()
        'ac02'
    """
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    data.append(value)
    return bytes(data)


def string(text: str | None) -> bytes:
    return b"\0" if text is None else compact(text.encode())


def compact(data: bytes) -> bytes:
    return varint(len(data) + 1) + data


def array(items: Iterable[bytes]) -> bytes:
    parts = list(items)
    return varint(len(parts) + 1) + b"".join(parts)


def tags(fields: dict[int, bytes]) -> bytes:
    """Return tagged fields, in the order of their tags."""
    parts = [varint(len(fields))]
    parts += (varint(tag) + varint(len(data)) + data for tag, data in sorted(fields.items()))
    return b"".join(parts)


class FlexibleReader(FieldReader):
    """Reads one field after the other."""

    def int8(self) -> int:
        return int.from_bytes(self._take(1), signed=True)

    def uuid(self) -> UUID:
        return UUID(bytes=self._take(16))

    def plain_string(self) -> str:
        """Read a string of the older form, with a length of two bytes, as used in keys."""
        return self._take(max(self.int16(), 0)).decode()

    def string(self) -> str:
        text = self.nullable_string()
        if text is None:
            raise SerdeError("record of __consumer_offsets has a null instead of a string")
        return text

    def nullable_string(self) -> str | None:
        size = self.varint() - 1
        return None if size < 0 else self._take(size).decode()

    def data(self) -> bytes:
        return self._take(max(self.varint() - 1, 0))

    def array(self, read: Callable[[], Item]) -> tuple[Item, ...]:
        return tuple(read() for _ in range(self.varint() - 1))

    def tags(self) -> dict[int, bytes]:
        found = {}
        for _ in range(self.varint()):
            tag = self.varint()
            found[tag] = self._take(self.varint())
        return found
