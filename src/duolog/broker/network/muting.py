"""The time for which nothing is read from a connection, because its client is above a quota.

Source: Kafka `ThrottledChannel`, `KafkaChannel.ChannelMuteState`; KIP-219.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duolog.broker.event_loop.loop import Timer, Timers


class Muting:
    """Until when one connection is muted: the latest time of all that were asked for."""

    def __init__(self, timers: "Timers", on_end: Callable[[], None]) -> None:
        self._timers = timers
        self._on_end = on_end
        self._timer: Timer | None = None

    @property
    def active(self) -> bool:
        """True while the connection is muted."""
        return self._timer is not None

    def extend(self, until: float) -> None:
        """Mute the connection until a time of the monotonic clock, if it is not muted longer."""
        if self._timer is not None:
            if self._timer.at >= until:
                return
            self._timer.cancel()
        self._timer = self._timers.call_at(until, self._end)

    def cancel(self) -> None:
        """Forget it: the connection is closed."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end(self) -> None:
        self._timer = None
        self._on_end()
