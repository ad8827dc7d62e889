"""Threads that serve clients in turn, so that the calls of one do not delay those of others.

    waiting   ann: a1 a2 a3 … a600    bob: b1
    order     a1 b1 a2 a3 …

The next call is that of the client with the fewest running ones; of several such clients, that of
the one that has waited longest since its last turn. One client has at most three quarters of the
threads, so that a call of another one need not wait for the end of a long one.

Threads: any.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


class FairThreads:
    """A pool of threads."""

    def __init__(self, threads: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._threads = threads
        self._each_max = threads - threads // 4
        self._lock = threading.Lock()
        self._active = 0
        # By client, in the order of their last turns; the calls as a dict, to remove one at once.
        self._waiting: dict[str, dict[Future[Any], Callable[[], Any]]] = {}
        self._running: dict[str, int] = {}

    def submit(self, client: str, call: Callable[[], T]) -> "Future[T]":
        """Run a call of a client when its turn comes; a cancelled one that waits does not run."""
        future: Future[T] = Future()
        with self._lock:
            self._waiting.setdefault(client, {})[future] = call
            starts = self._active < self._threads
            self._active += starts
        future.add_done_callback(lambda done: self._forget(client, done))
        if starts:
            self._pool.submit(self._serve)
        return future

    @property
    def waiting(self) -> int:
        """The number of calls that wait."""
        with self._lock:
            return sum(map(len, self._waiting.values()))

    def close(self) -> None:
        """Cancel the calls that wait; those that run end by themselves."""
        with self._lock:
            waiting = [future for calls in self._waiting.values() for future in calls]
        for future in waiting:
            future.cancel()
        self._pool.shutdown(wait=False)

    def _serve(self) -> None:
        """Run calls until none may run; a later call starts a thread if one is free."""
        client = None
        while True:
            with self._lock:
                if client is not None:
                    self._end(client)
                client = self._next_client()
                if client is None:
                    self._active -= 1
                    return
                calls = self._waiting.pop(client)
                future = next(iter(calls))
                call = calls.pop(future)
                if calls:
                    self._waiting[client] = calls  # At the end of the order.
                self._running[client] = self._running.get(client, 0) + 1
            _run(future, call)
            del future, call

    def _next_client(self) -> str | None:
        """Return whose turn it is; None if no call may run."""
        running = self._running
        client = min(self._waiting, key=lambda one: running.get(one, 0), default=None)
        if client is None or running.get(client, 0) >= self._each_max:
            return None
        return client

    def _end(self, client: str) -> None:
        self._running[client] -= 1
        if not self._running[client]:
            del self._running[client]

    def _forget(self, client: str, done: "Future[Any]") -> None:
        """Remove a cancelled call, which would otherwise be kept until its turn."""
        if not done.cancelled():
            return
        with self._lock:
            calls = self._waiting.get(client, {})
            calls.pop(done, None)
            if not calls:
                self._waiting.pop(client, None)


def _run(future: "Future[Any]", call: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 - raised where the future is awaited
        future.set_exception(error)
    else:
        future.set_result(result)
