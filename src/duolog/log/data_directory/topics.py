"""The topics of a data directory: a directory for each, named by the topic's id.

    topics/<topic id>/topic         name, number of partitions, settings
    topics/<topic id>/name=orders   empty; says the name where the file `topic` cannot
    topics/<topic id>/0/            the log of partition 0, made at its first write
    topics/<topic id>.deleted/      on its way out; removed at the next start if a crash stops it

A topic exists when its file `topic` does, and ends when its directory is renamed: both happen in
one step. A topic that is recreated under an old name has another id and shares nothing with the old
one.

A topic whose file `topic` is damaged keeps its place, its name and its id, and is not served. What
is not called by an id is not ours, and left alone.

A skipped topic would free its name, and the next client would recreate the topic. A stop with
refused partitions is not a clean shutdown, because their tails have not been checked.
"""

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple
from uuid import UUID, uuid4

from duolog.core.counts import counted
from duolog.core.ids import TopicId
from duolog.log.data_directory.stored_configs import usable_configs
from duolog.log.errors import (
    CorruptLog,
    DamagedFile,
    InvalidPartitions,
    TopicExists,
    TopicRefused,
    UnknownTopic,
)
from duolog.log.files.checked_file import read_checked, write_checked
from duolog.log.files.disk import Disk, make_durable_dir

logger = logging.getLogger(__name__)

TOPICS_DIRECTORY: Final = "topics"
TOPIC_FILE_NAME: Final = "topic"
DELETED: Final = ".deleted"
NAME_PREFIX: Final = "name="
_HINT: Final = "Restore the file from a copy, or move the topic's directory away."


@dataclass(frozen=True, slots=True)
class TopicEntry:
    """A topic as it is stored in the catalog.

    `configs` holds only what was set for it and can be used; see `stored_configs`.

    Where its description is damaged, `damage` says how: `configs` is empty then, and `partitions`
    what the directory shows, though there may be more.
    """

    name: str
    id: TopicId
    partitions: int
    configs: Mapping[str, str] = field(default_factory=dict)
    damage: CorruptLog | None = None

    def encode(self) -> bytes:
        content = {
            "name": self.name,
            "id": str(self.id),
            "partitions": self.partitions,
            "configs": dict(self.configs),
        }
        return json.dumps(content, indent=1).encode() + b"\n"


class CatalogChange(NamedTuple):
    """A change of one topic: `write` on any thread, then `settle`, then `place` on the loop.

    It is durable after `settle`, which many changes may share: it is called once for all of them.
    """

    entry: TopicEntry
    write: Callable[[], None]
    settle: Callable[[], None] | None
    place: Callable[[], object]


