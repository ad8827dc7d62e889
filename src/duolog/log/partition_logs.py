"""The open partition logs of a data directory, and the reason for each one that is not served.

A start opens every partition that has files. A partition whose log is damaged is refused, and no
other: `find` says why, and nothing of it is changed. So are all partitions of a topic whose
description is damaged. A partition without files is opened when it is asked for.

Thread: the broker's loop.
"""

import logging
from collections.abc import Callable, Iterator, Mapping

from duolog.core.ids import TopicPartition
from duolog.core.setting_types import Value
from duolog.log.config import LogConfig
from duolog.log.data_directory.data_dir import DataDir
from duolog.log.data_directory.health import DirHealth
from duolog.log.data_directory.last_start import PlaceOfLog, ensure_reaches
from duolog.log.data_directory.start_errors import refusal_of, unreadable_is_damage
from duolog.log.data_directory.topics import TopicCatalog, TopicEntry
from duolog.log.errors import CorruptLog, PartitionRefused, UnknownTopic
from duolog.log.files.disk import Disk
from duolog.log.partition.compactable_log import LogLocation
from duolog.log.partition.partition_log import PartitionLog
from duolog.log.recovery.recovery import recover

logger = logging.getLogger(__name__)


class PartitionLogs:
    """The open logs by topic and partition.

    Attributes:
        refused: the reason why a partition is not served, by topic and partition.
    """

    def __init__(
        self,
        disk: Disk,
        data_dir: DataDir,
        catalog: TopicCatalog,
        health: DirHealth,
        settings: Mapping[str, Value],
    ) -> None:
        self._disk = disk
        self._data_dir = data_dir
        self._catalog = catalog
        self._health = health
        self._settings = settings
        self._logs: dict[tuple[str, int], PartitionLog] = {}
        self.refused: dict[tuple[str, int], PartitionRefused] = {}
        self._run_beside: Callable[[Callable[[], None]], None] | None = None

    def __iter__(self) -> Iterator[PartitionLog]:
        return iter(self._logs.values())

    def find(self, topic: str, partition: int) -> PartitionLog:
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
        return self._open(entry, partition)

    @property
    def know_producers(self) -> bool:
        """True if a log has records of a producer with an id that it still remembers."""
        return any(log.knows_producers for log in self._logs.values())

    # The start

    def open_written(self) -> None:
        """Open every partition that has files, or had some when the broker last stopped.

        Raises:
            DataDirRefused: the disk refused.
        """
        for entry in self._catalog.entries():
            with refusal_of(self._catalog.directory(entry)):
                if entry.damage is not None:
                    self._refuse_topic(entry, entry.damage)
                else:
                    self._open_topic(entry)

    def note_start(self) -> None:
        """Write down where each log ends now, and which are damaged."""
        found = ((self._catalog.entry(topic), partition) for topic, partition in self.refused)
        refused = {_place(entry, number) for entry, number in found if entry.damage is None}
        # After a power failure a log that is refused may have torn writes, too.
        certain = self._data_dir.has_all_writes
        damaged = refused if certain else refused & self._data_dir.damaged
        recovered = certain or len(self.refused) == len(damaged)
        self._data_dir.note_start(self.ends(), damaged, recovered=recovered)

    def _open_topic(self, entry: TopicEntry) -> None:
        directory = self._catalog.directory(entry)
        if not self._data_dir.clean:  # What a killed process made here may not be durable yet.
            self._disk.sync_dir(directory)
        written = {int(name) for name in self._disk.list(directory) if name.isdigit()}
        for partition in range(entry.partitions):
            if partition in written or _place(entry, partition) in self._data_dir.ends:
                try:
                    with unreadable_is_damage(f"{directory}/{partition}"):
                        self._open(entry, partition)
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

    def _open(self, entry: TopicEntry, partition: int) -> PartitionLog:
        data_dir = self._data_dir
        directory = f"{self._catalog.directory(entry)}/{partition}"
        place = _place(entry, partition)
        config = LogConfig.of_topic(entry.configs, self._settings)
        recovered = recover(
            self._disk,
            directory,
            index_interval_bytes=config.index_interval_bytes,
            clean=data_dir.clean,
            killed=data_dir.killed or place in data_dir.damaged,
            synced=self._settings.get("durability", "fsync") == "fsync",
        )
        if recovered.epochs.latest >= data_dir.leader_epoch:
            raise CorruptLog(
                f'log in "{directory}" was written in the leader epoch {recovered.epochs.latest}',
                detail=f"The data directory is at {data_dir.leader_epoch} only.",
                hint="The directory was copied from another one, or its file leader-epoch was.",
            )
        end = data_dir.ends.get(place, 0)
        ensure_reaches(directory, recovered.next_offset, end, clean=data_dir.clean)
        log = PartitionLog(
            LogLocation(self._disk, directory, TopicPartition(entry.name, partition)),
            config,
            health=self._health,
            leader_epoch=data_dir.leader_epoch,
            recovered=recovered,
        )
        if self._run_beside is not None:
            log.run_beside = self._run_beside
        self._logs[entry.name, partition] = log
        return log

    # What is done to all of them, or to those of one topic

    def configure(self, entry: TopicEntry, config: LogConfig) -> None:
        """Give new settings to the open logs of a topic."""
        for partition in range(entry.partitions):
            log = self._logs.get((entry.name, partition))
            if log is not None:
                log.configure(config)

    def forget(self, entry: TopicEntry) -> None:
        """Drop the logs of a topic that was deleted."""
        for partition in range(entry.partitions):
            log = self._logs.pop((entry.name, partition), None)
            if log is not None:
                log.forget_files()
            self.refused.pop((entry.name, partition), None)

    def use_beside(self, run: Callable[[Callable[[], None]], None]) -> None:
        """Let `run`, which may use another thread, do the work of a log that takes long."""
        self._run_beside = run
        for log in self._logs.values():
            log.run_beside = run

    def delete_old_segments(self, now_ms: int) -> int:
        """Apply retention to all logs; returns the number of segments deleted.

        Raises:
            LogDirOffline: the disk refused, now or before.
        """
        return sum(log.delete_old_segments(now_ms) for log in self._logs.values())

    def ends(self) -> dict[PlaceOfLog, int]:
        """Return where each log ends; for a refused log, where it ended when it was last served."""
        found = {}
        for entry in self._catalog.entries():
            for partition in range(entry.partitions):
                log = self._logs.get((entry.name, partition))
                place = _place(entry, partition)
                end = self._data_dir.ends.get(place, 0) if log is None else log.log_end_offset
                if end:
                    found[place] = end
        return found

    def sync(self) -> None:
        """Write and sync all logs: the file system makes one commit of its own for several.

        Raises:
            OSError: the disk refused one; the others were tried.
        """
        syncs = [log.closing() for log in self._logs.values()]
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

    def release(self) -> None:
        """Close the files of all logs without writing anything."""
        for log in self._logs.values():
            log.release()
        self._logs.clear()


def _place(entry: TopicEntry, partition: int) -> PlaceOfLog:
    return str(entry.id), partition


def _reason(damage: CorruptLog) -> str:
    return f"{damage.message}. {damage.detail}".strip()
