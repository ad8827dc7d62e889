"""Load for an HTTP server: connections that each have one request in flight, on one thread.

Requests are prepared as bytes and answers are only split, so that the client needs less time than
the server. Closed loop: a connection sends its next request when it has its answer.
"""

import selectors
import socket
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

_LENGTH: Final = b"content-length:"
_READ_BYTES: Final = 256 * 1024
_TIMEOUT_S: Final = 60.0
_OK: Final = b"HTTP/1.1 200 "


def request(url: str, method: str, path: str, body: bytes = b"") -> bytes:
    """Return a request as bytes, as a client with keep-alive sends it."""
    host = urlsplit(url).netloc
    lines = [
        f"{method} {path} HTTP/1.1",
        f"Host: {host}",
        "Accept: application/vnd.schemaregistry.v1+json",
    ]
    if body:
        lines.append("Content-Type: application/vnd.schemaregistry.v1+json")
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@dataclass(slots=True)
class Load:
    """The answers to a load."""

    seconds: float = 0.0
    times_s: list[float] = field(default_factory=list)
    """From request to answer."""
    bodies: list[bytes] = field(default_factory=list)
    """The answers, in the order in which they came."""

    def figures(self) -> dict[str, Any]:
        ordered = sorted(self.times_s)
        return {
            "requests": len(ordered),
            "requests_per_s": round(len(ordered) / self.seconds),
            "p50_ms": round(ordered[len(ordered) // 2] * 1000, 3),
            "p99_ms": round(ordered[int(len(ordered) * 0.99)] * 1000, 3),
        }


class _Client:
    """One connection."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.socket = socket.create_connection((parts.hostname, parts.port), _TIMEOUT_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sent_at = 0.0
        self._data = b""

    def send(self, data: bytes) -> None:
        self.sent_at = time.perf_counter()
        self.socket.sendall(data)

    def receive(self) -> bytes | None:
        """Return the body of the answer; None if it is not complete.

        Raises:
            SystemExit: the answer is an error.
        """
        read = self.socket.recv(_READ_BYTES)
        if not read:
            raise SystemExit("the server has closed a connection")
        self._data += read
        head, end, body = self._data.partition(b"\r\n\r\n")
        if not end:
            return None
        at = head.lower().find(_LENGTH)
        length = int(head[at + len(_LENGTH) :].split(b"\r\n", 1)[0])
        if len(body) < length:
            return None
        if not head.startswith(_OK):
            raise SystemExit(f"the server answers {self._data[:300]!r}")
        self._data = b""
        return body


def run(url: str, clients: int, requests: Iterable[bytes]) -> Load:
    """Send all requests over `clients` connections; return times and bodies.

    Args:
        url: the server.
        clients: number of connections.
        requests: what is sent, by whichever connection is free.

    Raises:
        SystemExit: an answer is an error, or the server does not answer.
    """
    waiting = iter(requests)
    found = Load()
    with selectors.DefaultSelector() as selector:
        connections = [_Client(url) for _ in range(clients)]
        started = time.perf_counter()
        busy = 0
        for client in connections:
            data = next(waiting, None)
            if data is not None:
                selector.register(client.socket, selectors.EVENT_READ, client)
                client.send(data)
                busy += 1
        while busy:
            ready = selector.select(_TIMEOUT_S)
            if not ready:
                raise SystemExit(f"the server has not answered in {_TIMEOUT_S:.0f} s")
            for key, _ in ready:
                client = key.data
                body = client.receive()
                if body is None:
                    continue
                found.times_s.append(time.perf_counter() - client.sent_at)
                found.bodies.append(body)
                data = next(waiting, None)
                if data is None:
                    busy -= 1
                else:
                    client.send(data)
        found.seconds = time.perf_counter() - started
        for client in connections:
            client.socket.close()
    return found
