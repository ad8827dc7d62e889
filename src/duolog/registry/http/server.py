"""The listening side of HTTP: accepts connections, counts them, and stops in order.

When there are too many, one that waits for its client is closed, or the new one is refused:
`core/eviction.py` decides.

A stop closes idle connections at once, lets requests in progress finish for `GRACE_S`, and then
cancels them.
"""

import asyncio
import socket
from typing import TYPE_CHECKING, Final

from duolog.core.eviction import Evictable
from duolog.core.limited_log import LimitedLog
from duolog.registry.http.protocol import Answer, HttpConnection, Waits

if TYPE_CHECKING:
    from duolog.registry.http.handshakes import HandshakingServer
    from duolog.registry.http.tls import RegistryTls

BODY_BYTES_MAX: Final = 4 * 1024 * 1024
BODIES_BYTES_MAX: Final = 64 * 1024 * 1024
"""The size of the bodies of all connections: a client sends one before it is authenticated."""
CONNECTIONS_MAX: Final = 2000
GRACE_S: Final = 5.0
BACKLOG: Final = 512
"""Connections that the system keeps until they are accepted."""
_ACCEPTED_LEAST: Final = 16
_CONNECTIONS_LEAST: Final = 16


def connections_max(descriptors: int | None) -> int:
    """Return how many connections fit into file descriptors: at most half of them.

    Example:
        >>> connections_max(1024), connections_max(None)
        (512, 2000)
    """
    if descriptors is None:
        return CONNECTIONS_MAX
    return min(CONNECTIONS_MAX, max(descriptors // 2, _CONNECTIONS_LEAST))


class HttpServer:
    """Serves one listening socket.

    Args:
        answer: called with each request that was received completely.
    """

    def __init__(
        self,
        answer: Answer,
        *,
        body_bytes_max: int = BODY_BYTES_MAX,
        connections_max: int = CONNECTIONS_MAX,
        bodies_bytes_max: int = BODIES_BYTES_MAX,
    ) -> None:
        self.body_bytes_max = body_bytes_max
        self.stopping = False
        self._answer = answer
        self._connections_max = connections_max
        self._bodies_left = bodies_bytes_max
        self._connections: Evictable[HttpConnection, Waits] = Evictable()
        self.evicted = 0
        """Connections that were closed to make room."""
        self._none_left = asyncio.Event()
        self._none_left.set()
        self._server: asyncio.Server | HandshakingServer | None = None

    async def start(self, listening: socket.socket, tls: "RegistryTls | None" = None) -> None:
        """Accept connections from now on, of HTTPS if `tls` is given."""
        loop = asyncio.get_running_loop()
        if tls is None:
            # asyncio accepts as many connections at once, before it reports the first of them. They
            # must not use up the descriptors that the limit of connections leaves.
            at_once = min(max(self._connections_max // 4, _ACCEPTED_LEAST), BACKLOG)
            self._server = await loop.create_server(self._connect, sock=listening, backlog=at_once)
            listening.listen(BACKLOG)
            return
        # Loaded here: a registry without TLS needs no OpenSSL.
        from duolog.registry.http.handshakes import HandshakingServer  # noqa: PLC0415

        listening.listen(BACKLOG)
        lines = LimitedLog(loop.call_later, loop.time)
        self._server = HandshakingServer(listening, tls.context, self._connect, lines)
        tls.follow_files(loop)

    def _connect(self) -> HttpConnection:
        return HttpConnection(self._answer, self)

    async def stop(self, grace_s: float = GRACE_S) -> None:
        """Stop accepting, finish the requests in progress, and close all connections."""
        self.stopping = True
        if self._server is not None:
            self._server.close()
        for connection in self._connections:
            connection.stop()
        try:
            async with asyncio.timeout(grace_s):
                await self._none_left.wait()
        except TimeoutError:
            for connection in self._connections:
                connection.abort()
            await self._none_left.wait()

    def opened(self, connection: HttpConnection) -> bool:
        """Note a connection; return whether it may be served."""
        if len(self._connections) >= self._connections_max:
            evicted = self._connections.for_new(connection.host)
            if evicted is not None:
                self.evicted += 1
                self.closed(evicted)
                evicted.abort()
        self._connections.open(connection, connection.host)
        self._none_left.clear()
        self.waits(connection, Waits.NEW)
        return len(self._connections) <= self._connections_max

    def busy(self, connection: HttpConnection) -> None:
        """Note that a request of a connection is being answered."""
        self._connections.keep(connection)

    def waits(self, connection: HttpConnection, reason: Waits) -> None:
        """Note that a connection waits for its client, from now on."""
        self._connections.set(connection, reason)

    def closed(self, connection: HttpConnection) -> None:
        """Forget a connection."""
        self._connections.close(connection)
        if not len(self._connections):
            self._none_left.set()

    def take(self, size_bytes: int) -> bool:
        """Hold bytes of a body; return False if all bodies together would be too large."""
        if size_bytes > self._bodies_left:
            return False
        self._bodies_left -= size_bytes
        return True

    def give_back(self, size_bytes: int) -> None:
        """Hold these bytes no more."""
        self._bodies_left += size_bytes
