"""Rates of new connections: of each address, and of all of them together.

    address above its quota    the connection is not served, and closed after the throttle time
    all above the setting      the listener accepts nothing for the throttle time

The quota `connection_creation_rate` belongs to IP addresses; an address without its own has the
default's. A refused connection does not count. No throttle time is longer than one window.

Threads: the loop.

Source: Kafka `ConnectionQuotas`; KIP-612.
"""

from typing import TYPE_CHECKING, Final

from duolog.broker.quotas.enforcement import windows_of
from duolog.broker.quotas.entities import CONNECTIONS, IP, Quotas
from duolog.broker.quotas.meters import RateMeter
from duolog.broker.quotas.rate import Rate
from duolog.core.listening import plain_host
from duolog.core.units import INT32_MAX, SECOND_MS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from duolog.broker.settings import BrokerSettings
    from duolog.core.clock import Clock

SETTING: Final = "max.connection.creation.rate"
_LOCALHOST: Final = ("127.0.0.1", "::1")
_SWEEP_AT: Final = 1000


class ConnectionRates:
    """Measures new connections."""

    def __init__(self, settings: "BrokerSettings", clock: "Clock") -> None:
        self._settings = settings
        self._clock = clock
        self._windows = windows_of(settings)
        self._all = Rate(self._windows)
        self._limits: Mapping[str | None, float] = {}
        self._meters: dict[str, RateMeter] = {}
        self._sweep_at = _SWEEP_AT
        self.throttled = 0
        """Number of connections that were refused because of their address."""

    def update(self, quotas: Quotas) -> None:
        """Use the quotas of addresses from now on."""
        limits: dict[str | None, float] = {}
        for entity, values in quotas.items():
            if CONNECTIONS in values and entity[0][0] == IP:
                for address in _addresses(entity[0][1]):
                    limits[address] = values[CONNECTIONS]
        self._limits = limits

    def of_address(self, host: str) -> float:
        """Count a connection; return how many seconds its address is above its quota, or 0."""
        if not self._limits:
            return 0.0
        limit = self._limits.get(host, self._limits.get(None))
        if limit is None:
            return 0.0
        now_ms = self._now_ms()
        meter = self._meters.get(host)
        if meter is None:
            meter = self._meters[host] = self._new_meter(host, limit, now_ms)
        meter.limit = limit
        throttle_ms = meter.record(1, now_ms)
        if throttle_ms:
            meter.rate.record(-1, now_ms)
            self.throttled += 1
        return throttle_ms / SECOND_MS

    def of_all(self) -> float:
        """Count a connection that is served; return for how long to accept no other, in seconds."""
        limit = self._settings.integer(SETTING)
        if limit == INT32_MAX:
            return 0.0
        now_ms = self._now_ms()
        self._all.record(1, now_ms)
        if not limit:
            return self._windows.window_ms / SECOND_MS
        excess = self._all.measure(now_ms) - limit
        wait_ms = excess / limit * self._all.elapsed_ms(now_ms)
        return min(max(wait_ms, 0.0), self._windows.window_ms) / SECOND_MS

    def _new_meter(self, host: str, limit: float, now_ms: int) -> RateMeter:
        if len(self._meters) >= self._sweep_at:
            self._meters = {
                host: meter for host, meter in self._meters.items() if not meter.is_idle(now_ms)
            }
            self._sweep_at = max(_SWEEP_AT, 2 * len(self._meters))
        return RateMeter(
            (host, None), limit, self._windows, throttle_ms_max=self._windows.window_ms
        )

    def _now_ms(self) -> int:
        return int(self._clock.monotonic() * SECOND_MS)


def _addresses(name: str | None) -> tuple[str | None, ...]:
    """Return the addresses of an entity as a socket shows them; None is the default."""
    if name == "localhost":
        return _LOCALHOST
    return (None if name is None else plain_host(name),)
