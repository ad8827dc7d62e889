"""The broker's HTTP endpoint (`endpoint.py`): /metrics for Prometheus, /health and /ready.

    /health  200 as soon as the process runs; once the loop runs, when the loop answers
    /ready   200 when recovery is done, the log directory is online and the coordinators have
             loaded; else 503 with what is missing

It listens before recovery begins. A scrape is made on the loop in slices of a few milliseconds, so
that no client waits for it; clients wait on a thread of the endpoint.
"""

import logging
import socket
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

from duolog.broker.metrics.endpoint import Endpoint
from duolog.broker.metrics.exposition import exposition

if TYPE_CHECKING:
    from duolog.broker.broker import Broker

logger = logging.getLogger(__name__)

_SCRAPE_TIMEOUT_S: Final = 10.0
_ALIVE_TIMEOUT_S: Final = 2.0


class MetricsEndpoint(Endpoint):
    """The endpoint of one process; it knows a broker once there is one."""

    def __init__(self, listening: socket.socket) -> None:
        self._broker: Broker | None = None
        super().__init__(listening)

    def attach(self, broker: "Broker") -> None:
        """Answer for this broker, whose loop is about to run."""
        self._broker = broker

    def detach(self) -> None:
        """Stop answering: the loop has ended."""
        self._broker = None

    def close(self) -> None:
        self.detach()
        super().close()

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
        """Return whether the loop answers; before it runs the process is in recovery."""
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

    def steps() -> Iterator[None]:
        pieces = []
        try:
            for piece in exposition(broker):
                pieces.append(piece)
                yield
        except Exception:  # The edge of the scrape: its thread waits for an answer.
            logger.exception("scrape failed")
            put(None)
            return
        put("".join(pieces))

    broker.slices.run(steps())
