"""What the first start fixes for an application, kept next to Spark's checkpoint.

    CHECKPOINTS/<application id>/application.json   tasks, the shape of the plan, topics, versions, start positions, and
                                                    whether records are shuffled to their tasks
    CHECKPOINTS/<application id>/spark/             Spark's: offsets, commits, state
    CHECKPOINTS/<application id>/spark-2/           the same after an upgrade (ADR 0074) or with other tasks (ADR 0076), then spark-3/ …
    CHECKPOINTS/<application id>/starts.json        start positions of the first start, set by `duolog state reset`
    CHECKPOINTS/<application id>/positions.json     how far topics were read (`log_marks`)
    CHECKPOINTS/<application id>/rebuild/           a checkpoint of stores that are rebuilt for an upgrade
    CHECKPOINTS/<application id>/handover.wanted    another process waits to take over from this one

The number of tasks decides where a key's state is stored, and the layouts of the stores decide what it means. Spark would
read a checkpoint of another shape as this one's, so both are pinned at the first start and compared later (`store_layouts`).
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from duolog.engine.checkpoint.checkpoint_files import (
    begin_anew,
    copy_or_reset,
    damaged,
    ensure_readable,
    ensure_there,
    ensure_unused,
    fingerprint,
    last_commit,
    numbers_in,
    other_format,
    read_json,
    writing,
)
from duolog.engine.checkpoint.checkpoint_positions import as_kept, positions_of_last, starts_in
from duolog.engine.checkpoint.durable import make_durable_dir, remove_tree, write_durably
from duolog.engine.checkpoint.generations import first_log, taken_back
from duolog.engine.checkpoint.generations import upgraded as upgraded_log
from duolog.engine.checkpoint.requested_starts import read_starts, write_starts
from duolog.engine.checkpoint.shape_difference import (
    MAY_CHANGE,
    bound,
    first_difference,
    same_texts,
)
from duolog.engine.checkpoint.topic_ids import ensure_same_topics
from duolog.engine.errors import TopologyChanged
from duolog.engine.jvm.versions import ensure_spark_reads
from duolog.engine.topics.topic_reader import EndOffsets

FORMAT_VERSION: Final = 2  # Raised with this file's form or with the bytes of the kernel's stores.
PIN_FILE: Final = "application.json"
SPARK_DIR: Final = "spark"
PREPARED: Final = "prepared."
_OF_FILE: Final = ("format", "fingerprint")
SHADOW_DIR: Final = "rebuild"
HANDOVER_FILE: Final = "handover.wanted"
_OF_UPGRADES: Final = ("initial", "before", "logs")  # Fields of one upgrade, dropped by the next.
OF_SPARKS: Final = (*_OF_UPGRADES, "committed")  # Fields that describe one Spark checkpoint.
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Upgraded:
    """What another topology goes on with."""

    versions: Mapping[str, str]
    topic_ids: Mapping[str, str]
    starts: Mapping[str, Mapping[int, int]]
    """Where it goes on to read each topic; what is left out is read from its first record on."""
    initial: Sequence[Json]
    """What its stores begin with; the others begin empty."""
    stores: Sequence[str] = ()
    """All of its stores."""
    kept: Mapping[str, str] = field(default_factory=dict)
    """Those whose changelogs go on, if there are any, each with its name before."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The checkpoint directory of one application."""

    directory: Path

    @property
    def spark_dir(self) -> Path:
        return self._state_of(self._read() or {})

    def pinned_shape(self) -> Json | None:
        """Return the shape that the checkpoint was written with; None before the first start."""
        pin = self._last_committed()
        return None if pin is None else dict(pin["shape"])

    def pinned_tasks(self) -> int | None:
        """Return the number of tasks that the first start chose; None before it."""
        pin = self._read()
        return None if pin is None else int(pin["tasks"])

    def topic_ids(self) -> dict[str, str]:
        """Return the ids of the source topics that were read first."""
        return dict((self._read() or {"topics": {}})["topics"])

    def starts(self) -> dict[str, dict[int, int]]:
        """Return where the first start began, of topics that it did not read from their first record on."""
        return starts_in(self._read() or {})

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

    def takes_over(self) -> tuple[str, int] | None:
        """Return the query and epoch whose results it knowingly goes on behind, though they are not its own."""
        taken = (self._read() or {}).get("takes_over")
        return None if taken is None else (str(taken["query"]), int(taken["epoch"]))

    def take_over(self, query: str, epoch: int) -> None:
        """Let it go on behind results that another query has committed up to an epoch.

        Call it behind `pin`.

        Raises:
            CheckpointNotWritable: this user may not write there, or there is no space.
        """
        pinned = self._read()
        if pinned is not None:
            self._write(pinned | {"takes_over": {"query": query, "epoch": epoch}})

    def pin(
        self,
        application_id: str,
        shape: Json,
        versions: Mapping[str, str],
        topic_ids: Mapping[str, str],
        starts: Mapping[str, Mapping[int, int]] = MappingProxyType({}),
        *,
        changelog: bool = False,
        prefix: str = "",
        written: Collection[str] = (),
    ) -> None:
        """Fix `shape`, topics and where they begin at the first start; compare shape and topics at each later one.

        `prefix` stands before the application's id in the names of its changelogs.

        Raises:
            CheckpointNotWritable: this user may not write there, or there is no space.
            CheckpointMismatch, CheckpointDamaged, SourceTopicRecreated: as `ensure_fits`.
        """
        pinned = self._read()
        if pinned is not None and first_difference(pinned["shape"], shape):
            self._undo_upgrade(shape)
        self.ensure_fits(application_id, shape, topic_ids)
        pinned = self._read()
        if pinned is None:
            pin = {"tasks": shape["tasks"], "shape": shape, "versions": dict(versions)}
            # As it is read again: the fingerprint is one of texts.
            logged = {"changelog": first_log(prefix)} if changelog else {}
            pin |= {
                "topics": dict(topic_ids),
                "starts": as_kept(starts),
                "written": sorted(written),
            }
            self._write(pin | logged)
        else:
            # One that was written before this was noted has written what its topology writes now.
            all_written = sorted({*pinned.get("written", ()), *written})
            going_on = pinned | {
                "topics": {**topic_ids, **pinned["topics"]},
                "written": all_written,
            }
            going_on |= {} if same_texts(pinned["shape"], shape) else {"shape": shape}
            if going_on != pinned:
                self._write(going_on)

    @property
    def has_changelogs(self) -> bool:
        """Whether the stores have had changelogs from the first start on."""
        return "changelog" in (self._read() or {})

    def content(self) -> Json | None:
        """Return what the first start fixed, for who keeps it elsewhere; None before it.

        Raises:
            CheckpointDamaged, CheckpointMismatch: it cannot be read, or another Duolog has written it.
        """
        pinned = self._read()
        return None if pinned is None else {"format": FORMAT_VERSION, **pinned}

    def ensure_format(self, content: Json) -> None:
        """Raise CheckpointMismatch where another Duolog has written `content`."""
        found = content.get("format")
        if found != FORMAT_VERSION:
            raise other_format(self.directory, FORMAT_VERSION, int(found or 0))

    def replace_content(self, content: Json) -> None:
        """Fix what `content` gave, in the place of what is there.

        Raises:
            CheckpointMismatch: another Duolog has written it.
            CheckpointNotWritable: this user may not write there, or there is no space.
        """
        self.ensure_format(content)
        self._write({name: of for name, of in content.items() if name not in _OF_FILE})

    def given_starts(self) -> dict[str, dict[int, int]]:
        """Return where the first start is to begin, of topics that somebody has moved (`give_starts`)."""
        return read_starts(self.directory)

    def give_starts(self, starts: EndOffsets) -> None:
        """Have the first start begin at these offsets.

        Raises:
            CheckpointNotWritable: this user may not write there, or there is no space.
        """
        write_starts(self.directory, starts)

    def differs(self, shape: Json) -> bool:
        """Tell whether a start of `shape` would be refused."""
        pinned = self._read()
        return (
            pinned is not None
            and bool(first_difference(pinned["shape"], shape))
            and not self._fits_before_upgrade(shape)
        )

    def ensure_same_topics(self, application_id: str, topic_ids: Mapping[str, str]) -> None:
        """Compare topics with those that were read so far.

        Raises:
            CheckpointDamaged: a file that a start depends on cannot be read.
            SourceTopicRecreated: a source topic is not the one that was read.
        """
        ensure_readable(self.go_on_from()[0], application_id)
        ensure_same_topics(self.topic_ids(), topic_ids, application_id)

    @property
    def shadow(self) -> "Checkpoint":
        """Where stores are rebuilt beside this one, for an upgrade."""
        return Checkpoint(self.directory / SHADOW_DIR)

    @property
    def handover_is_wanted(self) -> bool:
        """Whether another process waits for this application's end, to go on in its place."""
        return (self.directory / HANDOVER_FILE).exists()

    def want_handover(self, *, wanted: bool) -> None:
        """Ask who runs the application to stop, or take that back. It looks every few seconds.

        Raises:
            CheckpointNotWritable: this user may not write there, or there is no space.
        """
        with writing(self.directory, self.directory.name):
            if wanted:
                (self.directory / HANDOVER_FILE).touch()
            else:
                (self.directory / HANDOVER_FILE).unlink(missing_ok=True)

    def written_topics(self) -> frozenset[str] | None:
        """Return the topics that the application has written; None where that is not known."""
        written = (self._last_committed() or {}).get("written")
        return None if written is None else frozenset(written)

    def first_starts(self) -> dict[str, dict[int, int]]:
        """Return where the very first start began, whatever upgrades there were since."""
        pin = self._last_committed() or {}
        return starts_in({"starts": pin.get("first", pin.get("starts", {}))})

    def ensure_fits(self, application_id: str, shape: Json, topic_ids: Mapping[str, str]) -> None:
        """Compare `shape` and topics with those of the first start, if there was one.

        Raises:
            TopologyChanged: the checkpoint belongs to another shape or number of tasks.
            CheckpointDamaged: a file that a start depends on cannot be read.
            SourceTopicRecreated: a source topic is not the one that was read.
        """
        pinned = self._read()
        if pinned is None:
            return ensure_unused(self.spark_dir, self.directory / PIN_FILE, application_id)
        ensure_spark_reads(self.directory, pinned)
        difference = first_difference(pinned["shape"], shape)
        if difference and not self._fits_before_upgrade(shape):
            raise TopologyChanged(
                f'the topology of application "{application_id}" has changed since its '
                "checkpoint was written",
                query_id=application_id,
                detail=f"{difference} Checkpoint: {self.directory}.",
                hint=f"{MAY_CHANGE} An upgrade keeps the state of what is as before: duolog run FILE "
                "--explain-upgrade says of what. Or undo the change, or start it under another application id, "
                f"or {begin_anew(application_id)}",
            )
        if pinned.get("committed") == self.spark_dir.name:
            ensure_there(self.spark_dir, application_id)
        ensure_readable(self.spark_dir, application_id)
        return ensure_same_topics(pinned["topics"], topic_ids, application_id)

    def note_commits(self) -> bool:
        """Keep in mind that something was committed, and tell: where that goes, a start would begin anew.

        Raises:
            CheckpointNotWritable: this user may not write there, or there is no space.
        """
        pinned, spark_dir = self._read(), self.spark_dir
        committed = pinned is not None and _has_committed(spark_dir)
        if pinned and committed and pinned.get("committed") != spark_dir.name:
            self._write(pinned | {"committed": spark_dir.name})
        return committed

    def upgrade(self, shape: Json, upgraded: Upgraded) -> None:
        """Let another topology go on where this one has stopped, in a Spark checkpoint of its own.

        One file is replaced, and with it everything: before, the application is the old one; from then on it is
        the new one, which takes over its stores in its first micro-batch. Until that is committed the old checkpoint
        stays, and a start of the old topology takes the upgrade back.

        Raises:
            CheckpointNotWritable: this user may not write there, or there is no space.
        """
        # What was rebuilt for this one stays.
        self._settle_upgrade()
        before = self._last_committed()
        assert before is not None, "there is something to upgrade"
        # What an upgrade has left behind that was taken back, or never came to its first commit.
        state = f"{SPARK_DIR}-{int(before.get('state', SPARK_DIR).partition('-')[2] or 1) + 1}"
        remove_tree(self.directory / state)
        begins = as_kept(upgraded.starts)
        pin = {name: value for name, value in before.items() if name not in OF_SPARKS}
        pin |= {
            "tasks": shape["tasks"],
            "shape": shape,
            "versions": dict(upgraded.versions),
            "state": state,
        }
        pin |= {"topics": {**upgraded.topic_ids, **before["topics"]}, "starts": begins}
        pin["first"] = before.get("first", before.get("starts", {}))
        if "changelog" in before:
            last, now = last_commit(self._state_of(before)), (self._read() or before)["changelog"]
            names = {"application_id": self.directory.name}
            pin["changelog"] = upgraded_log(
                before["changelog"], last, now, **names, stores=upgraded.stores, kept=upgraded.kept
            )
            # Entries that stand in no changelog yet: of the others the one before goes on.
            fresh = [of["becomes"] for of in upgraded.initial if of["becomes"] not in upgraded.kept]
            pin["logs"] = sorted(fresh)
        self._write(pin | {"initial": list(upgraded.initial), "before": before})

    def initial_logs(self) -> list[str]:
        """Return the stores whose changelogs do not have yet what they begin with."""
        return list((self._read() or {}).get("logs", ())) if self.initial_stores() else []

    def initial_stores(self) -> list[Json]:
        """Return what the stores begin with, as the kernel's `InitialState` reads it; nothing once that is committed."""
        pin = self._read() or {}
        return [] if _has_committed(self.spark_dir) else list(pin.get("initial", ()))

    def settle_upgrade(self) -> None:
        """Remove what an upgrade has left, once its first micro-batch is committed.

        Raises:
            CheckpointNotWritable: this user may not write there, or there is no space.
        """
        if self._settle_upgrade():
            remove_tree(self.shadow.directory)

    def _settle_upgrade(self) -> bool:
        pin = self._read()
        if pin is None or "before" not in pin or not _has_committed(self.spark_dir):
            return False
        self._write({name: of for name, of in pin.items() if name not in _OF_UPGRADES})
        remove_tree(self._state_of(pin["before"]))
        return True

    @property
    def spark_dir_before_upgrade(self) -> Path | None:
        """What Spark's checkpoint was before an upgrade that has not come to its first commit; None: there is none."""
        pin = self._read() or {}
        return self._state_of(pin["before"]) if "before" in pin else None

    def _state_of(self, pin: Json) -> Path:
        return self.directory / str(pin.get("state", SPARK_DIR))

    def _last_committed(self) -> Json | None:
        """Return what is pinned, or what was before an upgrade that has not come to its first commit."""
        pin = self._read()
        if pin is None or "before" not in pin or _has_committed(self.spark_dir):
            return pin
        return dict(pin["before"])

    def _fits_before_upgrade(self, shape: Json) -> bool:
        pin, before = self._read(), self._last_committed()
        return pin != before and before is not None and not first_difference(before["shape"], shape)

    def _undo_upgrade(self, shape: Json) -> None:
        if self._fits_before_upgrade(shape):
            left, before = self.spark_dir, self._last_committed()
            assert before is not None
            if "changelog" in before:
                last, now = last_commit(self._state_of(before)), (self._read() or before)
                before["changelog"] = taken_back(before["changelog"], last, now["changelog"])
            self._write(before)
            remove_tree(left)

    def forget_all(self) -> None:
        """Remove what a topology has left that nobody goes on with."""
        remove_tree(self.spark_dir)
        (self.directory / PIN_FILE).unlink(missing_ok=True)

    def prepared(self, epoch: int) -> Path:
        """Return where the kernel keeps what Spark is to write as the entry of an epoch, while its transaction is committed."""
        return self.directory / f"{PREPARED}{epoch}"

    def forget_planned(self) -> None:
        """Drop the source offsets of a micro-batch that was planned and not committed.

        Spark would read the same range again; where it did not fit the memory, smaller ones are to
        follow. Its results may have been written in part, as after any crash: at least once.
        """
        offsets, commits = self.spark_dir / "offsets", self.spark_dir / "commits"
        planned = max(numbers_in(offsets), default=-1)
        # What is prepared may have been committed to Kafka, and is then to be put down as done.
        prepared = self.prepared(planned).exists()
        if planned >= 0 and not prepared and not (commits / str(planned)).exists():
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
        if not any(map(numbers_in, logs)):
            for directory in (*logs, self.spark_dir / "state"):
                remove_tree(directory)

    def committed_positions(self) -> dict[str, dict[int, int]]:
        """Return the offset that each source partition is to be read from, as Spark has committed it.

        Before the first commit, and where Spark's log cannot be read, where it began: it is for showing only.
        """
        return positions_of_last(self.spark_dir, "commits", self.starts())

    def go_on_from(self) -> tuple[Path, dict[str, dict[int, int]]]:
        """Return the Spark checkpoint that an upgrade takes over, and where that has committed to read on.

        Of an upgrade that has not come to its first commit, what was before it.
        """
        pin = self._last_committed() or {}
        spark_dir = self._state_of(pin)
        return spark_dir, positions_of_last(spark_dir, "commits", starts_in(pin))

    def planned_positions(self) -> dict[str, dict[int, int]]:
        """Return where the next micro-batch begins that Spark has not planned yet.

        Before the first one, where it began. A micro-batch that was planned and not committed is run again as it was.
        """
        return positions_of_last(self.spark_dir, "offsets", self.starts())

    def _read(self) -> Json | None:
        path = self.directory / PIN_FILE
        if not path.is_file():
            return None
        pin = read_json(path, self.directory.name)
        found = pin.get("format", FORMAT_VERSION)
        if isinstance(found, int) and found != FORMAT_VERSION:
            raise other_format(self.directory, FORMAT_VERSION, found)
        if pin.pop("fingerprint", "") != fingerprint(pin):
            raise damaged(
                path,
                self.directory.name,
                "It is not what was written.",
                copy_or_reset(self.directory.name),
            )
        return pin

    def _write(self, pin: Json) -> None:
        content = {"format": FORMAT_VERSION, **pin, "shape": bound(pin["shape"])}
        content["fingerprint"] = fingerprint(content)
        with writing(self.directory, self.directory.name):
            make_durable_dir(self.directory)
            write_durably(self.directory / PIN_FILE, json.dumps(content, indent=1, sort_keys=True))


def _has_committed(spark_dir: Path) -> bool:
    return last_commit(spark_dir) is not None
