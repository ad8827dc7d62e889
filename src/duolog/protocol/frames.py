"""Frames: an i32 size, followed by that many bytes.

Frames are read in place from the receive buffer. `next_frame_end` returns the end of a frame, -1 if
it is incomplete, or raises if it is invalid.

Source: Kafka `NetworkReceive`; `socket.request.max.bytes` bounds a frame.
"""

from typing import Final

from duolog.core.counts import counted
from duolog.protocol.errors import MalformedRequest
from duolog.protocol.wire import INT32

SIZE_BYTES: Final = 4
HEADER_BYTES_MIN: Final = 10
"""Size of the shortest request: API key, version, correlation id, length of the client id."""
_TLS_HANDSHAKES: Final = frozenset({0x160301, 0x160302, 0x160303})
"""The first three bytes of a client of TLS: a record of type handshake, and a version."""


def next_frame_end(buffer: memoryview, start: int, end: int, frame_bytes_max: int) -> int:
    """Return the position after the frame at `start`, or -1 if the frame is incomplete.

    Raises:
        MalformedRequest: the size is not a valid request size.
    """
    if end - start < SIZE_BYTES:
        return -1
    (size,) = INT32.unpack_from(buffer, start)
    if size < HEADER_BYTES_MIN or size > frame_bytes_max:
        if size >> 8 in _TLS_HANDSHAKES:
            raise MalformedRequest("the client speaks TLS, and this listener does not")
        raise MalformedRequest(
            f"frame of {counted(size, 'byte')}",
            detail=f"a frame has {HEADER_BYTES_MIN} to {frame_bytes_max} bytes",
        )
    frame_end: int = start + SIZE_BYTES + size
    return frame_end if frame_end <= end else -1


def write_frame(header: bytes, body: bytes) -> bytes:
    """Return header and body as one frame."""
    return INT32.pack(len(header) + len(body)) + header + body
