"""Limit the connections of a broker: in total, per address, by rate, and by idle time.

A connection above a limit is closed at once. At the limit of all together, a client that has sent
no whole request makes room for a new one: those with half a request could keep all others out.

A connection without traffic for `connections.max.idle.ms` is closed, unless it waits for a response
of the broker. A client that never reads its responses is closed as well.

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
from duolog.core.eviction import ByHost
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
        self._new: ByHost[OpenConnection] = ByHost()
        """Connections that had sent no whole request when this was last looked at."""
        self.refused = 0
        self.evicted = 0
        """Connections that were closed to make room."""
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
        self._new.add(connection, connection.host)

    def discard(self, connection: OpenConnection) -> None:
        if self._open.pop(connection, None) is None:
            return
        self.unauthenticated.discard(connection)
        self._new.discard(connection)
        self._by_host[connection.host] -= 1
        if not self._by_host[connection.host]:
            del self._by_host[connection.host]

    def refusal(self, host: str) -> str | None:
        """Return why a connection from `host` is one too many; None if there is room, or made."""
        limit = self._overrides.get(host, self._settings.integer("max.connections.per.ip"))
        if self._by_host[host] >= limit:
            return "too many connections from one address"
        wanted = self._settings.integer("max.connections")
        most = wanted if self._descriptors is None else min(wanted, self._descriptors)
        if len(self._open) < most or self._evict(host):
            return None
        if most == wanted:
            return "too many connections"
        return f"the process has file descriptors for {counted(most, 'connection')}"

    def _evict(self, host: str) -> bool:
        """Close the connection without a request that `ByHost` chooses; return if there was one.

        A host evicts no connection of another one that has as few as itself.
        """
        while (oldest := self._new.next()) is not None:
            if oldest.host != host and self._by_host[oldest.host] <= self._by_host[host]:
                return False
            self._new.discard(oldest)
            if not oldest.activity.requests:
                self.evicted += 1
                oldest.close("no request has come, and others connect", level=logging.INFO)
                return True
        return False

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
