"""The records of groups of the new protocol, in Kafka's own key and value schemas.

    key  int16 version · group id [· member id or expression]     value  int16 0 · flexible fields

    3  the group: epoch, hash of the topics that it reads            6  epoch of the target
    5  a member: who it is and what it reads                         7  a member's target
    8  a member: its epoch and what it owns or gives up              16 topics of an expression

A null value is a tombstone. Version 4 (the topics' partition counts) was replaced by the hash in
Kafka 4.1 and is not kept. The hash is Duolog's own: to another broker it means that the topics have
changed, which costs the group one new assignment.

Source: Kafka `ConsumerGroupMetadataValue.json` and its like, `GroupCoordinatorRecordHelpers`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import ClassVar, Final, NamedTuple
from uuid import UUID

from duolog.coordinator.field_reader import INT16, INT32, INT64
from duolog.coordinator.flexible import (
    NO_TAGS,
    FlexibleReader,
    array,
    compact,
    string,
    tags,
)
from duolog.coordinator.messages import MemberProtocol
from duolog.core.errors import SerdeError

Assignment = Mapping[UUID, frozenset[int]]
"""Partitions by the id of their topic; never changed, never with an empty set."""

EMPTY: Final[Assignment] = {}
_VERSION: Final = 0


class MemberState(IntEnum):
    """The progress of a member towards its target, under Kafka's numbers.

    Args:
        STABLE: it has all of its target at its epoch.
        UNREVOKED_PARTITIONS: it must revoke partitions before its epoch can advance.
        UNRELEASED_PARTITIONS: it waits for partitions that other members have not revoked yet.
        UNKNOWN: written by a newer broker.
    """

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127


_NO_STRUCT: Final = b"\0"
_STRUCT: Final = b"\1"
"""A struct that may be null begins with one of these. Kafka 4 takes a missing tag for an empty
struct, and so for a member of the classic protocol."""


class ClassicMetadata(NamedTuple):
    """The JoinGroup data of a member of the classic protocol."""

    session_timeout_ms: int
    protocols: tuple[MemberProtocol, ...]


_ABSENT: Final = ClassicMetadata(0, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberMetadata:
    """A member's identity and subscription. `topics` is sorted and has no duplicates."""

    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: tuple[str, ...] = ()
    regex: str | None = None
    rebalance_timeout_ms: int = -1
    assignor: str | None = None
    classic: ClassicMetadata | None = None


@dataclass(frozen=True, slots=True)
class CurrentAssignment:
    """The epoch of a member, and the partitions that it owns or must revoke."""

    epoch: int = 0
    previous_epoch: int = 0
    state: MemberState = MemberState.STABLE
    assigned: Assignment = field(default_factory=dict)
    revoking: Assignment = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ResolvedRegex:
    """The topics that matched an expression at the last check.

    Args:
        version: the version of the topics that were looked at; of this run of the broker only.
    """

    topics: frozenset[str]
    version: int
    resolved_at_ms: int


class _Record:
    """The base of all these records; `fields` names the key fields after the group id."""

    __slots__ = ()
    KEY: ClassVar[int]


@dataclass(frozen=True, slots=True)
class EpochChange(_Record):
    """The group's epoch; None removes the group."""

    KEY: ClassVar[int] = 3
    group_id: str
    epoch: int | None
    metadata_hash: int = 0

    def encode_key(self) -> bytes:
        return _key(self.KEY, self.group_id)

    def encode_value(self) -> bytes | None:
        if self.epoch is None:
            return None
        fields = {0: INT64.pack(self.metadata_hash)} if self.metadata_hash else {}
        return INT16.pack(_VERSION) + INT32.pack(self.epoch) + tags(fields)


@dataclass(frozen=True, slots=True)
class MemberChange(_Record):
    """A member, or its removal."""

    KEY: ClassVar[int] = 5
    group_id: str
    member_id: str
    value: MemberMetadata | None

    def encode_key(self) -> bytes:
        return _key(self.KEY, self.group_id, self.member_id)

    def encode_value(self) -> bytes | None:
        return None if self.value is None else _encode_member(self.value)


