"""Make a thing once for all threads that need it.

A thread that asks while another one makes the thing gets the same result, or the same error. So
threads that arrive while no broker answers wait for one time limit, and not one after another.

Threads: any.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class SharedAttempt(Generic[T]):
    """Makes a thing when it is first asked for, and again if that has failed.

    Args:
        make: makes it.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._attempt: Future[T] | None = None
        self.waiting = 0
        """Number of threads that wait for the attempt of another one."""

    def get(self) -> T:
        """Return the thing.

        Raises:
            Exception: as `make`, in this thread or in the one whose attempt was shared.
        """
        while True:
            with self._lock:
                shared = self._attempt
                mine = self._attempt = shared or Future()
                self.waiting += shared is not None
            if shared is None:
                self._lead(mine)
                return mine.result()
            try:
                return mine.result()
            except _Interrupted:
                # Ctrl-C in the other thread is not an error of this one.
                continue
            finally:
                with self._lock:
                    self.waiting -= 1

    def _lead(self, attempt: "Future[T]") -> None:
        try:
            made = self._make()
        except BaseException as error:
            with self._lock:
                self._attempt = None
            attempt.set_exception(error if isinstance(error, Exception) else _Interrupted())
            if not isinstance(error, Exception):
                raise
        else:
            attempt.set_result(made)


class _Interrupted(Exception):
    """The thread that made the thing was interrupted."""
