"""Frames between the server and the process of a group: messages in JSON over two pipes.

    length (4 bytes, big-endian)  message (JSON, UTF-8)

Threads: any thread may send; one thread receives.
"""

import json
import struct
import threading
from typing import IO, Any, Final

Message = dict[str, Any]

_LENGTH: Final = struct.Struct(">I")
LENGTH_MAX: Final = 64 * 1024 * 1024
"""A longer message is an error of the sender."""


class Frames:
    """One end of a connection.

    Args:
        source: pipe from the other end, unbuffered or buffered.
        sink: pipe to the other end.
    """

    def __init__(self, source: IO[bytes], sink: IO[bytes]) -> None:
        self._source, self._sink = source, sink
        self._sending = threading.Lock()

    def send(self, message: Message) -> None:
        """Send a message.

        Raises:
            OSError, ValueError: the other end has closed, or this one has.
        """
        content = json.dumps(message).encode()
        if len(content) > LENGTH_MAX:
            raise ValueError(f"message of {len(content)} bytes")
        with self._sending:
            self._sink.write(_LENGTH.pack(len(content)) + content)
            self._sink.flush()

    def receive(self) -> Message | None:
        """Return the next message; None once the other end has closed, or sends anything else."""
        try:
            (length,) = _LENGTH.unpack(self._read(_LENGTH.size))
            if length > LENGTH_MAX:
                return None
            message = json.loads(self._read(length))
        except (OSError, ValueError, struct.error, RecursionError):
            return None
        return message if isinstance(message, dict) else None

    def _read(self, size: int) -> bytes:
        found = bytearray()
        while len(found) < size:
            part = self._source.read(size - len(found))
            if not part:
                break
            found += part
        return bytes(found)