@dataclass(frozen=True, slots=True)
class TargetEpochChange(_Record):
    """The group epoch that the targets were computed for; None removes it."""

    KEY: ClassVar[int] = 6
    group_id: str
    epoch: int | None

    def encode_key(self) -> bytes:
        return _key(self.KEY, self.group_id)

    def encode_value(self) -> bytes | None:
        if self.epoch is None:
            return None
        return INT16.pack(_VERSION) + INT32.pack(self.epoch) + NO_TAGS


@dataclass(frozen=True, slots=True)
class TargetChange(_Record):
    """The target assignment of a member, or its removal."""

    KEY: ClassVar[int] = 7
    group_id: str
    member_id: str
    value: Assignment | None

    def encode_key(self) -> bytes:
        return _key(self.KEY, self.group_id, self.member_id)

    def encode_value(self) -> bytes | None:
        if self.value is None:
            return None
        return INT16.pack(_VERSION) + _encode_assignment(self.value) + NO_TAGS


@dataclass(frozen=True, slots=True)
class CurrentChange(_Record):
    """The current assignment of a member, or its removal."""

    KEY: ClassVar[int] = 8
    group_id: str
    member_id: str
    value: CurrentAssignment | None

    def encode_key(self) -> bytes:
        return _key(self.KEY, self.group_id, self.member_id)

    def encode_value(self) -> bytes | None:
        value = self.value
        if value is None:
            return None
        return b"".join(
            (
                INT16.pack(_VERSION),
                INT32.pack(value.epoch),
                INT32.pack(value.previous_epoch),
                value.state.to_bytes(1),
                _encode_assignment(value.assigned),
                _encode_assignment(value.revoking),
                NO_TAGS,
            )
        )


@dataclass(frozen=True, slots=True)
class RegexChange(_Record):
    """The topics of an expression, or their removal."""

    KEY: ClassVar[int] = 16
    group_id: str
    regex: str
    value: ResolvedRegex | None

    def encode_key(self) -> bytes:
        return _key(self.KEY, self.group_id, self.regex)

    def encode_value(self) -> bytes | None:
        value = self.value
        if value is None:
            return None
        topics = array(string(topic) for topic in sorted(value.topics))
        version, at_ms = INT64.pack(value.version), INT64.pack(value.resolved_at_ms)
        return INT16.pack(_VERSION) + topics + version + at_ms + NO_TAGS


ConsumerGroupRecord = (
    EpochChange | MemberChange | TargetEpochChange | TargetChange | CurrentChange | RegexChange
)
KEY_VERSIONS: Final = frozenset((3, 5, 6, 7, 8, 16))


def decode_record(key: bytes, value: bytes | None) -> ConsumerGroupRecord:
    """Read a record whose key version is one of `KEY_VERSIONS`.

    Raises:
        SerdeError: the bytes end too early, or the value has an unknown version.
    """
    reader = FlexibleReader(key)
    version = reader.int16()
    group_id = reader.plain_string()
    fields = None if value is None else _open_value(value)
    match version:
        case EpochChange.KEY:
            return _decode_epoch(group_id, fields)
        case TargetEpochChange.KEY:
            return TargetEpochChange(group_id, None if fields is None else fields.int32())
        case MemberChange.KEY:
            member = None if fields is None else _decode_member(fields)
            return MemberChange(group_id, reader.plain_string(), member)
        case TargetChange.KEY:
            target = None if fields is None else _decode_assignment(fields)
            return TargetChange(group_id, reader.plain_string(), target)
        case CurrentChange.KEY:
            current = None if fields is None else _decode_current(fields)
            return CurrentChange(group_id, reader.plain_string(), current)
        case RegexChange.KEY:
            resolved = None if fields is None else _decode_regex(fields)
            return RegexChange(group_id, reader.plain_string(), resolved)
    raise AssertionError(f"key version {version} is not a consumer group's")


