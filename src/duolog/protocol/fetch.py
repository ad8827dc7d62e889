"""Fetch, API key 1, versions 4-17: hand-written codec that does not copy records.

    request   replica_id i32 (to v14) · max_wait_ms i32 · min_bytes i32 · max_bytes i32 ·
              isolation_level i8 · session_id, session_epoch i32 (v7) · [topic or id (v13) ·
              [partition i32 · current_leader_epoch i32 (v9) · fetch_offset i64 ·
              last_fetched_epoch i32 (v12) · log_start_offset i64 (v5) · partition_max_bytes i32]]
              · [forgotten: topic or id · [partition]] (v7) · rack_id (v11): not read
    response  throttle_ms i32 · error i16, session_id i32 (v7) · [topic or id · [partition ·
              error i16 · high_watermark i64 · last_stable_offset i64 · log_start_offset i64 (v5) ·
              aborted [producer_id i64 · first_offset i64] · preferred_read_replica i32 (v11) ·
              records]]

The response is a list of bytes, with a placeholder after each partition that has records. The
caller fills it with bytes or with a region of a file. A response with very many partitions is
encoded in steps, so that the caller can do other work in between.

Source: Kafka `FetchRequest.json`, `FetchResponse.json`; KIP-227, KIP-516.
"""

from collections.abc import Generator, Sequence
from struct import Struct
from struct import error as struct_error
from typing import Final, Generic, NamedTuple, TypeVar
from uuid import UUID

from duolog.protocol.errors import MalformedRequest
from duolog.protocol.wire import (
    INT32,
    read_array_length,
    read_int32,
    read_string,
    read_uuid,
    skip_tagged_fields,
    write_array_length,
    write_uvarint,
)

API_KEY: Final = 1
VERSIONS: Final = range(4, 18)

PARTITIONS_A_STEP: Final = 100
"""Requests with at most this many partitions are processed in one step."""

_FIRST_LOG_START: Final = 5
_FIRST_SESSION: Final = 7
_FIRST_LEADER_EPOCH: Final = 9
_FIRST_REPLICA: Final = 11
_FIRST_FLEXIBLE: Final = 12
FIRST_TOPIC_ID: Final = 13
_FIRST_WITHOUT_REPLICA: Final = 15

_HEAD: Final = Struct(">iiib")
_SESSION: Final = Struct(">ii")
_RESULT_V4: Final = Struct(">ihqq")
_RESULT: Final = Struct(">ihqqq")
_ABORTED: Final = Struct(">qq")
_NO_REPLICA: Final = INT32.pack(-1)

TopicKey = bytes | UUID
"""A topic as identified in the request: the bytes of its name, or from v13 its id."""

Chunk = TypeVar("Chunk")


class FetchPartition(NamedTuple):
    """One partition of a fetch request."""

    partition: int
    current_leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    bytes_max: int


class FetchRequest(NamedTuple):
    """A fetch request."""

    max_wait_ms: int
    bytes_min: int
    bytes_max: int
    read_committed: bool
    session_id: int
    session_epoch: int
    topics: list[tuple[TopicKey, list[FetchPartition]]]
    forgotten: Sequence[tuple[TopicKey, list[int]]] = ()
    """Partitions to remove from the session."""


class FetchResult(NamedTuple, Generic[Chunk]):
    """The response for one partition; `records` is sent by the caller, None if there are none."""

    partition: int
    error_code: int = 0
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    records: "bytes | Chunk | None" = None
    size_bytes: int = 0
    aborted: Sequence[tuple[int, int]] = ()
    """Producer id and first offset of each aborted transaction, for read_committed only."""


_PARTITION_V4: Final = Struct(">iqi")
_PARTITION_V5: Final = Struct(">iqqi")
_PARTITION_V9: Final = Struct(">iiqqi")
_PARTITION_V12: Final = Struct(">iiqiqi")


def read_fetch_request(buffer: memoryview, position: int, version: int) -> FetchRequest:
    """Decode the body at `position`, without the fields after the forgotten topics.

    Raises:
        MalformedRequest: the bytes are not a valid fetch request.
    """
    try:
        return _read_request(buffer, position, version)
    except struct_error as error:
        raise MalformedRequest("request ends inside a field") from error


def _read_request(buffer: memoryview, position: int, version: int) -> FetchRequest:
    flexible = version >= _FIRST_FLEXIBLE
    if version < _FIRST_WITHOUT_REPLICA:
        position += 4
    max_wait_ms, bytes_min, bytes_max, isolation = _HEAD.unpack_from(buffer, position)
    position += _HEAD.size
    session_id, session_epoch = 0, -1
    if version >= _FIRST_SESSION:
        session_id, session_epoch = _SESSION.unpack_from(buffer, position)
        position += _SESSION.size
    topics: list[tuple[TopicKey, list[FetchPartition]]] = []
    count, position = read_array_length(buffer, position, flexible=flexible)
    for _ in range(count):
        topic, position = _read_topic_key(buffer, position, version)
        partitions = []
        items, position = read_array_length(buffer, position, flexible=flexible)
        for _ in range(items):
            partition, position = _read_partition(buffer, position, version)
            partitions.append(partition)
        if flexible:
            position = skip_tagged_fields(buffer, position)
        topics.append((topic, partitions))
    forgotten = _read_forgotten(buffer, position, version) if session_id else ()
    return FetchRequest(
        max_wait_ms,
        bytes_min,
        bytes_max,
        isolation == 1,
        session_id,
        session_epoch,
        topics,
        forgotten,
    )


