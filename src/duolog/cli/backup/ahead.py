"""Check that no checkpoint in a backup is ahead of its topics.

A position is the last entry of Spark's log of offsets. Beyond the end of its topic, the restored
application would skip new records until the topic has grown over the position, or be refused.
Topics of another cluster, which the backup does not have by the id in `application.json`, are not
compared.
"""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple
from uuid import UUID

from duolog.engine.checkpoint.checkpoint_positions import positions_in
from duolog.log.backup.copies import Copy
from duolog.log.backup.cut import TopicCut
from duolog.log.backup.manifest import Manifest
from duolog.log.backup.packs import PackReader

_OFFSETS: Final = re.compile(r"(?P<application>.*)/(?P<spark>[^/]+)/offsets/(?P<number>\d+)")


class Ahead(NamedTuple):
    """A position of an application beyond the end of a partition in the backup."""

    application: str
    topic: str
    partition: int
    position: int
    end: int

    def __str__(self) -> str:
        return (
            f'application "{self.application}" is at offset {self.position} of '
            f"{self.topic}-{self.partition}, which ends at {self.end}"
        )


def applications_ahead(manifest: Manifest, reader: PackReader) -> Iterator[Ahead]:
    """Yield each position that is beyond the end of its log in the same backup.

    Raises:
        BackupDamaged: bytes of the backup are missing or changed.
    """
    topics = {topic.entry.name: topic for topic in manifest.cut.topics}
    for directory, copy in _last_entries(manifest.files).items():
        application = directory.rpartition("/")[0]
        ids = _topic_ids(manifest.files.get(f"{application}/application.json"), reader)
        try:
            entry = b"".join(reader.read(copy)).decode()
            positions = positions_in(entry, {})
        except ValueError:
            continue  # A torn entry: the start of the application plans it again.
        for name, partitions in positions.items():
            topic = topics.get(name)
            if topic is None or name not in ids or ids[name] != _id_of(topic):
                continue
            for partition, position in partitions.items():
                end = topic.ends.get(partition, 0)
                if position > end:
                    shown = application.rpartition("/")[2]
                    yield Ahead(shown, name, partition, position, end)


def _last_entries(files: Mapping[str, Copy]) -> dict[str, Copy]:
    """Return the last entry of each log of offsets, by the directory of the Spark checkpoint."""
    last: dict[str, tuple[int, Copy]] = {}
    for path, copy in files.items():
        found = _OFFSETS.fullmatch(path)
        if found is None:
            continue
        directory = f"{found['application']}/{found['spark']}"
        number = int(found["number"])
        if number >= last.get(directory, (-1, copy))[0]:
            last[directory] = number, copy
    return {directory: copy for directory, (_, copy) in last.items()}


def _topic_ids(copy: Copy | None, reader: PackReader) -> Mapping[str, str]:
    if copy is None:
        return {}
    try:
        found = json.loads(b"".join(reader.read(copy))).get("topics", {})
        return {str(name): str(text) for name, text in found.items()}
    except (ValueError, AttributeError):
        return {}


def _id_of(topic: TopicCut) -> str:
    """Return the id as Kafka writes it."""
    return base64.urlsafe_b64encode(UUID(str(topic.entry.id)).bytes).decode().rstrip("=")
