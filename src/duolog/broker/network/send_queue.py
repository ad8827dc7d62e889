"""Data that a connection has still to send: bytes, and ranges of segment files.

Adjacent bytes leave in one `send`; on Linux a span leaves by `sendfile`, so that
records go from the page cache to the socket without passing through Python.
"""

from collections import deque
from mmap import mmap
from typing import Final, Protocol

from duolog.broker.requests.in_flight import FileSpan
from duolog.core.operating_system.sockets import MORE, send_file
from duolog.core.units import KIB, MIB

_TURN_BYTES_MAX: Final = 4 * MIB
"""A reader that is as fast as we are gets no more in one turn: others wait too."""

_JOIN_BYTES_MAX: Final = 256 * KIB


class Transport(Protocol):
    """The methods of a socket that connections use: a socket, or TLS over one."""

    def fileno(self) -> int: ...
    def recv_into(self, buffer: bytearray | memoryview | mmap, /) -> int: ...
    def send(self, data: bytes | memoryview, flags: int = 0, /) -> int: ...
    def close(self) -> None: ...


class SendQueue:
    """Pieces in order, and how far they have got."""

    __slots__ = ("_socket", "pieces", "sent_bytes")

    def __init__(self, connection_socket: Transport) -> None:
        self._socket = connection_socket
        self.sent_bytes = 0
        self.pieces: deque[bytes | memoryview | FileSpan] = deque()
        """The outgoing data of a connection; the connection appends to it."""

    def send(self) -> bool:
        """Send what the socket takes now; return whether all is sent.

        Raises:
            OSError: the connection is broken, or a file is shorter than its span.
        """
        pieces = self.pieces
        budget = _TURN_BYTES_MAX
        try:
            if len(pieces) == 1 and isinstance(data := pieces[0], bytes):
                # One answer, as of a client that waits for each: the hottest case.
                sent = self._socket.send(data)
                self.sent_bytes += sent
                if sent == len(data):
                    pieces.clear()
                else:
                    pieces[0] = memoryview(data)[sent:]
                return not pieces
            while pieces and budget > 0:
                first = pieces[0]
                sent = self._send_span(first) if isinstance(first, FileSpan) else self._send_bytes()
                self.sent_bytes += sent
                budget -= sent
        except BlockingIOError:
            pass
        return not pieces

    def clear(self) -> None:
        self.pieces.clear()

    def _send_span(self, span: FileSpan) -> int:
        descriptor = span.file.fileno()
        assert descriptor is not None, "a file in memory is sent as bytes"
        size_bytes = min(span.size_bytes, _TURN_BYTES_MAX)
        sent = send_file(self._socket.fileno(), descriptor, span.position, size_bytes)
        if sent == 0:
            raise OSError("segment file is shorter than the span that was promised")
        span.position += sent
        span.size_bytes -= sent
        if span.size_bytes == 0:
            self.pieces.popleft()
        return sent

    def _send_bytes(self) -> int:
        data = self._take_bytes()
        # MORE keeps the header of a Fetch response and the records after it in one packet.
        flags = MORE if self.pieces else 0
        try:
            sent = self._socket.send(data, flags)
        except BlockingIOError:
            self.pieces.appendleft(data)
            raise
        if sent < len(data):
            self.pieces.appendleft(memoryview(data)[sent:])
        return sent

    def _take_bytes(self) -> bytes | memoryview:
        pieces = self.pieces
        first = pieces.popleft()
        assert not isinstance(first, FileSpan)
        size = len(first)
        run: list[bytes | memoryview] = [first]
        while pieces and size < _JOIN_BYTES_MAX:
            piece = pieces[0]
            if isinstance(piece, FileSpan):
                break
            run.append(piece)
            size += len(piece)
            pieces.popleft()
        return first if len(run) == 1 else b"".join(run)
