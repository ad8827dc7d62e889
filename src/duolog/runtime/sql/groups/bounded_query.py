"""A query whose start and stop do not block their caller for longer than a bound.

    begin ─▶ starting ─(started, or the bound is reached)─▶ returned
    stop ──▶ stopping ─(stopped, or the bound is reached)─▶ returned
    evict ─▶ ended, with an error, for the supervisor that starts it again elsewhere

A start or stop that takes longer continues in a thread of its own.

Threads: any.
"""

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from duolog.core.errors import DuologError
from duolog.core.exception_text import describe_exception
from duolog.engine.query.reports.progress import Progress
from duolog.runtime.sql.figures.observation import metrics_of_query
from duolog.runtime.sql.persistent.query_supervisor import ManagedQuery

if TYPE_CHECKING:
    from duolog.engine.query.metrics import Metrics

logger: Final = logging.getLogger(__name__)

_LOOK_S: Final = 1.0


class BoundedQuery:
    """A query of a group.

    Args:
        group: the group whose JVM runs it.
        start: starts it; raises DuologError.
        stop_timeout_s: how long `stop` waits.
        overdue: called if it has not stopped by then.
    """

    def __init__(
        self,
        group: str,
        start: Callable[[], ManagedQuery],
        *,
        stop_timeout_s: float,
        overdue: Callable[[], None],
    ) -> None:
        self.group = group
        self._start = start
        self._stop_timeout_s = stop_timeout_s
        self._overdue = overdue
        self._inner: ManagedQuery | None = None
        self._failure: DuologError | None = None
        self._started = threading.Event()
        """Set once the start has succeeded or failed."""
        self._leaving = threading.Event()
        """Set by `stop` and `evict`."""
        self._released = threading.Event()
        """Set once no part of it runs any more."""
        self._lock = threading.Lock()

    def begin(self, wait_s: float | None) -> None:
        """Start it; return once it has started, or at the latest after `wait_s`.

        Raises:
            DuologError: it does not start.
        """
        threading.Thread(target=self._begin, name="duolog-sql-begin", daemon=True).start()
        self._started.wait(wait_s)
        if self._started.is_set() and self._inner is None and self._failure is not None:
            raise self._failure

    @property
    def is_running(self) -> bool:
        """True if it has started and has not ended."""
        return self._inner is not None and not self.has_ended

    @property
    def is_leaving(self) -> bool:
        """True once it has to stop."""
        return self._leaving.is_set()

    @property
    def is_released(self) -> bool:
        """True if no part of it runs any more."""
        inner = self._inner
        if not self._started.is_set():
            return False
        return inner is None or inner.has_ended

    @property
    def state(self) -> str:
        """Its state; `starting` until it has started."""
        inner = self._inner
        if inner is None:
            return "starting" if self._failure is None else "failed"
        return inner.state

    @property
    def has_ended(self) -> bool:
        inner = self._inner
        return self._failure is not None or (inner is not None and inner.has_ended)

    def exception(self) -> DuologError | None:
        """Return why it has ended, or why it does not start."""
        if self._failure is not None:
            return self._failure
        return None if self._inner is None else self._inner.exception()

    def progress(self) -> Progress:
        """Return its progress; an empty one until it has started."""
        inner = self._inner
        return Progress("micro-batch", self.state) if inner is None else inner.progress()

    def metrics(self) -> "Metrics | None":
        """Return its metrics; None if it reports its progress only."""
        inner = self._inner
        return None if inner is None else metrics_of_query(inner)

    def stop(self) -> None:
        """Stop it; return at the latest after the bound, and let `overdue` decide the rest."""
        self._leave()
        if not self._released.wait(self._stop_timeout_s):
            self._overdue()

    def evict(self, reason: DuologError) -> None:
        """End it with an error at once; it stops in the background."""
        with self._lock:
            if self.has_ended:
                return
            self._failure = reason
        self._leave()

    def wait_released(self, timeout_s: float | None = None) -> bool:
        """Wait until no part of it runs any more; return false after the timeout."""
        return self._released.wait(timeout_s)

    def _leave(self) -> None:
        with self._lock:
            if self._leaving.is_set():
                return
            self._leaving.set()
        threading.Thread(target=self._stop, name="duolog-sql-end", daemon=True).start()

    def _begin(self) -> None:
        try:
            inner = self._start()
        except DuologError as error:
            self._note_failure(error)
        except Exception as error:  # noqa: BLE001 - an error of another library is this query's error too
            self._note_failure(DuologError(describe_exception(error)))
        else:
            self._inner = inner
            self._started.set()

    def _note_failure(self, error: DuologError) -> None:
        with self._lock:
            self._failure = self._failure or error
        self._started.set()

    def _stop(self) -> None:
        self._started.wait()
        inner = self._inner
        if inner is not None:
            try:
                inner.stop()
            except Exception:  # an error of a stop must not leave its callers waiting
                logger.exception("a query could not be stopped")
            # A stop may give up waiting before everything has ended.
            while not inner.has_ended and not self._released.wait(_LOOK_S):
                pass
        self._released.set()
