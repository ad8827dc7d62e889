"""The record cache of aggregates, which forwards only the last update of each key.

Source: Kafka Streams `CachingKeyValueStore`.
"""

from collections.abc import Sequence
from dataclasses import replace

from duolog.serde.row import Row
from duolog.testing.reference.entries import Entry


def keep_back(cache: dict[Row, Entry], entries: Sequence[Entry]) -> None:
    for entry in entries:
        if entry.old is None and entry.key in cache and cache[entry.key].value is not None:
            _set_aside(cache, entry.key)
        # The old row is the one before the micro-batch; the position is that of the last update.
        first = cache.pop(entry.key, None)
        cache[entry.key] = (
            replace(entry, old=first.old, old_timestamp_ms=first.old_timestamp_ms)
            if first
            else entry
        )


def _set_aside(cache: dict[Row, Entry], key: Row) -> None:
    """Keep a deleted row at its position in the cache, next to the new row of its key."""
    held = list(cache.items())
    cache.clear()
    for at, (known, entry) in enumerate(held):
        cache[(*known, "gone", at) if known == key else known] = entry
