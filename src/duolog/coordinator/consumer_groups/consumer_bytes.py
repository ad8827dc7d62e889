"""Subscriptions and assignments as members of the classic protocol write and read them.

    subscription  int16 version · topics · user data [1: owned partitions] [2: generation] [3: rack]
    assignment    int16 version · partitions by topic · user data

Source: Kafka `ConsumerProtocolSubscription.json`, `ConsumerProtocolAssignment.json`.
"""

from collections.abc import Iterable, Mapping
from struct import Struct, pack
from struct import error as StructError
from typing import Final, NamedTuple

from duolog.coordinator.errors import InconsistentGroupProtocol

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_NO_USER_DATA: Final = b"\xff\xff\xff\xff"

PartitionsByTopic = Mapping[str, frozenset[int]]


class Subscription(NamedTuple):
    """The subscription and owned partitions of a member of the classic protocol."""

    version: int
    topics: tuple[str, ...]
    owned: PartitionsByTopic
    rack_id: str | None


def read_subscription(data: bytes) -> Subscription:
    """Read a member's metadata.

    Raises:
        InconsistentGroupProtocol: it is not in the consumer protocol's form.
    """
    try:
        reader = _Reader(data)
        version = reader.int16()
        topics = tuple(reader.string() or "" for _ in range(reader.int32()))
        reader.data()
        owned = reader.partitions() if version >= 1 else {}
        if version >= 2:
            reader.int32()
        rack_id = reader.string() if version >= 3 else None
    except (StructError, UnicodeDecodeError) as error:
        raise InconsistentGroupProtocol("a member's subscription cannot be read") from error
    return Subscription(version, topics, owned, rack_id)


def read_assignment(data: bytes) -> PartitionsByTopic:
    """Decode the assignment of a member by the leader; empty if there is none yet.

    Raises:
        InconsistentGroupProtocol: it is not in the consumer protocol's form.
    """
    if not data:
        return {}
    try:
        reader = _Reader(data)
        reader.int16()
        return reader.partitions()
    except (StructError, UnicodeDecodeError) as error:
        raise InconsistentGroupProtocol("a member's assignment cannot be read") from error


def write_assignment(version: int, assignment: Mapping[str, Iterable[int]]) -> bytes:
    """Return an assignment in a version that the member understands."""
    parts = [_INT16.pack(version), _INT32.pack(len(assignment))]
    for topic, indexes in sorted(assignment.items()):
        name, ordered = topic.encode(), sorted(indexes)
        parts += (_INT16.pack(len(name)), name, _INT32.pack(len(ordered)))
        parts.append(pack(f">{len(ordered)}i", *ordered))
    return b"".join(parts) + _NO_USER_DATA


class _Reader:
    """Reads one field after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def int16(self) -> int:
        return self._fixed(_INT16)

    def int32(self) -> int:
        return self._fixed(_INT32)

    def string(self) -> str | None:
        size = self.int16()
        return None if size < 0 else self._take(size).decode()

    def data(self) -> bytes:
        return self._take(max(self.int32(), 0))

    def partitions(self) -> PartitionsByTopic:
        found: dict[str, frozenset[int]] = {}
        for _ in range(self.int32()):
            topic = self.string() or ""
            found[topic] = frozenset(self.int32() for _ in range(self.int32()))
        return found

    def _fixed(self, form: Struct) -> int:
        value: int = form.unpack_from(self._data, self._position)[0]
        self._position += form.size
        return value

    def _take(self, size: int) -> bytes:
        taken = self._data[self._position : self._position + size]
        if len(taken) < size:
            raise StructError("too short")
        self._position += size
        return taken
