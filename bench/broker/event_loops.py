"""Comparison of two event loops: raw epoll, and uvloop with a BufferedProtocol.

Two one-page servers do only the work of the hot path: receive into a buffer, find each complete
frame, verify the checksum of its batch, write all batches with one pwritev, respond to all with one
send. They differ only in the event loop. bench/broker/load loads them in turns. See
docs/adr/0015-use-raw-epoll-in-a-single-process.md.

uvloop is not a dependency of Duolog: python -m pip install uvloop, then
Run: scripts/bench event_loops --rounds 5
"""

import argparse
import asyncio
import os
import select
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any, Final

from bench.broker.table.clients import Figures
from bench.broker.table.generator import produce_frame, run_load
from bench.broker.table.results import ratios, spread
from bench.broker.table.rows import flat
from bench.common.results_file import write_result
from crc32c import crc32c

TOPIC: Final = "loops"
CLIENT_ID_BYTES: Final = 4
BATCH_AT: Final = 4 + 8 + 2 + CLIENT_ID_BYTES + 1 + 1 + 6 + 1 + 1 + len(TOPIC) + 1 + 4
CRC_AT, CRC_FROM = 17, 21
BUFFER_BYTES: Final = 512 * 1024
LOADS: Final = {
    "4x64": (1, {"connections": 4, "in_flight": 64}),
    "32x1": (1, {"connections": 32, "in_flight": 1}),
    "1x1": (1, {"connections": 1, "in_flight": 1}),
    "216 KB 4x5": (2000, {"connections": 4, "in_flight": 5}),
}


def answer() -> bytes:
    body = struct.pack(">iBBB", 1, 0, 2, len(TOPIC) + 1) + TOPIC.encode()
    body += struct.pack(">BihqqqBB7s", 2, 0, 0, 0, -1, 0, 1, 0, b"")
    return struct.pack(">i", len(body)) + body


ANSWER: Final = answer()


class Received:
    """A receive buffer and the processing of its content."""

    def __init__(self, file: int, send: Callable[[bytes], object]) -> None:
        self.buffer = bytearray(BUFFER_BYTES)
        self.end = 0
        self._file = file
        self._send = send

    def handle(self, size: int) -> None:
        """Process every complete frame after receiving `size` bytes."""
        self.end += size
        start = 0
        batches = []
        with memoryview(self.buffer) as view:
            while self.end - start > BATCH_AT:
                (length,) = struct.unpack_from(">i", self.buffer, start)
                frame_end = start + 4 + length
                if frame_end > self.end:
                    break
                batch_at = start + BATCH_AT + (2 if length < 16_500 else 3)
                batch = view[batch_at : frame_end - 3]
                (crc,) = struct.unpack_from(">I", batch, CRC_AT)
                assert crc32c(batch[CRC_FROM:]) == crc
                batches.append(batch)
                start = frame_end
            if batches:
                os.pwritev(self._file, batches, os.lseek(self._file, 0, os.SEEK_END))
                self._send(ANSWER * len(batches))
            rest = self.end - start
            view[:rest] = view[start : self.end]
        self.end = rest


def serve_epoll(listening: socket.socket, file: int) -> None:
    poller = select.epoll()
    poller.register(listening.fileno(), select.EPOLLIN)
    connections: dict[int, tuple[socket.socket, Received]] = {}
    while True:
        for descriptor, _ in poller.poll():
            if descriptor == listening.fileno():
                accepted, _ = listening.accept()
                accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connections[accepted.fileno()] = (accepted, Received(file, accepted.sendall))
                poller.register(accepted.fileno(), select.EPOLLIN)
                continue
            connection, received = connections[descriptor]
            with memoryview(received.buffer) as view:
                size = connection.recv_into(view[received.end :])
            if size:
                received.handle(size)
            else:
                poller.unregister(descriptor)
                connection.close()


class Protocol(asyncio.BufferedProtocol):
    """The same with uvloop."""

    def __init__(self, file: int) -> None:
        self._file = file

    def connection_made(self, transport: Any) -> None:
        self._received = Received(self._file, transport.write)

    def get_buffer(self, sizehint: int) -> memoryview:
        del sizehint
        return memoryview(self._received.buffer)[self._received.end :]

    def buffer_updated(self, nbytes: int) -> None:
        self._received.handle(nbytes)


def serve_uvloop(listening: socket.socket, file: int) -> None:
    import uvloop  # noqa: PLC0415  Not a dependency of Duolog.

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Protocol(file), sock=listening)
        await server.serve_forever()

    uvloop.run(serve())


def run(kind: str, load: str) -> Figures:
    """Load one server, which runs in a separate process."""
    records, options = LOADS[load]
    with tempfile.NamedTemporaryFile(prefix="duolog-loops-") as file, socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        command = [sys.executable, __file__, "--serve", kind, file.name, str(listening.fileno())]
        server = subprocess.Popen(command, pass_fds=[listening.fileno()])
        try:
            port = listening.getsockname()[1]
            frame = produce_frame(TOPIC, records=records)
            return flat(
                run_load("produce", f"127.0.0.1:{port}", TOPIC, frame, partitions=1, **options)
            )
        finally:
            server.kill()
            server.wait()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--serve", nargs=3, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        kind, path, descriptor = options.serve
        listening = socket.socket(fileno=int(descriptor))
        file = os.open(path, os.O_RDWR)
        {"epoll": serve_epoll, "uvloop": serve_uvloop}[kind](listening, file)
    rows = {}
    for load in LOADS:
        found = [(run("epoll", load), run("uvloop", load)) for _ in range(options.rounds)]
        rows[load] = {
            "ratios": ratios(found),
            "epoll": spread([epoll for epoll, _ in found]),
            "uvloop": spread([uvloop for _, uvloop in found]),
        }
        os.sync()
    write_result("event_loops", {"rounds": options.rounds, "rows": rows})


if __name__ == "__main__":
    main()
