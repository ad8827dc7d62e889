"""A cut: where each log of a broker ended at one moment.

    cut = { topic id, partition → high watermark }, taken between two rounds of the event loop

No client gets an answer before the high watermark covers it. So whatever a client, a coordinator
or an application knew at that moment is below the cut, in every log: an offset that a group has
committed, the state of a transaction and its markers, the positions of a checkpoint. A broker
that starts with all logs cut there is one that was killed at that moment.

A running broker is asked by a file in its data directory, which needs no port and no password, but
the rights of the broker's user:

    backup-request   the name of a request; the broker looks for it and removes it
    backup-cut       the answer, with that name; the backup removes it

Thread: any.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from duolog.core.ids import TopicId
from duolog.log.data_directory.topics import TopicEntry
from duolog.log.errors import DamagedFile
from duolog.log.files.checked_file import decode_checked, encode_checked
from duolog.log.files.disk import Disk, read_file

REQUEST_FILE_NAME: Final = "backup-request"
CUT_FILE_NAME: Final = "backup-cut"


@dataclass(frozen=True, slots=True)
class TopicCut:
    """A topic as it was, and the ends of its partitions that have or had records."""

    entry: TopicEntry
    ends: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Cut:
    """The state of a broker at one moment.

    Attributes:
        leader_epoch: of the broker's start, -1 if none has started.
        taken_ns: when, by the monotonic clock of the machine, which only one boot can compare.
        refused: partitions that are damaged and were not served.
    """

    cluster_id: str
    node_id: int
    leader_epoch: int
    taken_ns: int
    topics: tuple[TopicCut, ...]
    refused: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the cut as values of JSON."""
        return {
            "cluster_id": self.cluster_id,
            "node_id": self.node_id,
            "leader_epoch": self.leader_epoch,
            "taken_ns": self.taken_ns,
            "refused": list(self.refused),
            "topics": [
                {
                    "name": topic.entry.name,
                    "id": str(topic.entry.id),
                    "partitions": topic.entry.partitions,
                    "configs": dict(topic.entry.configs),
                    "ends": {str(number): end for number, end in topic.ends.items()},
                }
                for topic in self.topics
            ],
        }

    @classmethod
    def of_json(cls, content: Mapping[str, Any]) -> "Cut":
        """Return the cut of `as_json`.

        Raises:
            ValueError, KeyError, TypeError, AttributeError: it is not one.
        """
        topics = tuple(
            TopicCut(
                TopicEntry(
                    str(topic["name"]),
                    TopicId(UUID(topic["id"])),
                    int(topic["partitions"]),
                    {str(name): str(value) for name, value in topic["configs"].items()},
                ),
                {int(number): int(end) for number, end in topic["ends"].items()},
            )
            for topic in content["topics"]
        )
        return cls(
            str(content["cluster_id"]),
            int(content["node_id"]),
            int(content["leader_epoch"]),
            int(content["taken_ns"]),
            topics,
            tuple(str(name) for name in content["refused"]),
        )


def encode_answer(request: bytes, cut: Cut) -> bytes:
    """Return the content of `backup-cut` for a request."""
    content = json.dumps({"request": request.decode(errors="replace"), **cut.as_json()})
    return encode_checked(CUT_FILE_NAME, content.encode())


def read_answer(disk: Disk, data_dir: str, request: str) -> Cut | None:
    """Return the broker's answer to `request`; None if there is none yet.

    Raises:
        DamagedFile: the answer is not what a broker writes.
    """
    path = f"{data_dir}/{CUT_FILE_NAME}"
    data = read_file(disk, path)
    if data is None:
        return None
    try:
        content = json.loads(decode_checked(path, data))
        return Cut.of_json(content) if content["request"] == request else None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedFile(path, str(error), hint="Remove the file.") from error
