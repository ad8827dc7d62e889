"""The records that a processor receives and forwards.

Source: Kafka Streams `processor.api.Record`, `FixedKeyRecord`, `RecordMetadata`.
"""

import operator
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, NoReturn, Self, SupportsIndex

from duolog.core.errors import StatementError

Headers = tuple[tuple[str, bytes | None], ...]
_TIMESTAMP_MAX: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Record:
    """Key, value, timestamp and headers. The `with_…` methods return a changed copy.

    Raises:
        StatementError: the timestamp is negative or not an integer.
    """

    key: Any
    """The value of a single key column, or a tuple (with window start and end last); None: null."""
    value: Any
    """A dict by column; None: null. You can also forward a dataclass or a tuple of the columns."""
    timestamp_ms: int
    headers: Headers = ()
    """Names and bytes, in order."""

    def __post_init__(self) -> None:
        if self.timestamp_ms.__class__ is not int:
            # NumPy's integers are accepted, time.time() * 1000 is not.
            object.__setattr__(self, "timestamp_ms", _whole(self.timestamp_ms))
        if not 0 <= self.timestamp_ms <= _TIMESTAMP_MAX:
            raise StatementError(
                f"a record has the timestamp {self.timestamp_ms}",
                detail="It must be milliseconds since 1970, from 0 to 2**63 - 1.",
            )

    def with_key(self, key: object) -> Self:
        """Return a copy with another key."""
        return replace(self, key=key)

    def with_value(self, value: object) -> Self:
        """Return a copy with another value."""
        return replace(self, value=value)

    def with_timestamp(self, timestamp_ms: int) -> Self:
        """Return a copy with another timestamp, in milliseconds."""
        return replace(self, timestamp_ms=timestamp_ms)

    def with_headers(self, headers: Headers) -> Self:
        """Return a copy with other headers."""
        return replace(self, headers=headers)


def _whole(timestamp_ms: SupportsIndex) -> int:
    try:
        return operator.index(timestamp_ms)
    except TypeError:
        raise StatementError(
            f"a record has the timestamp {timestamp_ms!r:.100}",
            detail="It must be an integer, in milliseconds since 1970.",
            hint="Use int(time.time() * 1000), for example.",
        ) from None


def checked_headers(headers: Iterable[tuple[object, object]]) -> Headers:
    """Return headers that can be written.

    Raises:
        StatementError: they are not pairs of a name and bytes.
    """
    found = list[tuple[str, bytes | None]]()
    try:
        pairs = tuple((name, value) for name, value in headers)
    except (TypeError, ValueError):
        pairs = ((None, None),)
    for name, value in pairs:
        if not isinstance(name, str) or not (value is None or isinstance(value, bytes)):
            raise StatementError(
                f"{headers!r:.100} are not headers",
                detail="They must be pairs of a name and bytes, or None.",
                hint='Use (("trace", b"7"),).',
            )
        found.append((name, value))
    return tuple(found)


_MADE_HERE = object()


@dataclass(frozen=True, slots=True)
class FixedKeyRecord(Record):
    """A record whose key is fixed: a copy of an input record, never a new one.

    Raises:
        StatementError: it is created directly, or its key is changed.
    """

    made_by: object = None

    def __post_init__(self) -> None:
        if self.made_by is not _MADE_HERE:
            raise StatementError(
                "a record with a fixed key must be a copy of an input record",
                hint="Forward record.with_value(...). Only a processor of process() can create new "
                "records: Record(...).",
            )
        Record.__post_init__(self)

    def with_key(self, key: object) -> NoReturn:
        """Refuse: the key is fixed."""
        raise StatementError(
            f"the key of a record of process_values() cannot be changed to {key!r}",
            hint="Use process(): records are then shuffled after it if necessary.",
        )


def fixed(key: object, value: object, timestamp_ms: int, headers: Headers) -> FixedKeyRecord:
    """Return an input record of a processor with fixed keys."""
    return FixedKeyRecord(key, value, timestamp_ms, headers, _MADE_HERE)


class RecordMetadata(NamedTuple):
    """The position of the source record that caused the current call, as in errors."""

    topic: str
    partition: int
    offset: int
