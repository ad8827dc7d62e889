"""Calls of DuckDB that can be interrupted: by Ctrl-C, and when their time is up.

Python runs a signal's handler only between two of its own steps, and DuckDB computes a whole answer within one. So DuckDB
runs in another thread, and the caller waits. The thread is joined before the call returns: a thread inside of DuckDB when
the interpreter exits would abort the process.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from duolog.ksql.errors import SqlError

T = TypeVar("T")

THREAD: Final = "duolog-answer"
_ASK_AGAIN_S: Final = 0.05
"""How often a call is interrupted until it returns: it may not have begun yet."""
_START_S: Final = 5.0
_FAR_S: Final = 365 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class AnswerLimits:
    """How much time and memory one answer may take; 0 is no limit."""

    timeout_ms: int = 0
    memory_bytes_max: int = 0


@dataclass(slots=True)
class _Outcome(Generic[T]):
    """What a call has returned or raised."""

    returned: list[T]
    raised: BaseException | None = None


def interruptible(connection: Any, call: Callable[[], T], limits: AnswerLimits) -> T:
    """Return what a call returns that uses a connection.

    Raises:
        SqlError: it took longer than the limits allow.
        KeyboardInterrupt: Ctrl-C came meanwhile.
        duckdb.Error: as the call does.
    """
    outcome: _Outcome[T] = _Outcome([])
    done = threading.Event()

    def work() -> None:
        try:
            outcome.returned.append(call())
        except BaseException as error:  # noqa: BLE001 - the caller's thread raises it
            outcome.raised = error
        finally:
            done.set()

    thread = threading.Thread(target=work, name=THREAD)
    try:
        thread.start()
        in_time = done.wait(limits.timeout_ms / 1000 if limits.timeout_ms else _FAR_S)
    except BaseException:
        _end(connection, done, thread)
        raise
    if not in_time:
        _end(connection, done, thread)
        raise SqlError(
            f"the query was ended after {limits.timeout_ms} ms, the limit for an answer",
            hint="SET 'ksql.query.pull.timeout.ms' = '0' removes the limit.",
        )
    thread.join()
    if outcome.raised is not None:
        raise outcome.raised
    return outcome.returned[0]


def _end(connection: Any, done: threading.Event, thread: threading.Thread) -> None:
    starts_until = time.monotonic() + _START_S
    while not done.is_set():
        if not thread.is_alive() and time.monotonic() > starts_until:
            return  # Ctrl-C came before the thread was started.
        connection.interrupt()
        done.wait(_ASK_AGAIN_S)
    thread.join()
