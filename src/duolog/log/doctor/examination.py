"""Examine a data directory: rehearse its next start, then verify every file.

    1. the start is rehearsed on an overlay of the disk: it says which partitions would be served
    2. the journal and interrupted compactions are completed on a second overlay
    3. every file is read there, as the start would find it

Nothing is written to the disk.

Thread: one.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from duolog.core.clock import SystemClock
from duolog.core.errors import ConfigError, DuologError, KafkaError, LogError
from duolog.log.config import LogConfig
from duolog.log.doctor.finding import Finding, Findings, Place, Severity
from duolog.log.doctor.journal_check import check_journal
from duolog.log.doctor.overlay import OverlayDisk
from duolog.log.doctor.partition_check import Counts, Decode, PartitionCheck, Subject
from duolog.log.doctor.root_files import RootFiles
from duolog.log.doctor.topic_files import Topic, check_topics
from duolog.log.errors import DamagedFile, PartitionRefused
from duolog.log.files.disk import Disk
from duolog.log.journal import Journal
from duolog.log.log_manager import LogManager
from duolog.log.segments.segment_swap import is_left_over, recover_swap

_NONE: Final[Mapping[str, Decode]] = {}


@dataclass(frozen=True, slots=True)
class Report:
    """The findings in a data directory, and how much was verified."""

    findings: tuple[Finding, ...]
    topics: int
    counts: Counts

    @property
    def healthy(self) -> bool:
        """True if there is nothing but notes."""
        return all(finding.severity is Severity.NOTE for finding in self.findings)


def examine(disk: Disk, data_dir: str, decoders: Mapping[str, Decode] = _NONE) -> Report:
    """Examine the data directory of a broker that does not run.

    `decoders` decode the records of internal topics, by topic.

    Raises:
        DataDirRefused: it is not a data directory, or has another format.
        OSError: the disk refused.
    """
    with quiet():
        return _Examination(disk, data_dir, decoders).run()


class _Examination:
    def __init__(self, disk: Disk, data_dir: str, decoders: Mapping[str, Decode]) -> None:
        self._disk = disk
        self._data_dir = data_dir
        self._decoders = decoders
        self._findings = Findings()
        self._refused: Mapping[tuple[str, int], PartitionRefused] = {}
        self._started = False

    def run(self) -> Report:
        root = RootFiles(self._disk, self._data_dir, self._findings)
        check_journal(self._disk, self._data_dir, self._findings, settled=root.settled)
        topics = check_topics(self._disk, self._data_dir, self._findings)
        failure = self._rehearse(root)
        overlay = replayed(self._disk, self._data_dir)
        counts = Counts()
        for topic in topics:
            for partition in topic.partitions:
                counts = counts.plus(self._check(overlay, topic, partition, root))
        if failure is not None and all(one.severity is Severity.NOTE for one in self._findings):
            self._findings.damage(Place("."), f"the broker would not start: {failure.render()}")
        self._add_lost_partitions(topics)
        return Report(tuple(self._findings), len(topics), counts)

    def _rehearse(self, root: RootFiles) -> DuologError | None:
        """Start on an overlay; returns why the whole start would be refused, if it would be."""
        overlay = OverlayDisk(self._disk)
        for finding in self._findings:  # Of the files at the top, which concern all logs.
            if finding.repair is not None and "/" not in finding.place.path:
                finding.repair.apply(overlay)
        settings = {"node.id": root.node_id}
        try:
            manager = LogManager(overlay, self._data_dir, SystemClock(), settings)
        except (LogError, ConfigError) as error:
            return error
        self._started = True
        self._refused = dict(manager.logs.refused)
        manager.logs.release()
        return None

    def _check(self, overlay: OverlayDisk, topic: Topic, partition: int, root: RootFiles) -> Counts:
        path = f"{topic.path}/{partition}"
        refused = self._refused.get((topic.name, partition))
        subject = Subject(
            f"{self._data_dir}/{path}",
            path,
            topic.name,
            partition,
            root.leader_epoch,
            _interval_of(topic),
            self._decoders.get(topic.name),
            served=self._started and refused is None,
            clean=root.clean,
            settled=root.settled,
        )
        before = len(self._findings)
        counts = Counts(1)
        try:
            _complete_swap(overlay, subject, self._findings)
            counts = PartitionCheck(overlay, subject, self._findings).run()
        except OSError as error:
            place = Place(path, topic.name, partition)
            self._findings.damage(place, f"the log cannot be read: {error}")
        found = list(self._findings)[before:]
        described = topic.entry is not None
        if refused and described and all(one.severity is Severity.NOTE for one in found):
            place = Place(path, topic.name, partition)
            self._findings.damage(place, f"{refused.message}. {refused.detail}".strip())
        return counts

    def _add_lost_partitions(self, topics: list[Topic]) -> None:
        """Report partitions that should have files, and have none."""
        written = {(topic.name, partition) for topic in topics for partition in topic.partitions}
        described = {topic.name: topic for topic in topics if topic.entry is not None}
        for (name, partition), refused in sorted(self._refused.items()):
            if name in described and (name, partition) not in written:
                place = Place(f"{described[name].path}/{partition}", name, partition)
                self._findings.damage(place, f"{refused.message}. {refused.detail}".strip())


def replayed(disk: Disk, data_dir: str) -> OverlayDisk:
    """Return an overlay on which the journal is written back into the segments."""
    overlay = OverlayDisk(disk)
    Journal(overlay, data_dir).replay()
    return overlay


def _complete_swap(overlay: OverlayDisk, subject: Subject, findings: Findings) -> None:
    if not any(map(is_left_over, overlay.list(subject.directory))):
        return
    try:
        recover_swap(overlay, subject.directory)
    except DamagedFile as error:
        place = Place(f"{subject.path}/compaction.swap", subject.topic, subject.partition)
        findings.damage(place, f"the file is damaged: {error.detail}")


def _interval_of(topic: Topic) -> int:
    configs = {} if topic.entry is None else topic.entry.configs
    try:
        return LogConfig.of_topic(configs, {}).index_interval_bytes
    except (ConfigError, KafkaError):
        return LogConfig().index_interval_bytes


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the log lines of the rehearsed start to itself: nothing of it happens."""
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(disabled)
