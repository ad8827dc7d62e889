"""Producer ids: each is given once, also over restarts and crashes.

A block of ids is reserved on the disk before any of it is given. A restart begins with a new
block, so what was left of the last one is never used.

On disk: `producer-ids` in the data directory, the first id that no block has taken, as decimal
digits.

Source: Kafka `ProducerIdsBlock`, KIP-730; blocks of 1000 there as here.
"""

from typing import TYPE_CHECKING, Final

from duolog.log.errors import DamagedFile

if TYPE_CHECKING:
    from duolog.log.log_manager import LogManager

_FILE: Final = "producer-ids"
_BLOCK_SIZE: Final = 1000


class ProducerIds:
    """Gives producer ids."""

    def __init__(self, log_manager: "LogManager") -> None:
        """Read the file, so that a damaged one refuses the start.

        Raises:
            DamagedFile: it is not what was written, and ids would be given twice.
        """
        self._log_manager = log_manager
        self._next = self._end = self._first_free()

    def take(self) -> int:
        """Return an id that nobody has had.

        Raises:
            LogDirOffline: a new block could not be reserved.
        """
        if self._next == self._end:
            self._reserve()
        taken = self._next
        self._next += 1
        return taken

    def _first_free(self) -> int:
        data = self._log_manager.read_meta(_FILE)
        if data is None:
            return 0
        if not data.isdigit():
            raise DamagedFile(f"{self._log_manager.path}/{_FILE}", "It holds no number.")
        return int(data)

    def _reserve(self) -> None:
        end = self._end + _BLOCK_SIZE
        self._log_manager.write_meta(_FILE, b"%d" % end)
        self._end = end
