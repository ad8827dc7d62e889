"""The place of a message in its file, as records of Confluent's wire format name it.

`[1, 0]` is the first message inside the second message of the file. On the wire the numbers follow
their count, each as a zig-zag varint; `[0]`, the most frequent, is written as the single byte 0.
"""

from collections.abc import Sequence

from duolog.schemas.protobuf.elements import DEPTH_MAX, File, Message, of

_VARINT_BYTES_MAX = 5  # of an integer of 32 bits


def message_at(file: File, indexes: Sequence[int]) -> str | None:
    """Return the name of a message without the package; None if there is none at this place.

    The entry of a map has a place if the schema was registered as a descriptor, but no writer
    writes it alone.
    """
    members: Sequence[object] = file.members
    names: list[str] = []
    for index in indexes or (0,):
        messages = of(Message, members)
        if not 0 <= index < len(messages) or messages[index].is_map_entry:
            return None
        names.append(messages[index].name)
        members = messages[index].members
    return ".".join(names)


def indexes_of(file: File, name: str) -> tuple[int, ...] | None:
    """Return the place of a message, given its name without the package; None if there is none."""
    members: Sequence[object] = file.members
    indexes: list[int] = []
    for part in name.split("."):
        messages = of(Message, members)
        index = next((n for n, message in enumerate(messages) if message.name == part), None)
        if index is None:
            return None
        indexes.append(index)
        members = messages[index].members
    return tuple(indexes)


def encode_indexes(indexes: Sequence[int]) -> bytes:
    r"""Return the bytes before a record's message.

    Example:
        >>> encode_indexes([0]), encode_indexes([1, 0])
        (b'\x00', b'\x04\x02\x00')
    """
    if list(indexes) == [0]:
        return b"\x00"
    return b"".join(_varint(number) for number in (len(indexes), *indexes))


def decode_indexes(data: bytes | memoryview, offset: int = 0) -> tuple[tuple[int, ...], int]:
    r"""Return the place of a record's message, and the offset after it.

    Raises:
        ValueError: the bytes are no such place.

    Example:
        >>> decode_indexes(b"\x04\x02\x00rest")
        ((1, 0), 3)
    """
    count, offset = _read_varint(data, offset)
    if not 0 <= count <= DEPTH_MAX:
        raise ValueError(f"{count} message indexes, expected at most {DEPTH_MAX}")
    indexes: list[int] = []
    for _ in range(count):
        index, offset = _read_varint(data, offset)
        indexes.append(index)
    return tuple(indexes) or (0,), offset


def _varint(number: int) -> bytes:
    value = number << 1
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _read_varint(data: bytes | memoryview, offset: int) -> tuple[int, int]:
    value = 0
    for shift in range(_VARINT_BYTES_MAX):
        if offset >= len(data):
            raise ValueError("the message indexes are cut off")
        byte = data[offset]
        offset += 1
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), offset
    raise ValueError("a message index has more than 32 bits")
