"""The controller: changes of topics, configs and quotas, one after the other.

    submit ─▶ prepare (loop) ─▶ write, settle (own thread) ─▶ apply (loop) ─▶ done (loop)

A change of the disk takes a few syncs, so none is made on the loop. What waits is prepared
together and written together, up to the first change of a subject that is already in the batch: it
is prepared when the earlier one is in place, so each change sees those before it, as with Kafka's
controller of one thread. `settle` is called once for all changes of a batch that share it.

What it does on the loop is done in time slices.

Threads: `submit` and `close` belong to the loop. `write` and `settle` run on the controller's
thread.

Source: Kafka `QuorumController`.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from duolog.broker.errors import hidden
from duolog.broker.event_loop.background import BackgroundThread
from duolog.core.errors import DuologError

if TYPE_CHECKING:
    from duolog.broker.event_loop.loop import Loop
    from duolog.broker.event_loop.time_slices import TimeSlices

logger = logging.getLogger(__name__)

BATCH_MAX: Final = 64

Done = Callable[[Exception | None], None]
"""Called once: with what went wrong, or with None when the change is durable and in place."""


def _nothing() -> Iterable[None]:
    return ()


class Change(NamedTuple):
    """A change that `prepare` has validated."""

    write: Callable[[], None]
    """Puts it on the disk. It is durable when `settle` has returned, too."""
    settle: Callable[[], None] | None = None
    apply: Callable[[], Iterable[None]] = _nothing
    """Puts it in place, in steps that hold the loop no longer than a time slice."""
    undo: Callable[[], None] | None = None
    """Puts back, on the loop, what was taken away to prepare a change that was not written."""


def carry_out(change: Change) -> None:
    """Make a change now, on the calling thread: for what the broker does before it serves."""
    try:
        change.write()
        if change.settle is not None:
            change.settle()
    except Exception:  # Whatever it was, the change is taken back, then it is raised.
        if change.undo is not None:
            change.undo()
        raise
    for _ in change.apply():
        pass


class _Task(NamedTuple):
    subject: str
    prepare: Callable[[], Change | None]
    done: Done
    secret: bool


class _Prepared(NamedTuple):
    change: Change
    done: Done
    secret: bool


class Controller:
    """Carries out changes in their order; see the picture at the top of the module."""

    def __init__(self, loop: "Loop", slices: "TimeSlices") -> None:
        self.changes = 0
        """Changes that were made since the start."""
        self._loop = loop
        self._slices = slices
        self._background = BackgroundThread()
        self._tasks: deque[_Task] = deque()
        self._running = False
        self._landed: deque[list[tuple[_Prepared, Exception | None]]] = deque()
        self._steps_left: Iterator[None] = iter(())

    def submit(
        self,
        subject: str,
        prepare: Callable[[], Change | None],
        done: Done,
        *,
        secret: bool = False,
    ) -> None:
        """Make a change of `subject` when those before it are made.

        `prepare` is called on the loop, raises what speaks against the change, and returns None
        when nothing is to be written. What it raises is given to `done`. The log shows no text of
        an unexpected error if the change is `secret`.
        """
        self._tasks.append(_Task(subject, prepare, done, secret))
        if not self._running:
            self._running = True
            self._slices.run(self._prepare())

    def close(self) -> None:
        """Finish what is being written; changes that were not begun are dropped."""
        self._tasks.clear()
        self._background.close()
        for _ in self._steps_left:
            pass
        while self._landed:
            for _ in self._place(self._landed.popleft()):
                pass

    def _prepare(self) -> Iterator[None]:
        batch: dict[str, _Prepared] = {}
        while self._tasks and len(batch) < BATCH_MAX and self._tasks[0].subject not in batch:
            task = self._tasks.popleft()
            try:
                change = task.prepare()
            except Exception as error:  # noqa: BLE001  The edge of a change: the caller gets the error.
                _log_unexpected(error, secret=task.secret)
                _tell(task.done, error)
            else:
                if change is None:
                    _tell(task.done, None)
                else:
                    batch[task.subject] = _Prepared(change, task.done, task.secret)
            yield
        if batch:
            self._background.run(lambda: self._write(list(batch.values())))
        else:
            self._running = False

    def _write(self, batch: list[_Prepared]) -> None:
        """Write a batch, on the controller's thread."""
        results: list[tuple[_Prepared, Exception | None]] = []
        settled: dict[Callable[[], None], Exception | None] = {}
        errors = [_error_of(each.change.write, secret=each.secret) for each in batch]
        for prepared, error in zip(batch, errors, strict=True):
            settle = prepared.change.settle
            if error is None and settle is not None:
                if settle not in settled:
                    settled[settle] = _error_of(settle)
                error = settled[settle]  # noqa: PLW2901  What it came to in the end.
            results.append((prepared, error))
        self._landed.append(results)
        self._loop.call_soon_threadsafe(self._land)

    def _land(self) -> None:
        if self._landed:
            self._steps_left = self._place(self._landed.popleft())
            self._slices.run(self._steps_left)

    def _place(self, results: list[tuple[_Prepared, Exception | None]]) -> Iterator[None]:
        for prepared, failed in results:
            error = failed
            if error is None:
                try:
                    yield from prepared.change.apply()
                    self.changes += 1
                except Exception as cause:  # noqa: BLE001  As above.
                    _log_unexpected(cause, secret=prepared.secret)
                    error = cause
            elif prepared.change.undo is not None:
                _error_of(prepared.change.undo, secret=prepared.secret)
            _tell(prepared.done, error)
            yield
        yield from self._prepare()


def _error_of(call: Callable[[], None], *, secret: bool = False) -> Exception | None:
    try:
        call()
    except Exception as error:  # noqa: BLE001  The edge of the thread: the loop hears of it.
        _log_unexpected(error, secret=secret)
        return error
    return None


def _tell(done: Done, error: Exception | None) -> None:
    try:
        done(error)
    except Exception as unexpected:  # noqa: BLE001  The other changes of the batch must still be answered.
        _log_unexpected(unexpected)


def _log_unexpected(error: Exception, *, secret: bool = False) -> None:
    if not isinstance(error, OSError | DuologError):
        logger.error("a change failed", exc_info=hidden(error) if secret else error)
