"""Metadata, API key 3, versions 0-13: hand-written codec.

    request   [topic: id (v10), name] · allow_auto_topic_creation (v4) ·
              include_..._authorized_operations (v8)
    response  throttle_ms (v3) · [broker: id, host, port, rack (v1)] · cluster_id (v2) ·
              controller_id (v1) · [topic] · cluster_authorized_operations (v8-10) · error (v13)
    topic     error · name · id (v10) · is_internal (v1) · [partition] · authorized_operations (v8)
    partition error · index · leader · leader_epoch (v7) · [replica] · [isr] · [offline (v5)]

Each topic is encoded separately, so that the broker can cache the parts and assemble responses from
them. Encoding with a library takes 20 us per topic, and clients request all topics repeatedly.

Source: Kafka `MetadataRequest.json`, `MetadataResponse.json`; KIP-516.
"""

from collections.abc import Collection, Sequence
from struct import Struct
from typing import Final, NamedTuple
from uuid import UUID

from duolog.protocol.error_codes import ErrorCode
from duolog.protocol.errors import MalformedRequest
from duolog.protocol.operations import OPERATIONS_NOT_ASKED
from duolog.protocol.wire import (
    INT16,
    INT32,
    NULL_UUID,
    read_array_length,
    read_string,
    read_uuid,
    skip_tagged_fields,
    write_array_length,
    write_string,
)

VERSIONS: Final = range(14)

_FIRST_NULL_MEANS_ALL: Final = 1
_FIRST_CLUSTER_ID: Final = 2
FIRST_THROTTLE: Final = 3
_FIRST_AUTO_CREATION: Final = 4
_FIRST_OFFLINE: Final = 5
_FIRST_LEADER_EPOCH: Final = 7
_AUTHORIZED_OPERATIONS: Final = range(8, 14)
_CLUSTER_OPERATIONS: Final = range(8, 11)
_FIRST_FLEXIBLE: Final = 9
_FIRST_TOPIC_ID: Final = 10
_FIRST_ERROR: Final = 13

_PARTITION: Final = Struct(">hii")
_NO_LEADER: Final = -1


class TopicQuestion(NamedTuple):
    """A requested topic: by name, or by id if the name is None."""

    name: str | None
    topic_id: UUID | None


class MetadataRequest(NamedTuple):
    """A metadata request; `topics` is None if all topics are requested."""

    topics: list[TopicQuestion] | None
    auto_create: bool
    cluster_operations: bool = False
    """Whether the client requests its authorized operations on the cluster and on each topic."""
    topic_operations: bool = False


class BrokerRow(NamedTuple):
    """A broker with the address that clients use."""

    node_id: int
    host: str
    port: int
    rack: str | None = None


class TopicRow(NamedTuple):
    """A topic or its error; the leader epoch at index `i` is that of partition `i`."""

    name: str | None
    topic_id: UUID | None
    leader_epochs: Sequence[int] = ()
    internal: bool = False
    error_code: int = 0
    operations: int = OPERATIONS_NOT_ASKED
    offline: Collection[int] = ()
    """Offline partitions, without a leader and without in-sync replicas."""


