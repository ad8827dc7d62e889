"""Limit the number of open segment files.

A broker of ten thousand partitions has more segments than a process may have descriptors. Segments
report the file that they open here; when there are too many, the one that was opened first lets go
of its own, and opens it again at its next use. A file that is being sent or synced stays readable:
it closes when it is no longer used.

The order is that of opening, not of use: a use must cost nothing, an open costs microseconds.

Threads: used by the broker's loop only.
"""

from typing import Final, Protocol

from duolog.log.files.spare_descriptors import SpareDescriptors

OPEN_FILES_MAX: Final = 4096


class FileHolder(Protocol):
    """An object that holds a file and can reopen it."""

    def let_go(self) -> None:
        """Forget the open file; other users of it may continue."""


class OpenFiles:
    """The holders of open files, oldest first."""

    def __init__(self, files_max: int = OPEN_FILES_MAX) -> None:
        self._files_max = files_max
        self._holders: dict[FileHolder, None] = {}
        self.spare = SpareDescriptors()
        """For opens that find no descriptor left; a disk of its own making has no need of them."""

    def __len__(self) -> int:
        return len(self._holders)

    def opened(self, holder: FileHolder) -> None:
        """Note that `holder` has opened its file; another one may have to let go."""
        self._holders.pop(holder, None)
        self._holders[holder] = None
        if len(self._holders) > self._files_max:
            oldest = next(iter(self._holders))
            del self._holders[oldest]
            oldest.let_go()

    def closed(self, holder: FileHolder) -> None:
        """Note that `holder` holds no file any more."""
        self._holders.pop(holder, None)