def _read_forgotten(
    buffer: memoryview, position: int, version: int
) -> list[tuple[TopicKey, list[int]]]:
    flexible = version >= _FIRST_FLEXIBLE
    forgotten: list[tuple[TopicKey, list[int]]] = []
    count, position = read_array_length(buffer, position, flexible=flexible)
    for _ in range(count):
        topic, position = _read_topic_key(buffer, position, version)
        items, position = read_array_length(buffer, position, flexible=flexible)
        indexes = []
        for _ in range(items):
            index, position = read_int32(buffer, position)
            indexes.append(index)
        if flexible:
            position = skip_tagged_fields(buffer, position)
        forgotten.append((topic, indexes))
    return forgotten


def _read_topic_key(buffer: memoryview, position: int, version: int) -> tuple[TopicKey, int]:
    if version >= FIRST_TOPIC_ID:
        return read_uuid(buffer, position)
    name, position = read_string(buffer, position, flexible=version >= _FIRST_FLEXIBLE)
    if name is None:
        raise MalformedRequest("topic name is null")
    return name, position


def _read_partition(buffer: memoryview, position: int, version: int) -> tuple[FetchPartition, int]:
    leader_epoch = fetched_epoch = -1
    if version >= _FIRST_FLEXIBLE:
        index, leader_epoch, offset, fetched_epoch, _, bytes_max = _PARTITION_V12.unpack_from(
            buffer, position
        )
        position = skip_tagged_fields(buffer, position + _PARTITION_V12.size)
    elif version >= _FIRST_LEADER_EPOCH:
        index, leader_epoch, offset, _, bytes_max = _PARTITION_V9.unpack_from(buffer, position)
        position += _PARTITION_V9.size
    elif version >= _FIRST_LOG_START:
        index, offset, _, bytes_max = _PARTITION_V5.unpack_from(buffer, position)
        position += _PARTITION_V5.size
    else:
        index, offset, bytes_max = _PARTITION_V4.unpack_from(buffer, position)
        position += _PARTITION_V4.size
    return FetchPartition(index, leader_epoch, offset, fetched_epoch, bytes_max), position


def writing_fetch_response(
    version: int,
    correlation_id: int,
    results: list[tuple[TopicKey, list[FetchResult[Chunk]]]],
    *,
    error_code: int = 0,
    session_id: int = 0,
    read_committed: bool = False,
    throttle_ms: int = 0,
) -> Generator[None, None, list[bytes | Chunk]]:
    """Encode the whole frame of the response in steps; return its pieces in order."""
    flexible = version >= _FIRST_FLEXIBLE
    tags = b"\0" if flexible else b""
    pieces: list[bytes | Chunk] = []
    body_bytes, left = 0, PARTITIONS_A_STEP
    run = [write_array_length(len(results), flexible=flexible)]
    for topic, partitions in results:
        run.append(_write_topic_key(topic, flexible=flexible))
        run.append(write_array_length(len(partitions), flexible=flexible))
        for result in partitions:
            run.append(_write_result(result, version, read_committed=read_committed))
            if result.records is not None:
                data = b"".join(run)
                pieces.extend((data, result.records))
                body_bytes += len(data) + result.size_bytes
                run = []
            run.append(tags)
            left -= 1
            if left < 0:
                left = PARTITIONS_A_STEP
                data = b"".join(run)
                pieces.append(data)
                body_bytes += len(data)
                run = []
                yield
        run.append(tags)
        left -= 1
        if left < 0:
            left = PARTITIONS_A_STEP
            yield
    run.append(tags)
    last = b"".join(run)
    head = tags + INT32.pack(throttle_ms)
    if version >= _FIRST_SESSION:
        head += error_code.to_bytes(2, signed=True) + INT32.pack(session_id)
    size = 4 + len(head) + body_bytes + len(last)
    start = INT32.pack(size) + INT32.pack(correlation_id) + head
    return [start, *pieces, last] if last else [start, *pieces]


def _write_topic_key(topic: TopicKey, *, flexible: bool) -> bytes:
    if isinstance(topic, UUID):
        return topic.bytes
    length = write_uvarint(len(topic) + 1) if flexible else len(topic).to_bytes(2)
    return length + topic


def _write_result(result: FetchResult[Chunk], version: int, *, read_committed: bool) -> bytes:
    partition, code, high_watermark, stable, log_start, _, size, aborted = result
    flexible = version >= _FIRST_FLEXIBLE
    if version >= _FIRST_LOG_START:
        data = _RESULT.pack(partition, code, high_watermark, stable, log_start)
    else:
        data = _RESULT_V4.pack(partition, code, high_watermark, stable)
    # The list of aborted transactions is null for read_uncommitted, and may be empty for
    # read_committed.
    data += write_array_length(len(aborted) if read_committed else -1, flexible=flexible)
    for item in aborted:
        data += _ABORTED.pack(*item) + (b"\0" if flexible else b"")
    if version >= _FIRST_REPLICA:
        data += _NO_REPLICA
    return data + (write_uvarint(size + 1) if flexible else INT32.pack(size))
