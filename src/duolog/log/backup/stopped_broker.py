"""The cut of a stopped broker: the ends that its next start would find.

The start is rehearsed on an overlay of the disk, as by the doctor: the journal is written back,
interrupted compactions are completed and torn writes cut off, all in memory.

Thread: one.
"""

import time

from duolog.core.clock import SystemClock
from duolog.log.backup.cut import Cut, TopicCut
from duolog.log.backup.log_source import LogSource, stopped
from duolog.log.doctor.examination import quiet
from duolog.log.doctor.finding import Findings
from duolog.log.doctor.overlay import OverlayDisk
from duolog.log.doctor.root_files import RootFiles
from duolog.log.errors import BackupRefused
from duolog.log.files.disk import Disk
from duolog.log.log_manager import LogManager


def rehearsed(disk: Disk, data_dir: str) -> LogSource:
    """Return the logs of a data directory whose broker does not run; nothing is written to it.

    Raises:
        DataDirRefused: it is not a data directory, or has another format.
        BackupRefused: the broker would not serve all of it.
        LogError, ConfigError: the broker would not start.
        OSError: the disk refused.
    """
    overlay = OverlayDisk(disk)
    with quiet():
        node_id = RootFiles(disk, data_dir, Findings()).node_id
        manager = LogManager(overlay, data_dir, SystemClock(), {"node.id": node_id})
        try:
            cut = _cut_of(manager, node_id)
        finally:
            manager.logs.release()
    changed = frozenset(change.path for change in overlay.changes())
    return stopped(overlay, cut, data_dir, changed)


def _cut_of(manager: LogManager, node_id: int) -> Cut:
    ends: dict[str, dict[int, int]] = {}
    for log in manager.logs:
        if log.log_end_offset > 0:
            place = log.topic_partition
            ends.setdefault(place.topic, {})[place.partition] = log.log_end_offset
    topics = tuple(TopicCut(entry, ends.get(entry.name, {})) for entry in manager.topics.entries())
    refused = tuple(f"{topic}-{partition}" for topic, partition in manager.logs.refused)
    # The rehearsed start has raised the epoch, which the real one will do, too.
    epoch = manager.leader_epoch - 1
    return Cut(manager.cluster_id, node_id, epoch, time.monotonic_ns(), topics, refused)


def ensure_served(cut: Cut) -> None:
    """Refuse a cut of which parts are damaged: a backup of it could not be complete.

    Raises:
        BackupRefused: partitions are not served.
    """
    if cut.refused:
        more = f" and {len(cut.refused) - 3} more" if len(cut.refused) > 3 else ""
        raise BackupRefused(
            f"partitions are damaged: {', '.join(cut.refused[:3])}{more}",
            detail="A backup contains everything or nothing.",
            hint="Restore or delete them first: duolog doctor DIRECTORY lists the damage while "
            "the broker is stopped.",
        )
