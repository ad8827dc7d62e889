"""How much memory requests may hold before they are handled, for all connections together.

    hold ─ it fits ──────────────────────────▶ read on
         └ it does not ─▶ wait in line ─ it fits again ─▶ read on
                               └ first in line, and nobody is ahead: read on beyond the limit

The one that is *ahead* lets the line move when unfinished requests alone have filled the memory: its
request can be read whole and handled. So at most one request of the largest size is held beyond the limit.
When it is handled, what it held is given back, and for its next one it stands in line again. If nothing
more comes of it while we read and others wait, it is closed, and the next one goes ahead.

A large request of a cold API is copied out of its buffer, to be decoded beside the loop. The copy counts,
too, and while there is one nobody goes ahead: what it holds comes back in any case.

A connection's first 16 KiB are not counted; `max.connections` bounds them.

Thread: the loop. Source: Kafka `queued.max.request.bytes`, `SimpleMemoryPool` (KIP-72), which may stand
still when unfinished requests fill it.
"""

import logging
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from duolog.broker.event_loop.loop import Timers

logger = logging.getLogger(__name__)

_STALLED_S: Final = 10.0
_PROGRESS_BYTES: Final = 64 * 1024
"""Who goes ahead of others receives so much in that time."""


class Reader(Protocol):
    """A connection, as its buffer and the memory see it."""

    received_bytes: int
    """How much it has received so far."""

    @property
    def waits_for_client(self) -> bool:
        """Whether the client must do something first: send the rest, or read its answers."""

    def read_on(self) -> None:
        """Take notice that it holds what it waited for."""

    def give_back_memory(self) -> None:
        """Give back what is not in use."""

    def close(self, reason: str, *, level: int) -> None: ...


class RequestMemory:
    """The memory of requests that are not handled yet."""

    def __init__(self, bytes_max: int, timers: "Timers") -> None:
        """`bytes_max` below 0 is no limit."""
        self.used = 0
        self._max = bytes_max
        self._timers = timers
        self._held: dict[Reader, int] = {}
        self._waiting: dict[Reader, int] = {}
        """In their order, each with what it wants to hold in all."""
        self._ahead: Reader | None = None
        self._times_ahead = 0
        """How often somebody went ahead: a look at an earlier time finds that it is over."""
        self._copies = 0
        """How many requests wait to be decoded."""

    @property
    def pressed(self) -> bool:
        """Whether what is not in use must be given back at once."""
        return bool(self._waiting) or self._ahead is not None

    def fits(self, more: int) -> bool:
        return self._max < 0 or self.used + more <= self._max

    def hold(self, reader: Reader, size_bytes: int) -> bool:
        """Let `reader` hold so much in all; False puts it in the line."""
        more = size_bytes - self._held.get(reader, 0)
        if more > 0 and not self.fits(more) and reader is not self._ahead:
            for other in list(self._held):
                if other is not reader:
                    other.give_back_memory()
            if not self.fits(more) or self._waiting:
                self._waiting[reader] = size_bytes
                self._serve()
                return reader not in self._waiting
        self._take(reader, size_bytes)
        return True

    def release(self, reader: Reader, keeps: int = 0) -> None:
        """Take back what `reader` waits for, and what it holds, but for what it `keeps`."""
        self._waiting.pop(reader, None)
        self.used -= self._held.pop(reader, 0)
        if keeps:
            self._take(reader, keeps)
        if reader is self._ahead:
            self._ahead = None
        self._serve()

    def copied(self, size_bytes: int) -> None:
        """Count a request that waits to be decoded, whether it fits or not; `decoded` follows."""
        self._copies += 1
        self.used += size_bytes

    def decoded(self, size_bytes: int) -> None:
        self._copies -= 1
        self.used -= size_bytes
        self._serve()

    def _take(self, reader: Reader, size_bytes: int) -> None:
        self.used += size_bytes - self._held.get(reader, 0)
        self._held[reader] = size_bytes

    def _serve(self) -> None:
        """Let those read on whose turn it is."""
        while self._waiting:
            reader, size_bytes = next(iter(self._waiting.items()))
            if not self.fits(size_bytes - self._held.get(reader, 0)):
                if self._ahead is not None or self._copies:
                    return
                self._ahead = reader
                self._times_ahead += 1
                self._watch(reader, self._times_ahead, reader.received_bytes - _PROGRESS_BYTES)
            del self._waiting[reader]
            self._take(reader, size_bytes)
            reader.read_on()

    def _watch(self, reader: Reader, time: int, received_before: int) -> None:
        """Close `reader` when it is ahead of others, and nothing comes of it."""
        received = reader.received_bytes
        stalled = reader.waits_for_client and received < received_before + _PROGRESS_BYTES

        def look() -> None:
            if self._ahead is reader and self._times_ahead == time:
                self._watch(reader, time, received)

        if self._waiting and stalled:
            reason = "others wait for the memory of a request that does not go on"
            reader.close(reason, level=logging.WARNING)
        else:
            self._timers.call_later(_STALLED_S, look)