def read_metadata_request(buffer: memoryview, version: int) -> MetadataRequest:
    """Decode the body of a request.

    Raises:
        MalformedRequest: the bytes are not a valid metadata request.
    """
    flexible = version >= _FIRST_FLEXIBLE
    count, position = read_array_length(buffer, 0, flexible=flexible)
    topics: list[TopicQuestion] = []
    for _ in range(count):
        topic_id = None
        if version >= _FIRST_TOPIC_ID:
            topic_id, position = read_uuid(buffer, position)
        name, position = read_string(buffer, position, flexible=flexible)
        if flexible:
            position = skip_tagged_fields(buffer, position)
        text = None if name is None else name.decode("utf-8", "replace")
        topics.append(TopicQuestion(text, topic_id if topic_id and topic_id.int else None))
    auto_create = True
    if version >= _FIRST_AUTO_CREATION:
        if position >= len(buffer):
            raise MalformedRequest("request ends inside a field")
        auto_create = bool(buffer[position])
        position += 1
    asked = [False, False]
    if version in _AUTHORIZED_OPERATIONS:
        count_asked = 2 if version in _CLUSTER_OPERATIONS else 1
        flags = buffer[position : position + count_asked]
        if len(flags) < count_asked:
            raise MalformedRequest("request ends inside a field")
        asked[2 - count_asked :] = map(bool, flags)
    # Version 0 has no null: an empty list requests all topics.
    everything = count < 0 or (version < _FIRST_NULL_MEANS_ALL and count == 0)
    return MetadataRequest(None if everything else topics, auto_create, *asked)


def write_topic(version: int, topic: TopicRow, node_id: int) -> bytes:
    """Encode one topic of a response."""
    flexible = version >= _FIRST_FLEXIBLE
    name = topic.name
    if name is None and version < _FIRST_TOPIC_ID + 2:
        name = ""
    parts = [INT16.pack(topic.error_code), write_string(name, flexible=flexible)]
    if version >= _FIRST_TOPIC_ID:
        parts.append(NULL_UUID if topic.topic_id is None else topic.topic_id.bytes)
    if version >= 1:
        parts.append(b"\1" if topic.internal else b"\0")
    parts.append(write_array_length(len(topic.leader_epochs), flexible=flexible))
    node = write_array_length(1, flexible=flexible) + INT32.pack(node_id)
    none = write_array_length(0, flexible=flexible)
    served, offline = node + node, node + none
    if version >= _FIRST_OFFLINE:
        served, offline = served + none, offline + node
    tags = b"\0" if flexible else b""
    for index, leader_epoch in enumerate(topic.leader_epochs):
        if index in topic.offline:
            parts.append(_PARTITION.pack(ErrorCode.LEADER_NOT_AVAILABLE, index, _NO_LEADER))
        else:
            parts.append(_PARTITION.pack(0, index, node_id))
        if version >= _FIRST_LEADER_EPOCH:
            parts.append(INT32.pack(leader_epoch))
        parts += (offline if index in topic.offline else served, tags)
    if version in _AUTHORIZED_OPERATIONS:
        parts.append(INT32.pack(topic.operations))
    if flexible:
        parts.append(b"\0")
    return b"".join(parts)


def metadata_response_start(
    version: int, broker: BrokerRow, cluster_id: str, topics_count: int
) -> bytes:
    """Encode the part of a response body before the topics."""
    flexible = version >= _FIRST_FLEXIBLE
    tags = b"\0" if flexible else b""
    parts = []
    if version >= FIRST_THROTTLE:
        parts.append(INT32.pack(0))
    parts += [
        write_array_length(1, flexible=flexible),
        INT32.pack(broker.node_id),
        write_string(broker.host, flexible=flexible),
        INT32.pack(broker.port),
    ]
    if version >= 1:
        parts.append(write_string(broker.rack, flexible=flexible))
    parts.append(tags)
    if version >= _FIRST_CLUSTER_ID:
        parts.append(write_string(cluster_id, flexible=flexible))
    if version >= 1:
        parts.append(INT32.pack(broker.node_id))
    parts.append(write_array_length(topics_count, flexible=flexible))
    return b"".join(parts)


def metadata_response_end(version: int, *, operations: int = OPERATIONS_NOT_ASKED) -> bytes:
    """Encode the part of a response body after the topics."""
    parts = []
    if version in _CLUSTER_OPERATIONS:
        parts.append(INT32.pack(operations))
    if version >= _FIRST_ERROR:
        parts.append(INT16.pack(ErrorCode.NONE))
    if version >= _FIRST_FLEXIBLE:
        parts.append(b"\0")
    return b"".join(parts)
