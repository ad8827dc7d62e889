"""The use of limits by clients, and how long clients must wait if it was too much.

A meter belongs to one limit of one quota, and to all connections that share the limit. It is kept
while something was used within the windows; after that, a new meter is the same.

Pure: the caller gives the time.

Source: Kafka `ClientQuotaManager`, `ClientRequestQuotaManager`, `ControllerMutationQuotaManager`,
`QuotaUtils`; KIP-13, KIP-124, KIP-219, KIP-599.
"""

import math
from collections.abc import Callable, Iterator
from typing import Final, Generic, Protocol, TypeVar

from duolog.broker.quotas.entities import Quotas
from duolog.broker.quotas.limits import Limits
from duolog.broker.quotas.rate import Rate, Windows
from duolog.broker.quotas.token_bucket import TokenBucket
from duolog.core.units import INT32_MAX

_SWEEP_AT: Final = 1000
"""Number of meters at which unused ones are dropped; after that, it is twice the rest if more."""

_CLIENT_ID_CHARACTERS_MAX: Final = 256
"""Longer ids share the meter of their start: a client may send another one of 32 KB each time."""

Clients = tuple[str | None, str | None]
"""User and client id that share a limit; None stands for all of them."""


class Throttles:
    """The throttle times of a meter."""

    __slots__ = ("_count", "_ms", "count")

    def __init__(self, windows: Windows) -> None:
        self.count = 0
        self._ms = Rate(windows)
        self._count = Rate(windows)

    def record(self, throttle_ms: int, now_ms: int) -> None:
        self.count += 1
        self._ms.record(throttle_ms, now_ms)
        self._count.record(1, now_ms)

    def average_ms(self, now_ms: int) -> float:
        """Return the average within the windows, 0 if there was no throttling."""
        count = self._count.total(now_ms)
        return self._ms.total(now_ms) / count if count else 0.0


class RateMeter:
    """A rate with a limit."""

    __slots__ = ("_limit", "at_once", "clients", "rate", "throttle_ms_max", "throttles")

    def __init__(
        self, clients: Clients, limit: float, windows: Windows, throttle_ms_max: int = INT32_MAX
    ) -> None:
        self.clients: Final = clients
        self.rate: Final = Rate(windows)
        self.at_once = 0.0
        """The amount that a client may use without waiting if it has used nothing before."""
        self.limit = limit
        self.throttle_ms_max: Final = throttle_ms_max
        self.throttles: Final = Throttles(windows)

    @property
    def limit(self) -> float:
        return self._limit

    @limit.setter
    def limit(self, limit: float) -> None:
        self._limit = limit
        self.at_once = limit * self.rate.windows.whole_s

    def record(self, value: float, now_ms: int) -> int:
        """Add what was used; return the milliseconds until the rate is at the limit again, or 0."""
        rate = self.rate
        rate.record(value, now_ms)
        if rate.total_at_most <= self.at_once:
            return 0  # However old the samples are.
        excess = rate.measure(now_ms) - self.limit
        if excess <= 0:
            return 0
        wait_ms = math.floor(excess / self.limit * rate.elapsed_ms(now_ms) + 0.5)
        return min(wait_ms, self.throttle_ms_max)

    def is_idle(self, now_ms: int) -> bool:
        return self.rate.is_idle(now_ms)


class MutationMeter:
    """Partitions that clients may create or delete, as tokens."""

    __slots__ = ("_bucket", "clients", "rate", "throttles")

    def __init__(self, clients: Clients, limit: float, windows: Windows) -> None:
        self.clients: Final = clients
        self._bucket = TokenBucket(limit, windows)
        self.rate: Final = Rate(windows)
        self.throttles: Final = Throttles(windows)

    @property
    def limit(self) -> float:
        return self._bucket.limit

    @limit.setter
    def limit(self, limit: float) -> None:
        self._bucket.limit = limit

    def take(self, count: int, now_ms: int, *, strict: bool) -> int:
        """Take tokens; return the milliseconds until there are no fewer than 0, or 0.

        If `strict`, nothing is taken while there are fewer than 0.
        """
        wait_ms = self._bucket.wait_ms(now_ms)
        if strict and wait_ms:
            return wait_ms
        self._bucket.take(count, now_ms)
        self.rate.record(count, now_ms)
        # A strict client learns from its next request that it must wait, as in Kafka.
        return 0 if strict else self._bucket.wait_ms(now_ms)

    def tokens(self, now_ms: int) -> float:
        return self._bucket.tokens(now_ms)

    def is_idle(self, now_ms: int) -> bool:
        return self._bucket.tokens(now_ms) >= self._bucket.burst and self.rate.is_idle(now_ms)


class _Meter(Protocol):
    limit: float

    def is_idle(self, now_ms: int) -> bool: ...


M = TypeVar("M", bound=_Meter)


class Meters(Generic[M]):
    """The meters of one quota, by the clients that share them."""

    def __init__(
        self, quota: str, make: Callable[[Clients, float], M], on_sweep: Callable[[], None]
    ) -> None:
        """Begin without limits; `on_sweep` is called when unused meters have been dropped."""
        self.quota: Final = quota
        self._make = make
        self._on_sweep = on_sweep
        self._limits = Limits(quota, {})
        self._meters: dict[Clients, M] = {}
        self._sweep_at = _SWEEP_AT

    def __iter__(self) -> Iterator[M]:
        return iter(list(self._meters.values()))

    def __bool__(self) -> bool:
        """True if some clients have a limit."""
        return bool(self._limits)

    def update(self, quotas: Quotas) -> None:
        """Use other limits from now on; what was used still counts."""
        self._limits = Limits(self.quota, quotas)
        if not self._limits:
            self._meters.clear()

    def find(self, user: str, client_id: str, now_ms: int) -> M | None:
        """Return the meter of a client with its present limit, or None if it has none."""
        limit = self._limits.find(user, client_id)
        if limit is None:
            return None
        of_client = limit.client_id
        clients = (limit.user, of_client and of_client[:_CLIENT_ID_CHARACTERS_MAX])
        meter = self._meters.get(clients)
        if meter is None:
            if len(self._meters) >= self._sweep_at:
                self._sweep(now_ms)
            meter = self._meters[clients] = self._make(clients, limit.value)
        meter.limit = limit.value
        return meter

    def _sweep(self, now_ms: int) -> None:
        self._meters = {
            clients: meter for clients, meter in self._meters.items() if not meter.is_idle(now_ms)
        }
        self._sweep_at = max(_SWEEP_AT, 2 * len(self._meters))
        self._on_sweep()
