"""Rates of clients: how fast their counts grow between two reports.

A report is compared with the oldest one of the last half minute, so that several readers who look
at different times do not shorten the interval to nothing.

Threads: any.
"""

from collections import deque
from collections.abc import Mapping
from threading import Lock
from typing import Final, NamedTuple

_SECOND_MS: Final = 1000
_APART_MS: Final = 2_000
_WINDOW_MS: Final = 30_000
_REPORTS: Final = 4


class Counts(NamedTuple):
    """The counts of a connection."""

    requests: int
    bytes_in: int
    bytes_out: int


class Rates(NamedTuple):
    """The same per second."""

    requests: float
    bytes_in: float
    bytes_out: float


ClientKey = tuple[str, int]
"""The address of a broker, and the number of a connection."""


class ClientRates:
    """The last reports of all brokers."""

    def __init__(self) -> None:
        self._reports: deque[tuple[int, Mapping[ClientKey, Counts]]] = deque(maxlen=_REPORTS)
        self._lock = Lock()

    def note(self, at_ms: int, counts: Mapping[ClientKey, Counts]) -> dict[ClientKey, Rates]:
        """Return the rates of clients that an earlier report has, and keep this report.

        Example:
            >>> rates = ClientRates()
            >>> rates.note(0, {("b:1", 7): Counts(0, 0, 0)})
            {}
            >>> rates.note(2_000, {("b:1", 7): Counts(10, 2_000, 0)})
            {('b:1', 7): Rates(requests=5.0, bytes_in=1000.0, bytes_out=0.0)}
        """
        with self._lock:
            reports = self._reports
            while reports and at_ms - reports[0][0] > _WINDOW_MS:
                reports.popleft()
            found: dict[ClientKey, Rates] = {}
            for key, now in counts.items():
                for before_ms, report in reports:
                    before = report.get(key)
                    if before is not None and at_ms - before_ms >= _SECOND_MS:
                        seconds = (at_ms - before_ms) / _SECOND_MS
                        found[key] = Rates(
                            *(max(0, a - b) / seconds for a, b in zip(now, before, strict=True))
                        )
                        break
            if not reports or at_ms - reports[-1][0] >= _APART_MS:
                reports.append((at_ms, counts))
            return found
