"""A data directory with its topics and their partition logs.

Opening it takes the lock, raises the leader epoch, writes back the journal and recovers every
partition that has files. A partition whose log is damaged is refused, and no other: `log` says why,
and nothing of it is changed. So are all partitions of a topic whose description is damaged. What is
damaged for all of them refuses the start.

Thread: the broker's loop. `group_commit` starts the one other thread.
"""

import errno
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Final

from duolog.core.clock import Clock
from duolog.core.ids import TopicPartition
from duolog.core.settings import Value
from duolog.log.checked_file import read_checked, write_checked
from duolog.log.config import LogConfig
from duolog.log.data_dir import DataDir
from duolog.log.disk import Disk
from duolog.log.errors import CorruptLog, DataDirRefused, PartitionRefused, UnknownTopic
from duolog.log.group_commit import Durability, GroupCommit
from duolog.log.health import DirHealth
from duolog.log.journal import JOURNAL_BYTES_MAX, Journal
from duolog.log.last_start import PlaceOfLog, ensure_reaches
from duolog.log.partition_log import PartitionLog
from duolog.log.recovery import recover
from duolog.log.spare_descriptors import SpareDescriptors
from duolog.log.topics import TOPICS_DIRECTORY, CatalogChange, TopicCatalog, TopicEntry

logger = logging.getLogger(__name__)

TopicChange = CatalogChange
"""A change of a topic. `write` and `settle` may be called off the event loop, and raise LogDirOffline
when the disk refuses; `place` belongs to the loop."""


