"""Counters that are updated while requests are served.

Everything that a scrape can derive is not counted at all: records come from offsets, bytes from
sizes. What is counted is counted once for many requests where requests come in bursts.

Threads: all of it belongs to the broker's loop.
"""

from collections import Counter, defaultdict

from duolog.core.histogram import TIMES_S, Histogram


class Counters:
    """The counters of one broker."""

    def __init__(self) -> None:
        self.cold: defaultdict[str, Histogram] = defaultdict(_times)
        """Seconds from request to answer, by API, of those that are not below."""
        self.produce_requests = 0
        self.produce_times = _times()
        """Seconds from the write of a round to its answers, for each of its produce requests."""
        self.fetch_at_once = 0
        """Fetches that were answered in the round that they came in."""
        self.fetch_waited = _times()
        self.errors: Counter[str] = Counter()
        """Requests that ended with an unexpected error, by API."""


def _times() -> Histogram:
    return Histogram(TIMES_S)
