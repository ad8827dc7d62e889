"""The records of `__consumer_offsets`, in Kafka's own key and value schemas.

    key    int16 version · fields        1: group, topic, partition     2: group
    value  int16 version · fields        OffsetCommitValue 1, 4         GroupMetadataValue 3
                                         (read: 0 to 4)                 (read: 0 to 4)

Big-endian; strings have an int16 length (-1 = null), bytes and arrays an int32 one. Version 4 of
both values is flexible: compact lengths (unsigned varint of length + 1) and tagged fields. A null
value is a tombstone. Keys of higher versions are those of consumer groups and others; see
`decoding`. Tag 0 of an offset is the id of its topic, as Kafka writes it since 4.1: an offset of an
earlier topic of the same name must not count for the one that has the name now.

Source: Kafka `OffsetCommitKey.json`, `OffsetCommitValue.json`, `GroupMetadataKey.json`,
`GroupMetadataValue.json`, `GroupCoordinatorRecordHelpers`.
"""

from dataclasses import dataclass
from functools import lru_cache
from struct import Struct
from sys import intern
from typing import Final, NamedTuple, Protocol
from uuid import UUID

from duolog.coordinator.field_reader import INT16, INT32, INT64, FieldReader
from duolog.coordinator.flexible import NO_TAGS, string
from duolog.core.errors import SerdeError
from duolog.core.ids import TopicPartition

OFFSET_KEY_VERSION: Final = 1
OFFSET_VALUE_VERSION: Final = 4
GROUP_KEY_VERSION: Final = 2
FLEXIBLE_VERSION: Final = 4
TEXT_BYTES_MAX: Final = 2**15 - 1
"""The longest string that a record holds; requests of flexible versions can bring longer ones."""

NO_TOPIC_ID: Final = UUID(int=0)
"""The topic id of an offset record without one: the offset counts for any topic of its name."""

_TWO_INT16: Final = Struct(">hh")
_USUAL_HEAD: Final = Struct(">hqiB")
"""The encoding of a committed offset: version, offset, leader epoch, length of the metadata + 1."""

_TOPIC_ID_TAG: Final = b"\x01\x00\x10"
"""One tagged field, number 0, of 16 bytes."""

_USUAL_TAIL: Final = Struct(">q3s16s")


class OffsetRecord(NamedTuple):
    """The value of a committed offset."""

    offset: int
    leader_epoch: int
    metadata: str
    committed_at_ms: int
    expires_at_ms: int = -1
    topic_id: UUID = NO_TOPIC_ID


class MemberRecord(NamedTuple):
    """One member in a group's record."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    assignment: bytes


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """A group at the end of a rebalance."""

    protocol_type: str
    generation: int
    protocol_name: str | None
    leader_id: str | None
    state_changed_at_ms: int
    members: tuple[MemberRecord, ...]


class CoordinatorRecord(Protocol):
    """One record of `__consumer_offsets`, of whichever kind."""

    @property
    def group_id(self) -> str: ...

    def encode_key(self) -> bytes:
        """Return the record's key, the same bytes for the same group, member or offset."""

    def encode_value(self) -> bytes | None:
        """Return the record's value; None is a tombstone."""


@dataclass(frozen=True, slots=True)
class OffsetChange:
    """A committed offset, or its removal."""

    group_id: str
    topic_partition: TopicPartition
    value: OffsetRecord | None

    def encode_key(self) -> bytes:
        topic, partition = self.topic_partition
        return b"".join(
            (
                INT16.pack(OFFSET_KEY_VERSION),
                _string(self.group_id),
                _string(topic),
                INT32.pack(partition),
            )
        )

    def encode_value(self) -> bytes | None:
        return None if self.value is None else _encode_offset(self.value)


@dataclass(frozen=True, slots=True)
class GroupChange:
    """A group's new state, or its removal."""

    group_id: str
    value: GroupRecord | None

    def encode_key(self) -> bytes:
        return INT16.pack(GROUP_KEY_VERSION) + _string(self.group_id)

    def encode_value(self) -> bytes | None:
        return None if self.value is None else _encode_group(self.value)


