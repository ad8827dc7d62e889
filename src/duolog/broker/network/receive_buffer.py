"""The receive buffer of a connection: it grows with what arrives, not with what is claimed.

    16 KiB ─ doubles while it is filled ─▶ 1 MiB ─ a frame that is larger ─▶ as large as the frame

A large frame is received into pages of memory that cost nothing until something is written to them,
so it is held once, and what it has received so far is never copied again. What a buffer holds
beyond 16 KiB is counted in the broker's `RequestMemory`, a mebibyte ahead of what comes.

Invariant: frames that were handled may still be read (batches are staged as slices of the buffer)
until the loop polls again. `make_room` is called after that.
"""

from mmap import PAGESIZE, mmap
from typing import Final

from duolog.broker.network.request_memory import Reader, RequestMemory
from duolog.core.units import KIB, MIB
from duolog.protocol.frames import SIZE_BYTES

BUFFER_BYTES: Final = 16 * KIB
_BUSY_BYTES: Final = 256 * KIB
"""Up to here a buffer grows when it was filled: what comes together is written together."""
USUAL_BYTES: Final = 1 * MIB
_STEP_BYTES: Final = 1 * MIB


class ReceiveBuffer:
    """The bytes that a connection has received and not yet handled: `data[start:end]`."""

    __slots__ = (
        "_memory",
        "_reader",
        "_start_seen",
        "data",
        "end",
        "handled",
        "needed",
        "room",
        "start",
    )

    def __init__(self, memory: RequestMemory, reader: Reader) -> None:
        self._memory = memory
        self._reader = reader
        self.data: bytearray | mmap = bytearray(BUFFER_BYTES)
        self.start = self.end = self._start_seen = 0
        self.handled = 0
        """Number of handled requests at the time of the last compaction."""
        self.room = BUFFER_BYTES
        """Up to here the memory is counted as ours."""
        self.needed = False
        """True if more than `USUAL_BYTES` were needed since the flag was last reset."""

    def make_room(self) -> bool:
        """Move the beginning of a frame to the front, and grow when the buffer is full.

        False: there is no memory now; the reader is notified when there is.
        """
        size, room = len(self.data), self.room
        if self.start > self._start_seen:
            self._start_seen = self.start
            self.handled += 1
        waiting = self.end - self.start
        busy = self.end == size < _BUSY_BYTES
        if self.end > USUAL_BYTES:
            self.needed = True
        if not waiting:
            self.start = self.end = self._start_seen = 0
            if busy and self._memory.fits(size):
                self._grow(2 * size)
            return True
        if room - self.end >= room // 2:
            return True
        if waiting > room // 2:
            return self._grow_for_frame(waiting, size, room)
        if not (busy and self._memory.fits(size) and self._grow(2 * size)):
            self._move(self.data)
        return True

    def give_back(self) -> bool:
        """Return memory where little waits in it; return whether no more than the usual is left."""
        waiting = self.end - self.start
        if self.room <= BUFFER_BYTES:
            return True
        if waiting <= self.room // 4:
            size = max(BUFFER_BYTES, 2 * waiting)
            self._move(bytearray(size))
            self.room = size
            self._memory.release(self._reader, size - BUFFER_BYTES)
        return self.room <= USUAL_BYTES

    def close(self) -> None:
        # Staged slices of the buffer keep it alive until they are written.
        self.data = bytearray()
        self.start = self.end = self.room = 0
        self._memory.release(self._reader)
        del self._reader  # A cycle would wait for a collection of all that is old.

    def _grow_for_frame(self, waiting: int, size: int, room: int) -> bool:
        if room < size:
            return self._take(min(size, room + _STEP_BYTES))
        if size < USUAL_BYTES:
            return self._grow(2 * size)
        total = SIZE_BYTES + int.from_bytes(self.data[self.start : self.start + SIZE_BYTES])
        if total > size:
            pages = -(-total // PAGESIZE) * PAGESIZE
            if not self._take(min(pages, waiting + _STEP_BYTES)):
                return False
            self._move(mmap(-1, pages))
        else:
            self._move(self.data)
        return True

    def _grow(self, size: int) -> bool:
        if not self._take(size):
            return False
        self._move(bytearray(size))
        return True

    def _take(self, room: int) -> bool:
        if not self._memory.hold(self._reader, room - BUFFER_BYTES):
            return False
        self.room = room
        return True

    def _move(self, to: bytearray | mmap) -> None:
        waiting = self.end - self.start
        if waiting:
            with memoryview(self.data) as old, memoryview(to) as new:
                new[:waiting] = old[self.start : self.end]
        self.data = to
        self.start = self._start_seen = 0
        self.end = waiting
