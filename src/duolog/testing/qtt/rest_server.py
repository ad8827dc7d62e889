"""A server on loopback for the cases of the REST server: their requests go through HTTP.

    case ─▶ HTTP/1.1 ─▶ gate, table of routes ─▶ the endpoints of that case

One server serves all cases, one after another: each case gives it its own endpoints.
"""

import asyncio
import http.client
import threading
from types import TracebackType
from typing import Any, Final, Self

from duolog.core.clock import SystemClock
from duolog.core.listening import Address, open_listener
from duolog.registry.http.hosts import AllowedHosts
from duolog.server.access.server_access import OpenAccess
from duolog.server.http.application import application
from duolog.server.http.gate import Gate
from duolog.server.http.server import HttpServer
from duolog.server.ksql.endpoints import Endpoints
from duolog.server.limits import DEFAULT_LIMITS
from duolog.server.operations.broker_health import BrokerHealth
from duolog.server.operations.context import ServerContext
from duolog.server.operations.workers import Workers

_TIMEOUT_S: Final = 60.0
_THREADS: Final = 4


class RestServer:
    """A server in a thread of its own; a context manager."""

    def __init__(self) -> None:
        no_service: Any = None
        self._context = ServerContext(
            version="test",
            cluster_id="test",
            service_id="test",
            access=OpenAccess(),
            sql=no_service,
            workers=Workers(_THREADS, _THREADS),
            readers=Workers(_THREADS, _THREADS, name="readers"),
            health=BrokerHealth(lambda: True, SystemClock()),
        )
        self._listening = open_listener(Address("127.0.0.1", 0), insecure=False)
        self._port = int(self._listening.getsockname()[1])
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="duolog-rest-cases", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._started.wait(_TIMEOUT_S):
            raise TimeoutError("the server of the cases does not start")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(_TIMEOUT_S)
        self._context.workers.close()
        self._context.readers.close()
        self._context.health.close()
        self._listening.close()

    def send(self, endpoints: Endpoints, path: str, body: bytes, accept: str) -> tuple[int, bytes]:
        """Send a request to endpoints; return the status and the body of the response."""
        self._context.ksql = endpoints
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=_TIMEOUT_S)
        try:
            headers = {"Content-Type": "application/vnd.ksql.v1+json", "Accept": accept}
            connection.request("POST", path, body, headers)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        inner = application(self._context, DEFAULT_LIMITS)
        gate = Gate(inner, self._context, AllowedHosts([]), DEFAULT_LIMITS)
        server = HttpServer(gate, DEFAULT_LIMITS, self._context.counts)
        await server.start(self._listening, None)
        self._started.set()
        await self._stop.wait()
        self._context.stopping.set()
        await server.stop()