class LogManager:
    """An opened data directory.

    `settings` are the broker's values by name; those of `BROKER_LOG_SETTINGS` and `node.id` are
    read, a name that is missing has its default.

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
        self._settings = settings
        self._logs: dict[tuple[str, int], PartitionLog] = {}
        self.refused: dict[tuple[str, int], PartitionRefused] = {}
        """The reason why a partition is not served, by topic and partition."""
        self._run_beside: Callable[[Callable[[], None]], None] | None = None
        self.health = DirHealth()
        node_id = settings.get("node.id", 0)
        assert isinstance(node_id, int)
        with _told_where(data_dir):
            self._data_dir = DataDir(disk, data_dir, node_id=node_id)
        try:
            journal_bytes = settings.get("log.journal.bytes", JOURNAL_BYTES_MAX)
            assert isinstance(journal_bytes, int)
            self._journal = Journal(disk, data_dir, bytes_max=journal_bytes)
            with _told_where(f"{data_dir}/journal"):
                self._journal.replay()
            with _told_where(f"{data_dir}/{TOPICS_DIRECTORY}"):
                self._catalog = TopicCatalog(disk, data_dir)
            for entry in self._catalog.entries():
                with _told_where(self._catalog.directory(entry)):
                    self._open_logs(entry)
            self._note_start()
        except BaseException:
            self._release()
            raise

    @property
    def cluster_id(self) -> str:
        return self._data_dir.meta.cluster_id

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

    # Topics.

    def topics(self) -> list[TopicEntry]:
        return self._catalog.entries()

    def topic(self, name: str) -> TopicEntry | None:
        return self._catalog.get(name)

    def create_topic(
        self, name: str, partitions: int, configs: Mapping[str, str] | None = None
    ) -> TopicEntry:
        """Make a topic; it is durable when this returns. Raises as `creating`."""
        return self._now(self.creating(name, partitions, configs or {}))

    def delete_topic(
        self, name: str, *, remove: Callable[[Callable[[], None]], None] | None = None
    ) -> TopicEntry:
        """Delete a topic with all its records. Raises as `deleting`."""
        return self._now(self.deleting(name, remove=remove))

    def add_partitions(self, name: str, total: int) -> TopicEntry:
        """Raise the number of partitions to `total`. Raises as `growing`."""
        return self._now(self.growing(name, total))

    def alter_configs(self, name: str, configs: Mapping[str, str]) -> TopicEntry:
        """Replace the settings of a topic by `configs`, for its logs at once."""
        return self._now(self.altering(name, configs))

    def creating(self, name: str, partitions: int, configs: Mapping[str, str]) -> TopicChange:
        """Return the change that makes a topic.

        Raises:
            TopicExists: there is one of this name.
            InvalidPartitions: fewer than one partition.
            ConfigError: a setting is unknown or has a value that is not allowed.
        """
        LogConfig.of_topic(configs, self._settings)
        return self._change(
            self._catalog.creating(name, partitions, configs), f'creating topic "{name}"'
        )

    def deleting(
        self, name: str, *, remove: Callable[[Callable[[], None]], None] | None = None
    ) -> TopicChange:
        """Return the change that deletes a topic with all its records.

        Its files are removed by the function that `remove` is given, when the topic is gone for
        good, and at once without it. Nothing may be appended to it from now on.

        Raises:
            UnknownTopic: there is none of this name.
        """
        change = self._catalog.deleting(name)

        def place() -> None:
            change.place()
            for partition in range(change.entry.partitions):
                log = self._logs.pop((name, partition), None)
                if log is not None:
                    log.forget_files()
                self.refused.pop((name, partition), None)
            remove_files = partial(self._catalog.remove_files, change.entry)
            if remove is not None:
                remove(remove_files)
                return
            with self.health.guard(f'deleting topic "{name}"'):
                remove_files()

        return self._change(change._replace(place=place), f'deleting topic "{name}"')

    def growing(self, name: str, total: int) -> TopicChange:
        """Return the change that raises the number of partitions to `total`.

        Raises:
            UnknownTopic: there is no such topic.
            InvalidPartitions: `total` is not above the present number.
        """
        return self._change(
            self._catalog.growing(name, total), f'adding partitions to topic "{name}"'
        )

    def altering(self, name: str, configs: Mapping[str, str]) -> TopicChange:
        """Return the change that replaces the settings of a topic, and those of its logs.

        Raises:
            UnknownTopic: there is no such topic.
            ConfigError: a setting is unknown or has a value that is not allowed.
        """
        config = LogConfig.of_topic(configs, self._settings)
        change = self._catalog.altering(name, configs)

        def place() -> None:
            change.place()
            self._configure(change.entry, config)

        return self._change(change._replace(place=place), f'changing topic "{name}"')

    def configure(self, name: str) -> None:
        """Update the settings of a topic's logs: those of the broker have changed."""
        entry = self._catalog.entry(name)
        self._configure(entry, LogConfig.of_topic(entry.configs, self._settings))

    def _configure(self, entry: TopicEntry, config: LogConfig) -> None:
        for partition in range(entry.partitions):
            log = self._logs.get((entry.name, partition))
            if log is not None:
                log.configure(config)

    def _change(self, change: CatalogChange, doing: str) -> TopicChange:
        def write() -> None:
            with self.health.guard(doing):
                change.write()

        return TopicChange(
            change.entry, write, self._settle if change.settle else None, change.place
        )

    def _settle(self) -> None:
        with self.health.guard("changing topics"):
            self._catalog.sync()

    @staticmethod
    def _now(change: TopicChange) -> TopicEntry:
        change.write()
        if change.settle is not None:
            change.settle()
        change.place()
        return change.entry

    # Logs.

    def log(self, topic: str, partition: int) -> PartitionLog:
        """Return the log of a partition.

        Raises:
            UnknownTopic: there is no such topic or partition.
            PartitionRefused: its log is damaged.
        """
        log = self._logs.get((topic, partition))
        if log is not None:
            return log
        if (topic, partition) in self.refused:
            raise self.refused[topic, partition]
        entry = self._catalog.entry(topic)
        if not 0 <= partition < entry.partitions:
            raise UnknownTopic(f'topic "{topic}" has no partition {partition}')
        return self._open_log(entry, partition)

    @property
    def knows_producers(self) -> bool:
        """Return True if a log has records of a producer with an id that it still remembers."""
        return any(log.knows_producers for log in self._logs.values())

    def logs(self) -> list[PartitionLog]:
        """Return the logs that were written or asked for."""
        return list(self._logs.values())

    def _note_start(self) -> None:
        found = ((self._catalog.entry(topic), partition) for topic, partition in self.refused)
        refused = {self._place(entry, number) for entry, number in found if entry.damage is None}
        # After a power failure a log that is refused may have torn writes, too.
        certain = self._data_dir.has_all_writes
        damaged = refused if certain else refused & self._data_dir.damaged
        recovered = certain or len(self.refused) == len(damaged)
        self._data_dir.note_start(self._ends(), damaged, recovered=recovered)

    def _open_logs(self, entry: TopicEntry) -> None:
        directory = self._catalog.directory(entry)
        if entry.damage is not None:
            self._refuse_topic(entry, entry.damage)
            return
        if not self.started_clean:  # What a killed process made here may not be durable yet.
            self._disk.sync_dir(directory)
        written = {int(name) for name in self._disk.list(directory) if name.isdigit()}
        for partition in range(entry.partitions):
            if partition in written or self._place(entry, partition) in self._data_dir.ends:
                try:
                    with _told_as_damage(f"{directory}/{partition}"):
                        self._open_log(entry, partition)
                except CorruptLog as error:
                    self._refuse(TopicPartition(entry.name, partition), error)

    def _refuse_topic(self, entry: TopicEntry, damage: CorruptLog) -> None:
        for partition in range(entry.partitions):
            refused = PartitionRefused(str(TopicPartition(entry.name, partition)), damage)
            self.refused[entry.name, partition] = refused
        logger.error(
            "topic is not served: its description is damaged",
            extra={"topic": entry.name, "reason": _reason(damage), "hint": damage.hint},
        )

    def _refuse(self, topic_partition: TopicPartition, error: CorruptLog) -> None:
        refused = PartitionRefused(str(topic_partition), error)
        self.refused[topic_partition.topic, topic_partition.partition] = refused
        logger.error(
            "partition is not served: its log is damaged",
            extra={
                "topic_partition": str(topic_partition),
                "reason": _reason(error),
                "hint": error.hint,
            },
        )

    def _open_log(self, entry: TopicEntry, partition: int) -> PartitionLog:
        directory = f"{self._catalog.directory(entry)}/{partition}"
        place = self._place(entry, partition)
        config = LogConfig.of_topic(entry.configs, self._settings)
        recovered = recover(
            self._disk,
            directory,
            index_interval_bytes=config.index_interval_bytes,
            clean=self.started_clean,
            killed=self._data_dir.killed or place in self._data_dir.damaged,
            synced=self._settings.get("durability", "fsync") == "fsync",
        )
        if recovered.epochs.latest >= self.leader_epoch:
            raise CorruptLog(
                f'log in "{directory}" was written in the leader epoch {recovered.epochs.latest}',
                detail=f"The data directory is at {self.leader_epoch} only.",
                hint="The directory was copied from another one, or its file leader-epoch was.",
            )
        end = self._data_dir.ends.get(place, 0)
        ensure_reaches(directory, recovered.next_offset, end, clean=self.started_clean)
        log = PartitionLog(
            self._disk,
            directory,
            TopicPartition(entry.name, partition),
            config,
            health=self.health,
            leader_epoch=self.leader_epoch,
            recovered=recovered,
        )
        if self._run_beside is not None:
            log.run_beside = self._run_beside
        self._logs[entry.name, partition] = log
        return log

    def use_beside(self, run: Callable[[Callable[[], None]], None]) -> None:
        """Let `run`, which may call on another thread, do what takes logs long."""
        self._run_beside = run
        for log in self._logs.values():
            log.run_beside = run

    def delete_old_segments(self) -> int:
        """Apply retention to all logs; returns the number of segments deleted.

        Raises:
            LogDirOffline: the disk refused, now or before.
        """
        now_ms = self._clock.now_ms()
        return sum(log.delete_old_segments(now_ms) for log in self._logs.values())

    def close(self, *, clean: bool = True) -> None:
        """Write and sync everything, mark the stop as clean, if it is, and give the lock back.

        Raises:
            LogDirOffline: the disk refused, now or before; the lock is given back all the same.
        """
        try:
            with self.health.guard("closing the logs"):
                self._sync_all([log.closing() for log in self._logs.values()])
            # What was refused was not read: what a power failure has torn there is still to be cut.
            if clean and (self.started_clean or not self.refused):
                with self.health.guard("closing the data directory"):
                    self._data_dir.mark_clean(self._ends())
        finally:
            self._release()

    def _ends(self) -> dict[PlaceOfLog, int]:
        """Return where each log ends; where one that is refused ended when it was served."""
        found = {}
        for entry in self._catalog.entries():
            for partition in range(entry.partitions):
                log = self._logs.get((entry.name, partition))
                place = self._place(entry, partition)
                end = self._data_dir.ends.get(place, 0) if log is None else log.log_end_offset
                if end:
                    found[place] = end
        return found

    @staticmethod
    def _place(entry: TopicEntry, partition: int) -> PlaceOfLog:
        return str(entry.id), partition

    def _sync_all(self, syncs: "list[Callable[[], None]]") -> None:
        """Sync many logs at once: the file system makes one commit of its own for several.

        Raises:
            OSError: the disk refused one; the others were tried.
        """
        threads = self._settings.get("num.recovery.threads.per.data.dir", 1)
        assert isinstance(threads, int)
        if threads == 1 or len(syncs) <= 1:
            for sync in syncs:
                sync()
            return
        # Loaded here: a start does not need it.
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

        with ThreadPoolExecutor(min(threads, len(syncs)), "close") as pool:
            for done in [pool.submit(sync) for sync in syncs]:
                done.result()

    def _release(self) -> None:
        for log in self._logs.values():
            log.release()
        self._logs.clear()
        self._data_dir.release()


