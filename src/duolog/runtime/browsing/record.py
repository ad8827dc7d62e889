"""A record as a browser keeps it: the beginnings of large keys and values, with their sizes."""

from typing import Final, NamedTuple

from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME, Message

from duolog.core.units import KIB, MIB

Headers = tuple[tuple[str, bytes | None], ...]

DECODED_MAX: Final = MIB
"""Longer keys and values are not decoded unless they are searched."""
START_MAX: Final = 64 * KIB
"""Bytes that are kept of those."""
_KINDS: Final = {TIMESTAMP_CREATE_TIME: "create", TIMESTAMP_LOG_APPEND_TIME: "append"}


class Part(NamedTuple):
    """A key, value or header that is not null.

    Attributes:
        data: its bytes, or their beginning.
        size: the number of all its bytes.
    """

    data: bytes
    size: int

    @property
    def is_whole(self) -> bool:
        """True if `data` has all bytes."""
        return self.size == len(self.data)


class BrowsedRecord(NamedTuple):
    """One record.

    Attributes:
        timestamp_ms: -1 if it has none.
        time_kind: `create`, `append`, or `none`.
        size: bytes of its key, value and headers.
    """

    partition: int
    offset: int
    timestamp_ms: int
    time_kind: str
    key: Part | None
    value: Part | None
    headers: Headers
    size: int


def browsed(message: Message, *, whole: bool) -> BrowsedRecord:
    """Return a consumed message as a record; with `whole`, with all bytes of key and value."""
    kind, at = message.timestamp()
    headers: Headers = tuple(message.headers() or ())  # type: ignore[arg-type]
    key, value = message.key(), message.value()
    return BrowsedRecord(
        message.partition() or 0,
        message.offset() or 0,
        at if kind in _KINDS else -1,
        _KINDS.get(kind, "none"),
        _part(key, whole=whole),
        _part(value, whole=whole),
        headers,
        len(key or b"")
        + len(value or b"")
        + sum(len(name) + len(data or b"") for name, data in headers),
    )


def _part(data: bytes | None, *, whole: bool) -> Part | None:
    if data is None:
        return None
    if whole or len(data) <= DECODED_MAX:
        return Part(data, len(data))
    return Part(data[:START_MAX], len(data))
