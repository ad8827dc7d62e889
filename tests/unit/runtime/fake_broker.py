"""A fake broker that answers ApiVersions and Metadata, or hangs."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_API_VERSIONS, _METADATA = 18, 3


class FakeBroker:
    """Answers ApiVersions and Metadata, or accepts connections and stays silent."""

    def __init__(self, port: int = 0) -> None:
        self.server = socket.create_server(("127.0.0.1", port))
        self.address = f"127.0.0.1:{self.server.getsockname()[1]}"
        self.is_frozen = False
        self.authenticates = False
        self.knows: list[str] = [self.address]
        self.held: list[socket.socket] = []

    def serve(self) -> None:
        with suppress(OSError):  # It has gone.
            while True:
                connection, _ = self.server.accept()
                if self.is_frozen:
                    self.held.append(connection)
                else:
                    with connection, suppress(EOFError):
                        self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        with connection.makefile("rb") as requests:
            while size := requests.read(4):
                request = requests.read(struct.unpack(">i", size)[0])
                key, _, correlation_id = struct.unpack_from(">hhi", request)
                if key == _METADATA and self.authenticates:
                    return
                body = b"" if key == _API_VERSIONS else struct.pack(">ii", 0, len(self.knows))
                for number, broker in enumerate(self.knows if key == _METADATA else ()):
                    host, _, port = broker.rpartition(":")
                    rack = struct.pack(">h", -1) if number else struct.pack(">h1s", 1, b"r")
                    body += struct.pack(">ih", number, len(host)) + host.encode()
                    body += struct.pack(">i", int(port)) + rack
                connection.sendall(struct.pack(">ii", 4 + len(body), correlation_id) + body)

    def end(self) -> None:
        # Else the thread that accepts keeps the port open.
        with suppress(OSError):
            self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()
        for connection in self.held:
            connection.close()


@contextmanager
def serving(port: int = 0) -> Iterator[FakeBroker]:
    broker = FakeBroker(port)
    threading.Thread(target=broker.serve, daemon=True).start()
    yield broker
    broker.end()
