"""Load the schemas of the requests that common clients send, before they send them.

    ready ─▶ load ─▶ load ─▶ …      on the thread of `BesideTheLoop`, one at a time

A schema takes 3 to 22 ms. Without preloading, the first request of its version waits for it, and
requests of other connections overtake it: a consumer that starts at the latest offset could miss a
record that was produced right after it had asked. Preloading starts when the broker is ready, so
that the start takes no longer. Requests have precedence: one that needs a schema waits for at most
one other.

Source: the versions that the clients choose for a broker of Kafka 4.1, as its request log shows.
"""

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Protocol

from duolog.protocol.headers import RequestHeader

if TYPE_CHECKING:
    from duolog.broker.event_loop.background import BesideTheLoop
    from duolog.protocol.messages import Messages

logger = logging.getLogger(__name__)

LIST_OFFSETS: Final = 2

VERSIONS: Final = {
    LIST_OFFSETS: (3, 7, 10),
    10: (1, 2, 5),  # FindCoordinator
    11: (5, 7, 9),  # JoinGroup
    14: (3, 5),  # SyncGroup
    9: (3, 8, 9),  # OffsetFetch
    12: (1, 3, 4),  # Heartbeat
    8: (3, 8, 9),  # OffsetCommit
    13: (1, 5),  # LeaveGroup
    22: (0, 4, 5),  # InitProducerId
}
"""Versions of consumers and producers by API key, in the order in which they are loaded.

The clients are aiokafka, librdkafka, kafka-python, and the Java client, which uses the latest.
"""


class Broker(Protocol):
    """The broker, as preloading sees it."""

    messages: "Messages"
    beside: "BesideTheLoop"


class Preloading:
    """Loads the schemas of `VERSIONS`."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._left: Iterator[RequestHeader] = iter(())
        self._loaded = 0

    def start(self) -> None:
        """Begin, and return at once."""
        self._left = headers()
        self._go_on(None, None)

    def _go_on(self, _loaded: None, error: Exception | None) -> None:
        """Load the next schema after requests that have come meanwhile."""
        if error is not None:
            logger.warning("cannot load a schema", extra={"error": str(error)})
        header = next(self._left, None)
        if header is None:
            logger.debug("loaded schemas", extra={"versions": self._loaded})
            return
        self._loaded += 1
        self._broker.beside.call(lambda: self._broker.messages.load(header), self._go_on)


def headers(*api_keys: int) -> Iterator[RequestHeader]:
    """Yield a header for each version that is preloaded; with keys, only of these APIs."""
    for api_key, versions in VERSIONS.items():
        if not api_keys or api_key in api_keys:
            for version in versions:
                yield RequestHeader(api_key, version, 0, None, 0)
