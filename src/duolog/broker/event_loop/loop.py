"""The event loop: one thread, one poller, a heap of timers and a descriptor that wakes it.

    poll → what is ready → timers that are due → calls from other threads → after_round → poll

`after_round` runs once for all that was ready: the place where a burst becomes one write.

Threads: everything runs on the thread that called `run`, except `call_soon_threadsafe` and
`wake`, which any thread may call.

On Linux the poller is an epoll, called without anything in between; `operating_system.polling` has
the others.

Source: reference measurements: raw epoll ties with uvloop in throughput and has a third of its
p99 on large batches; it also allows sendfile and needs no package.
"""

import heapq
import logging
import os
import signal
import sys
from collections import deque
from collections.abc import Callable
from typing import Final

from duolog.core.clock import Clock
from duolog.core.operating_system.polling import READ, open_poller, open_wake_fds

logger = logging.getLogger(__name__)

_EVENTS_MAX: Final = 512
_CANCELLED_TIMERS_MAX: Final = 64
_WAKE: Final = (1).to_bytes(8, sys.byteorder)
"""The number 1 for an eventfd, and any bytes for a pair of sockets."""
_WAKES_BYTES: Final = 4096


class Timer:
    """A call at a time to come."""

    __slots__ = ("_timers", "at", "callback")

    def __init__(self, at: float, callback: Callable[[], None], timers: "Timers") -> None:
        self.at = at
        self.callback: Callable[[], None] | None = callback
        self._timers = timers

    def __lt__(self, other: "Timer") -> bool:
        return self.at < other.at

    def cancel(self) -> None:
        """Make sure that the call does not happen; may be called again, and after it did."""
        if self.callback is not None:
            self.callback = None
            self._timers.forget_one()


class Timers:
    """Calls at times to come, on the loop's thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._heap: list[Timer] = []
        self.failures = 0
        """Number of calls that ended with an unexpected error, those of the loop included."""
        self._cancelled = 0

    def call_at(self, at: float, callback: Callable[[], None]) -> Timer:
        """Call `callback` when the monotonic clock has reached `at`, in seconds."""
        timer = Timer(at, callback, self)
        heapq.heappush(self._heap, timer)
        return timer

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        return self.call_at(self._clock.monotonic() + seconds, callback)

    def seconds_to_next(self) -> float | None:
        """Return how long nothing is due, or None when nothing is planned."""
        while self._heap and self._heap[0].callback is None:
            heapq.heappop(self._heap)
            self._cancelled -= 1
        if not self._heap:
            return None
        return max(0.0, self._heap[0].at - self._clock.monotonic())

    def run_due(self) -> None:
        """Run what is due now; what a callback plans for now waits for the next round."""
        if not self._heap:
            return
        now = self._clock.monotonic()
        due = []
        while self._heap and self._heap[0].at <= now:
            due.append(heapq.heappop(self._heap))
        for timer in due:
            callback, timer.callback = timer.callback, None
            if callback is None:
                self._cancelled -= 1
                continue
            self.failures += not _guarded(callback)

    def forget_one(self) -> None:
        """Count a cancelled timer, and sweep when they are most of the heap.

        Long polls cancel nearly every timer that they plan; without a sweep the heap would
        keep each of them until it is due.
        """
        self._cancelled += 1
        if self._cancelled > _CANCELLED_TIMERS_MAX and self._cancelled * 2 > len(self._heap):
            self._heap = [timer for timer in self._heap if timer.callback is not None]
            heapq.heapify(self._heap)
            self._cancelled = 0


class Loop:
    """The broker's event loop."""

    def __init__(self, clock: Clock) -> None:
        self.timers = Timers(clock)
        self.after_round: Callable[[], None] = _nothing
        self._poller = open_poller()
        self._callbacks: dict[int, Callable[[int], None]] = {}
        self._calls: deque[Callable[[], None]] = deque()
        self._woken_fd, self._wake_fd = open_wake_fds()
        self._hears_signals = False
        self._stopping = False
        self.register(self._woken_fd, READ, self._on_wake)

    def register(self, fd: int, events: int, callback: Callable[[int], None]) -> None:
        """Call `callback(events)` whenever `fd` is ready; level-triggered."""
        self._callbacks[fd] = callback
        self._poller.register(fd, events)

    def modify(self, fd: int, events: int) -> None:
        self._poller.modify(fd, events)

    def unregister(self, fd: int) -> None:
        del self._callbacks[fd]
        self._poller.unregister(fd)

    def wake(self) -> None:
        """End the current wait, from any thread."""
        try:  # noqa: SIM105 - `suppress` would cost a third of the call
            os.write(self._wake_fd, _WAKE)
        except BlockingIOError:
            pass  # The buffer is full of unread wakes, so the loop will wake anyway.

    def wake_on_signals(self) -> None:
        """Let each signal end the current wait; call it on the main thread.

        Linux interrupts the wait of the main thread by itself. macOS may deliver a signal to
        another thread, and Python runs its handler only when the main thread runs again.
        """
        if self._wake_fd != self._woken_fd:  # An eventfd takes no single byte.
            signal.set_wakeup_fd(self._wake_fd, warn_on_full_buffer=False)
            self._hears_signals = True

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Call `callback` after a time, on the loop's thread; as the method of `timers`."""
        return self.timers.call_later(seconds, callback)

    def call_soon_threadsafe(self, callback: Callable[[], None]) -> None:
        """Run `callback` on the loop's thread, from any thread."""
        self._calls.append(callback)
        self.wake()

    def run(self) -> None:
        """Serve until `stop`, which may have been called before: a signal does not wait for us."""
        self.after_round()
        while not self._stopping:
            self.run_once()

    def run_once(self, seconds_max: float | None = None) -> None:
        """Wait for something and handle all that is ready: one round."""
        wait = self.timers.seconds_to_next()
        if wait is None or (seconds_max is not None and seconds_max < wait):
            wait = seconds_max
        callbacks = self._callbacks
        for fd, events in self._poller.poll(wait, _EVENTS_MAX):
            # A connection that another one's callback closed in this round is gone already.
            callback = callbacks.get(fd)
            if callback is not None:
                callback(events)
        self.timers.run_due()
        while self._calls:
            self.timers.failures += not _guarded(self._calls.popleft())
        self.after_round()

    def stop(self) -> None:
        """Leave `run` after the current round, for good; from any thread or a signal handler."""
        self._stopping = True
        self.wake()

    def close(self) -> None:
        if self._hears_signals:
            signal.set_wakeup_fd(-1)
        self._poller.close()
        for descriptor in {self._woken_fd, self._wake_fd}:
            os.close(descriptor)

    def _on_wake(self, _events: int) -> None:
        os.read(self._woken_fd, _WAKES_BYTES)


def _guarded(callback: Callable[[], None]) -> bool:
    """Call it; return whether it did what it should."""
    try:
        callback()
    except Exception:  # A timer's failure must not stop the broker; it is logged with its trace.
        logger.exception("a call on the loop failed")
        return False
    return True


def _nothing() -> None:
    return
