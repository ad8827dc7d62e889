"""Limit the memory of requests that are not handled yet, over all connections.

    hold ─ it fits ──────────────────────────▶ read on
         └ it does not ─▶ wait in line ─ it fits again ─▶ read on
                               └ first in line, and no other is ahead: read on beyond the limit

The one that is *ahead* lets the line move when unfinished requests alone have filled the memory:
its request can be read whole and handled. So at most one request of the largest size is held beyond
the limit. After it is handled, its memory is released, and for its next request it queues again.

While connections wait in line, every connection that holds memory must send: at least
`_PROGRESS_BYTES` in `_PROGRESS_S`, and each request as a whole within `_WHOLE_S`. Only time in
which the broker waits for the client counts. A connection that is too slow is closed, since what it
has sent of a request cannot be put aside.

A large request of a cold API is copied out of its buffer, to be decoded off the event loop. The
copy counts, too, and while there is one, no other goes ahead: what it holds comes back in any case.

A connection's first 16 KiB are not counted; `max.connections` bounds them.

Thread: the loop. Source: Kafka `queued.max.request.bytes`, `SimpleMemoryPool` (KIP-72), which may
deadlock when unfinished requests fill it.
"""

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from duolog.core.units import MIB

if TYPE_CHECKING:
    from duolog.broker.event_loop.loop import Timers

logger = logging.getLogger(__name__)

_LOOK_S: Final = 1.0
"""Interval at which holders are checked while connections wait."""
_PROGRESS_S: Final = 5.0
_PROGRESS_BYTES: Final = 1 * MIB
"""So much arrives from a holder in that time: 200 KiB/s."""
_WHOLE_S: Final = 30.0
"""A request has arrived after this time. A frame of 100 MB needs 3.4 MB/s, one of 1 MB 35 KB/s."""


class Reader(Protocol):
    """A connection, as its buffer and the memory see it."""

    received_bytes: int
    """Number of bytes received so far."""

    @property
    def handled(self) -> int:
        """A number that grows when requests have been handled."""

    @property
    def waits_for_client(self) -> bool:
        """True if the client must act first: send the rest of a request, or read its responses."""

    def read_on(self) -> None:
        """Take notice that it holds what it waited for."""

    def give_back_memory(self) -> None:
        """Give back what is not in use."""

    def close(self, reason: str, *, level: int) -> None: ...


@dataclass(slots=True)
class _Hold:
    """The memory that a connection holds, and its sending rate while others wait.

    Args:
        size_bytes: how much it holds.
        handled, received_bytes: those of the reader when `slow_s` was 0.
        slow_s: for how long it has not sent `_PROGRESS_BYTES`.
        whole_s: for how long its request has been arriving.
    """

    size_bytes: int
    handled: int = -1
    received_bytes: int = 0
    slow_s: float = 0.0
    whole_s: float = 0.0

    def is_too_slow(self, reader: Reader, seconds: float) -> bool:
        """Take note of what came in the last seconds."""
        handled = reader.handled
        if handled != self.handled:
            self.handled, self.whole_s = handled, 0.0
            self._begin(reader)
            return False
        if not reader.waits_for_client:
            self._begin(reader)
            return False
        self.slow_s += seconds
        self.whole_s += seconds
        if reader.received_bytes - self.received_bytes >= _PROGRESS_BYTES:
            self._begin(reader)
        return self.slow_s >= _PROGRESS_S or self.whole_s >= _WHOLE_S

    def _begin(self, reader: Reader) -> None:
        self.slow_s, self.received_bytes = 0.0, reader.received_bytes


class RequestMemory:
    """The memory of requests that are not handled yet."""

    def __init__(self, bytes_max: int, timers: "Timers") -> None:
        """A negative `bytes_max` means no limit."""
        self.used = 0
        self._max = bytes_max
        self._timers = timers
        self._held: dict[Reader, _Hold] = {}
        self._waiting: dict[Reader, int] = {}
        """In their order, each with what it wants to hold in all."""
        self._ahead: Reader | None = None
        self._looks = False
        """True if a check of the holders is scheduled."""
        self._copies = 0
        """Number of requests that wait to be decoded."""

    @property
    def pressed(self) -> bool:
        """True if unused memory must be released at once."""
        return bool(self._waiting) or self._ahead is not None

    def fits(self, more: int) -> bool:
        return self._max < 0 or self.used + more <= self._max

    def hold(self, reader: Reader, size_bytes: int) -> bool:
        """Let `reader` hold so much in all; False puts it in the line."""
        more = size_bytes - self._held_by(reader)
        if more > 0 and not self.fits(more) and reader is not self._ahead:
            for other in list(self._held):
                if other is not reader:
                    other.give_back_memory()
            if not self.fits(more) or self._waiting:
                self._waiting[reader] = size_bytes
                self._serve()
                self._plan_look()
                return reader not in self._waiting
        self._take(reader, size_bytes)
        return True

    def release(self, reader: Reader, keeps: int = 0) -> None:
        """Take back what `reader` waits for, and what it holds, but for what it `keeps`."""
        self._waiting.pop(reader, None)
        self.used -= self._held_by(reader)
        self._held.pop(reader, None)
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
        hold = self._held.setdefault(reader, _Hold(0))
        self.used += size_bytes - hold.size_bytes
        hold.size_bytes = size_bytes

    def _held_by(self, reader: Reader) -> int:
        hold = self._held.get(reader)
        return hold.size_bytes if hold else 0

    def _serve(self) -> None:
        """Let those read on whose turn it is."""
        while self._waiting:
            reader, size_bytes = next(iter(self._waiting.items()))
            if not self.fits(size_bytes - self._held_by(reader)):
                if self._ahead is not None or self._copies:
                    return
                self._ahead = reader
            del self._waiting[reader]
            self._take(reader, size_bytes)
            reader.read_on()

    def _plan_look(self) -> None:
        if self._waiting and not self._looks:
            self._looks = True
            self._timers.call_later(_LOOK_S, self._look)

    def _look(self) -> None:
        """Close holders that are too slow while others wait."""
        self._looks = False
        for reader, hold in list(self._held.items()):
            # A closed one may have made room for all.
            held = self._waiting and self._held.get(reader) is hold
            if held and hold.is_too_slow(reader, _LOOK_S):
                self._close(reader, hold)
        self._plan_look()

    def _close(self, reader: Reader, hold: _Hold) -> None:
        mebibytes = hold.size_bytes / MIB
        if hold.slow_s >= _PROGRESS_S:
            slow = f"sent less than {_PROGRESS_BYTES // MIB} MiB in {_PROGRESS_S:g} s"
        else:
            slow = f"did not send its request within {_WHOLE_S:g} s"
        reader.close(
            f"{slow}, holding {mebibytes:.1f} MiB of queued.max.request.bytes that others wait for",
            level=logging.WARNING,
        )
