"""A client of single requests: built and read by the schemas, sent as they are.

No retry, no metadata, no check: what a broker answers to exactly this request, and whether it
closes the connection instead.
"""

import socket
import struct
import time
from typing import Any, Final, Self

from kio.serial import entity_reader

from duolog.protocol.encoder import encoder
from duolog.protocol.headers import API_VERSIONS, is_flexible
from duolog.protocol.messages import entity_type

TIMEOUT_S: Final = 60.0
SETTLE_S: Final = 0.3


class ConnectionClosed(Exception):
    """The broker closed the connection instead of answering."""


class WireClient:
    """One connection, from the host `source` if given; requests are sent one by one."""

    def __init__(
        self, address: str, *, controller_apart: bool = False, source: str | None = None
    ) -> None:
        self._controller_apart = controller_apart
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection(
            (host, int(port)), timeout=TIMEOUT_S, source_address=source and (source, 0)
        )
        self._correlation_id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def settle(self, *, changed: bool = True) -> None:
        """Wait until the broker has applied a change: Kafka's applies it after the answer."""
        if changed and self._controller_apart:
            time.sleep(SETTLE_S)

    def ask(self, key: int, version: int, /, **fields: Any) -> Any:
        """Send a request and return the answer's entity."""
        body = encoder(entity_type(key, version, "request"))(fields)
        content = self.ask_bytes(key, version, body)
        entity, size = entity_reader(entity_type(key, version, "response"))(content, 0)
        assert size == len(content), "the answer is longer than its schema says"
        return entity

    def ask_bytes(self, key: int, version: int, body: bytes) -> bytes:
        """Send a body after a header and return the answer's body.

        Raises:
            ConnectionClosed: there is no answer.
        """
        self.send(key, version, body)
        return self.receive(key, version)

    def send(self, key: int, version: int, body: bytes) -> None:
        self._correlation_id += 1
        header = struct.pack(">hhih", key, version, self._correlation_id, 4) + b"test"
        header += b"\0" if is_flexible(key, version) else b""
        self.socket.sendall(struct.pack(">i", len(header) + len(body)) + header + body)

    def receive(self, key: int, version: int) -> bytes:
        """Return the body of the next answer."""
        (size,) = struct.unpack(">i", self._exactly(4))
        content = self._exactly(size)
        return content[5 if is_flexible(key, version) and key != API_VERSIONS else 4 :]

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            try:
                piece = self.socket.recv(size - len(data))
            except ConnectionResetError:
                piece = b""
            if not piece:
                raise ConnectionClosed
            data += piece
        return data
