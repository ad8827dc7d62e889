"""The progress of a backup that is not complete: copies whose pieces are durable.

    progress     a line for each copied file: CRC32C, the key of the file, the copy as JSON

A backup that was interrupted leaves it. The next one takes another cut, and uses the copies
of all files that have not changed. A line that a crash has torn ends the file.
"""

import json
from collections.abc import Mapping
from typing import Final

from crc32c import crc32c

from duolog.log.backup.copies import Copy
from duolog.log.files.disk import Disk, DiskFile, read_file

PROGRESS_FILE_NAME: Final = "progress"


class Progress:
    """Appends copies to the file."""

    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk = disk
        self._directory = directory
        self._waiting: list[bytes] = []
        self._file: DiskFile | None = None

    def note(self, key: str, copy: Copy) -> None:
        """Add a copy, to be written by `save`."""
        line = json.dumps([key, copy.as_json()]).encode()
        self._waiting.append(b"%08x %s\n" % (crc32c(line), line))

    def save(self) -> None:
        """Write all copies that were noted; their pieces must be durable.

        Raises:
            OSError: the disk refused.
        """
        if not self._waiting:
            return
        if self._file is None:
            path = f"{self._directory}/{PROGRESS_FILE_NAME}"
            self._file = self._disk.open(path, create=True)
            # What another backup has left may end with a torn line.
            self._file.truncate(_whole_bytes(self._file.pread(0, self._file.size_bytes)))
            self._disk.sync_dir(self._directory)
        self._file.append(self._waiting)
        self._file.sync()
        self._waiting = []

    def close(self) -> None:
        """Close the file as it is."""
        if self._file is not None:
            self._file.close()
            self._file = None


def read_progress(disk: Disk, directory: str) -> Mapping[str, Copy]:
    """Return the copies of an interrupted backup by the keys of their files.

    Raises:
        OSError: the disk refused.
    """
    data = read_file(disk, f"{directory}/{PROGRESS_FILE_NAME}") or b""
    found: dict[str, Copy] = {}
    for line in data[: _whole_bytes(data)].splitlines():
        key, copy = json.loads(line.partition(b" ")[2])
        found[str(key)] = Copy.of_json(copy)
    return found


def _whole_bytes(data: bytes) -> int:
    """Return the size of the lines up to the first that is not whole."""
    size = 0
    for line in data.splitlines(keepends=True):
        digits, _, content = line.partition(b" ")
        if not line.endswith(b"\n") or b"%08x" % crc32c(content[:-1]) != digits:
            break
        size += len(line)
    return size
