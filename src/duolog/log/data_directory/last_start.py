"""The state of all logs when a broker last started here, and the boot of the machine.

    <leader epoch> <boot id, or ->
    <topic id> <partition> <log end offset> [damaged]        a line for each log that has records

The file `last-start` (see `checked_file`) is written by each start, after all logs were recovered.
The next start reads it:

- The boot is the same: the broker was killed at most, so all that it wrote is still there. A log
  that is torn in its middle, or that ends before its line says, is damaged. After another boot the
  same may be the trace of a power failure, which is truncated.
- `damaged`: the partition was not served. It is not truncated after a power failure either, until
  it is restored.

A start that ends before the file is written leaves that of an earlier leader epoch, which says
nothing of the boot. A damaged file counts as none.
"""

import logging
from collections.abc import Mapping, Set
from typing import Final, NamedTuple

from duolog.log.errors import CorruptLog, DamagedFile
from duolog.log.files.checked_file import read_checked, write_checked
from duolog.log.files.disk import Disk

logger = logging.getLogger(__name__)

LAST_START_FILE_NAME: Final = "last-start"
TO_GO_ON: Final = (
    " To continue with the records before the damage, stop the broker and remove the files "
    "clean-shutdown and last-start."
)
_NO_BOOT: Final = "-"
_DAMAGED: Final = "damaged"


PlaceOfLog = tuple[str, int]
"""The topic's id and the number of a partition."""


class LastStart(NamedTuple):
    """The content of `last-start`."""

    leader_epoch: int
    boot_id: str | None
    ends: Mapping[PlaceOfLog, int]
    damaged: Set[PlaceOfLog] = frozenset()

    def encode(self) -> bytes:
        lines = [f"{self.leader_epoch} {self.boot_id or _NO_BOOT}\n"]
        for place in sorted(self.ends.keys() | self.damaged):
            topic, partition = place
            mark = f" {_DAMAGED}" if place in self.damaged else ""
            lines.append(f"{topic} {partition} {self.ends.get(place, 0)}{mark}\n")
        return "".join(lines).encode()

    @classmethod
    def decode(cls, content: bytes) -> "LastStart":
        first, *rest = (line.split() for line in content.decode().splitlines())
        epoch, boot = first
        ends: dict[PlaceOfLog, int] = {}
        damaged: set[PlaceOfLog] = set()
        for topic, partition, end, *marks in rest:
            ends[topic, int(partition)] = int(end)
            if marks:
                damaged.add((topic, int(partition)))
        return cls(int(epoch), None if boot == _NO_BOOT else boot, ends, damaged)


def read_last_start(disk: Disk, data_dir: str) -> LastStart | None:
    """Return what the last start has left; None if there is nothing, or it is damaged."""
    try:
        content = read_checked(disk, data_dir, LAST_START_FILE_NAME)
    except DamagedFile as error:
        logger.warning("cannot tell a kill from a power failure", extra={"reason": error.message})
        return None
    return None if content is None else LastStart.decode(content)


def write_last_start(disk: Disk, data_dir: str, start: LastStart) -> None:
    """Replace the file, durably.

    Raises:
        OSError: the disk refused.
    """
    write_checked(disk, data_dir, LAST_START_FILE_NAME, start.encode())


def ensure_reaches(directory: str, found: int, end: int, *, clean: bool) -> None:
    """Refuse a log that ends at `found`, before the end that the last stop or start has noted.

    Raises:
        CorruptLog: it has lost records.
    """
    if found >= end:
        return
    when = "stopped" if clean else "last started"
    raise CorruptLog(
        f'log in "{directory}" has lost acknowledged records',
        detail=f"It ended at {end} when the broker {when}, and ends at {found}.",
        hint=f"Restore the directory from a copy, or delete the topic.{TO_GO_ON}",
    )
