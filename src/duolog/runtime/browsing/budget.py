"""Limits of one request: records, bytes and seconds."""

import time
from collections.abc import Callable
from typing import Final, NamedTuple

from duolog.core.units import MIB


class Limits(NamedTuple):
    """The most that one request may read."""

    records: int = 20_000
    bytes: int = 64 * MIB
    seconds: float = 10.0


PAGE: Final = Limits()


class Budget:
    """Counts what a request has read, and says what it may still read.

    Attributes:
        records, bytes: what was read.
    """

    def __init__(
        self,
        limits: Limits = PAGE,
        stopped: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limits = limits
        self._stopped = stopped
        self._clock = clock
        self._until = clock() + limits.seconds
        self.records = 0
        self.bytes = 0

    def note(self, size: int) -> None:
        """Count a record that was read."""
        self.records += 1
        self.bytes += size

    @property
    def spent(self) -> str:
        """The limit that is reached: `records`, `bytes`, `time` or `stopped`; empty if none is."""
        if self.records >= self._limits.records:
            return "records"
        if self.bytes >= self._limits.bytes:
            return "bytes"
        if self._clock() >= self._until:
            return "time"
        return "stopped" if self._stopped() else ""

    def is_stopped(self) -> bool:
        """Return whether the request need not be answered any longer."""
        return self._stopped()

    @property
    def bytes_left(self) -> int:
        """Bytes that may still be read."""
        return max(0, self._limits.bytes - self.bytes)

    @property
    def seconds_left(self) -> float:
        """Seconds until the limit; 0 after it."""
        return max(0.0, self._until - self._clock())
