"""Limit the connections of a broker: in total, per address, by rate, and by idle time.

A connection above a limit is closed at once. A connection without traffic for
`connections.max.idle.ms` is closed, unless it waits for a response of the broker. A client that
never reads its responses is closed as well.

Source: Kafka `ConnectionQuotas`, `Selector.IdleExpiryManager`.
"""

import logging
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Final, Protocol

from duolog.broker.network.clients import Followed
from duolog.broker.network.file_descriptors import connections_max
from duolog.broker.network.unauthenticated import Unauthenticated
from duolog.broker.quotas.connection_rates import ConnectionRates
from duolog.core.counts import counted
from duolog.core.errors import ConfigError
from duolog.core.limited_log import LimitedLog
from duolog.core.listening import plain_host
from duolog.core.units import SECOND_MS

if TYPE_CHECKING:
    from duolog.broker.event_loop.loop import Timers
    from duolog.broker.requests.in_flight import InFlightRequest
    from duolog.broker.requests.needs import Parked
    from duolog.broker.settings import BrokerSettings
    from duolog.core.clock import Clock

logger = logging.getLogger(__name__)

_LOOKS: Final = 4
"""A connection is idle after this number of consecutive checks without traffic."""


class OpenConnection(Followed, Protocol):
    """The interface that `ConnectionQuotas` and `Clients` need of a connection."""

    host: str
    listener: str
    active: bool

    @property
    def parked(self) -> "Collection[Parked]": ...
    @property
    def in_flight(self) -> "Collection[InFlightRequest]": ...
    @property
    def waits_for_us(self) -> bool: ...
    @property
    def sends(self) -> bool: ...
    def close(self, reason: str = "", *, level: int = ...) -> None: ...


class ConnectionQuotas:
    """All open connections."""

    def __init__(self, settings: "BrokerSettings", timers: "Timers", clock: "Clock") -> None:
        self._settings = settings
        self._timers = timers
        self._descriptors = connections_max(settings.integer("log.open.files.max"))
        self._overrides = per_ip_overrides(settings)
        self._open: dict[OpenConnection, int] = {}
        """The number of consecutive idle checks by connection."""
        self._by_host: Counter[str] = Counter()
        self.accepted: Counter[str] = Counter()
        """Connections so far, by listener."""
        self.refused = 0
        self.unauthenticated = Unauthenticated(settings, timers)
        self.rates = ConnectionRates(settings, clock)
        self.lines = LimitedLog(timers.call_later, clock.monotonic)
        """The log of what clients cause, even those that have not logged in."""

    def __iter__(self) -> Iterator[OpenConnection]:
        return iter(list(self._open))

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, connection: OpenConnection) -> bool:
        return connection in self._open

    def add(self, connection: OpenConnection) -> None:
        self._open[connection] = 0
        self._by_host[connection.host] += 1

    def discard(self, connection: OpenConnection) -> None:
        if self._open.pop(connection, None) is None:
            return
        self.unauthenticated.discard(connection)
        self._by_host[connection.host] -= 1
        if not self._by_host[connection.host]:
            del self._by_host[connection.host]

    def refusal(self, host: str) -> str | None:
        """Return why a connection from `host` is one too many, or None."""
        if len(self._open) >= self._settings.integer("max.connections"):
            return "too many connections"
        if self._descriptors is not None and len(self._open) >= self._descriptors:
            return (
                f"the process has file descriptors for {counted(self._descriptors, 'connection')}"
            )
        limit = self._overrides.get(host, self._settings.integer("max.connections.per.ip"))
        if self._by_host[host] >= limit:
            return "too many connections from one address"
        return None

    def watch_idle(self) -> None:
        """Start to check for idle connections."""
        idle_ms = self._settings.integer("connections.max.idle.ms")
        if idle_ms >= 0:
            self._timers.call_later(max(idle_ms, _LOOKS) / SECOND_MS / _LOOKS, self._look)

    def _look(self) -> None:
        self.watch_idle()  # First, so that the next check is scheduled even if this one fails.
        for connection in self:
            if connection.active or connection.waits_for_us:
                connection.active = False
                self._open[connection] = 0
                continue
            self._open[connection] += 1
            if self._open[connection] >= _LOOKS:
                connection.close("idle", level=logging.INFO)


def per_ip_overrides(settings: "BrokerSettings") -> Mapping[str, int]:
    """Read `max.connections.per.ip.overrides`.

    Raises:
        ConfigError: an entry is not HOST:COUNT.
    """
    name = "max.connections.per.ip.overrides"
    found = {}
    for item in filter(None, map(str.strip, settings.text(name).split(","))):
        host, colon, count = item.rpartition(":")
        if not colon or not host or not count.isdecimal():
            raise ConfigError(
                f'"{item}" is not a connection limit', name=name, hint="Write HOST:COUNT."
            )
        found[plain_host(host.removeprefix("[").removesuffix("]"))] = int(count)
    return found
