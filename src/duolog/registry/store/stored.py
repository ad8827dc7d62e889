"""A record of the topic as it was read, and one to append."""

from typing import NamedTuple


class StoredRecord(NamedTuple):
    """A record that was read; `value` is None for a tombstone."""

    offset: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int


class NewRecord(NamedTuple):
    """A record to append; `value` is None for a tombstone."""

    key: bytes
    value: bytes | None
