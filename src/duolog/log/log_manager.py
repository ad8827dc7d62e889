"""An opened data directory: its lock, its journal, its topics and their partition logs.

Opening it takes the lock, raises the leader epoch, writes back the journal and recovers every
partition that has files. A damaged log is refused alone (see `partition_logs`); damage to a part
that all of them need refuses the start.

Thread: the broker's loop. `group_commit` starts the one other thread.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack

from duolog.core.clock import Clock
from duolog.core.setting_types import Value
from duolog.log.data_directory.data_dir import DataDir
from duolog.log.data_directory.health import DirHealth
from duolog.log.data_directory.start_errors import refusal_of
from duolog.log.data_directory.topics import TOPICS_DIRECTORY, TopicCatalog
from duolog.log.files.checked_file import read_checked, write_checked
from duolog.log.files.disk import Disk
from duolog.log.files.spare_descriptors import SpareDescriptors
from duolog.log.group_commit import Durability, GroupCommit
from duolog.log.journal import JOURNAL_BYTES_MAX, Journal
from duolog.log.partition.partition_log import PartitionLog
from duolog.log.partition_logs import PartitionLogs
from duolog.log.stored_topics import StoredTopics


class LogManager:
    """An opened data directory.

    `settings` are the broker's values by name; those of `BROKER_LOG_SETTINGS` and `node.id` are
    read, a name that is missing has its default.

    Attributes:
        health: whether the directory is writable or offline.
        logs: the open partition logs.
        topics: the topics, and changes to them.

    Raises:
        DataDirRefused: another broker uses the directory, it is newer, or it is not one of ours.
        CorruptLog: what all partitions need is damaged.
        OSError: the disk refused.
    """

    def __init__(
        self, disk: Disk, data_dir: str, clock: Clock, settings: Mapping[str, Value]
    ) -> None:
        self._disk = disk
        self._clock = clock
        self.health = DirHealth()
        node_id = settings.get("node.id", 0)
        assert isinstance(node_id, int)
        with ExitStack() as on_failure:
            with refusal_of(data_dir):
                self._data_dir = DataDir(disk, data_dir, node_id=node_id)
            on_failure.callback(self._data_dir.release)
            journal_bytes = settings.get("log.journal.bytes", JOURNAL_BYTES_MAX)
            assert isinstance(journal_bytes, int)
            self._journal = Journal(disk, data_dir, bytes_max=journal_bytes)
            with refusal_of(f"{data_dir}/journal"):
                self._journal.replay()
            with refusal_of(f"{data_dir}/{TOPICS_DIRECTORY}"):
                catalog = TopicCatalog(disk, data_dir)
            self.logs = PartitionLogs(disk, self._data_dir, catalog, self.health, settings)
            on_failure.callback(self.logs.release)
            self.logs.open_written()
            self.logs.note_start()
            on_failure.pop_all()
        self.topics = StoredTopics(catalog, self.logs, self.health, settings)

    @property
    def cluster_id(self) -> str:
        return self._data_dir.meta.cluster_id

    @property
    def disk(self) -> Disk:
        """The disk of the data directory."""
        return self._disk

    @property
    def spare_descriptors(self) -> SpareDescriptors:
        """File descriptors reserved for logs when clients use all others of the process."""
        return self._disk.open_files.spare

    @property
    def path(self) -> str:
        """The data directory."""
        return self._data_dir.path

    @property
    def leader_epoch(self) -> int:
        """The leader epoch of every partition, one above that of the last start."""
        return self._data_dir.leader_epoch

    @property
    def started_clean(self) -> bool:
        """True if the last broker here shut down cleanly."""
        return self._data_dir.clean

    def group_commit(
        self, durability: Durability, wake: Callable[[], None], *, threaded: bool = True
    ) -> GroupCommit:
        """Start the group commit of this directory, with its journal. Close it before this."""
        return GroupCommit(
            durability, wake, health=self.health, journal=self._journal, threaded=threaded
        )

    def read_meta(self, name: str, *, hint: str = "") -> bytes | None:
        """Return the content of a small file that the broker keeps here, or None.

        Raises:
            DamagedFile: it is not what was written. `hint` says what to do.
        """
        return read_checked(self._disk, self._data_dir.path, name, hint=hint)

    def write_meta(self, name: str, data: bytes) -> None:
        """Replace such a file; `data` is durable when this returns.

        Raises:
            LogDirOffline: the disk refused, now or before.
        """
        with self.health.guard(f'writing "{name}"'):
            write_checked(self._disk, self._data_dir.path, name, data)

    def log(self, topic: str, partition: int) -> PartitionLog:
        """Return the log of a partition. Raises as `PartitionLogs.find`."""
        return self.logs.find(topic, partition)

    def delete_old_segments(self) -> int:
        """Apply retention to all logs; returns the number of segments deleted.

        Raises:
            LogDirOffline: the disk refused, now or before.
        """
        return self.logs.delete_old_segments(self._clock.now_ms())

    def close(self, *, clean: bool = True) -> None:
        """Write and sync everything, mark the stop as clean, if it is, and give the lock back.

        Raises:
            LogDirOffline: the disk refused, now or before; the lock is given back all the same.
        """
        try:
            with self.health.guard("closing the logs"):
                self.logs.sync()
            # A refused log was not read: the torn end that a power failure left is still there.
            if clean and (self.started_clean or not self.logs.refused):
                with self.health.guard("closing the data directory"):
                    self._data_dir.mark_clean(self.logs.ends())
        finally:
            self.logs.release()
            self._data_dir.release()
