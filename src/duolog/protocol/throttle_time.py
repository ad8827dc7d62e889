"""The throttle time of a response that is encoded already.

Nearly every response begins with `throttle_time_ms`, from some version on, and that of OffsetDelete
has it after its error code. Those of Produce and ApiVersions have it elsewhere, and their codecs
write it. So a response is encoded as usual, and the few bytes are exchanged in the rare case that a
client is throttled.

Source: Kafka's message definitions; KIP-124, KIP-219.
"""

from dataclasses import fields
from typing import Final, TypeVar

from duolog.protocol.frames import SIZE_BYTES
from duolog.protocol.headers import response_header
from duolog.protocol.schema import Schema
from duolog.protocol.wire import INT16, INT32

_FIELD: Final = "throttle_time"

Piece = TypeVar("Piece")


def throttle_time_position(response_type: Schema) -> int | None:
    """Return where the throttle time is in the body of a response, or None if it has none there."""
    first, *rest = fields(response_type)
    if first.name == _FIELD:
        return 0
    if first.name == "error_code" and rest and rest[0].name == _FIELD:
        return INT16.size
    return None


def with_throttle_time(
    frame: "bytes | list[bytes | Piece]",
    key: int,
    version: int,
    throttle_ms: int,
    *,
    position_in_body: int = 0,
) -> "bytes | list[bytes | Piece]":
    """Return a response frame with another throttle time."""
    position = SIZE_BYTES + len(response_header(key, version, 0)) + position_in_body
    end = position + INT32.size
    if isinstance(frame, bytes):
        return frame[:position] + INT32.pack(throttle_ms) + frame[end:]
    head = b""
    pieces = list(frame)
    while len(head) < end:
        piece = pieces.pop(0)
        assert isinstance(piece, bytes), "a response starts with bytes"
        head += piece
    return [head[:position] + INT32.pack(throttle_ms) + head[end:], *pieces]
