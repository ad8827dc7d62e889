"""What the first start fixes for an application, kept beside Spark's checkpoint.

    CHECKPOINTS/<application id>/application.json   tasks, the shape of the plan, topics, versions, where it began, whether
                                                    records are shuffled to their tasks
    CHECKPOINTS/<application id>/spark/             Spark's: offsets, commits, state

The number of tasks decides where a key's state lies, and the layouts of the stores decide what the
state means; a checkpoint of another shape would be read as if it were this one's. So both are
pinned at the first start and compared at each later one. What a shape is stands in `store_layouts`.
"""

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from duolog.engine.checkpoint_files import (
    REMOVE_ALL,
    damaged,
    ensure_readable,
    ensure_unused,
    read_json,
    writing,
)
from duolog.engine.durable import make_durable_dir, write_durably
from duolog.engine.errors import CheckpointMismatch
from duolog.engine.shape_difference import MAY_CHANGE, first_difference
from duolog.engine.topic_ids import ensure_same_topics

FORMAT_VERSION: Final = 2
"""Counts this file's form and the bytes that the kernel keeps in a store: raised with either."""
PIN_FILE: Final = "application.json"
SPARK_DIR: Final = "spark"
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The checkpoint directory of one application."""

    directory: Path

    @property
    def spark_dir(self) -> Path:
        return self.directory / SPARK_DIR

    def pinned_tasks(self) -> int | None:
        """Return the number of tasks that the first start chose; None before it."""
        pin = self._read()
        return None if pin is None else int(pin["tasks"])

    def topic_ids(self) -> dict[str, str]:
        """Return the ids of the source topics that were read first."""
        return dict((self._read() or {"topics": {}})["topics"])

    def starts(self) -> dict[str, dict[int, int]]:
        """Return where the first start began, of topics that it did not read from their first record on."""
        kept = (self._read() or {}).get("starts", {})
        return {
            topic: {int(partition): offset for partition, offset in offsets.items()}
            for topic, offsets in kept.items()
        }

    @property
    def shuffles(self) -> bool:
        """Whether records were found that are not in their tasks' partitions."""
        return bool((self._read() or {}).get("shuffles", False))

    def set_shuffles(self) -> None:
        """Keep in mind that records do not reach their tasks without a shuffle.

        Raises:
            CheckpointNotWritable: this user may not write there, or there is no space.
        """
        pinned = self._read()
        if pinned is not None:
            self._write(pinned | {"shuffles": True})

    def pin(
        self,
        application_id: str,
        shape: Json,
        versions: Mapping[str, str],
        topic_ids: Mapping[str, str],
        starts: Mapping[str, Mapping[int, int]] = MappingProxyType({}),
    ) -> None:
        """Fix `shape`, topics and where they begin at the first start; compare shape and topics at each later one.

        Raises:
            CheckpointNotWritable: this user may not write there, or there is no space.
            CheckpointMismatch, CheckpointDamaged, SourceTopicRecreated: as `ensure_fits`.
        """
        self.ensure_fits(application_id, shape, topic_ids)
        pinned = self._read()
        if pinned is None:
            pin = {"tasks": shape["tasks"], "shape": shape, "versions": dict(versions)}
            # As it is read again: the fingerprint is one of texts.
            begins = {topic: {str(n): at for n, at in of.items()} for topic, of in starts.items()}
            self._write(pin | {"topics": dict(topic_ids), "starts": begins})
        elif not topic_ids.keys() <= pinned["topics"].keys():
            self._write(pinned | {"topics": dict(topic_ids) | pinned["topics"]})

    def ensure_fits(self, application_id: str, shape: Json, topic_ids: Mapping[str, str]) -> None:
        """Compare `shape` and topics with those of the first start, if there was one.

        Raises:
            CheckpointMismatch: the checkpoint belongs to another shape or number of tasks.
            CheckpointDamaged: a file that a start depends on cannot be read.
            SourceTopicRecreated: a source topic is not the one that was read.
        """
        pinned = self._read()
        if pinned is None:
            return ensure_unused(self.spark_dir, self.directory / PIN_FILE, application_id)
        difference = first_difference(pinned["shape"], shape)
        if difference:
            raise CheckpointMismatch(
                f'the topology of application "{application_id}" has changed since its '
                "checkpoint was written",
                query_id=application_id,
                detail=f"{difference} Checkpoint: {self.directory}.",
                hint=f"{MAY_CHANGE} Undo the change, or start it under another application id, "
                "or remove the checkpoint to compute everything again from the topics.",
            )

        ensure_readable(self.spark_dir, application_id)
        return ensure_same_topics(pinned["topics"], topic_ids, application_id)

    def forget_planned(self) -> None:
        """Drop the source offsets of a micro-batch that was planned and not committed.

        Spark would read the same range again; where it did not fit the memory, smaller ones are to
        follow. Its results may have been written in part, as after any crash: at least once.
        """
        offsets, commits = self.spark_dir / "offsets", self.spark_dir / "commits"
        planned = max((int(p.name) for p in offsets.glob("[0-9]*") if p.name.isdigit()), default=-1)
        if planned >= 0 and not (commits / str(planned)).exists():
            # With its checksum, which would stand in the way of the next one's.
            for name in (f".{planned}.crc", str(planned)):
                (offsets / name).unlink(missing_ok=True)

        self.forget_unplanned()

    def forget_unplanned(self) -> None:
        """Remove what a start has left that ended before it had planned its first micro-batch.

        A file that was being written counts, and Spark refuses for good to begin beside one. State
        that no micro-batch has committed means nothing.
        """
        logs = [self.spark_dir / name for name in ("offsets", "commits")]
        if not any(path.name.isdigit() for log in logs for path in log.glob("[0-9]*")):
            for directory in (*logs, self.spark_dir / "state"):
                shutil.rmtree(directory, ignore_errors=True)

    def committed_positions(self) -> dict[str, dict[int, int]]:
        """Return the offset that each source partition is to be read from, as Spark has committed it.

        Before the first commit, and where Spark's log cannot be read, where it began: it is for showing only.
        """
        return self._positions_of_last("commits")

    def planned_positions(self) -> dict[str, dict[int, int]]:
        """Return where the next micro-batch begins that Spark has not planned yet.

        Before the first one, where it began. A micro-batch that was planned and not committed is run again as it was.
        """
        return self._positions_of_last("offsets")

    def _positions_of_last(self, log: str) -> dict[str, dict[int, int]]:
        try:
            last = max(
                int(path.name) for path in (self.spark_dir / log).iterdir() if path.name.isdigit()
            )
            lines = (self.spark_dir / "offsets" / str(last)).read_text().splitlines()
            # A version, metadata, then a line for each source; "-" where it has nothing yet.
            sources = [json.loads(line) for line in lines[2:] if line.startswith("{")]
        except (OSError, ValueError):
            sources = []
        positions = self.starts()
        for topic, partitions in (item for source in sources for item in source.items()):
            furthest = positions.setdefault(topic, {})
            for partition, offset in partitions.items():
                furthest[int(partition)] = max(int(offset), furthest.get(int(partition), 0))
        return positions

    def _read(self) -> Json | None:
        path = self.directory / PIN_FILE
        if not path.is_file():
            return None
        pin = read_json(path, self.directory.name)
        found = pin.get("format", FORMAT_VERSION)
        if isinstance(found, int) and found != FORMAT_VERSION:
            raise _other_format(self.directory, found)
        if pin.pop("fingerprint", "") != fingerprint(pin):
            raise damaged(path, self.directory.name, "It is not what was written.", REMOVE_ALL)
        return pin

    def _write(self, pin: Json) -> None:
        content = {"format": FORMAT_VERSION, **pin}
        content["fingerprint"] = fingerprint(content)
        with writing(self.directory, self.directory.name):
            make_durable_dir(self.directory)
            write_durably(self.directory / PIN_FILE, json.dumps(content, indent=1, sort_keys=True))


def _other_format(directory: Path, found: int) -> CheckpointMismatch:
    newer = found > FORMAT_VERSION
    return CheckpointMismatch(
        f"checkpoint {directory} was written by {'a newer' if newer else 'an older'} Duolog",
        detail=f"Its format is {found}; this Duolog reads {FORMAT_VERSION}.",
        hint=f"Use {'the newer Duolog' if newer else 'that Duolog'}, or another application id, "
        "or remove the checkpoint to compute everything again from the topics.",
    )


def fingerprint(content: object) -> str:
    """Return a short name for what is kept; equal contents have equal names."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
