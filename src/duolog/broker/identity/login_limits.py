"""Limits of failed logins: per client address, and of passwords that are being checked.

An address may fail `BURST` times, and then once a second. While it has no failure left, its logins
are refused without checking them; the answer is the same as for a wrong password.
"""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from duolog.core.clock import Clock

BURST: Final = 20
PER_S: Final = 1.0
_HOSTS_MAX: Final = 10_000


class LoginLimits:
    """Failed logins of the last seconds, by address."""

    def __init__(self, clock: "Clock") -> None:
        self._clock = clock
        self._failures: dict[str, tuple[float, float]] = {}
        """Failures that count, and when they were counted."""

    def allows(self, host: str) -> bool:
        """Return whether an address may log in now."""
        return self._counted(host) <= BURST - 1

    def failed(self, host: str) -> None:
        """Count a failed login."""
        if len(self._failures) >= _HOSTS_MAX:
            self._forget()
        self._failures[host] = min(self._counted(host) + 1, BURST), self._clock.monotonic()

    def _counted(self, host: str) -> float:
        found = self._failures.get(host)
        if found is None:
            return 0.0
        count, at = found
        return max(0.0, count - (self._clock.monotonic() - at) * PER_S)

    def _forget(self) -> None:
        """Forget addresses without failures that count, and if that is not enough, the oldest."""
        self._failures = {h: row for h, row in self._failures.items() if self._counted(h) > 0}
        while len(self._failures) >= _HOSTS_MAX:
            del self._failures[next(iter(self._failures))]
