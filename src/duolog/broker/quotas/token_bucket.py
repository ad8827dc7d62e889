"""Tokens that return at a rate, up to a burst, and may be overdrawn once.

The burst is what comes back in all windows together. A bucket with tokens grants any request, also
a larger one; after that it is below 0, and grants nothing before it has come back to 0. So a
request of any size is granted some time, and the average is the rate.

Pure: the caller gives the time, in milliseconds that never decrease.

Source: Kafka `TokenBucket`; KIP-599.
"""

import math
from typing import Final

from duolog.broker.quotas.rate import Windows
from duolog.core.units import SECOND_MS


class TokenBucket:
    """The tokens of one client, which refill at `limit` per second."""

    __slots__ = ("_at_ms", "_tokens", "limit", "windows")

    def __init__(self, limit: float, windows: Windows) -> None:
        self.limit = limit
        self.windows: Final = windows
        self._tokens = math.inf
        """Above the burst at first, so full, whatever the limit will be."""
        self._at_ms = 0

    @property
    def burst(self) -> float:
        return self.limit * self.windows.span_ms / SECOND_MS

    def tokens(self, now_ms: int) -> float:
        """Return the tokens; fewer than 0 after more were taken than there were."""
        back = self.limit * (now_ms - self._at_ms) / SECOND_MS
        self._tokens = min(self.burst, self._tokens + back)
        self._at_ms = now_ms
        return self._tokens

    def take(self, count: float, now_ms: int) -> None:
        """Take tokens, whether or not they are there."""
        self._tokens = self.tokens(now_ms) - count

    def wait_ms(self, now_ms: int) -> int:
        """Return the time until there are no fewer than 0 tokens."""
        return max(0, math.ceil(-self.tokens(now_ms) / self.limit * SECOND_MS))
