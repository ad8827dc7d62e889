"""The broker's HTTP endpoint (`endpoint.py`): /metrics for Prometheus, /health and /ready.

    /health  200 as soon as the process runs; once the loop runs, when the loop answers
    /ready   200 when recovery is done, the log directory is online and the coordinators have
             loaded; else 503 with what is missing

With `metrics.require.token`, /metrics needs a bearer token of a user who may describe the cluster.

It listens before recovery begins. A scrape is made on the loop in slices of a few milliseconds, so
that no client waits for it; clients wait on a thread of the endpoint.
"""

import logging
import socket
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final, TypeVar

from duolog.broker.metrics.endpoint import FORBIDDEN, UNAUTHENTICATED, UNAVAILABLE, Endpoint
from duolog.broker.metrics.exposition import exposition
from duolog.security.authorization.operations import CLUSTER_NAME, Operation, ResourceType
from duolog.security.sasl.bearer_exchange import bearer_token

if TYPE_CHECKING:
    from duolog.broker.broker import Broker
    from duolog.broker.metrics.tls import EndpointTls

logger = logging.getLogger(__name__)

_SCRAPE_TIMEOUT_S: Final = 10.0
_ALIVE_TIMEOUT_S: Final = 2.0
_RIGHT: Final = (Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME)

T = TypeVar("T")


class MetricsEndpoint(Endpoint):
    """The endpoint of one process; it knows a broker once there is one."""

    def __init__(
        self,
        listening: socket.socket,
        tls: "EndpointTls | None" = None,
        *,
        requires_token: bool = False,
    ) -> None:
        self._broker: Broker | None = None
        self._requires_token = requires_token
        self.danger = danger_of(encrypts=tls is not None, requires_token=requires_token)
        """Why the endpoint is not safe beyond loopback; empty if it is."""
        super().__init__(listening, tls)

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
        text = self._ask(_scrape, _SCRAPE_TIMEOUT_S)
        return text.encode() if text else None

    def refusal(self, authorization: str, host: str) -> int:
        """Return the status for a client without a token of a user who may see metrics, or 0."""
        if not self._requires_token:
            return 0
        token = bearer_token(authorization)
        if token is None:
            return UNAUTHENTICATED

        def check(broker: "Broker", put: Callable[[int | None], None]) -> None:
            put(_refusal(broker, token, host))

        status = self._ask(check, _ALIVE_TIMEOUT_S)
        return UNAVAILABLE if status is None else status

    def alive(self) -> bool:
        """Return whether the loop answers; before it runs the process is in recovery."""
        if self._broker is None:
            return True
        return self._ask(_answer, _ALIVE_TIMEOUT_S) is not None

    def _ask(
        self, work: "Callable[[Broker, Callable[[T | None], None]], None]", timeout_s: float
    ) -> "T | None":
        """Return what `work` puts on the loop; None without a broker, or after the time."""
        broker = self._broker
        if broker is None:
            return None
        answers: SimpleQueue[T | None] = SimpleQueue()
        broker.loop.call_soon_threadsafe(lambda: work(broker, answers.put))
        try:
            return answers.get(timeout=timeout_s)
        except Empty:
            return None

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


def danger_of(*, encrypts: bool, requires_token: bool) -> str:
    """Return why an endpoint is not safe beyond loopback; empty if it is."""
    if not requires_token:
        return "clients are not authenticated"
    return "" if encrypts else "nothing is encrypted"


def _answer(_broker: "Broker", put: Callable[[bool | None], None]) -> None:
    put(True)  # noqa: FBT003 - a value, not an option


def _refusal(broker: "Broker", token: str, host: str) -> int:
    client = broker.security.client_of_token(token, host)
    if client is None:
        return UNAUTHENTICATED
    authorizer = broker.authorizer
    if authorizer is None or authorizer.allows(client, *_RIGHT):
        return 0
    authorizer.note_refusal(client, *_RIGHT)
    return FORBIDDEN


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