def key_version(key: bytes) -> int:
    """Return what kind of record has this key.

    Raises:
        SerdeError: the key ends too early.
    """
    return _Reader(key).int16()


def decode_classic_record(key: bytes, value: bytes | None) -> OffsetChange | GroupChange:
    """Read an offset or a classic group; the key's version is one of those.

    Raises:
        SerdeError: the bytes end too early, or a value has an unknown version.
    """
    # Nearly all records are offsets as they are written today, and a start reads a million.
    change = _usual_offset(key, value)
    if change is not None:
        return change
    reader = _Reader(key)
    version = reader.int16()
    assert version <= GROUP_KEY_VERSION
    group_id = reader.text()
    if version == GROUP_KEY_VERSION:
        return GroupChange(group_id, None if value is None else _decode_group(value))
    topic_partition = TopicPartition(reader.text(), reader.int32())
    return OffsetChange(group_id, topic_partition, None if value is None else _decode_offset(value))


def _usual_offset(key: bytes, value: bytes | None) -> OffsetChange | None:
    """Return an offset of version 4 with a short text; None if anything is not as usual."""
    if value is None or len(key) < INT32.size or len(value) < _USUAL_HEAD.size:
        return None
    key_version, group_bytes = _TWO_INT16.unpack_from(key)
    value_version, offset, leader_epoch, metadata_length = _USUAL_HEAD.unpack_from(value)
    topic_at = _TWO_INT16.size + group_bytes + INT16.size
    tail_at = _USUAL_HEAD.size + metadata_length - 1
    if (
        key_version != OFFSET_KEY_VERSION
        or value_version != OFFSET_VALUE_VERSION
        or group_bytes < 0
        or not 0 < metadata_length < 0x80
        or len(key) < topic_at + INT32.size
        or len(value) != tail_at + _USUAL_TAIL.size
    ):
        return None
    committed_at_ms, tag, topic_id = _USUAL_TAIL.unpack_from(value, tail_at)
    (topic_bytes,) = INT16.unpack_from(key, topic_at - INT16.size)
    if len(key) != topic_at + topic_bytes + INT32.size or topic_bytes < 0 or tag != _TOPIC_ID_TAG:
        return None
    (partition,) = INT32.unpack_from(key, topic_at + topic_bytes)
    # A name that a million offsets have is kept once.
    group_id = intern(key[_TWO_INT16.size : topic_at - INT16.size].decode())
    topic = intern(key[topic_at : topic_at + topic_bytes].decode())
    metadata = value[_USUAL_HEAD.size : tail_at].decode()
    record = OffsetRecord(
        offset, leader_epoch, metadata, committed_at_ms, topic_id=_topic_id(topic_id)
    )
    return OffsetChange(group_id, TopicPartition(topic, partition), record)


def _encode_offset(value: OffsetRecord) -> bytes:
    # Version 1 is the only one with an expiry; Kafka writes it for the same reason.
    if value.expires_at_ms != -1:
        return b"".join(
            (
                INT16.pack(1),
                INT64.pack(value.offset),
                _string(value.metadata),
                INT64.pack(value.committed_at_ms),
                INT64.pack(value.expires_at_ms),
            )
        )
    tagged = NO_TAGS if value.topic_id == NO_TOPIC_ID else _TOPIC_ID_TAG + value.topic_id.bytes
    return b"".join(
        (
            INT16.pack(OFFSET_VALUE_VERSION),
            INT64.pack(value.offset),
            INT32.pack(value.leader_epoch),
            string(value.metadata),
            INT64.pack(value.committed_at_ms),
            tagged,
        )
    )


@lru_cache(1024)
def _topic_id(data: bytes) -> UUID:
    """Return an id, the same object for the offsets of one topic."""
    return UUID(bytes=data)


