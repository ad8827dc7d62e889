"""Bound the amount of data that all partitions together would read again after a crash.

One partition sets a recovery point after every `log.recovery.point.bytes`. A thousand partitions
that each stay below would still have a start read all of them; so when their sum is too large,
those with the most set theirs early.
"""

from collections.abc import Iterable
from heapq import nlargest
from typing import Final, Protocol, TypeVar

LOGS_AT_ONCE: Final = 4
"""A recovery point costs a few syncs, and commits wait for them."""


class Unsaved(Protocol):
    """A log, as far as it matters here."""

    @property
    def unsaved_bytes(self) -> int:
        """Bytes that no recovery point covers."""


Log = TypeVar("Log", bound=Unsaved)


def logs_to_save(logs: Iterable[Log], bytes_max: int) -> list[Log]:
    """Return the few logs whose recovery points help most; none while the sum is in bounds."""
    unsaved = [log for log in logs if log.unsaved_bytes]
    if sum(log.unsaved_bytes for log in unsaved) <= bytes_max:
        return []
    return nlargest(LOGS_AT_ONCE, unsaved, key=lambda log: log.unsaved_bytes)
