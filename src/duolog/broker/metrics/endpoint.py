"""An HTTP endpoint of a process: /metrics for Prometheus, /health and /ready for supervisors.

    /health  200 while the process answers
    /ready   200 when all that it needs is there; else 503 with what is missing

An endpoint may require a login for all but /health and /ready, and speak HTTPS.

Waiting and HTTP itself are on threads of the endpoint. The server passes the contents: `Endpoint`'s
methods.

A client that sends slowly holds one of a few places. When all are taken, the oldest request that
has not arrived gives way: an honest one needs milliseconds, so it is hardly ever the oldest.

Threads: one that accepts, one for each request (a few at a time).
"""

import json
import logging
import selectors
import socket
from abc import ABC, abstractmethod
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Lock, Thread, local
from time import sleep
from typing import TYPE_CHECKING, Final

from duolog.broker.metrics.text import CONTENT_TYPE
from duolog.core.listening import Address

if TYPE_CHECKING:
    from duolog.broker.metrics.tls import EndpointTls

logger = logging.getLogger(__name__)

_CLIENT_TIMEOUT_S: Final = 10.0
_REQUESTS_MAX: Final = 8
_PAUSE_S: Final = 1.0
_OPEN: Final = ("/health", "/ready")
UNAUTHENTICATED: Final = 401
FORBIDDEN: Final = 403
UNAVAILABLE: Final = 503
_REFUSALS: Final = {
    UNAUTHENTICATED: b"a valid bearer token is required\n",
    FORBIDDEN: b"the user has no right to describe the cluster\n",
    UNAVAILABLE: b"no logins now\n",
}


class Endpoint(ABC):
    """Serves the results of its methods until it is closed; threads call them at the same time."""

    def __init__(self, listening: socket.socket, tls: "EndpointTls | None" = None) -> None:
        self.address = Address(*listening.getsockname()[:2])
        self._server = _Server(listening, self, tls)
        self._listening = listening
        self._listening.setblocking(False)  # noqa: FBT003 - the standard library's signature
        # macOS does not wake a thread in `accept` when the socket is shut down.
        self._waking, self._woken = socket.socketpair()
        self._open = True
        self._thread = Thread(target=self._accept, name="metrics-http", daemon=True)
        self._thread.start()

    @abstractmethod
    def metrics(self) -> bytes | None:
        """Return the text of all metrics, or None when there is none now."""

    @abstractmethod
    def alive(self) -> bool:
        """Return whether the process is working."""

    @abstractmethod
    def readiness(self) -> dict[str, bool]:
        """Return the conditions for readiness, and whether each is met."""

    def refusal(self, authorization: str, host: str) -> int:
        """Return the HTTP status for a client that may not read metrics, or 0 if it may.

        `authorization` is the header of this name, or empty.
        """
        del authorization, host
        return 0

    def more(self, path: str) -> object | None:
        """Return the JSON object of another path; None if the path is unknown."""
        del path
        return None

    def close(self) -> None:
        self._open = False
        self._waking.close()
        self._thread.join()
        self._woken.close()
        self._server.server_close()

    def _accept(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._listening, selectors.EVENT_READ)
            selector.register(self._woken, selectors.EVENT_READ)
            while True:
                selector.select()
                if not self._open:
                    return
                self._accept_one()

    def _accept_one(self) -> None:
        try:
            accepted, address = self._listening.accept()
        except BlockingIOError:  # The client has gone already.
            return
        except OSError:
            if self._open:  # No descriptors left, as a rule.
                sleep(_PAUSE_S)
            return
        try:
            self._server.process_request(accepted, address)
        except (OSError, RuntimeError) as error:  # No descriptor or thread left.
            logger.warning("cannot serve an http client", extra={"error": str(error)})
            accepted.close()


class _Handler(BaseHTTPRequestHandler):
    server: "_Server"
    timeout = _CLIENT_TIMEOUT_S
    server_version = "duolog"
    sys_version = ""

    def do_GET(self) -> None:
        self.server.arrived()
        endpoint = self.server.endpoint
        path = self.path.partition("?")[0]
        if path in _OPEN:
            self._answer_open(endpoint, path)
        elif status := endpoint.refusal(
            self.headers.get("Authorization", ""), self.client_address[0]
        ):
            self._answer(status, "text/plain", _REFUSALS[status])
        elif path == "/metrics":
            text = endpoint.metrics()
            if text is None:
                self._answer(503, "text/plain", b"no metrics now\n")
            else:
                self._answer(200, CONTENT_TYPE, text)
        elif (told := endpoint.more(path)) is not None:
            self._answer_json(200, told)
        else:
            self._answer(404, "text/plain", b"/metrics, /health, /ready\n")

    do_HEAD = do_GET

    def _answer_open(self, endpoint: Endpoint, path: str) -> None:
        if path == "/health":
            alive = endpoint.alive()
            self._answer_json(200 if alive else 503, {"alive": alive})
        else:
            checks = endpoint.readiness()
            ready = all(checks.values())
            self._answer_json(200 if ready else 503, {"ready": ready, **checks})

    def _answer_json(self, status: int, content: object) -> None:
        self._answer(status, "application/json", json.dumps(content).encode() + b"\n")

    def _answer(self, status: int, content_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        if status == UNAUTHENTICATED:
            self.send_header("WWW-Authenticate", 'Bearer realm="metrics"')
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  http.server's name.
        logger.debug("http request", extra={"line": format % args})


_Request = socket.socket | tuple[bytes, socket.socket]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(
        self, listening: socket.socket, endpoint: Endpoint, tls: "EndpointTls | None"
    ) -> None:
        super().__init__(listening.getsockname()[:2], _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.endpoint = endpoint
        self._tls = tls
        self._lock = Lock()
        self._places: dict[int, socket.socket] = {}
        """A copy of the socket of each request, the oldest first."""
        self._arriving: dict[int, None] = {}
        """Those that have not arrived as a whole."""
        self._requests = count()
        self._thread = local()

    def process_request(self, request: _Request, client_address: object) -> None:
        assert isinstance(request, socket.socket)
        place = next(self._requests)
        with self._lock:
            if len(self._places) >= _REQUESTS_MAX:
                oldest = next(iter(self._arriving), None)
                if oldest is None:  # All are being answered.
                    self.shutdown_request(request)
                    return
                del self._arriving[oldest]
                _cut_off(self._places.pop(oldest))
            # A copy: with TLS, another object takes the socket over.
            self._places[place] = request.dup()
            self._arriving[place] = None
        Thread(target=self._serve, args=(place, request, client_address), daemon=True).start()

    def arrived(self) -> None:
        """Keep the place of the request of this thread: it is being answered."""
        with self._lock:
            self._arriving.pop(self._thread.place, None)

    def _serve(self, place: int, request: socket.socket, client_address: object) -> None:
        self._thread.place = place
        try:
            if self._tls is not None:
                request = self._tls.wrap(request, _CLIENT_TIMEOUT_S)
            self.process_request_thread(request, client_address)
        except OSError as error:  # A failed handshake.
            logger.debug("https client failed", extra={"client": client_address, "error": error})
            self.shutdown_request(request)
        finally:
            with self._lock:
                self._arriving.pop(place, None)
                held = self._places.pop(place, None)
            if held is not None:
                held.close()

    def handle_error(self, request: _Request, client_address: object) -> None:
        del request
        logger.debug("http client failed", extra={"client": client_address}, exc_info=True)


def _cut_off(held: socket.socket) -> None:
    """End a connection under the thread that serves it."""
    with suppress(OSError):
        held.shutdown(socket.SHUT_RDWR)
    held.close()
