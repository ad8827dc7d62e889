"""The file `log-start-offset`: the first offset of a partition that may be read, as text.

It is there only where records were deleted; else the log starts with its first segment. What lies
below goes at a start, so a wrong offset would delete records: see `checked_file`.
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from duolog.log.errors import DamagedFile
from duolog.log.files.checked_file import read_checked, write_checked
from duolog.log.files.disk import Disk

START_FILE_NAME: Final = "log-start-offset"
_HINT: Final = "Restore the file from a copy of the data directory, or delete the topic."


class StartAdvance(NamedTuple):
    """A log start on its way: `write` on any thread, then `apply` on the loop, a file each step."""

    write: Callable[[], None]
    apply: Callable[[], Iterator[None]]


def write_log_start(disk: Disk, directory: str, offset: int) -> None:
    """Put `offset` on disk, durably.

    Raises:
        OSError: the disk refused.
    """
    write_checked(disk, directory, START_FILE_NAME, b"%d\n" % offset)


def read_log_start(disk: Disk, directory: str) -> int:
    """Return the offset, 0 where there is no file.

    Raises:
        DamagedFile: the file is not what was written.
    """
    data = read_checked(disk, directory, START_FILE_NAME, hint=_HINT)
    if data is None:
        return 0
    if not data.strip().isdigit():
        raise DamagedFile(f"{directory}/{START_FILE_NAME}", "It holds no offset.", hint=_HINT)
    return int(data)
