"""A client of single requests: built and read by the schemas, sent as they are.

No retry, no metadata, no check: what a broker answers to exactly this request, and whether it
closes the connection instead.
"""

import socket
import struct
from typing import Any, Final, Self

from kio.serial import entity_reader

from duolog.protocol.encoder import encoder
from duolog.protocol.headers import API_VERSIONS, is_flexible
from duolog.protocol.messages import entity_type
from waiting import wait_until

TIMEOUT_S: Final = 60.0
DESCRIBE_CONFIGS, ALTER_CONFIGS, GROUP = 32, 44, 32
MARKER: Final = ("settled", "consumer.session.timeout.ms", "50000")
"""A group, and a config of it: changed to learn that the broker has applied all earlier changes."""


class ConnectionClosed(Exception):
    """The broker closed the connection instead of answering."""


class WireClient:
    """One connection, from the host `source` if given; requests are sent one by one."""

    def __init__(self, address: str, *, source: str | None = None) -> None:
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
        """Wait until the broker has applied all changes that its controller has answered.

        Apache Kafka's broker reads the controller's log later and in order. It shows a batch of
        changes before its log manager and its own configs have them, and shows the next batch
        only after that. So the config of a marker is set, and removed once it is visible.
        """
        if changed:
            for operation in (0, 1):
                self._mark(operation)
                wait_until(
                    lambda wanted=operation == 0: self._is_marked() is wanted,  # type: ignore[misc]
                    "the broker does not apply the changes of its controller",
                )

    def _mark(self, operation: int) -> None:
        group, name, value = MARKER
        config = {
            "name": name,
            "config_operation": operation,
            "value": None if operation else value,
        }
        resource = {"resource_type": GROUP, "resource_name": group, "configs": [config]}
        answer = self.ask(ALTER_CONFIGS, 1, resources=[resource], validate_only=False)
        assert answer.responses[0].error_code == 0, answer

    def _is_marked(self) -> bool:
        group, name, value = MARKER
        resource = {"resource_type": GROUP, "resource_name": group, "configuration_keys": [name]}
        answer = self.ask(
            DESCRIBE_CONFIGS,
            4,
            resources=[resource],
            include_synonyms=False,
            include_documentation=False,
        )
        return [row.value for row in answer.results[0].configs] == [value]

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