def _reason(damage: CorruptLog) -> str:
    return f"{damage.message}. {damage.detail}".strip()


_WHAT_HELPS: Final = {
    errno.ENOSPC: "Make room on its file system, then start the broker again: nothing is lost.",
    errno.EDQUOT: "Raise the quota or make room, then start the broker again: nothing is lost.",
    errno.EROFS: "Mount its file system for writing; look in the system's log why it is not.",
    errno.EISDIR: "Something else has the name of one of its files: restore the file from a copy.",
    errno.ENOTDIR: "Something else has the name of a directory: restore the directory from a copy.",
    errno.EACCES: "Give this user the right to read and write there.",
    errno.EPERM: "Give this user the right to read and write there.",
    errno.EIO: "Look in the system's log what is wrong with the disk.",
}
_OF_ONE_FILE: Final = frozenset({errno.EISDIR, errno.ENOTDIR, errno.EACCES, errno.EPERM})


@contextmanager
def _told_as_damage(path: str) -> Iterator[None]:
    """Take a file that is none, or that is another user's, for damage to its log alone.

    Raises:
        CorruptLog: instead of such an OSError.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _OF_ONE_FILE:
            raise
        raise CorruptLog(
            f'log in "{path}" cannot be read',
            detail=f"{error.filename}: {(error.strerror or str(error)).lower()}.",
            hint=_WHAT_HELPS[error.errno],
        ) from error


@contextmanager
def _told_where(path: str) -> Iterator[None]:
    """Say what to do where the disk refuses a start.

    Raises:
        DataDirRefused: instead of an OSError that names neither place nor remedy.
    """
    try:
        yield
    except OSError as error:
        hint = _WHAT_HELPS.get(error.errno or 0)
        if hint is None:
            raise
        raise DataDirRefused(
            f'directory "{path}" cannot be opened: {(error.strerror or str(error)).lower()}',
            detail=f"It failed at {error.filename}."
            if error.filename
            else "A start writes there: its leader epoch, and what a crash has left to be done.",
            hint=hint,
        ) from error
