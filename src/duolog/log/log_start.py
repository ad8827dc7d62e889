"""The file `log-start-offset`: the first offset of a partition that may be read, as text.

It is there only where records were deleted; else the log starts with its first segment.
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from duolog.log.disk import Disk, read_file, replace_file
from duolog.log.errors import CorruptLog

_FILE_NAME: Final = "log-start-offset"


class StartAdvance(NamedTuple):
    """A log start on its way: `write` on any thread, then `apply` on the loop, a file each step."""

    write: Callable[[], None]
    apply: Callable[[], Iterator[None]]


def write_log_start(disk: Disk, directory: str, offset: int) -> None:
    """Put `offset` on disk, durably.

    Raises:
        OSError: the disk refused.
    """
    replace_file(disk, directory, _FILE_NAME, f"{offset}\n".encode())


def read_log_start(disk: Disk, directory: str) -> int:
    """Return the offset, 0 where there is no file.

    Raises:
        CorruptLog: the file does not hold a number.
    """
    data = read_file(disk, f"{directory}/{_FILE_NAME}")
    if data is None:
        return 0
    try:
        return int(data)
    except ValueError:
        raise CorruptLog(
            f'file "{directory}/{_FILE_NAME}" does not hold an offset',
            hint="Write the first offset to serve into it, as a decimal number.",
        ) from None
