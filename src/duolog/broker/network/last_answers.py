"""The end of a connection whose client has closed its side, and still waits for answers.

The connection stays open while the broker works on a request, or the client reads what it was sent.
It is closed if nothing of this happened for some seconds.
"""

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from duolog.broker.event_loop.loop import Timer, Timers
    from duolog.broker.requests.in_flight import InFlightRequest

_CHECK_S: Final = 5.0
"""A client that has closed its side may go without any progress for so long."""


class HalfClosed(Protocol):
    """A connection whose client sends nothing more."""

    closed: bool
    flushing_due: bool
    on_close: list[Callable[[], None]]

    @property
    def in_flight(self) -> "Collection[InFlightRequest]": ...
    def maybe_end(self) -> None:
        """Close the connection if the client has all that it asked for."""

    def close_by_client(self) -> None:
        """Close the connection, as its client wants."""


class LastAnswers:
    """Closes one such connection in time."""

    def __init__(self, connection: HalfClosed, timers: "Timers") -> None:
        self.progressed = False
        """True if the client has read or been sent something since the last check."""
        self._connection = connection
        self._timers = timers
        self._timer: Timer | None = None

    def check_later(self) -> None:
        self.progressed = False
        if self._timer is None:
            self._connection.on_close.append(self._cancel)
        self._timer = self._timers.call_later(_CHECK_S, self._check)

    def _cancel(self) -> None:
        assert self._timer is not None
        self._timer.cancel()

    def _check(self) -> None:
        """Close the connection, unless something still happens."""
        connection = self._connection
        connection.maybe_end()
        if connection.closed:
            return
        works_on_it = any(
            request.data is None and not request.waits_for_clients
            for request in connection.in_flight
        )
        if works_on_it or self.progressed or connection.flushing_due:
            self.check_later()
        else:
            connection.close_by_client()
