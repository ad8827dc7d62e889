"""Stores of values by key and window, and by key and session.

Source: Kafka Streams `WindowStore`, `SessionStore`.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from duolog.core.errors import StatementError
from duolog.functions.processors.segments import SegmentedStore
from duolog.serde.row import Row


class Windowed(NamedTuple):
    """A key with the bounds of its window or session in ms. Source: Kafka Streams `Windowed`."""

    key: Any
    start_ms: int
    end_ms: int


WindowAndValue = tuple[Windowed, Any]
"""A window or session of a key, and its value."""


class WindowStore(SegmentedStore):
    """Values by key and window, identified by its start. Source: Kafka Streams `WindowStore`."""

    def put(self, key: object, value: object, window_start_ms: int) -> None:
        """Set the value of a key's window; None deletes it. An expired window is dropped."""
        self._put(key, window_start_ms, 0, value)

    def fetch(self, key: object, window_start_ms: int) -> Any:
        """Return the value of a key's window; None if there is none."""
        found = self._of_key(key, window_start_ms, window_start_ms)
        return next((value for _, _, value in found), None)

    def fetch_between(self, key: object, from_ms: int, to_ms: int) -> Iterator[tuple[int, Any]]:
        """Yield start and value of a key's windows that start in an inclusive time range."""
        return ((start, value) for start, _, value in self._of_key(key, from_ms, to_ms))

    def fetch_keys(
        self, low: object, high: object, from_ms: int, to_ms: int
    ) -> Iterator[WindowAndValue]:
        """Yield the same for a range of keys with inclusive bounds; None is unbounded."""
        for key, (start, _, value) in self._of_all(low, high, from_ms, to_ms):
            yield self._window(key, start), value

    def fetch_all(self, from_ms: int, to_ms: int) -> Iterator[WindowAndValue]:
        """Yield the windows of all keys that start in an inclusive time range."""
        return self.fetch_keys(None, None, from_ms, to_ms)

    def all(self) -> Iterator[WindowAndValue]:
        """Yield all windows, ordered by key and time."""
        return self.fetch_all(0, 2**63 - 1)

    def _window(self, key: Row, start: int) -> Windowed:
        shown = key[0] if len(key) == 1 else key
        return Windowed(shown, start, start + self._spec.window_ms)


class SessionStore(SegmentedStore):
    """Values by key and session, identified by its bounds. Source: Kafka Streams `SessionStore`."""

    def put(self, key: object, start_ms: int, end_ms: int, value: object) -> None:
        """Set the value of a key's session; None deletes it. An expired session is dropped."""
        if start_ms > end_ms:
            raise StatementError(f"a session from {start_ms} to {end_ms} ms ends before it starts")
        self._put(key, end_ms, start_ms, value)

    def remove(self, key: object, start_ms: int, end_ms: int) -> None:
        """Delete a session."""
        self.put(key, start_ms, end_ms, None)

    def fetch_session(self, key: object, start_ms: int, end_ms: int) -> Any:
        """Return the value of a key's session; None if there is none."""
        found = self._of_key(key, end_ms, end_ms)
        return next((value for _, start, value in found if start == start_ms), None)

    def find_sessions(
        self, key: object, earliest_end_ms: int, latest_start_ms: int
    ) -> Iterator[WindowAndValue]:
        """Yield a key's sessions that end at or after one time and start at or before another."""
        for end, start, value in self._of_key(key, earliest_end_ms, 2**63 - 1):
            if start <= latest_start_ms:
                yield Windowed(key, start, end), value

    def fetch(self, key: object) -> Iterator[WindowAndValue]:
        """Yield all sessions of a key."""
        return self.find_sessions(key, 0, 2**63 - 1)

    def all(self) -> Iterator[WindowAndValue]:
        """Yield the sessions of all keys."""
        for key, (end, start, value) in self._of_all(None, None, 0, 2**63 - 1):
            yield Windowed(key[0] if len(key) == 1 else key, start, end), value
