"""The checkpoint directory of one application: Spark's checkpoint, and the facts next to it.

    CHECKPOINTS/<application id>/
        application.json   the facts that the first start fixed (`pin_file`)
        spark/             Spark's: offsets, commits, state
        spark-2/           the same after an upgrade (ADR 0074) or with other tasks (ADR 0076),
                           then spark-3/ …
        starts.json        start positions set by `duolog state reset`
        positions.json     how far topics were read (`position_marks`)
        rebuild/           a checkpoint of stores that are rebuilt for an upgrade
        handover.wanted    another process waits to take over from this one

The number of tasks decides where a key's state is stored, and the layouts of the stores decide what
it means. Spark would read a checkpoint of another shape as this one's, so both are pinned at the
first start and compared later (`store_layouts`).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from duolog.engine.checkpoint.checkpoint_files import (
    ensure_readable,
    ensure_there,
    ensure_unused,
    last_commit,
    reset_hint,
    writing,
)
from duolog.engine.checkpoint.checkpoint_positions import as_kept, positions_of_last, starts_in
from duolog.engine.checkpoint.durable import remove_tree
from duolog.engine.checkpoint.generations import first_log
from duolog.engine.checkpoint.pending_upgrade import SHADOW_DIR, PendingUpgrade
from duolog.engine.checkpoint.pin_file import PinFile
from duolog.engine.checkpoint.requested_starts import read_starts, write_starts
from duolog.engine.checkpoint.shape_difference import MAY_CHANGE, first_difference, same_texts
from duolog.engine.checkpoint.topic_ids import ensure_same_topics
from duolog.engine.checkpoint.unfinished_batches import UnfinishedBatches
from duolog.engine.errors import TopologyChanged
from duolog.engine.json_object import Json
from duolog.engine.jvm.versions import ensure_spark_reads
from duolog.engine.topics.offsets import EndOffsets

HANDOVER_FILE: Final = "handover.wanted"


@dataclass(frozen=True, slots=True)
class StartFacts:
    """The facts about a start: fixed by the first one, and compared with it later."""

    shape: Json
    versions: Mapping[str, str] = field(default_factory=dict)
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    starts: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """Start positions by topic; topics that are left out are read from their first record."""
    written: Collection[str] = ()
    """The topics that it writes."""
    changelog: bool = False
    """Whether its stores have changelogs. Only the first start decides that."""
    prefix: str = ""
    """A prefix of the application id in the names of its changelogs."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The checkpoint directory of one application."""

    directory: Path

    @property
    def file(self) -> PinFile:
        return PinFile(self.directory)

    @property
    def upgrade(self) -> PendingUpgrade:
        return PendingUpgrade(self.file)

    @property
    def unfinished(self) -> UnfinishedBatches:
        return UnfinishedBatches(self.spark_dir)

    @property
    def spark_dir(self) -> Path:
        return self.file.spark_dir(self.file.read() or {})

    def pinned_shape(self) -> Json | None:
        """Return the shape that the checkpoint was written with; None before the first start."""
        pin = self.upgrade.committed_facts()
        return None if pin is None else dict(pin["shape"])

    def pinned_tasks(self) -> int | None:
        """Return the number of tasks that the first start chose; None before it."""
        pin = self.file.read()
        return None if pin is None else int(pin["tasks"])

    def topic_ids(self) -> dict[str, str]:
        """Return the ids of the source topics as of their first reading."""
        return dict((self.file.read() or {"topics": {}})["topics"])

    def starts(self) -> dict[str, dict[int, int]]:
        """Return the start positions of topics that were not read from their first record."""
        return starts_in(self.file.read() or {})

    def written_topics(self) -> frozenset[str] | None:
        """Return the topics that the application has written; None if that is unknown."""
        written = (self.upgrade.committed_facts() or {}).get("written")
        return None if written is None else frozenset(written)

    @property
    def has_changelogs(self) -> bool:
        """True if the stores have had changelogs since the first start."""
        return "changelog" in (self.file.read() or {})

    @property
    def shuffles(self) -> bool:
        """True if records were found outside of their tasks' partitions."""
        return bool((self.file.read() or {}).get("shuffles", False))

    def set_shuffles(self) -> None:
        """Record that records do not reach their tasks without a shuffle.

        Raises:
            CheckpointNotWritable: this user may not write there, or there is no space.
        """
        pinned = self.file.read()
        if pinned is not None:
            self.file.write(pinned | {"shuffles": True})

    def takes_over(self) -> tuple[str, int] | None:
        """Return the other query whose results this checkpoint continues after, and their epoch."""
        taken = (self.file.read() or {}).get("takes_over")
        return None if taken is None else (str(taken["query"]), int(taken["epoch"]))

    def take_over(self, query: str, epoch: int) -> None:
        """Allow the application to continue after results of another query, up to an epoch.

        Call it after `pin`.

        Raises:
            CheckpointNotWritable: this user may not write there, or there is no space.
        """
        pinned = self.file.read()
        if pinned is not None:
            self.file.write(pinned | {"takes_over": {"query": query, "epoch": epoch}})

    def pin(self, application_id: str, facts: StartFacts) -> None:
        """Fix the facts at the first start; compare shape and topics at each later one.

        Raises:
            CheckpointNotWritable: this user may not write there, or there is no space.
            CheckpointMismatch, CheckpointDamaged, SourceTopicRecreated: as `ensure_fits`.
        """
        pinned, shape = self.file.read(), facts.shape
        is_other = pinned is not None and first_difference(pinned["shape"], shape)
        if is_other and self.upgrade.was_from(shape):
            self.upgrade.revert()
        self.ensure_fits(application_id, shape, facts.topic_ids)
        pinned = self.file.read()
        if pinned is None:
            self.file.write(_first_pin(facts))
            return
        # A checkpoint from before the field `written` existed has written the same topics as its
        # topology writes now.
        going_on = pinned | {
            "topics": {**facts.topic_ids, **pinned["topics"]},
            "written": sorted({*pinned.get("written", ()), *facts.written}),
        }
        going_on |= {} if same_texts(pinned["shape"], shape) else {"shape": shape}
        if going_on != pinned:
            self.file.write(going_on)

    def ensure_fits(self, application_id: str, shape: Json, topic_ids: Mapping[str, str]) -> None:
        """Compare `shape` and topics with those of the first start, if there was one.

        Raises:
            TopologyChanged: the checkpoint has another shape or number of tasks.
            CheckpointDamaged: a file that a start needs cannot be read.
            SourceTopicRecreated: a source topic was deleted and created again.
        """
        pinned = self.file.read()
        if pinned is None:
            return ensure_unused(self.spark_dir, self.file.path, application_id)
        ensure_spark_reads(self.directory, pinned)
        difference = first_difference(pinned["shape"], shape)
        if difference and not self.upgrade.was_from(shape):
            raise TopologyChanged(
                f'the topology of application "{application_id}" has changed since its '
                "checkpoint was written",
                query_id=application_id,
                detail=f"{difference} Checkpoint: {self.directory}.",
                hint=f"{MAY_CHANGE} An upgrade keeps the state of unchanged stores: see duolog run "
                "FILE --explain-upgrade. Otherwise undo the change, use another application id, "
                f"or run {reset_hint(application_id)}",
            )
        if pinned.get("committed") == self.spark_dir.name:
            ensure_there(self.spark_dir, application_id)
        ensure_readable(self.spark_dir, application_id)
        return ensure_same_topics(pinned["topics"], topic_ids, application_id)

    def differs(self, shape: Json) -> bool:
        """Return whether a start of `shape` would be refused."""
        pinned = self.file.read()
        return (
            pinned is not None
            and bool(first_difference(pinned["shape"], shape))
            and not self.upgrade.was_from(shape)
        )

    def ensure_same_topics(self, application_id: str, topic_ids: Mapping[str, str]) -> None:
        """Compare topics with those that were read so far.

        Raises:
            CheckpointDamaged: a file that a start needs cannot be read.
            SourceTopicRecreated: a source topic was deleted and created again.
        """
        ensure_readable(self.upgrade.go_on_from()[0], application_id)
        ensure_same_topics(self.topic_ids(), topic_ids, application_id)

    def given_starts(self) -> dict[str, dict[int, int]]:
        """Return the start positions that a user set with `give_starts` for the first start."""
        return read_starts(self.directory)

    def give_starts(self, starts: EndOffsets) -> None:
        """Set the start positions of the first start.

        Raises:
            CheckpointNotWritable: this user may not write there, or there is no space.
        """
        write_starts(self.directory, starts)

    @property
    def shadow(self) -> "Checkpoint":
        """The checkpoint in which an upgrade rebuilds stores."""
        return Checkpoint(self.directory / SHADOW_DIR)

    @property
    def handover_is_wanted(self) -> bool:
        """True if another process waits for this application to stop, to take over from it."""
        return (self.directory / HANDOVER_FILE).exists()

    def want_handover(self, *, wanted: bool) -> None:
        """Ask the running application to stop, or withdraw the request.

        The application checks every few seconds.

        Raises:
            CheckpointNotWritable: this user may not write there, or there is no space.
        """
        with writing(self.directory, self.directory.name):
            if wanted:
                (self.directory / HANDOVER_FILE).touch()
            else:
                (self.directory / HANDOVER_FILE).unlink(missing_ok=True)

    def note_commits(self) -> bool:
        """Record and return whether anything was committed: a later loss of it is then detected.

        Raises:
            CheckpointNotWritable: this user may not write there, or there is no space.
        """
        pinned, spark_dir = self.file.read(), self.spark_dir
        committed = pinned is not None and last_commit(spark_dir) is not None
        if pinned and committed and pinned.get("committed") != spark_dir.name:
            self.file.write(pinned | {"committed": spark_dir.name})
        return committed

    def forget_all(self) -> None:
        """Remove the Spark checkpoint and pinned facts of a topology that nothing continues."""
        remove_tree(self.spark_dir)
        self.file.path.unlink(missing_ok=True)

    def committed_positions(self) -> dict[str, dict[int, int]]:
        """Return the offset at which each source partition continues, as Spark has committed it.

        Before the first commit, or if Spark's log cannot be read, the start positions: for display
        only.
        """
        return positions_of_last(self.spark_dir, "commits", self.starts())

    def planned_positions(self) -> dict[str, dict[int, int]]:
        """Return the positions at which the next unplanned micro-batch starts.

        Before the first one, the start positions. A micro-batch that was planned and not committed
        is repeated as planned.
        """
        return positions_of_last(self.spark_dir, "offsets", self.starts())


def _first_pin(facts: StartFacts) -> Json:
    # The content must equal what is read back: the fingerprint is computed over JSON.
    pin: Json = {"tasks": facts.shape["tasks"], "shape": facts.shape}
    pin |= {
        "versions": dict(facts.versions),
        "topics": dict(facts.topic_ids),
        "starts": as_kept(facts.starts),
        "written": sorted(facts.written),
    }
    return pin | ({"changelog": first_log(facts.prefix)} if facts.changelog else {})
