"""The base of the stores of processors: codecs, flushing and key order."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Final

from duolog.core.errors import StatementError
from duolog.functions.processors.codecs import KeyCodec, ValueCodec
from duolog.functions.processors.entries import Entries
from duolog.plan.processors import KeptStore
from duolog.serde.row import Row

ROWS: Final = 1
"""The bucket of rows without windows."""
SortKey = tuple[tuple[int, Any], ...]
"""Sorts keys: each column has the order of its kind, and is comparable to others of it."""


class Store:
    """The base of all stores."""

    def __init__(self, spec: KeptStore, entries: Entries) -> None:
        self._spec = spec
        self._entries = entries
        self._keys = KeyCodec(spec)
        self._values = ValueCodec(spec)

    @property
    def name(self) -> str:
        return self._spec.name

    def at(self, timestamp_ms: int) -> None:
        """Set the timestamp of later writes."""
        self._entries.timestamp_ms = timestamp_ms

    def flush(self) -> None:
        """Write pending changes."""
        self._entries.flush()

    def forget(self) -> None:
        """Drop cached rows: another process may have written."""
        self._entries.forget()

    @contextlib.contextmanager
    def read_only(self) -> Iterator[None]:
        """Refuse writes while the context is active."""
        self._entries.refuses = True
        try:
            yield
        finally:
            self._entries.refuses = False

    def _ensure_time(self, at: int) -> None:
        if at < 0:
            raise StatementError(
                f'a row of store "{self.name}" has the time {at} ms',
                detail="Times are milliseconds since 1970, and must not be negative.",
            )

    def _wanted(self, low: object, high: object) -> Callable[[Row], bool]:
        """Return a predicate for keys in a range with inclusive bounds; None is unbounded."""
        first = None if low is None else in_order(self._keys.decode(self._keys.encode(low)))
        last = None if high is None else in_order(self._keys.decode(self._keys.encode(high)))

        def fits(key: Row) -> bool:
            at = in_order(key)
            return (first is None or first <= at) and (last is None or at <= last)

        return fits


def in_order(key: Row) -> SortKey:
    """Return a key's sort key: NaN after numbers, nulls last, values without an order by text."""
    return tuple(
        (2, 0) if value is None else (1, 0) if value != value else (0, _ordered(value))  # noqa: PLR0124 - NaN alone is not what it is
        for value in key
    )


def _ordered(value: object) -> object:
    return str(value) if isinstance(value, dict | list | tuple) else value
