"""A clock, a disk and connections that a test can disturb.

They replace the real ones in the broker of `program`. All else in that broker is the product.

Threads: the broker's event loop changes them. Other threads of the broker read the clock and write
files.
"""

import errno
import os
import socket
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from duolog.broker.network.connection import Connection
from duolog.broker.network.needs import Broker
from duolog.core.clock import SystemClock
from duolog.core.listening import Address
from duolog.core.units import SECOND_MS
from duolog.log.files.disk import Buffer, RealDisk, RealFile

if TYPE_CHECKING:
    from duolog.broker.event_loop.loop import Timer
    from duolog.broker.requests.in_flight import Data, InFlightRequest


class ShiftedClock(SystemClock):
    """The system clock, moved by a test.

    Example:
        >>> clock = ShiftedClock()
        >>> before = clock.now_ms()
        >>> clock.advance(600_000, timers=False)
        >>> 600_000 <= clock.now_ms() - before < 900_000
        True
    """

    def __init__(self) -> None:
        self.shift_ms = 0
        """Difference from the system's wall clock."""
        self._passed_s = 0.0

    def now_ms(self) -> int:
        return super().now_ms() + self.shift_ms

    def monotonic(self) -> float:
        return super().monotonic() + self._passed_s

    def advance(self, ms: int, *, timers: bool) -> None:
        """Advance the wall clock; with `timers`, time passes for all timeouts as well."""
        self.shift_ms += ms
        if timers:
            self._passed_s += ms / SECOND_MS


class FillableDisk(RealDisk):
    """The machine's file system, without syncs; while `full` is true, all writes fail.

    Data of a test survive a kill of the broker without a sync. They need not survive a power
    failure.
    """

    full = False

    def make_file(self, descriptor: int) -> RealFile:
        return _FillableFile(descriptor, self)

    def sync_dir(self, path: str) -> None:
        """Do nothing."""


class _FillableFile(RealFile):
    """A file on a `FillableDisk`."""

    __slots__ = ("_disk",)

    def __init__(self, descriptor: int, disk: FillableDisk) -> None:
        super().__init__(descriptor)
        self._disk = disk

    def append(self, buffers: Sequence[Buffer]) -> None:
        self._ensure_space()
        super().append(buffers)

    def pwrite(self, position: int, data: Buffer) -> None:
        self._ensure_space()
        super().pwrite(position, data)

    def sync(self) -> None:
        """Do nothing."""

    def _ensure_space(self) -> None:
        if self._disk.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Delay:
    """The delay of all responses, and the connections with responses that wait for it."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.connections: set[DelayedConnection] = set()

    def change(self, seconds: float) -> None:
        """Use another delay from now on; send at once what waits for the former one."""
        self.seconds = seconds
        for connection in list(self.connections):
            connection.end_delays()

    @property
    def waiting(self) -> int:
        """The number of responses that wait."""
        return sum(connection.waiting for connection in self.connections)


class DelayedConnection(Connection[Broker]):
    """A connection whose responses leave after a delay, in their order.

    Requests are handled without delay: what was written is written when its response is late.
    """

    def __init__(
        self,
        broker: Broker,
        connection_socket: socket.socket,
        address: str,
        advertised: Address,
        listener: str,
        *,
        delay: Delay,
    ) -> None:
        super().__init__(broker, connection_socket, address, advertised, listener)
        self._delay = delay
        self._late: dict[InFlightRequest, Timer] = {}
        self.on_close.append(self.end_delays)

    @property
    def waiting(self) -> int:
        """The number of responses that wait for the end of their delay."""
        return len(self._late)

    def complete(self, request: "InFlightRequest", data: "Data") -> None:
        super().complete(request, data)
        if self._delay.seconds and not self.closed:
            timers = self.broker.timers
            self._late[request] = timers.call_later(
                self._delay.seconds, partial(self._on_time, request)
            )
            self._delay.connections.add(self)

    def flush(self) -> None:
        """Send the responses whose delay has passed, up to the first one that must wait."""
        late = self._first_late()
        if late is None:
            super().flush()
            return
        # For the queue of responses, it has no answer yet.
        data, late.data = late.data, None
        try:
            super().flush()
        finally:
            late.data = data

    def end_delays(self) -> None:
        """Let all responses leave now."""
        for timer in self._late.values():
            timer.cancel()
        self._late.clear()
        self._delay.connections.discard(self)
        self.flush_soon()

    def _on_time(self, request: "InFlightRequest") -> None:
        del self._late[request]
        if not self._late:
            self._delay.connections.discard(self)
        self.flush_soon()

    def _first_late(self) -> "InFlightRequest | None":
        """Return the first response that must wait, if all before it can leave."""
        for request in self.in_flight:
            if request.data is None:
                return None
            if request in self._late:
                return request
        return None
