"""Limits of failed logins, per user and client address.

A user may fail `BURST` times from one address, and then once a second. While no failure is left,
its logins from there are refused, also with the right password; the answer is that for a wrong one.
Others who log in from the address, such as all clients on this machine, are not affected by it.
"""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from duolog.core.clock import Clock

BURST: Final = 20
PER_S: Final = 1.0
_KEYS_MAX: Final = 10_000


class LoginLimits:
    """Failed logins of the last seconds, by address and user."""

    def __init__(self, clock: "Clock") -> None:
        self._clock = clock
        self._failures: dict[tuple[str, str], tuple[float, float]] = {}
        """Failures that count, and when they were counted."""

    def allows(self, host: str, user: str) -> bool:
        """Return whether a user may log in from an address now."""
        return self._counted((host, user)) <= BURST - 1

    def failed(self, host: str, user: str) -> None:
        """Count a failed login."""
        key = host, user
        if len(self._failures) >= _KEYS_MAX:
            self._forget()
        self._failures[key] = min(self._counted(key) + 1, BURST), self._clock.monotonic()

    def _counted(self, key: tuple[str, str]) -> float:
        found = self._failures.get(key)
        if found is None:
            return 0.0
        count, at = found
        return max(0.0, count - (self._clock.monotonic() - at) * PER_S)

    def _forget(self) -> None:
        """Forget failures that do not count any more, and then those of users that failed least.

        At most half of the places stay taken. So made-up names do not reset the failures of a user
        whose password is guessed, and the next failures forget nothing: this takes milliseconds.
        """
        kept = sorted(filter(self._counted, self._failures), key=self._counted, reverse=True)
        self._failures = {key: self._failures[key] for key in kept[: _KEYS_MAX // 2]}
