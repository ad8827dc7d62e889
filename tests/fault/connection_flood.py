"""Open very many connections to one port, in waves of one kind each: a program of a hostile client.

    wave 1  silent           ─┐
    wave 2  half a request    ├─▶ at most `held` are open; the oldest is closed for each new one
    wave 3  ...              ─┘

The connections come from `sources` addresses of loopback, 127.1.0.1 and on. The program writes one
line of JSON for each wave, and reads a line before it closes what the wave still holds.

    python connection_flood.py HOST PORT '{"waves": [["silent", 1000]], "held": 100, "sources": 50}'
"""

import contextlib
import json
import resource
import select
import socket
import struct
import sys
from collections import deque
from collections.abc import Mapping
from typing import Any, Final

MEMORY_BYTES_MAX: Final = 1024 * 1024 * 1024
_RESET: Final = struct.pack("ii", 1, 0)
_SMALL: Final = 2048
_IP_BIND_ADDRESS_NO_PORT: Final = 24
_HOST: Final = b"Host: localhost\r\n"
_INFO: Final = b"GET /info HTTP/1.1\r\n" + _HOST + b"\r\n"
_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_HELLO: Final = bytes.fromhex("160301010001000000fc0303") + bytes(32)
"""The header of a ClientHello of TLS with 256 bytes, and the first 44 bytes of it."""
_API_VERSIONS: Final = struct.pack(">ihhih", 10, 18, 0, 7, -1)

SENT: Final[Mapping[str, bytes]] = {
    "silent": b"",
    "half a request": b"GET /info HTTP/1.1\r\nHost: lo",
    "half a body": b"POST /ksql HTTP/1.1\r\n"
    + _HOST
    + b"Content-Length: 100000\r\n\r\n"
    + bytes(500),
    "slow reader": _INFO * 20,
    "answered": _INFO,
    "preface": _PREFACE,
    "half a preface": _PREFACE[:12],
    "preface and settings": _PREFACE + b"\0\0\0\4\0\0\0\0\0",
    "half a handshake": _HELLO,
    "garbage": b"\xff\xfe\r\n\r\n",
    "size of a frame": struct.pack(">i", 1000),
    "half a frame": _API_VERSIONS[:9],
    "frame of a gigabyte": struct.pack(">i", 1 << 30),
    "slow reader of frames": _API_VERSIONS * 500,
    "answered frame": _API_VERSIONS,
}
"""All that a connection of a kind sends."""
_SLOW: Final = ("slow reader", "slow reader of frames")


class Flood:
    """The connections of one program."""

    def __init__(self, address: tuple[str, int], held: int, sources: int) -> None:
        self._address = address
        self._held = held
        self._sources = sources
        self._open: deque[socket.socket] = deque()
        self._number = 0

    def wave(self, kind: str, count: int) -> dict[str, object]:
        """Attempt connections; return how many of them were made, and how many sent their bytes."""
        made = sent = 0
        for _ in range(count):
            while len(self._open) >= self._held:
                self._close(self._open.popleft())
            one = self._connect(kind)
            if one is None:
                continue
            made += 1
            with contextlib.suppress(OSError):  # It was closed to make room.
                sent += one.send(SENT[kind]) == len(SENT[kind])
            self._open.append(one)
        return {"kind": kind, "attempted": count, "made": made, "sent": sent}

    def close(self) -> None:
        while self._open:
            self._close(self._open.popleft())

    def _connect(self, kind: str) -> socket.socket | None:
        self._number += 1
        one = socket.socket()
        try:
            if kind in _SLOW:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL)
            place = self._number % self._sources
            one.setsockopt(socket.IPPROTO_IP, _IP_BIND_ADDRESS_NO_PORT, 1)
            one.bind((f"127.1.{place // 250}.{place % 250 + 1}", 0))
            one.setblocking(False)  # noqa: FBT003 - positional only
            if one.connect_ex(self._address) and not _is_writable(one):
                one.close()
                return None
        except OSError:
            one.close()
            return None
        return one

    def _close(self, one: socket.socket) -> None:
        # Each second one is reset, as by a client that dies.
        if self._number % 2:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        one.close()


def _is_writable(one: socket.socket) -> bool:
    """Wait until a connection is made, for as long as the system tries."""
    poll = select.poll()
    poll.register(one, select.POLLOUT)
    poll.poll()
    return one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0


def main(host: str, port: str, given: str) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    options: dict[str, Any] = json.loads(given)
    flood = Flood((host, int(port)), options["held"], options["sources"])
    for kind, count in options["waves"]:
        print(json.dumps(flood.wave(kind, count)), flush=True)  # noqa: T201 - the answer
        sys.stdin.readline()
        flood.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
