"""Records as a browser has read them."""

from duolog.runtime.browsing.record import BrowsedRecord, Headers, Part


def part(data: bytes | None) -> Part | None:
    return None if data is None else Part(data, len(data))


def browsed(
    offset: int, key: bytes | None, value: bytes | None, headers: Headers = ()
) -> BrowsedRecord:
    return BrowsedRecord(0, offset, 1_700_000_000_000, "create", part(key), part(value), headers, 1)
