"""How far the log of a partition is compacted: the file `cleaner-checkpoint`, as text.

    clean_offset 1200        the next run begins here
    holes_below 1500         batches below this offset may not join each other any more

`holes_below` is written before the first segment of a run is replaced, so that a start never takes
a hole that compaction made for records that were lost.

Source: Kafka `cleaner-offset-checkpoint`.
"""

from typing import Final, NamedTuple

from duolog.log.disk import Disk, read_file, replace_file

CHECKPOINT_FILE_NAME: Final = "cleaner-checkpoint"


class CleanerCheckpoint(NamedTuple):
    """What is known of a log's compaction; both are offsets."""

    clean_offset: int = 0
    holes_below: int = 0


def write_checkpoint(disk: Disk, directory: str, checkpoint: CleanerCheckpoint) -> None:
    """Put the checkpoint on disk, durably.

    Raises:
        OSError: the disk refused.
    """
    lines = [f"{name} {value}\n" for name, value in checkpoint._asdict().items()]
    replace_file(disk, directory, CHECKPOINT_FILE_NAME, "".join(lines).encode())


def read_checkpoint(disk: Disk, directory: str) -> CleanerCheckpoint:
    """Return the checkpoint. Without a file nothing was compacted.

    A file that cannot be read allows holes everywhere: that some lie there is likely.
    """
    data = read_file(disk, f"{directory}/{CHECKPOINT_FILE_NAME}")
    if data is None:
        return CleanerCheckpoint()
    try:
        rows = dict(line.split() for line in data.decode().splitlines())
        return CleanerCheckpoint(int(rows["clean_offset"]), int(rows["holes_below"]))
    except (ValueError, KeyError):
        return CleanerCheckpoint(0, 2**63 - 1)
