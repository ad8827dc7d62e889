"""Evaluate a plan without state on a single record, in memory, using the kernel."""

import struct
from typing import Final, NamedTuple

from duolog.engine.in_memory import MemoryChain
from duolog.engine.lowering.expressions.python_functions import python_of
from duolog.engine.lowering.lower import lower
from duolog.engine.settings import (
    LOG_AND_FAIL,
    PYTHON_MEMORY_BYTES_MAX_DEFAULT,
    PYTHON_TIMEOUT_MS_DEFAULT,
    ErrorHandling,
)
from duolog.plan.cutting.levels import find_levels
from duolog.plan.nodes import Plan

_LENGTH: Final = struct.Struct(">i")
_PLACE: Final = struct.Struct(">iqq")
_WRITTEN: Final = struct.Struct(">iq")
_NONE: Final = -1


class EvaluatedRecord(NamedTuple):
    """The record that a sink receives."""

    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: tuple[tuple[str, bytes | None], ...]


def evaluate_record(plan: Plan, name: str, topic: str, value: bytes) -> EvaluatedRecord:
    """Return the record that `plan` writes for one with this value from `topic`. Starts the JVM.

    Raises:
        QueryError: the record cannot be computed.
    """
    spec = lower(find_levels(plan, 1), name, cache_bytes_max=0)
    python = python_of(PYTHON_TIMEOUT_MS_DEFAULT, PYTHON_MEMORY_BYTES_MAX_DEFAULT)
    chain = MemoryChain(
        spec | python | {"errors": ErrorHandling(LOG_AND_FAIL, LOG_AND_FAIL).spec()}
    )
    try:
        written = chain.run(_packed(topic, value), 0)
    finally:
        chain.close()
    return _unpacked(written)


def _packed(topic: str, value: bytes) -> bytearray:
    """Return a record without key and headers in the layout of `PackedRecords.java`."""
    packed = bytearray()
    packed += _LENGTH.pack(len(topic.encode())) + topic.encode() + _PLACE.pack(0, 0, 0)
    packed += _LENGTH.pack(_NONE) + _LENGTH.pack(len(value)) + value + _LENGTH.pack(0)
    return packed


def _unpacked(written: bytes) -> EvaluatedRecord:
    (topic_bytes,) = _LENGTH.unpack_from(written)
    at = _LENGTH.size + topic_bytes
    _, timestamp_ms = _WRITTEN.unpack_from(written, at)
    key, at = _part(written, at + _WRITTEN.size)
    value, at = _part(written, at)
    (count,) = _LENGTH.unpack_from(written, at)
    at += _LENGTH.size
    headers = []
    for _ in range(count):
        name, at = _part(written, at)
        data, at = _part(written, at)
        headers.append(((name or b"").decode(), data))
    return EvaluatedRecord(key, value, timestamp_ms, tuple(headers))


def _part(written: bytes, at: int) -> tuple[bytes | None, int]:
    (length,) = _LENGTH.unpack_from(written, at)
    begin = at + _LENGTH.size
    return (None, begin) if length == _NONE else (written[begin : begin + length], begin + length)
