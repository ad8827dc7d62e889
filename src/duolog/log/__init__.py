"""Partition logs on disk: segments, indexes, group commit, recovery. The only door to the disk.

`LogManager` owns a data directory and its topics, `PartitionLog` is one partition,
`GroupCommit` makes what was written durable before it is acknowledged.
Imports `core` and `record`. Start with `partition_log`, then `appendable_log`.
"""

from duolog.log.appendable_log import Appended
from duolog.log.config import LogConfig, topic_values
from duolog.log.disk import Disk, DiskFile, RealDisk
from duolog.log.group_commit import GroupCommit
from duolog.log.log_manager import LogManager
from duolog.log.partition_log import PartitionLog
from duolog.log.segments import Slice
from duolog.log.settings import BROKER_LOG_SETTINGS, TOPIC_SETTINGS
from duolog.log.topics import TopicEntry

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
