"""Send what is written in one turn of the event loop by one call of the system.

uvicorn writes the headers of a response, its body and its end separately. Each write would be a
system call, which costs more than all else that is done for a small response.

Thread: the event loop.
"""

import asyncio
from collections.abc import Iterable
from typing import Any, Final

from duolog.core.units import KIB

_GATHERED_MAX: Final = 64 * KIB


class GatheredWrites(asyncio.Transport):
    """A transport that passes data on at the end of the turn, or when there is much of it.

    It is equal to the transport below it, which may be the key of a map.

    Args:
        below: the transport of the connection.
        loop: the event loop.
    """

    def __init__(self, below: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._below = below
        self._loop = loop
        self._written: list[bytes] = []
        self._size = 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not data:
            return
        if not self._written:
            self._loop.call_soon(self._pass_on)
        self._written.append(bytes(data))
        self._size += len(data)
        if self._size >= _GATHERED_MAX:
            self._pass_on()

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        self.write(b"".join(list_of_data))

    def write_eof(self) -> None:
        self._pass_on()
        self._below.write_eof()

    def close(self) -> None:
        self._pass_on()
        self._below.close()

    def abort(self) -> None:
        self._written.clear()
        self._size = 0
        self._below.abort()

    def get_write_buffer_size(self) -> int:
        return self._size + self._below.get_write_buffer_size()

    def can_write_eof(self) -> bool:
        return self._below.can_write_eof()

    def is_closing(self) -> bool:
        return self._below.is_closing()

    def is_reading(self) -> bool:
        return self._below.is_reading()

    def pause_reading(self) -> None:
        self._below.pause_reading()

    def resume_reading(self) -> None:
        self._below.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._below.get_extra_info(name, default)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._below.set_write_buffer_limits(high, low)

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return self._below.get_write_buffer_limits()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._below.set_protocol(protocol)

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._below.get_protocol()

    def __eq__(self, other: object) -> bool:
        return self._below is (other._below if isinstance(other, GatheredWrites) else other)

    def __hash__(self) -> int:
        return hash(self._below)

    def _pass_on(self) -> None:
        written, self._written = self._written, []
        self._size = 0
        if written and not self._below.is_closing():
            self._below.write(written[0] if len(written) == 1 else b"".join(written))
