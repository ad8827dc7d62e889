"""Connections whose TLS handshake or authentication is not finished: bounded in number and time.

Each has `connection.authentication.timeout.ms`. When there are `max.connections.unauthenticated`,
the oldest is closed for each new one: an honest client needs milliseconds, so it is hardly ever the
oldest, however many connections an attacker holds open.

A handshake costs the loop up to a millisecond. In one round, handshakes get `_ROUND_S` together;
then the sockets of the others stay readable, and their turn comes in the next round.

Threads: the loop.
"""

import logging
from typing import TYPE_CHECKING, Final, Protocol

from duolog.core.units import SECOND_MS

if TYPE_CHECKING:
    from duolog.broker.event_loop.loop import Timer, Timers
    from duolog.broker.settings import BrokerSettings

_ROUND_S: Final = 0.005


class Closable(Protocol):
    """A connection that is not authenticated."""

    def close(self, reason: str = "", *, level: int = ...) -> None: ...


class Unauthenticated:
    """All such connections, the oldest first."""

    def __init__(self, settings: "BrokerSettings", timers: "Timers") -> None:
        self._max = settings.integer("max.connections.unauthenticated")
        self._timeout_s = settings.integer("connection.authentication.timeout.ms") / SECOND_MS
        self._timers = timers
        self._open: dict[Closable, Timer] = {}
        self._spent_s = 0.0
        self.succeeded = 0
        """Number of TLS handshakes."""
        self.failed = 0
        """Number of TLS handshakes that failed."""
        self.expired = 0
        """Number of connections closed because of the time."""
        self.evicted = 0
        """Number of connections closed because of their number."""

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, connection: Closable) -> bool:
        return connection in self._open

    def add(self, connection: Closable) -> None:
        """Begin the time of a connection; close the oldest if there are too many."""
        if len(self._open) >= self._max:
            self.evicted += 1
            oldest = next(iter(self._open))
            oldest.close("too many connections are not authenticated", level=logging.INFO)
            self.discard(oldest)
        self._open[connection] = self._timers.call_later(
            self._timeout_s, lambda: self._expire(connection)
        )

    def discard(self, connection: Closable) -> None:
        """Forget a connection: it is authenticated, or closed."""
        timer = self._open.pop(connection, None)
        if timer is not None:
            timer.cancel()

    @property
    def round_is_full(self) -> bool:
        """True if a handshake should wait for the next round."""
        return self._spent_s >= _ROUND_S

    def spent(self, seconds: float) -> None:
        """Count the time of a step of a handshake."""
        if not self._spent_s:
            self._timers.call_later(0.0, self._end_round)
        self._spent_s += seconds

    def _end_round(self) -> None:
        self._spent_s = 0.0

    def _expire(self, connection: Closable) -> None:
        if self._open.pop(connection, None) is not None:
            self.expired += 1
            connection.close(f"not authenticated within {self._timeout_s:g} s", level=logging.INFO)