def _key(version: int, *texts: str) -> bytes:
    parts = [INT16.pack(version)]
    for text in texts:
        data = text.encode()
        parts += (INT16.pack(len(data)), data)
    return b"".join(parts)


def _open_value(value: bytes) -> FlexibleReader:
    reader = FlexibleReader(value)
    version = reader.int16()
    if version != _VERSION:
        raise SerdeError(
            f"record of __consumer_offsets has a value of version {version}",
            hint="It was written by a newer broker; use that one.",
        )
    return reader


def _decode_epoch(group_id: str, fields: FlexibleReader | None) -> EpochChange:
    if fields is None:
        return EpochChange(group_id, None)
    epoch = fields.int32()
    tagged = fields.tags().get(0)
    return EpochChange(group_id, epoch, FlexibleReader(tagged).int64() if tagged else 0)


def _encode_member(value: MemberMetadata) -> bytes:
    tagged = {}
    if value.classic is None:
        tagged[0] = _NO_STRUCT
    elif value.classic != _ABSENT:
        protocols = array(
            string(protocol.name) + compact(protocol.metadata) + NO_TAGS
            for protocol in value.classic.protocols
        )
        timeout = INT32.pack(value.classic.session_timeout_ms)
        tagged[0] = _STRUCT + timeout + protocols + NO_TAGS
    return b"".join(
        (
            INT16.pack(_VERSION),
            string(value.instance_id),
            string(value.rack_id),
            string(value.client_id),
            string(value.client_host),
            array(string(topic) for topic in value.topics),
            string(value.regex),
            INT32.pack(value.rebalance_timeout_ms),
            string(value.assignor),
            tags(tagged),
        )
    )


def _decode_member(fields: FlexibleReader) -> MemberMetadata:
    value = MemberMetadata(
        instance_id=fields.nullable_string(),
        rack_id=fields.nullable_string(),
        client_id=fields.string(),
        client_host=fields.string(),
        topics=fields.array(fields.string),
        regex=fields.nullable_string(),
        rebalance_timeout_ms=fields.int32(),
        assignor=fields.nullable_string(),
    )
    tagged = fields.tags().get(0)
    classic = _ABSENT if tagged is None else _decode_classic(FlexibleReader(tagged))
    return replace(value, classic=classic)


def _decode_classic(fields: FlexibleReader) -> ClassicMetadata | None:
    if fields.int8() < 1:
        return None

    def protocol() -> MemberProtocol:
        found = MemberProtocol(fields.string(), fields.data())
        fields.tags()
        return found

    return ClassicMetadata(fields.int32(), fields.array(protocol))


def _decode_current(fields: FlexibleReader) -> CurrentAssignment:
    epoch, previous_epoch, number = fields.int32(), fields.int32(), fields.int8()
    known = number in MemberState.__members__.values()
    state = MemberState(number) if known else MemberState.UNKNOWN
    assigned, revoking = _decode_assignment(fields), _decode_assignment(fields)
    return CurrentAssignment(epoch, previous_epoch, state, assigned, revoking)


def _decode_regex(fields: FlexibleReader) -> ResolvedRegex:
    return ResolvedRegex(frozenset(fields.array(fields.string)), fields.int64(), fields.int64())


def _encode_assignment(value: Assignment) -> bytes:
    return array(
        topic_id.bytes + array(INT32.pack(index) for index in sorted(value[topic_id])) + NO_TAGS
        for topic_id in sorted(value)
    )


def _decode_assignment(fields: FlexibleReader) -> Assignment:
    def topic() -> tuple[UUID, frozenset[int]]:
        found = fields.uuid(), frozenset(fields.array(fields.int32))
        fields.tags()
        return found

    return dict(fields.array(topic))
