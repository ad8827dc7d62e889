"""Verify the descriptions of the topics, and the names of all files below them."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from duolog.core.counts import counted
from duolog.core.errors import ConfigError
from duolog.core.ids import TopicId
from duolog.log.config import LogConfig
from duolog.log.data_directory.topics import (
    DELETED,
    NAME_PREFIX,
    TOPIC_FILE_NAME,
    TOPICS_DIRECTORY,
    TopicEntry,
    decode_topic,
    topic_id_of,
)
from duolog.log.doctor.finding import Findings, Place, Repair
from duolog.log.doctor.partition_files import SMALL_FILES
from duolog.log.errors import DamagedFile
from duolog.log.files.checked_file import read_checked
from duolog.log.files.disk import Disk
from duolog.log.segments.segment import LOG_SUFFIX, SUFFIXES
from duolog.log.segments.segment_swap import is_left_over

_PARTITIONS_UNKNOWN: Final = 2**31 - 1


class Topic(NamedTuple):
    """A topic on disk. `entry` is None if its description is damaged."""

    name: str
    id: TopicId
    path: str
    partitions: tuple[int, ...]
    entry: TopicEntry | None


def check_topics(disk: Disk, data_dir: str, findings: Findings) -> list[Topic]:
    """Verify all topics; returns them with the partitions that have files."""
    topics: dict[str, Topic] = {}
    for name in disk.list(f"{data_dir}/{TOPICS_DIRECTORY}"):
        path = f"{TOPICS_DIRECTORY}/{name}"
        topic_id = topic_id_of(name.removesuffix(DELETED))
        if topic_id is None:
            findings.note(Place(path), "not a topic of Duolog")
        elif name.endswith(DELETED):
            findings.note(Place(path), "a deleted topic; the next start removes it")
        else:
            topic = _check_topic(disk, data_dir, path, topic_id, findings)
            if topic is None:
                continue
            if topic.name in topics:
                other = topics[topic.name].path
                findings.damage(Place(path, topic.name), f"{other} is a topic of this name, too")
            topics.setdefault(topic.name, topic)
    return list(topics.values())


def _check_topic(
    disk: Disk, data_dir: str, path: str, topic_id: TopicId, findings: Findings
) -> Topic | None:
    directory = f"{data_dir}/{path}"
    names = disk.list(directory)
    written = tuple(sorted(int(name) for name in names if name.isdigit()))
    said = [name.removeprefix(NAME_PREFIX) for name in names if name.startswith(NAME_PREFIX)]
    label = said[0] if len(said) == 1 else str(topic_id)
    place = Place(f"{path}/{TOPIC_FILE_NAME}", label)
    entry = None
    try:
        data = read_checked(disk, directory, TOPIC_FILE_NAME)
        entry = None if data is None else decode_topic(directory, data, topic_id)
        if data is None and not written:
            findings.note(Place(path), "a topic that was not completed; the next start removes it")
            return None
        if data is None:
            findings.damage(place, "the file is missing")
    except DamagedFile as error:
        findings.damage(place, f"the file is damaged: {error.detail}")
    except OSError as error:
        findings.damage(place, f"the file cannot be read: {error}")
    name = label if entry is None else entry.name
    for finding in _strangers(names, path, name):
        findings.note(*finding)
    for partition in written:
        files = disk.list(f"{directory}/{partition}")
        for finding in _leftovers(files, f"{path}/{partition}", name, partition):
            findings.note(*finding)
    topic = Topic(name, topic_id, path, written, entry)
    if entry is not None:
        _check_entry(directory, topic, entry, said, findings)
    return topic


def _check_entry(
    directory: str, topic: Topic, entry: TopicEntry, said: list[str], findings: Findings
) -> None:
    path = topic.path
    place = Place(f"{path}/{TOPIC_FILE_NAME}", entry.name)
    try:
        LogConfig.of_topic(entry.configs, {})
    except ConfigError as error:
        findings.damage(place, f"a config is not allowed: {error.message}")
    extra = [partition for partition in topic.partitions if partition >= entry.partitions]
    if extra:
        count = counted(entry.partitions, "partition")
        findings.damage(place, f"the topic has {count}, and files of partition {extra[0]}")
    for name in said:
        if name != entry.name:
            old = f"{directory}/{NAME_PREFIX}{name}"
            findings.rebuildable(
                Place(f"{path}/{NAME_PREFIX}{name}", entry.name),
                f'the file belongs to another topic: this one is "{entry.name}"',
                Repair("remove it", lambda disk, old=old: disk.remove(old)),  # type: ignore[misc]
            )
    if entry.name not in said:
        missing = f"{directory}/{NAME_PREFIX}{entry.name}"
        findings.rebuildable(
            Place(f"{path}/{NAME_PREFIX}{entry.name}", entry.name),
            "the file is missing",
            Repair("create it", lambda disk: disk.open(missing, create=True).close()),
        )


def _strangers(names: list[str], path: str, topic: str) -> Iterator[tuple[Place, str]]:
    for name in names:
        known = name == TOPIC_FILE_NAME or name.isdigit() or name.startswith(NAME_PREFIX)
        if name.endswith(".tmp"):
            yield Place(f"{path}/{name}", topic), "a crash left this file incomplete"
        elif not known:
            yield Place(f"{path}/{name}", topic), "not a file of Duolog"


def _leftovers(
    names: list[str], path: str, topic: str, partition: int
) -> Iterator[tuple[Place, str]]:
    present = set(names)
    for name in names:
        place = Place(f"{path}/{name}", topic, partition)
        stem, _, suffix = name.partition(".")
        if is_left_over(name):
            yield place, "compaction or deletion in progress; the next start completes it"
        elif name.endswith(".tmp"):
            yield place, "a crash left this file incomplete"
        elif stem.isdigit() and f".{suffix}" in SUFFIXES:
            if stem + LOG_SUFFIX not in present:
                yield place, "an index without its segment; the next start removes it"
        elif name not in SMALL_FILES:
            yield place, "not a file of Duolog"
