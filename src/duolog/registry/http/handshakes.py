"""The TLS handshakes of the registry: bounded in number and time, before a connection is served.

    accept ─▶ handshake ─┬─ finished ─▶ HttpConnection
                         ├─ failed, or longer than `seconds` ─▶ closed
                         └─ the oldest of too many ─▶ closed

An honest client needs milliseconds, so it is hardly ever the oldest, however many connections an
attacker holds open. Without the bound, they could use all file descriptors of the process. At most
`_ACCEPTS_MAX` connections are accepted in a turn of the loop, which costs 10 ms of handshakes.

asyncio's own server does not show connections before their handshake is finished; therefore
connections are accepted here.

Thread: the event loop.

Source: the broker's `Unauthenticated`.
"""

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import ssl

    from duolog.core.limited_log import LimitedLog

logger = logging.getLogger(__name__)

AT_ONCE_MAX: Final = 1000
HANDSHAKE_S: Final = 10.0
"""A client has this time for its handshake."""
_ACCEPTS_MAX: Final = 16
_PAUSE_S: Final = 1.0


class HandshakingServer:
    """Accepts connections of one listening socket, and serves those that finish a handshake.

    Args:
        listening: does not block; it is closed by `close`.
        make: returns the protocol of a connection; called when its handshake begins.
        lines: the log of what clients cause.
    """

    def __init__(
        self,
        listening: socket.socket,
        tls: "ssl.SSLContext",
        make: Callable[[], asyncio.Protocol],
        lines: "LimitedLog",
    ) -> None:
        self.evicted = 0
        """Handshakes that were ended because of their number."""
        self.failed = 0
        """Handshakes that failed or took too long."""
        self._listening = listening
        self._tls = tls
        self._make = make
        self._lines = lines
        self._loop = asyncio.get_running_loop()
        self._open: dict[asyncio.Task[None], None] = {}
        """Handshakes that are not finished, the oldest first."""
        listening.settimeout(0)
        self._loop.add_reader(listening, self._accept)

    def __len__(self) -> int:
        return len(self._open)

    def close(self) -> None:
        """Stop accepting, and end the handshakes that are not finished."""
        self._loop.remove_reader(self._listening)
        self._listening.close()
        for handshake in tuple(self._open):
            handshake.cancel()

    def _accept(self) -> None:
        for _ in range(_ACCEPTS_MAX):
            try:
                accepted, address = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:  # Such as that no file descriptors are left.
                self._log(logging.WARNING, "cannot accept connections now", error=str(error))
                self._loop.remove_reader(self._listening)
                self._loop.call_later(_PAUSE_S, self._resume)
                return
            accepted.settimeout(0)
            if len(self._open) >= AT_ONCE_MAX:
                self._evict()
            client = f"{address[0]}:{address[1]}" if address else ""
            task = self._loop.create_task(self._shake_hands(accepted, client))
            self._open[task] = None
            task.add_done_callback(self._forget)

    def _resume(self) -> None:
        if self._listening.fileno() >= 0:
            self._loop.add_reader(self._listening, self._accept)

    def _evict(self) -> None:
        oldest = next(iter(self._open))
        self._forget(oldest)
        self.evicted += 1
        oldest.cancel()

    def _forget(self, handshake: "asyncio.Task[None]") -> None:
        self._open.pop(handshake, None)

    async def _shake_hands(self, accepted: socket.socket, client: str) -> None:
        try:
            await self._loop.connect_accepted_socket(
                self._make, accepted, ssl=self._tls, ssl_handshake_timeout=HANDSHAKE_S
            )
        except OSError as error:
            self.failed += 1
            reason = getattr(error, "reason", None) or str(error) or type(error).__name__
            self._log(logging.INFO, "TLS handshake failed", client=client, reason=reason)

    def _log(self, level: int, line: str, **fields: object) -> None:
        self._lines.log(logger, level, line, fields)
