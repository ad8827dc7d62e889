"""Readiness of sockets and pipes, in the form of `select.epoll`.

Linux has epoll, and an eventfd to end a wait. Elsewhere `PortablePoller` offers the same methods
over `selectors` (kqueue on macOS), and a pair of sockets takes the place of the eventfd.

The numbers of the events are those of poll(2) and epoll(7), which are equal.

Source: Linux `epoll(7)`, `eventfd(2)`; macOS `kqueue(2)`, `poll(2)`.
"""

import os
import select
import selectors
import socket
import sys
from typing import Final, Protocol

from duolog.core.operating_system.portable import PORTABLE

READ: Final = 0x01
WRITE: Final = 0x04
HANG_UP: Final = 0x08 | 0x10
"""An error or a hang-up. `PortablePoller` reports them as the events that are watched."""


class Poller(Protocol):
    """The methods of `select.epoll` that the event loop uses."""

    def register(self, fd: int, eventmask: int, /) -> None: ...

    def modify(self, fd: int, eventmask: int, /) -> None: ...

    def unregister(self, fd: int, /) -> None: ...

    def poll(self, timeout: float | None, maxevents: int, /) -> list[tuple[int, int]]: ...

    def close(self) -> None: ...


def open_poller() -> Poller:
    """Return an epoll on Linux, elsewhere a `PortablePoller`."""
    if sys.platform == "linux" and not PORTABLE:
        return select.epoll()
    return PortablePoller()


def open_wake_fds() -> tuple[int, int]:
    """Return a descriptor that becomes readable when 8 bytes are written to the other one.

    Both are the same eventfd on Linux. Neither blocks.
    """
    if sys.platform == "linux" and not PORTABLE:
        descriptor = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        return descriptor, descriptor
    reading, writing = socket.socketpair()
    reading.setblocking(False)  # noqa: FBT003 - the standard library's signature
    writing.setblocking(False)  # noqa: FBT003
    return reading.detach(), writing.detach()


class PortablePoller:
    """Level-triggered readiness over `selectors`.

    A descriptor without events is not watched at all: unlike epoll, kqueue cannot report only its
    hang-up. Its owner notices a hang-up when it watches the descriptor again.
    """

    def __init__(self) -> None:
        self._selector = _selector()
        self._idle: set[int] = set()

    def register(self, fd: int, eventmask: int, /) -> None:
        if eventmask:
            self._selector.register(fd, _to_selector(eventmask))
        else:
            self._idle.add(fd)

    def modify(self, fd: int, eventmask: int, /) -> None:
        if eventmask and fd not in self._idle:
            self._selector.modify(fd, _to_selector(eventmask))
        else:
            self.unregister(fd)
            self.register(fd, eventmask)

    def unregister(self, fd: int, /) -> None:
        if fd in self._idle:
            self._idle.remove(fd)
        else:
            self._selector.unregister(fd)

    def poll(self, timeout: float | None, maxevents: int, /) -> list[tuple[int, int]]:
        """Return what is ready, as pairs of descriptor and events; wait up to `timeout` seconds.

        All that is ready is returned: a list cut at `maxevents` would always have the same start.
        A descriptor is in it once. kqueue reports one that can be read and written twice.
        """
        del maxevents
        ready: dict[int, int] = {}
        for key, events in self._selector.select(timeout):
            ready[key.fd] = ready.get(key.fd, 0) | _from_selector(events)
        return list(ready.items())

    def close(self) -> None:
        self._selector.close()


def _selector() -> selectors.BaseSelector:
    if sys.platform == "linux":  # Its default is epoll, which is hidden here.
        selector: selectors.BaseSelector = selectors.PollSelector()
    else:
        selector = selectors.DefaultSelector()
    return selector


def _to_selector(events: int) -> int:
    read = selectors.EVENT_READ if events & READ else 0
    return read | (selectors.EVENT_WRITE if events & WRITE else 0)


def _from_selector(events: int) -> int:
    read = READ if events & selectors.EVENT_READ else 0
    return read | (WRITE if events & selectors.EVENT_WRITE else 0)