def _decode_offset(value: bytes) -> OffsetRecord:
    reader, version = _open_value(value)
    offset = reader.int64()
    leader_epoch = reader.int32() if version >= 3 else -1
    metadata = reader.text()
    committed_at_ms = reader.int64()
    expires_at_ms = reader.int64() if version == 1 else -1
    topic_id = reader.tags().get(0)
    return OffsetRecord(
        offset,
        leader_epoch,
        metadata,
        committed_at_ms,
        expires_at_ms,
        NO_TOPIC_ID if topic_id is None else UUID(bytes=topic_id),
    )


def _encode_group(value: GroupRecord) -> bytes:
    parts = [
        INT16.pack(3),
        _string(value.protocol_type),
        INT32.pack(value.generation),
        _string(value.protocol_name),
        _string(value.leader_id),
        INT64.pack(value.state_changed_at_ms),
        INT32.pack(len(value.members)),
    ]
    for member in value.members:
        parts += (
            _string(member.member_id),
            _string(member.instance_id),
            _string(member.client_id),
            _string(member.client_host),
            INT32.pack(member.rebalance_timeout_ms),
            INT32.pack(member.session_timeout_ms),
            INT32.pack(len(member.subscription)),
            member.subscription,
            INT32.pack(len(member.assignment)),
            member.assignment,
        )
    return b"".join(parts)


def _decode_group(value: bytes) -> GroupRecord:
    reader, version = _open_value(value)
    protocol_type = reader.text()
    generation = reader.int32()
    protocol_name = reader.nullable_text()
    leader_id = reader.nullable_text()
    state_changed_at_ms = reader.int64() if version >= 2 else -1
    members = tuple(_decode_member(reader, version) for _ in range(reader.length()))
    return GroupRecord(
        protocol_type, generation, protocol_name, leader_id, state_changed_at_ms, members
    )


def _decode_member(reader: "_Reader", version: int) -> MemberRecord:
    member_id = reader.text()
    instance_id = reader.nullable_text() if version >= 3 else None
    client_id = reader.text()
    client_host = reader.text()
    rebalance_timeout_ms = reader.int32() if version >= 1 else -1
    session_timeout_ms = reader.int32()
    if rebalance_timeout_ms < 0:
        rebalance_timeout_ms = session_timeout_ms
    subscription = reader.data()
    assignment = reader.data()
    reader.tags()
    return MemberRecord(
        member_id,
        instance_id,
        client_id,
        client_host,
        rebalance_timeout_ms,
        session_timeout_ms,
        subscription,
        assignment,
    )


def _open_value(value: bytes) -> tuple["_Reader", int]:
    version = _Reader(value).int16()
    if not 0 <= version <= FLEXIBLE_VERSION:
        raise SerdeError(
            f"record of __consumer_offsets has a value of version {version}",
            hint="It was written by a newer broker; use that one.",
        )
    reader = _Reader(value, flexible=version == FLEXIBLE_VERSION)
    reader.int16()
    return reader, version


def _string(text: str | None) -> bytes:
    if text is None:
        return b"\xff\xff"
    data = text.encode()
    return INT16.pack(len(data)) + data


class _Reader(FieldReader):
    """Reads one field after the other; `flexible` has compact lengths and tagged fields."""

    def __init__(self, data: bytes, *, flexible: bool = False) -> None:
        super().__init__(data)
        self._flexible = flexible

    def text(self) -> str:
        text = self.nullable_text()
        if text is None:
            raise SerdeError("record of __consumer_offsets has a null instead of a string")
        return text

    def nullable_text(self) -> str | None:
        size = self.varint() - 1 if self._flexible else self.int16()
        return None if size < 0 else self._take(size).decode()

    def data(self) -> bytes:
        return self._take(max(self.length(), 0))

    def length(self) -> int:
        return self.varint() - 1 if self._flexible else self.int32()

    def tags(self) -> dict[int, bytes]:
        if not self._flexible:
            return {}
        return {self.varint(): self._take(self.varint()) for _ in range(self.varint())}
