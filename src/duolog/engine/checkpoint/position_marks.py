r"""Marks: facts about a partition at a position that is stored outside of its log.

    CHECKPOINTS/<application id>/positions.json
    {"fingerprint": "…", "topics": {
        "orders": {"id": "…", "partitions": {"0": [310, 4, 309, 4, "9f…"]}}}}

A log can become shorter than a position in it: a restored backup, a power cut without fsync, the
election of a lagging replica. Its end is then before the position, until new records extend it past
the position. These facts detect that:

    position, leader epoch    the next offset to read, and the leader epoch when it got that far
    record, epoch, digest     the last record before the position, its leader epoch and a digest

Only committed positions are stored. The file is written a moment later; after a crash it may be a
few seconds older than Spark's log of offsets: less complete, but never wrong.

Source: KIP-320 for leader epochs. The digest is our own: a broker restored from a backup reuses
leader epochs.
"""

import contextlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypedDict

from duolog.engine.checkpoint.checkpoint_files import damaged, fingerprint, read_json, writing
from duolog.engine.checkpoint.durable import write_durably
from duolog.engine.topics.record_checks import Mark
from duolog.engine.topics.record_sampler import Position

MARKS_FILE: Final = "positions.json"
_LOST: Final = "It records how far topics were read, and is compared with them at each start."
_HINT: Final = "Remove the file: positions are then compared with the ends of the topics only."


class _KeptTopic(TypedDict):
    """A topic in the file."""

    id: str
    partitions: dict[str, tuple[int, int, int, int, str]]


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks of one application, and the ids of their topics."""

    of: Mapping[Position, Mark]
    topic_ids: Mapping[str, str]

    def within(self, topics: Iterable[str], topic_ids: Mapping[str, str]) -> dict[Position, Mark]:
        """Return the marks in `topics`, without those of topics whose id has changed.

        A topic whose id is unknown, or not reported now, counts as the same one: a log that has
        lost records is then refused instead of skipped.
        """
        other = {
            t
            for t, known in self.topic_ids.items()
            if known and topic_ids.get(t, known) not in ("", known)
        }
        return {at: mark for at, mark in self.of.items() if at[0] in set(topics) - other}

    def knows_id(self, topic: str) -> bool:
        return bool(self.topic_ids.get(topic))


NOTHING: Final = Marks({}, {})


def read_marks(directory: Path) -> Marks:
    """Return the marks stored in a checkpoint.

    Raises:
        CheckpointDamaged: the file does not match its fingerprint.
    """
    path = directory / MARKS_FILE
    if not path.is_file():
        return NOTHING
    kept = read_json(path, directory.name)
    topics: dict[str, _KeptTopic] | None = kept.get("topics")
    if topics is None or kept.get("fingerprint") != fingerprint(topics):
        raise damaged(path, directory.name, _LOST, _HINT)
    try:
        of = {
            (topic, int(number)): Mark(*mark)
            for topic, content in topics.items()
            for number, mark in content["partitions"].items()
        }
        return Marks(of, {topic: content["id"] for topic, content in topics.items()})
    except (KeyError, TypeError, AttributeError) as error:
        raise damaged(path, directory.name, _LOST, _HINT) from error


def write_marks(directory: Path, marks: Marks) -> None:
    """Store marks in a checkpoint, if its directory still exists.

    Raises:
        CheckpointNotWritable: this user may not write there, or there is no space.
    """
    topics: dict[str, _KeptTopic] = {}
    for (topic, number), mark in sorted(marks.of.items()):
        content = topics.setdefault(topic, {"id": marks.topic_ids.get(topic, ""), "partitions": {}})
        content["partitions"][str(number)] = (
            mark.position,
            mark.leader_epoch,
            mark.record,
            mark.record_epoch,
            mark.digest,
        )
    kept = {"fingerprint": fingerprint(topics), "topics": topics}
    with writing(directory, directory.name), contextlib.suppress(FileNotFoundError):
        write_durably(directory / MARKS_FILE, json.dumps(kept))
