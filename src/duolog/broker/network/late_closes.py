"""Connections that are refused, and closed some time later, so that their clients do not hurry.

Source: Kafka `SocketServer.Acceptor.throttledSockets`; KIP-612.
"""

import socket
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from duolog.broker.event_loop.loop import Timer, Timers

_MAX: Final = 256
"""Each keeps a file descriptor: further ones are closed at once."""


class LateCloses:
    """Such connections of one listener."""

    def __init__(self, timers: "Timers") -> None:
        self._timers = timers
        self._waiting: dict[socket.socket, Timer] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, refused: socket.socket, seconds: float) -> None:
        """Close a connection after some time."""
        if len(self._waiting) >= _MAX:
            refused.close()
            return
        self._waiting[refused] = self._timers.call_later(seconds, lambda: self._close(refused))

    def close(self) -> None:
        """Close all of them now."""
        for refused, timer in self._waiting.items():
            timer.cancel()
            refused.close()
        self._waiting.clear()

    def _close(self, refused: socket.socket) -> None:
        del self._waiting[refused]
        refused.close()
