"""The listening side: accepts connections of one socket, and stops in order.

A stop closes idle connections at once, lets requests in progress finish for `grace_s`, and then
cancels them.

Thread: the event loop.
"""

import asyncio
import logging
import socket
from email.utils import formatdate
from typing import TYPE_CHECKING, Any, Final

from uvicorn.config import Config

from duolog.server.http.connections import Door, FirstBytes
from duolog.server.http.http1 import Http1
from duolog.server.http.http2 import Http2
from duolog.server.limits import Limits
from duolog.server.operations.counts import Counts

if TYPE_CHECKING:
    from duolog.registry.http.tls import RegistryTls

BACKLOG: Final = 512
"""Connections that the system keeps until they are accepted."""
_ACCEPTED_LEAST: Final = 16
_DATE_S: Final = 1.0


class HttpServer:
    """Serves one listening socket with an ASGI application."""

    def __init__(self, application: Any, limits: Limits, counts: Counts) -> None:
        # Clients cause these lines; the access log and the gate have all that an operator needs.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        config = Config(
            application,
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
        )
        config.load()
        self._limits = limits
        self._door = Door(config, limits, counts)
        self._server: asyncio.Server | None = None
        self._dates: asyncio.TimerHandle | None = None

    def evict_unfinished(self) -> bool:
        """Close a connection whose client does not send its request or read its response."""
        return self._door.evict_unfinished()

    async def start(self, listening: socket.socket, tls: "RegistryTls | None" = None) -> None:
        """Accept connections from now on, of HTTPS if `tls` is given."""
        loop = asyncio.get_running_loop()
        self._date(loop)
        context = None if tls is None else tls.context
        # asyncio accepts as many connections at once, before it reports the first of them. They
        # must not use up the descriptors that the limit of connections leaves.
        at_once = min(max(self._limits.connections_max // 4, _ACCEPTED_LEAST), BACKLOG)
        self._server = await loop.create_server(
            lambda: FirstBytes(self._door, Http1, Http2, context),
            sock=listening,
            backlog=at_once,
        )
        listening.listen(BACKLOG)
        if tls is not None:
            tls.follow_files(loop)

    async def stop(self) -> None:
        """Stop accepting, finish the requests in progress, and close all connections."""
        if self._server is not None:
            self._server.close()
        for connection in tuple(self._door.state.connections):
            connection.shutdown()
        try:
            async with asyncio.timeout(self._limits.grace_s):
                await self._door.empty.wait()
        except TimeoutError:
            tasks = tuple(self._door.state.tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._door.abort_all()
            await self._door.empty.wait()
        if self._dates is not None:
            self._dates.cancel()

    def _date(self, loop: asyncio.AbstractEventLoop) -> None:
        now = formatdate(usegmt=True).encode()
        self._door.state.default_headers = [(b"date", now)]
        self._dates = loop.call_later(_DATE_S, self._date, loop)
