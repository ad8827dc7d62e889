"""The rows of a store as bytes, by bucket and key: read once, written when a call ends.

    bucket, key bytes  ->  timestamp, bytes        a bucket is the unit of a scan

A `Backend` stores them: the kernel's state, over a pipe, or a dict in tests.
"""

from typing import Final, NamedTuple, Protocol

from duolog.core.errors import StatementError

StoreKey = tuple[int, bytes]
"""Bucket and key."""

_KNOWN_MAX: Final = 50_000


class Held(NamedTuple):
    """A stored row."""

    timestamp_ms: int
    data: bytes


Writes = dict[StoreKey, Held | None]
"""Rows by bucket and key; None: deleted."""


class Backend(Protocol):
    """The storage of a task's stores."""

    def get(self, store: str, place: StoreKey) -> Held | None: ...

    def scan(self, store: str, bucket: int) -> dict[bytes, Held]: ...

    def write(self, store: str, writes: Writes) -> None: ...


class Entries:
    """The rows of one store of a task, cached until `forget`. Threads: one at a time."""

    def __init__(self, name: str, backend: Backend) -> None:
        self._name = name
        self._backend = backend
        self._known: Writes = {}
        self._written: Writes = {}
        self.timestamp_ms = 0
        """The timestamp of the next write."""
        self.refuses = False
        """True if writes are refused: while a processor closes, its task may run elsewhere."""

    def get(self, bucket: int, key: bytes) -> Held | None:
        place = bucket, key
        try:
            return self._known[place]
        except KeyError:
            found = self._known[place] = self._backend.get(self._name, place)
            return found

    def put(
        self, bucket: int, key: bytes, data: bytes | None, timestamp_ms: int | None = None
    ) -> None:
        """Write a row, or delete it.

        Raises:
            StatementError: the store is read-only at the moment.
        """
        if self.refuses:
            raise StatementError(
                f'store "{self._name}" was written in close',
                detail="Writes in close are not stored: the task may run elsewhere already.",
                hint="Write it in process or in a callback; close can only read stores.",
            )
        time = self.timestamp_ms if timestamp_ms is None else timestamp_ms
        place = bucket, key
        self._known[place] = self._written[place] = None if data is None else Held(time, data)

    def scan(self, bucket: int) -> dict[bytes, Held]:
        """Return all rows of a bucket by key."""
        self.flush()
        return self._backend.scan(self._name, bucket)

    def flush(self) -> None:
        """Write pending changes."""
        if self._written:
            self._backend.write(self._name, self._written)
            self._written = {}
        if len(self._known) > _KNOWN_MAX:
            self._known.clear()

    def forget(self) -> None:
        """Drop cached rows and pending changes: another process may have changed the store."""
        self._known.clear()
        self._written = {}
