"""File descriptors kept for logs, for the moment when the process has no other left.

A segment must be rolled, a directory synced, whatever clients do: a log that cannot open a file is
as good as a disk that failed. So some descriptors are held open for nothing. Who finds none left
gives one back and opens again; code that takes descriptors for clients first ensures that all spare
ones are available.

Threads: any.
"""

import errno
import os
from collections.abc import Callable
from typing import Final

from duolog.core.operating_system.files import CLOEXEC

SPARE_DESCRIPTORS: Final = 16
_NO_DESCRIPTORS: Final = {errno.EMFILE, errno.ENFILE}


class SpareDescriptors:
    """Unused descriptors."""

    def __init__(self, count: int = SPARE_DESCRIPTORS) -> None:
        self._count = count
        self._held: list[int] = []  # Its append and pop are atomic.

    def refill(self) -> bool:
        """Reopen descriptors that were used; return whether all are held again."""
        while len(self._held) < self._count:
            try:
                self._held.append(os.open(os.devnull, os.O_RDONLY | CLOEXEC))
            except OSError:
                return False
        return True

    def use(self, open_file: Callable[[], int]) -> int:
        """Return what `open_file` opens, at the cost of a spare descriptor where it must be.

        Raises:
            OSError: it cannot be opened, or no descriptor is left at all.
        """
        while True:
            try:
                return open_file()
            except OSError as error:
                if error.errno not in _NO_DESCRIPTORS or not self._held:
                    raise
                os.close(self._held.pop())

    def close(self) -> None:
        while self._held:
            os.close(self._held.pop())

    def __del__(self) -> None:
        self.close()
