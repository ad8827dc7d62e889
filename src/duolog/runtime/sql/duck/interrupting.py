"""Make DuckDB calls interruptible, by Ctrl-C and by a timeout.

Python runs signal handlers between bytecodes, and DuckDB computes a whole result within one call.
So DuckDB runs in another thread, and the caller waits for it. The thread is joined before the call
returns: a thread inside DuckDB at interpreter exit would abort the process. Python functions that
DuckDB calls are ended by the `CallLimit` of the connection.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from duolog.ksql.errors import SqlError
from duolog.runtime.sql.functions.call_limits import known_limit

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

T = TypeVar("T")

THREAD: Final = "duolog-answer"
_ASK_AGAIN_S: Final = 0.05
"""Interval of interrupts until a call returns: it may not have started yet."""
_ASK_S: Final = 0.25
"""Interval of the question whether a call must end."""
_START_S: Final = 5.0
_FAR_S: Final = 365 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class AnswerLimits:
    """Limits of time, memory and rows for one result; 0 means no limit."""

    timeout_ms: int = 0
    memory_bytes_max: int = 0
    rows_max: int = 0

    @property
    def timeout_s(self) -> float:
        return self.timeout_ms / 1000 if self.timeout_ms else _FAR_S

    def out_of_time(self) -> SqlError:
        """Return the error for a query that exceeds the time limit."""
        return SqlError(
            f"the query was stopped after {self.timeout_ms} ms, its time limit",
            hint="Remove the limit with SET 'ksql.query.pull.timeout.ms' = '0'.",
        )

    def too_many_rows(self) -> SqlError:
        """Return the error for a query that exceeds the limit of rows."""
        return SqlError(
            f"the query was stopped after {self.rows_max} rows, its limit",
            hint="Select fewer rows, or SET 'ksql.query.pull.rows.max' = '0'.",
        )


@dataclass(slots=True)
class _Outcome(Generic[T]):
    """Result of a call, or its exception."""

    returned: list[T]
    raised: BaseException | None = None


def interruptible(
    connection: "DuckDBPyConnection",
    call: Callable[[], T],
    limits: AnswerLimits,
    stopped: Callable[[], bool] | None = None,
) -> T:
    """Run a call that uses a connection, and return its result.

    `stopped` is asked several times per second, and returns True if the call must end.

    Raises:
        SqlError: it exceeded the time limit, or was stopped.
        KeyboardInterrupt: Ctrl-C was pressed.
        duckdb.Error: as the call does.
    """
    outcome: _Outcome[T] = _Outcome([])
    done = threading.Event()

    def work() -> None:
        try:
            outcome.returned.append(call())
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            outcome.raised = error
        finally:
            done.set()

    thread = threading.Thread(target=work, name=THREAD)
    limit = known_limit(connection)
    if limit is not None:
        limit.begin()
    try:
        thread.start()
        in_time = _waited(done, limits.timeout_s, stopped)
    except BaseException:
        _end(connection, done, thread)
        raise
    if not in_time:
        _end(connection, done, thread)
        raise limits.out_of_time()
    thread.join()
    if outcome.raised is not None:
        raise outcome.raised
    return outcome.returned[0]


def _waited(done: threading.Event, timeout_s: float, stopped: Callable[[], bool] | None) -> bool:
    """Wait for the end of a call; return False if its time is over or it was stopped."""
    if stopped is None:
        return done.wait(timeout_s)
    until = time.monotonic() + timeout_s
    while not done.wait(max(0.0, min(_ASK_S, until - time.monotonic()))):
        if time.monotonic() >= until or stopped():
            return False
    return True


def _end(connection: "DuckDBPyConnection", done: threading.Event, thread: threading.Thread) -> None:
    limit = known_limit(connection)
    if limit is not None:
        limit.stop()
    starts_until = time.monotonic() + _START_S
    while not done.is_set():
        if not thread.is_alive() and time.monotonic() > starts_until:
            return  # Ctrl-C was pressed before the thread was started.
        connection.interrupt()
        done.wait(_ASK_AGAIN_S)
    thread.join()
