"""Writes records to a broker unchanged, even timestamp 0, which clients treat as missing.

Uses Produce version 3 directly; the batch is that of `duolog.record`. Source: Kafka
`ProduceRequest.json`.
"""

import socket
import struct
from types import TracebackType
from typing import Final, Self

from duolog.core.errors import KafkaError
from duolog.record.records import Record, encode_batch
from duolog.testing.reference import SourceRecord

_VERSION: Final = 3
_NETWORK: Final = 13
_ACKS_ALL: Final = -1
_TIMEOUT_MS: Final = 15_000
_HEAD: Final = struct.Struct(">hhih")  # API key, version, correlation id, null client id
_SETTINGS: Final = struct.Struct(">hhi")  # null transactional id, acks, timeout
_ERROR: Final = struct.Struct(">ih")  # partition, error


class Writer:
    """Writes to partition 0 of topics over its own connection; one thread at a time."""

    def __init__(self, bootstrap_servers: str) -> None:
        host, _, port = bootstrap_servers.partition(",")[0].rpartition(":")
        self._socket = socket.create_connection((host, int(port)), _TIMEOUT_MS / 1000)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.close()

    def write(self, topic: str, record: SourceRecord) -> None:
        """Write a record, and return when it is acknowledged.

        Raises:
            KafkaError: the broker refuses it.
        """
        name = _text(topic)
        batch = encode_batch(
            [Record(0, record.timestamp_ms, record.key, record.value, record.headers)]
        )
        body = _SETTINGS.pack(-1, _ACKS_ALL, _TIMEOUT_MS)
        body += struct.pack(">i", 1) + name + struct.pack(">iii", 1, 0, len(batch)) + batch
        request = _HEAD.pack(0, _VERSION, 0, -1) + body
        self._socket.sendall(struct.pack(">i", len(request)) + request)
        (size,) = struct.unpack(">i", self._received(4))
        answer = self._received(size)
        # After the correlation id: an array of one topic, its name, an array of one partition.
        _, code = _ERROR.unpack_from(answer, 4 + 4 + len(name) + 4)
        if code:
            raise KafkaError(f'cannot write to topic "{topic}"', code=code)

    def _received(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self._socket.recv(size - len(data))
            if not part:
                raise KafkaError("the broker has closed the connection", code=_NETWORK)
            data += part
        return data


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">h", len(data)) + data
