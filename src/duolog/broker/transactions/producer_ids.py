"""Producer ids: each is given once, also over restarts and crashes.

A block of ids is reserved on the disk before any of it is given. A restart begins with a new
block, so what was left of the last one is never used.

On disk: `producer-ids` in the data directory, the first id that no block has taken, as decimal
digits.

Source: Kafka `ProducerIdsBlock`, KIP-730; blocks of 1000 there as here.
"""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from duolog.log.log_manager import LogManager

_FILE: Final = "producer-ids"
_BLOCK_SIZE: Final = 1000


class ProducerIds:
    """Gives producer ids."""

    def __init__(self, log_manager: "LogManager") -> None:
        self._log_manager = log_manager
        self._next = self._end = 0

    def take(self) -> int:
        """Return an id that nobody has had.

        Raises:
            OSError: a new block could not be reserved.
        """
        if self._next == self._end:
            self._reserve()
        taken = self._next
        self._next += 1
        return taken

    def _reserve(self) -> None:
        data = self._log_manager.read_meta(_FILE)
        start = int(data) if data else 0
        end = start + _BLOCK_SIZE
        self._log_manager.write_meta(_FILE, str(end).encode())
        self._next, self._end = start, end
