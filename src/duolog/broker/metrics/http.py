"""The HTTP endpoint: /metrics for Prometheus, /health and /ready for whoever watches the process.

    /health  200 as soon as the process runs; once the loop runs, when the loop answers
    /ready   200 when recovery is done, the log directory is online and the coordinators have
             loaded; else 503 with what is missing

It listens before recovery begins. A scrape is made on the loop in slices of a few milliseconds, so
that no client waits for it; waiting and HTTP itself are on threads of this endpoint.

Threads: one that accepts, one for each request (a few at a time).
"""

import json
import logging
import socket
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, SimpleQueue
from threading import BoundedSemaphore, Thread
from time import sleep
from typing import TYPE_CHECKING, Any, Final

from duolog.broker.metrics.exposition import exposition
from duolog.broker.metrics.text import CONTENT_TYPE
from duolog.broker.network.addresses import Address

if TYPE_CHECKING:
    from duolog.broker.broker import Broker

logger = logging.getLogger(__name__)

_SCRAPE_TIMEOUT_S: Final = 10.0
_ALIVE_TIMEOUT_S: Final = 2.0
_CLIENT_TIMEOUT_S: Final = 10.0
_REQUESTS_MAX: Final = 8
_PAUSE_S: Final = 1.0


class MetricsEndpoint:
    """The endpoint of one process; it knows a broker once there is one."""

    def __init__(self, listening: socket.socket) -> None:
        self._broker: Broker | None = None
        self.address = Address(*listening.getsockname()[:2])
        self._server = _Server(listening, self)
        self._listening = listening
        self._open = True
        self._thread = Thread(target=self._accept, name="metrics-http", daemon=True)
        self._thread.start()

    def attach(self, broker: "Broker") -> None:
        """Answer for this broker, whose loop is about to run."""
        self._broker = broker

    def detach(self) -> None:
        """Answer for nobody any more: the loop has ended."""
        self._broker = None

    def close(self) -> None:
        self.detach()
        self._open = False
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)  # Wakes the thread.
        self._thread.join()
        self._server.server_close()

    def _accept(self) -> None:
        while self._open:
            try:
                accepted, address = self._listening.accept()
            except OSError:
                if self._open:  # No descriptors left, as a rule.
                    sleep(_PAUSE_S)
                continue
            self._server.process_request(accepted, address)

    def metrics(self) -> bytes | None:
        """Return the text of all metrics, or None when there is none now."""
        broker = self._broker
        if broker is None:
            return None
        texts: SimpleQueue[str | None] = SimpleQueue()
        broker.loop.call_soon_threadsafe(lambda: _scrape(broker, texts.put))
        try:
            text = texts.get(timeout=_SCRAPE_TIMEOUT_S)
        except Empty:
            return None
        return text.encode() if text else None

    def alive(self) -> bool:
        """Tell whether the loop answers; before it runs the process is in recovery."""
        broker = self._broker
        if broker is None:
            return True
        answers: SimpleQueue[bool] = SimpleQueue()
        broker.loop.call_soon_threadsafe(lambda: answers.put(True))  # noqa: FBT003
        try:
            return answers.get(timeout=_ALIVE_TIMEOUT_S)
        except Empty:
            return False

    def readiness(self) -> dict[str, bool]:
        """Return what a client needs of the broker, and whether it is there."""
        broker = self._broker
        if broker is None:
            return {"recovered": False}
        return {
            "recovered": True,
            "log_dir_online": broker.rounds.failure is None,
            "coordinators_loaded": broker.coordinators_loaded,
        }


def _scrape(broker: "Broker", put: Callable[[str | None], None]) -> None:
    """Make the text on the loop, in time slices."""

    def steps() -> Any:
        pieces = []
        try:
            for piece in exposition(broker):
                pieces.append(piece)
                yield
        except Exception:
            logger.exception("scrape failed")
            put(None)
            return
        put("".join(pieces))

    broker.slices.run(steps())


class _Handler(BaseHTTPRequestHandler):
    server: "_Server"
    timeout = _CLIENT_TIMEOUT_S
    server_version = "duolog"
    sys_version = ""

    def do_GET(self) -> None:
        endpoint = self.server.endpoint
        path = self.path.partition("?")[0]
        if path == "/metrics":
            text = endpoint.metrics()
            if text is None:
                self._answer(503, "text/plain", b"no metrics now\n")
            else:
                self._answer(200, CONTENT_TYPE, text)
        elif path == "/health":
            alive = endpoint.alive()
            self._answer_json(200 if alive else 503, {"alive": alive})
        elif path == "/ready":
            checks = endpoint.readiness()
            ready = all(checks.values())
            self._answer_json(200 if ready else 503, {"ready": ready, **checks})
        else:
            self._answer(404, "text/plain", b"/metrics, /health, /ready\n")

    do_HEAD = do_GET

    def _answer_json(self, status: int, content: dict[str, bool]) -> None:
        self._answer(status, "application/json", json.dumps(content).encode() + b"\n")

    def _answer(self, status: int, content_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  http.server's name.
        logger.debug("http request", extra={"line": format % args})


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, listening: socket.socket, endpoint: MetricsEndpoint) -> None:
        super().__init__(listening.getsockname()[:2], _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.endpoint = endpoint
        self._places = BoundedSemaphore(_REQUESTS_MAX)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._places.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        del request
        logger.debug("http client failed", extra={"client": client_address}, exc_info=True)