class TopicCatalog:
    """All topics by name."""

    def __init__(self, disk: Disk, data_dir: str) -> None:
        self._disk = disk
        self._directory = f"{data_dir}/{TOPICS_DIRECTORY}"
        make_durable_dir(disk, self._directory)
        self._entries = self._load()

    def _load(self) -> dict[str, TopicEntry]:
        entries: dict[str, TopicEntry] = {}
        # A killed process may have left a topic made, or gone, in the page cache only.
        self._disk.sync_dir(self._directory)
        for name in self._disk.list(self._directory):
            path = f"{self._directory}/{name}"
            topic_id = topic_id_of(name.removesuffix(DELETED))
            if topic_id is None:
                logger.warning("ignored a directory that is not a topic", extra={"path": path})
                continue
            entry = None if name.endswith(DELETED) else self._read(path, topic_id)
            if entry is None:  # It was deleted, or a crash cut its creation off.
                self._disk.remove_tree(path)
                continue
            if entry.name in entries:
                raise CorruptLog(
                    f'topic "{entry.name}" is there twice',
                    detail=f"Directories {entries[entry.name].id} and {entry.id}.",
                    hint="Move one of the two directories away.",
                )
            entries[entry.name] = entry
        return entries

    def _read(self, path: str, topic_id: TopicId) -> TopicEntry | None:
        """Return the topic of a directory; None if its creation was not completed."""
        try:
            data = read_checked(self._disk, path, TOPIC_FILE_NAME, hint=_HINT)
            entry = None if data is None else decode_topic(path, data, topic_id)
        except DamagedFile as damage:
            return self._refused(path, topic_id, damage)
        if entry is not None:
            entry = replace(entry, configs=usable_configs(entry.name, entry.configs))
            self._say_name(path, entry.name)
        elif any(name.isdigit() for name in self._disk.list(path)):
            missing = f'directory "{path}" holds records, and its {TOPIC_FILE_NAME} is missing'
            return self._refused(path, topic_id, CorruptLog(missing, hint=_HINT))
        return entry

    def _refused(self, path: str, topic_id: TopicId, damage: CorruptLog) -> TopicEntry:
        names = self._disk.list(path)
        said = [name.removeprefix(NAME_PREFIX) for name in names if name.startswith(NAME_PREFIX)]
        if len(said) != 1:  # It could be any topic, one of the broker's own too.
            raise damage
        written = [int(name) for name in names if name.isdigit()]
        return TopicEntry(said[0], topic_id, max(written, default=0) + 1, damage=damage)

    def _say_name(self, path: str, name: str) -> None:
        said = f"{path}/{NAME_PREFIX}{name}"
        if not self._disk.exists(said):
            self._disk.open(said, create=True).close()

    def directory(self, entry: TopicEntry) -> str:
        return f"{self._directory}/{entry.id}"

    def entries(self) -> list[TopicEntry]:
        return list(self._entries.values())

    def get(self, name: str) -> TopicEntry | None:
        return self._entries.get(name)

    def entry(self, name: str) -> TopicEntry:
        """Return the topic called `name`.

        Raises:
            UnknownTopic: there is none.
        """
        entry = self._entries.get(name)
        if entry is None:
            raise UnknownTopic(f'there is no topic "{name}"')
        return entry

    # Each change comes in three steps, so that its disk work can be done off the event loop:
    # checked and made here, written on any thread, and then put in place here.

    def creating(self, name: str, partitions: int, configs: Mapping[str, str]) -> "CatalogChange":
        """Make a topic.

        Raises:
            TopicExists: there is one of this name.
            InvalidPartitions: fewer than one partition.
        """
        if name in self._entries:
            raise TopicExists(f'topic "{name}" exists')
        if partitions < 1:
            raise InvalidPartitions(f'topic "{name}" cannot have {partitions} partitions')
        entry = TopicEntry(name, TopicId(uuid4()), partitions, dict(configs))

        def write() -> None:
            self._disk.make_dir(self.directory(entry))
            self._say_name(self.directory(entry), name)
            self._write(entry)

        return CatalogChange(entry, write, self.sync, lambda: self._put(entry))

    def deleting(self, name: str) -> "CatalogChange":
        """End a topic; `remove_files` is to be called when it has ended.

        Raises:
            UnknownTopic: there is none.
        """
        entry = self.entry(name)
        path = self.directory(entry)
        return CatalogChange(
            entry,
            lambda: self._disk.rename(path, path + DELETED),
            self.sync,
            lambda: self._entries.pop(name, None),
        )

    def remove_files(self, entry: TopicEntry) -> None:
        """Remove the files of a deleted topic; on any thread."""
        self._disk.remove_tree(self.directory(entry) + DELETED)

    def growing(self, name: str, total: int) -> "CatalogChange":
        """Raise the number of partitions to `total`.

        Raises:
            UnknownTopic: there is no such topic.
            TopicRefused: its description is damaged.
            InvalidPartitions: `total` is not above the present number.
        """
        entry = self._whole(name)
        if total <= entry.partitions:
            raise InvalidPartitions(
                f'topic "{name}" has {counted(entry.partitions, "partition")}, which '
                f"cannot become {total}"
            )
        return self._changing(replace(entry, partitions=total))

    def altering(self, name: str, configs: Mapping[str, str]) -> "CatalogChange":
        """Replace the settings of a topic by `configs`.

        Raises:
            UnknownTopic: there is no such topic.
            TopicRefused: its description is damaged.
        """
        return self._changing(replace(self._whole(name), configs=dict(configs)))

    def sync(self) -> None:
        """Make the names of all topics durable: once for all changes that were written.

        Raises:
            OSError: the disk refused.
        """
        self._disk.sync_dir(self._directory)

    def _whole(self, name: str) -> TopicEntry:
        entry = self.entry(name)
        if entry.damage is not None:  # A change would overwrite data that can still be repaired.
            raise TopicRefused(name, entry.damage)
        return entry

    def _changing(self, entry: TopicEntry) -> "CatalogChange":
        return CatalogChange(entry, lambda: self._write(entry), None, lambda: self._put(entry))

    def _write(self, entry: TopicEntry) -> None:
        write_checked(self._disk, self.directory(entry), TOPIC_FILE_NAME, entry.encode())

    def _put(self, entry: TopicEntry) -> None:
        self._entries[entry.name] = entry


def decode_topic(path: str, data: bytes, topic_id: TopicId) -> TopicEntry:
    """Decode the file `topic` in the directory `path`. Raises DamagedFile if it cannot be."""
    try:
        content = json.loads(data)
        entry = TopicEntry(
            str(content["name"]),
            TopicId(UUID(content["id"])),
            int(content["partitions"]),
            {str(name): str(value) for name, value in content["configs"].items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedFile(f"{path}/{TOPIC_FILE_NAME}", str(error), hint=_HINT) from error
    if entry.id != topic_id:
        detail = f"It is of topic {entry.id}."
        raise DamagedFile(f"{path}/{TOPIC_FILE_NAME}", detail, hint=_HINT)
    return entry


def topic_id_of(name: str) -> TopicId | None:
    """Return the id that a directory is named after; None if it is not one of a topic."""
    try:
        topic_id = TopicId(UUID(name))
    except ValueError:
        return None
    return topic_id if str(topic_id) == name else None
