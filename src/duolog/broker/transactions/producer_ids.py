"""Producer ids: each is given once, also over restarts and crashes.

A block of ids is reserved on the disk before any of it is given. A restart begins with a new
block, so what was left of the last one is never used.

On disk: `producer-ids` in the data directory, the first id that no block has taken, as decimal
digits. If it is missing although logs have producers, ids start above all that an earlier start can
have assigned: each has a range of its own for this.

Source: Kafka `ProducerIdsBlock`, KIP-730; blocks of 1000 there as here.
"""

import logging
from typing import TYPE_CHECKING, Final

from duolog.log.errors import DamagedFile

if TYPE_CHECKING:
    from duolog.log.log_manager import LogManager

logger = logging.getLogger(__name__)

_FILE: Final = "producer-ids"
_HINT: Final = (
    "Remove the file: new producer ids then start far above all assigned ones. "
    "Do not restore it from a copy: ids would be assigned twice."
)
_EPOCH_SHIFT: Final = 40
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
        """Return an unused id.

        Raises:
            LogDirOffline: a new block could not be reserved.
        """
        if self._next == self._end:
            self._reserve()
        taken = self._next
        self._next += 1
        return taken

    def _first_free(self) -> int:
        data = self._log_manager.read_meta(_FILE, hint=_HINT)
        if data is None:
            return self._above_all() if self._log_manager.logs.know_producers else 0
        if not data.isdigit():
            raise DamagedFile(
                f"{self._log_manager.path}/{_FILE}", "It holds no number.", hint=_HINT
            )
        return int(data)

    def _above_all(self) -> int:
        first = self._log_manager.leader_epoch << _EPOCH_SHIFT
        logger.warning("began above all producer ids", extra={"missing": _FILE, "first": first})
        return first

    def _reserve(self) -> None:
        end = self._end + _BLOCK_SIZE
        self._log_manager.write_meta(_FILE, b"%d" % end)
        self._end = end
