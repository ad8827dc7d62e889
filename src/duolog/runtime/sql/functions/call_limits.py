"""Stop the Python functions of a DuckDB call when its time is over.

DuckDB looks for an interrupt after 2,048 rows, and one row may take minutes: a regular expression
that backtracks over a long text. So each connection has a `CallLimit`, whose number is in a
variable of the connection, and functions that may take long get that number with each row.

    limit_of(connection) ─▶ SET VARIABLE ─▶ duolog_like(…, getvariable('duolog_call')) ─▶ limit

Threads: any; DuckDB runs functions on several.
"""

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary, WeakValueDictionary

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

VARIABLE: Final = "duolog_call"
"""The variable of a connection with the number of its limit; null without one."""
_numbers: Final = itertools.count(1)


class CallStopped(Exception):
    """The time of the call is over, or it was cancelled."""


class CallLimit:
    """The stop of the call that a connection runs; one call at a time."""

    def __init__(self) -> None:
        self.number = next(_numbers)
        self._lock = threading.Lock()
        self._is_stopped = False
        self._kills: list[Callable[[], None]] = []

    def begin(self) -> None:
        """Begin a call."""
        with self._lock:
            self._is_stopped = False

    def stop(self) -> None:
        """End the functions of the call: those that compute now, and the next ones."""
        with self._lock:
            self._is_stopped = True
            for kill in self._kills:
                kill()

    def ensure(self) -> None:
        """Ensure that the call continues.

        Raises:
            CallStopped: it does not.
        """
        if self._is_stopped:
            raise CallStopped

    @contextmanager
    def killing(self, kill: Callable[[], None]) -> Iterator[None]:
        """Call `kill` if the call is stopped meanwhile; raises as `ensure`, before and after."""
        with self._lock:
            self.ensure()
            self._kills.append(kill)
        try:
            yield
        finally:
            with self._lock:
                self._kills.remove(kill)
            self.ensure()


_limits: Final[WeakKeyDictionary["DuckDBPyConnection", CallLimit]] = WeakKeyDictionary()
_by_number: Final[WeakValueDictionary[int, CallLimit]] = WeakValueDictionary()
_making: Final = threading.Lock()


def limit_of(connection: "DuckDBPyConnection") -> CallLimit:
    """Return the limit of a connection; the first call makes it."""
    with _making:
        found = _limits.get(connection)
        if found is None:
            found = CallLimit()
            connection.execute(f"SET VARIABLE {VARIABLE} = {found.number}")
            _limits[connection] = found
            _by_number[found.number] = found
    return found


def known_limit(connection: "DuckDBPyConnection") -> CallLimit | None:
    """Return the limit of a connection; None if it has none."""
    return _limits.get(connection)


def limit_with(number: object) -> CallLimit | None:
    """Return the limit with a number, as functions get it; None without one."""
    return _by_number.get(number) if isinstance(number, int) else None
