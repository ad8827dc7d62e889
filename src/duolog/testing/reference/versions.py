"""Versioned tables in plain Python.

All versions of each key, and stream time, are stored next to the latest rows of a table.

Source: Kafka Streams `RocksDBVersionedStore`, `KTableSource`.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from duolog.serde.row import Row
from duolog.testing.reference.entries import Entry, Run, Stores, TimestampedRow, after, is_null

Version = tuple[int, Row | None]
"""The time since which a row is valid; a row of None: since which there is none."""


def versioned_table(store: str, history_ms: int) -> Run:
    """Return the function that adds a new row, or an earlier version, to the table."""

    def run(entry: Entry, stores: Stores) -> Sequence[Entry]:
        at = entry.timestamp_ms
        if is_null(entry.key) or at < _stream_time(store, stores) - history_ms:
            return []
        _times(store, stores)[()] = TimestampedRow((), max(at, _stream_time(store, stores)))
        others = [known for known in _versions(store, entry.key, stores) if known[0] != at]
        versions = sorted([*others, (at, entry.value)], key=lambda version: version[0])
        stores[_beside(store)][entry.key] = TimestampedRow(tuple(versions), at)
        changed = replace(after(entry, stores[store].get(entry.key)), latest=versions[-1][0] == at)
        if changed.latest:
            stores[store].pop(entry.key, None)
            if entry.value is not None:
                stores[store][entry.key] = TimestampedRow(entry.value, at)
        return [changed]

    return run


def version_at(
    store: str, history_ms: int, key: Row, time: int, stores: Stores
) -> TimestampedRow | None:
    """Return the row of a key at a time; before the history, only the latest is available."""
    latest = stores[store].get(key)
    if latest and latest.timestamp_ms <= time:
        return latest
    if time < _stream_time(store, stores) - history_ms:
        return None
    before = [version for version in _versions(store, key, stores) if version[0] <= time]
    since, row = before[-1] if before else (0, None)
    return None if row is None else TimestampedRow(row, since)


def _beside(store: str) -> str:
    return f"{store}, versions"


def _versions(store: str, key: Row, stores: Stores) -> tuple[Version, ...]:
    kept = stores.setdefault(_beside(store), {}).get(key)
    return cast("tuple[Version, ...]", kept.row) if kept else ()


def _times(store: str, stores: Stores) -> dict[Row, TimestampedRow]:
    return stores.setdefault(f"{store}, stream time", {})


def _stream_time(store: str, stores: Stores) -> int:
    kept = _times(store, stores).get(())
    return kept.timestamp_ms if kept else -1
