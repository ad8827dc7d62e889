"""Partition logs on disk: segments, indexes, group commit, recovery. The only door to the disk.

`LogManager` owns a data directory and its topics, `PartitionLog` is one partition,
`GroupCommit` makes what was written durable before it is acknowledged.
Imports `core` and `record`. Start with `partition.partition_log`, then `partition.appendable_log`.

    partition       the log of one partition: its reader's and its writer's side
    compaction      which logs are compacted, and the process that does it
    recovery        from the files of a partition to its state, after a crash or a clean stop
    data_directory  lock, format, topics, last start and health of the directory
    segments        segment files and their indexes
    checkpoints     small files of a partition: recovery point, log start, leader epochs
    producers       sequence numbers, and open and aborted transactions
    files           the disk, open files, and small files with a checksum

Each room imports only those below it in this list.
"""

from duolog.log.config import LogConfig, topic_values
from duolog.log.data_directory.topics import TopicEntry
from duolog.log.files.disk import Disk, DiskFile, RealDisk
from duolog.log.group_commit import GroupCommit
from duolog.log.log_manager import LogManager
from duolog.log.partition.appendable_log import Appended
from duolog.log.partition.partition_log import PartitionLog
from duolog.log.segments.segments import Slice
from duolog.log.settings import BROKER_LOG_SETTINGS, TOPIC_SETTINGS

__all__ = [
    "BROKER_LOG_SETTINGS",
    "TOPIC_SETTINGS",
    "Appended",
    "Disk",
    "DiskFile",
    "GroupCommit",
    "LogConfig",
    "LogManager",
    "PartitionLog",
    "RealDisk",
    "Slice",
    "TopicEntry",
    "topic_values",
]
