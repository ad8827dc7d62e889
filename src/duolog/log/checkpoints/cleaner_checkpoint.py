"""The progress of compaction in a partition's log: the text file `cleaner-checkpoint`.

    clean_offset 1200        the next run begins here
    holes_below 1500         batches below this offset may not join each other any more

`holes_below` is written before the first segment of a run is replaced, so that a start never takes
a hole that compaction made for records that were lost.

Source: Kafka `cleaner-offset-checkpoint`.
"""

from typing import Final, NamedTuple

from duolog.log.errors import DamagedFile
from duolog.log.files.checked_file import read_checked, write_checked
from duolog.log.files.disk import Disk

CHECKPOINT_FILE_NAME: Final = "cleaner-checkpoint"


class CleanerCheckpoint(NamedTuple):
    """The compaction progress of a log; both values are offsets."""

    clean_offset: int = 0
    holes_below: int = 0


def write_checkpoint(disk: Disk, directory: str, checkpoint: CleanerCheckpoint) -> None:
    """Put the checkpoint on disk, durably.

    Raises:
        OSError: the disk refused.
    """
    lines = [f"{name} {value}\n" for name, value in checkpoint._asdict().items()]
    write_checked(disk, directory, CHECKPOINT_FILE_NAME, "".join(lines).encode())


def read_checkpoint(disk: Disk, directory: str) -> CleanerCheckpoint:
    """Return the checkpoint. Without a file nothing was compacted.

    Raises:
        DamagedFile: the file is not what was written.
    """
    data = read_checked(disk, directory, CHECKPOINT_FILE_NAME)
    if data is None:
        return CleanerCheckpoint()
    try:
        rows = dict(line.split() for line in data.decode().splitlines())
        checkpoint = CleanerCheckpoint(int(rows["clean_offset"]), int(rows["holes_below"]))
    except (ValueError, KeyError):
        checkpoint = CleanerCheckpoint(-1, -1)
    if not 0 <= checkpoint.clean_offset <= checkpoint.holes_below:
        raise DamagedFile(f"{directory}/{CHECKPOINT_FILE_NAME}", f"It holds {data!r}.")
    return checkpoint
