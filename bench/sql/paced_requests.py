"""Requests that are sent when they are due, over connections of HTTP/1.1 and HTTP/2.

Requests are prepared as bytes, and answers are only split, so that a core can send many thousands
per second. An answer that is not 200 ends the program.
"""

import heapq
import selectors
import socket
import struct
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, ClassVar, Final, Protocol
from urllib.parse import urlsplit

_TIMEOUT_S: Final = 60.0
_READ_BYTES: Final = 256 * 1024
_LENGTH: Final = b"content-length:"
_CHUNKED: Final = b"transfer-encoding: chunked"
_END_OF_CHUNKS: Final = b"0\r\n\r\n"


class Connection(Protocol):
    """A connection with at most one request in progress."""

    socket: socket.socket

    def send(self, path: str, body: bytes) -> None: ...
    def receive(self) -> bool:
        """Read what is there; return true if the answer is complete."""


def _connected(url: str) -> socket.socket:
    parts = urlsplit(url)
    found = socket.create_connection((parts.hostname, parts.port), _TIMEOUT_S)
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


class Http1:
    """HTTP/1.1 with keep-alive."""

    name: ClassVar = "HTTP/1.1"

    def __init__(self, url: str) -> None:
        self.socket = _connected(url)
        self._host = urlsplit(url).netloc
        self._data = b""

    def send(self, path: str, body: bytes) -> None:
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {self._host}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self.socket.sendall(head.encode() + body)

    def receive(self) -> bool:
        self._data += _some(self.socket)
        head, end, body = self._data.partition(b"\r\n\r\n")
        if not end:
            return False
        lower = head.lower()
        if _CHUNKED in lower:
            if not body.endswith(_END_OF_CHUNKS):
                return False
        elif len(body) < int(lower.partition(_LENGTH)[2].partition(b"\r\n")[0]):
            return False
        if not head.startswith(b"HTTP/1.1 200 "):
            raise SystemExit(f"the server answers {self._data[:500]!r}")
        self._data = b""
        return True

    def close(self) -> None:
        self.socket.close()


class Http2:
    """HTTP/2 with prior knowledge; header fields are sent as literals."""

    name: ClassVar = "h2c"
    _PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    _OK: Final = (b"\x88", b"\x08\x03200", b"\x48\x03200")
    """The field `:status: 200`: indexed, or as a literal."""

    def __init__(self, url: str) -> None:
        self.socket = _connected(url)
        self._host = urlsplit(url).netloc.encode()
        self._stream = -1
        self._data = b""
        self._received = 0
        self.socket.sendall(self._PREFACE + _frame(4, 0, 0, b""))

    def send(self, path: str, body: bytes) -> None:
        self._stream += 2
        fields = b"\x83\x86" + b"".join(  # POST, http
            bytes((index, len(value))) + value
            for index, value in ((0x04, path.encode()), (0x01, self._host))
        )
        fields += b"\x0f\x10\x10application/json"
        data = _frame(1, 4, self._stream, fields) + _frame(0, 1, self._stream, body)
        self.socket.sendall(data)

    def receive(self) -> bool:
        self._data += _some(self.socket)
        is_complete = False
        while len(self._data) >= 9:
            size = int.from_bytes(self._data[:3], "big")
            if len(self._data) < 9 + size:
                break
            kind, flags = self._data[3], self._data[4]
            payload = self._data[9 : 9 + size]
            self._data = self._data[9 + size :]
            is_complete |= self._take(kind, flags, payload)
        return is_complete

    def _take(self, kind: int, flags: int, payload: bytes) -> bool:
        """Take a frame; return true at the end of the answer."""
        if kind == 4 and not flags & 1:
            self.socket.sendall(_frame(4, 1, 0, b""))
        elif kind == 1:
            if not payload.lstrip(b"\x20\x3f\xe1\x1f").startswith(self._OK):
                raise SystemExit(f"the server answers with the fields {payload!r}")
        elif kind == 0:
            self._received += len(payload)
            if self._received > 30_000:
                self.socket.sendall(_frame(8, 0, 0, struct.pack(">I", self._received)))
                self._received = 0
        elif kind in {3, 7}:
            raise SystemExit(f"the server ends the stream or connection: {payload!r}")
        return kind in {0, 1} and bool(flags & 1)

    def close(self) -> None:
        self.socket.close()


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def _some(connection: socket.socket) -> bytes:
    found = connection.recv(_READ_BYTES)
    if not found:
        raise SystemExit("the server has closed a connection")
    return found


class Paced:
    """Sends bodies at a rate.

    Args:
        connections: with one request in progress each; more requests that are due wait.
        path: of all requests.
        bodies: of the requests.
        rate: requests per second.
    """

    def __init__(
        self, connections: Sequence[Connection], path: str, bodies: Sequence[bytes], rate: float
    ) -> None:
        self._connections = connections
        self._path = path
        self._bodies = bodies
        self._rate = rate
        self.times_s: list[float] = []
        """From when each request was due to the end of its answer."""
        self.served_s: list[float] = []
        """From when each was sent: without the time that it waited in this program."""
        self.seconds = 0.0

    def run(self) -> None:
        """Send all, and wait for the answers.

        Raises:
            SystemExit: an answer is an error, or none arrives.
        """
        clock = time.perf_counter
        free = deque(self._connections)
        due_at: dict[int, tuple[float, float]] = {}
        with selectors.EpollSelector() as selector:
            for one in self._connections:
                selector.register(one.socket, selectors.EVENT_READ, one)
            started = clock()
            sent = 0
            while len(self.times_s) < len(self._bodies):
                now = clock()
                while free and sent < len(self._bodies) and started + sent / self._rate <= now:
                    one = free.popleft()
                    due_at[id(one)] = started + sent / self._rate, clock()
                    one.send(self._path, self._bodies[sent])
                    sent += 1
                wait_s = _TIMEOUT_S
                if free and sent < len(self._bodies):
                    # The timer of the kernel has a resolution of a millisecond.
                    wait_s = 0.0
                ready = selector.select(wait_s)
                if not ready and wait_s:
                    raise SystemExit(f"no answer in {_TIMEOUT_S:.0f} s")
                for key, _ in ready:
                    if key.data.receive():
                        ended = clock()
                        due, begun = due_at[id(key.data)]
                        self.times_s.append(ended - due)
                        self.served_s.append(ended - begun)
                        free.append(key.data)
            self.seconds = clock() - started

    def figures(self) -> dict[str, Any]:
        """Return rate and quantiles of the times, and of the part in which the server had them."""
        slowest = heapq.nlargest(max(1, len(self.times_s) // 1000), self.times_s)
        ordered = sorted(self.times_s)

        served = sorted(self.served_s)

        def quantile(part: float, times_s: Sequence[float] = ordered) -> float:
            return round(times_s[int(len(times_s) * part)] * 1000, 3)

        return {
            "wanted_per_s": round(self._rate),
            "answers_per_s": round(len(ordered) / self.seconds),
            "p50_ms": quantile(0.5),
            "p99_ms": quantile(0.99),
            "p999_ms": round(slowest[-1] * 1000, 3),
            "max_ms": round(slowest[0] * 1000, 3),
            "served_p50_ms": quantile(0.5, served),
            "served_p99_ms": quantile(0.99, served),
        }
