"""Produce, API key 0, versions 3-12: hand-written codec that does not copy records.

    request   transactional_id · acks i16 · timeout_ms i32 · [topic · [partition i32 · records]]
    response  [topic · [partition i32 · error i16 · base_offset i64 · log_append_time i64 ·
              log_start_offset i64 (v5) · record_errors, error_message (v8)]] · throttle_ms i32

Records are slices of the received frame, from which the log writes them. Messages with very many
partitions are decoded and encoded in steps, so that the caller can do other work in between.

Source: Kafka `ProduceRequest.json`, `ProduceResponse.json`.
"""

from collections.abc import Generator, Iterator
from struct import Struct
from struct import error as struct_error
from typing import Final, NamedTuple

from duolog.protocol.errors import MalformedRequest
from duolog.protocol.wire import (
    INT32,
    read_array_length,
    read_int32,
    read_string,
    read_uvarint,
    skip_tagged_fields,
    write_array_length,
    write_string,
    write_uvarint,
)

API_KEY: Final = 0
VERSIONS: Final = range(3, 13)

PARTITIONS_A_STEP: Final = 100
"""Number of partitions decoded per step."""

_FIRST_FLEXIBLE: Final = 9
_FIRST_LOG_START: Final = 5
_FIRST_RECORD_ERRORS: Final = 8

_ACKS_TIMEOUT: Final = Struct(">hi")
_RESULT: Final = Struct(">ihqq")
_RESULT_LOG_START: Final = Struct(">ihqqq")
_FRAME_START: Final = Struct(">ii")
_FRAME_START_FLEXIBLE: Final = Struct(">iib")


class ProduceData(NamedTuple):
    """The records of a produce request for one partition."""

    partition: int
    records: memoryview | None


class ProduceRequest(NamedTuple):
    """A produce request; topic names as their UTF-8 bytes."""

    transactional_id: bytes | None
    acks: int
    timeout_ms: int
    topics: list[tuple[bytes, list[ProduceData]]]


class ProduceResult(NamedTuple):
    """The response for one partition."""

    partition: int
    error_code: int = 0
    base_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    record_errors: tuple[tuple[int, str | None], ...] = ()
    error_message: str | None = None


ProduceResults = list[tuple[bytes, list[ProduceResult]]]


def reading_produce_request(
    buffer: memoryview, position: int, version: int
) -> Generator[None, None, ProduceRequest]:
    """Decode the body from `position` to the end of the buffer, in steps.

    Raises:
        MalformedRequest: the bytes are not a valid produce request.
    """
    flexible = version >= _FIRST_FLEXIBLE
    transactional_id, position = read_string(buffer, position, flexible=flexible)
    try:
        acks, timeout_ms = _ACKS_TIMEOUT.unpack_from(buffer, position)
    except struct_error as error:
        raise MalformedRequest("request ends inside a field") from error
    topics: list[tuple[bytes, list[ProduceData]]] = []
    left = PARTITIONS_A_STEP
    count, position = read_array_length(buffer, position + 6, flexible=flexible)
    for _ in range(count):
        name, position = read_string(buffer, position, flexible=flexible)
        if name is None:
            raise MalformedRequest("topic name is null")
        data: list[ProduceData] = []
        partitions, position = read_array_length(buffer, position, flexible=flexible)
        for _ in range(partitions):
            index, position = read_int32(buffer, position)
            records, position = _read_records(buffer, position, flexible=flexible)
            if flexible:
                position = skip_tagged_fields(buffer, position)
            data.append(ProduceData(index, records))
            left -= 1
            if left < 0:
                left = PARTITIONS_A_STEP
                yield
        if flexible:
            position = skip_tagged_fields(buffer, position)
        topics.append((name, data))
        left -= 1
        if left < 0:
            left = PARTITIONS_A_STEP
            yield
    if flexible:
        skip_tagged_fields(buffer, position)
    return ProduceRequest(transactional_id, acks, timeout_ms, topics)


def _read_records(
    buffer: memoryview, position: int, *, flexible: bool
) -> tuple[memoryview | None, int]:
    if flexible:
        size, position = read_uvarint(buffer, position)
        size -= 1
    else:
        size, position = read_int32(buffer, position)
    if size < 0:
        return None, position
    end = position + size
    if end > len(buffer):
        raise MalformedRequest("request ends inside its records")
    return buffer[position:end], end


def write_produce_response(
    version: int, correlation_id: int, results: ProduceResults, throttle_ms: int = 0
) -> bytes:
    """Encode the whole frame of the response."""
    body = b"".join(produce_response_parts(version, results, throttle_ms))
    return produce_response_start(version, correlation_id, len(body)) + body


def produce_response_start(version: int, correlation_id: int, size_bytes: int) -> bytes:
    """Encode the start of a frame whose body has `size_bytes` bytes."""
    if version >= _FIRST_FLEXIBLE:
        return _FRAME_START_FLEXIBLE.pack(5 + size_bytes, correlation_id, 0)
    return _FRAME_START.pack(4 + size_bytes, correlation_id)


def produce_response_parts(
    version: int, results: ProduceResults, throttle_ms: int = 0
) -> Iterator[bytes]:
    """Yield the body of a response, one part per partition."""
    flexible = version >= _FIRST_FLEXIBLE
    yield write_array_length(len(results), flexible=flexible)
    for name, partitions in results:
        length = write_uvarint(len(name) + 1) if flexible else len(name).to_bytes(2)
        yield length + name + write_array_length(len(partitions), flexible=flexible)
        for result in partitions:
            yield _write_result(result, version)
        if flexible:
            yield b"\0"
    yield INT32.pack(throttle_ms) + (b"\0" if flexible else b"")


def _write_result(result: ProduceResult, version: int) -> bytes:
    partition, code, base_offset, append_time, log_start, record_errors, message = result
    if version < _FIRST_LOG_START:
        return _RESULT.pack(partition, code, base_offset, append_time)
    data = _RESULT_LOG_START.pack(partition, code, base_offset, append_time, log_start)
    if version < _FIRST_RECORD_ERRORS:
        return data
    flexible = version >= _FIRST_FLEXIBLE
    if not record_errors and message is None:
        # No record errors, no message and, in flexible versions, no tagged fields.
        return data + (b"\x01\0\0" if flexible else b"\0\0\0\0\xff\xff")
    return data + _write_record_errors(record_errors, message, flexible=flexible)


def _write_record_errors(
    record_errors: tuple[tuple[int, str | None], ...], message: str | None, *, flexible: bool
) -> bytes:
    tags = b"\0" if flexible else b""
    parts = [write_array_length(len(record_errors), flexible=flexible)]
    for index, text in record_errors:
        parts.append(INT32.pack(index) + write_string(text, flexible=flexible) + tags)
    parts.append(write_string(message, flexible=flexible) + tags)
    return b"".join(parts)
