"""The lines of the audit log about failed logins: some of each address, and a count of the others.

    first failure ── LINES_MAX lines ──▶ further ones are counted ── PERIOD_S after the first ──▶
    the count is due: the next event of the log is preceded by a line with it

A stranger can fail as often as it wants. The limit is of one address, so that a flood hides no
failure of others. Successes and denials are not limited.

Pure: the caller gives the time.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

from duolog.security.logins.origins import origin_of

PERIOD_S: Final = 60.0
LINES_MAX: Final = 100
_ORIGINS_MAX: Final = 10_000


class Held(NamedTuple):
    """Failures of an address, or of its network, that were not written."""

    origin: str
    failures: int


@dataclass(slots=True)
class _Period:
    ends_at: float
    lines: int = 0


class FailureLines:
    """The failures of the last minute, by address."""

    def __init__(self) -> None:
        self._periods: dict[str, _Period] = {}
        """The oldest first."""

    def admits(self, host: str, now: float) -> bool:
        """Count a failure; return whether it is to be written. `due` is asked before."""
        origin = origin_of(host)
        period = self._periods.get(origin)
        if period is None:
            period = self._periods[origin] = _Period(now + PERIOD_S)
        period.lines += 1
        return period.lines <= LINES_MAX

    def due(self, now: float) -> list[Held]:
        """Return the failures that were held in periods that have ended, once.

        If there are very many addresses, the oldest periods end early.
        """
        held = []
        while self._periods:
            origin, period = next(iter(self._periods.items()))
            if now < period.ends_at and len(self._periods) < _ORIGINS_MAX:
                break
            del self._periods[origin]
            if period.lines > LINES_MAX:
                held.append(Held(origin, period.lines - LINES_MAX))
        return held
