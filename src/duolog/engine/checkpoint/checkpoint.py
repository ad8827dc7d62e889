"""The facts that the first start of an application fixes, stored next to Spark's checkpoint.

    CHECKPOINTS/<application id>/application.json   tasks, the shape of the plan, topics, versions, start positions, and
                                                    whether records are shuffled to their tasks
    CHECKPOINTS/<application id>/spark/             Spark's: offsets, commits, state
    CHECKPOINTS/<application id>/spark-2/           the same after an upgrade (ADR 0074) or with other tasks (ADR 0076), then spark-3/ …
    CHECKPOINTS/<application id>/starts.json        start positions of the first start, set by `duolog state reset`
    CHECKPOINTS/<application id>/positions.json     how far topics were read (`position_marks`)
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
    damaged,
    ensure_readable,
    ensure_there,
    ensure_unused,
    fingerprint,
    last_commit,
    numbers_in,
    other_format,
    read_json,
    reset_hint,
    restore_or_reset_hint,
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
from duolog.engine.topics.offsets import EndOffsets

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
    """The checkpoint that an upgraded topology continues with."""

    versions: Mapping[str, str]
    topic_ids: Mapping[str, str]
    starts: Mapping[str, Mapping[int, int]]
    """Start positions by topic; topics that are left out are read from their first record."""
    initial: Sequence[Json]
    """The initial contents of its stores; stores that are left out start empty."""
    stores: Sequence[str] = ()
    """All of its stores."""
    kept: Mapping[str, str] = field(default_factory=dict)
    """The stores whose changelogs continue, each with its previous name."""


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
        """Return the ids of the source topics as of their first reading."""
        return dict((self._read() or {"topics": {}})["topics"])

    def starts(self) -> dict[str, dict[int, int]]:
        """Return the start positions of the topics that the first start did not read from their first record."""
        return starts_in(self._read() or {})

    @property
    def shuffles(self) -> bool:
        """True if records were found outside of their tasks' partitions."""
        return bool((self._read() or {}).get("shuffles", False))

    def set_shuffles(self) -> None:
        """Record that records do not reach their tasks without a shuffle.

        Raises:
            CheckpointNotWritable: this user may not write there, or there is no space.
        """
        pinned = self._read()
        if pinned is not None:
            self._write(pinned | {"shuffles": True})

    def takes_over(self) -> tuple[str, int] | None:
        """Return the query and epoch whose results this checkpoint continues after, although another query wrote them."""
        taken = (self._read() or {}).get("takes_over")
        return None if taken is None else (str(taken["query"]), int(taken["epoch"]))

    def take_over(self, query: str, epoch: int) -> None:
        """Allow the application to continue after results that another query committed, up to an epoch.

        Call it after `pin`.

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
        """Fix `shape`, topics and start positions at the first start; compare shape and topics at each later one.

        `prefix` precedes the application id in the names of its changelogs.

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
            # The content must equal what is read back: the fingerprint is computed over JSON.
            logged = {"changelog": first_log(prefix)} if changelog else {}
            pin |= {
                "topics": dict(topic_ids),
                "starts": as_kept(starts),
                "written": sorted(written),
            }
            self._write(pin | logged)
        else:
            # A checkpoint from before this field existed has written the same topics as its topology writes now.
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
        """True if the stores have had changelogs since the first start."""
        return "changelog" in (self._read() or {})

    def content(self) -> Json | None:
        """Return what the first start fixed, to be stored elsewhere; None before it.

        Raises:
            CheckpointDamaged, CheckpointMismatch: it cannot be read, or another version of Duolog wrote it.
        """
        pinned = self._read()
        return None if pinned is None else {"format": FORMAT_VERSION, **pinned}

    def ensure_format(self, content: Json) -> None:
        """Raise CheckpointMismatch if `content` has another format version."""
        found = content.get("format")
        if found != FORMAT_VERSION:
            raise other_format(self.directory, FORMAT_VERSION, int(found or 0))

    def replace_content(self, content: Json) -> None:
        """Replace the pinned facts by what `content` returned.

        Raises:
            CheckpointMismatch: another version of Duolog wrote it.
            CheckpointNotWritable: this user may not write there, or there is no space.
        """
        self.ensure_format(content)
        self._write({name: of for name, of in content.items() if name not in _OF_FILE})

    def given_starts(self) -> dict[str, dict[int, int]]:
        """Return the start positions that a user set with `give_starts` for the first start."""
        return read_starts(self.directory)

    def give_starts(self, starts: EndOffsets) -> None:
        """Set the start positions of the first start.

        Raises:
            CheckpointNotWritable: this user may not write there, or there is no space.
        """
        write_starts(self.directory, starts)

    def differs(self, shape: Json) -> bool:
        """Return whether a start of `shape` would be refused."""
        pinned = self._read()
        return (
            pinned is not None
            and bool(first_difference(pinned["shape"], shape))
            and not self._fits_before_upgrade(shape)
        )

    def ensure_same_topics(self, application_id: str, topic_ids: Mapping[str, str]) -> None:
        """Compare topics with those that were read so far.

        Raises:
            CheckpointDamaged: a file that a start needs cannot be read.
            SourceTopicRecreated: a source topic was deleted and created again.
        """
        ensure_readable(self.go_on_from()[0], application_id)
        ensure_same_topics(self.topic_ids(), topic_ids, application_id)

    @property
    def shadow(self) -> "Checkpoint":
        """The checkpoint in which an upgrade rebuilds stores."""
        return Checkpoint(self.directory / SHADOW_DIR)

    @property
    def handover_is_wanted(self) -> bool:
        """True if another process waits for this application to stop, to take over from it."""
        return (self.directory / HANDOVER_FILE).exists()

    def want_handover(self, *, wanted: bool) -> None:
        """Ask the running application to stop, or withdraw the request. It checks every few seconds.

        Raises:
            CheckpointNotWritable: this user may not write there, or there is no space.
        """
        with writing(self.directory, self.directory.name):
            if wanted:
                (self.directory / HANDOVER_FILE).touch()
            else:
                (self.directory / HANDOVER_FILE).unlink(missing_ok=True)

    def written_topics(self) -> frozenset[str] | None:
        """Return the topics that the application has written; None if that is unknown."""
        written = (self._last_committed() or {}).get("written")
        return None if written is None else frozenset(written)

    def first_starts(self) -> dict[str, dict[int, int]]:
        """Return the start positions of the very first start, before any upgrade."""
        pin = self._last_committed() or {}
        return starts_in({"starts": pin.get("first", pin.get("starts", {}))})

    def ensure_fits(self, application_id: str, shape: Json, topic_ids: Mapping[str, str]) -> None:
        """Compare `shape` and topics with those of the first start, if there was one.

        Raises:
            TopologyChanged: the checkpoint has another shape or number of tasks.
            CheckpointDamaged: a file that a start needs cannot be read.
            SourceTopicRecreated: a source topic was deleted and created again.
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
                hint=f"{MAY_CHANGE} An upgrade keeps the state of unchanged stores: see duolog run FILE "
                "--explain-upgrade. Otherwise undo the change, use another application id, "
                f"or run {reset_hint(application_id)}",
            )
        if pinned.get("committed") == self.spark_dir.name:
            ensure_there(self.spark_dir, application_id)
        ensure_readable(self.spark_dir, application_id)
        return ensure_same_topics(pinned["topics"], topic_ids, application_id)

    def note_commits(self) -> bool:
        """Record and return whether anything was committed, so that a later loss of the commits is detected.

        Raises:
            CheckpointNotWritable: this user may not write there, or there is no space.
        """
        pinned, spark_dir = self._read(), self.spark_dir
        committed = pinned is not None and _has_committed(spark_dir)
        if pinned and committed and pinned.get("committed") != spark_dir.name:
            self._write(pinned | {"committed": spark_dir.name})
        return committed

    def upgrade(self, shape: Json, upgraded: Upgraded) -> None:
        """Let another topology continue where this one has stopped, in a Spark checkpoint of its own.

        Replacing one file switches everything: before it the application is the old one, after it the
        new one, which takes over its stores in its first micro-batch. The old checkpoint stays until that is
        committed, and a start of the old topology reverts the upgrade.

        Raises:
            CheckpointNotWritable: this user may not write there, or there is no space.
        """
        # Keeps what was rebuilt for this upgrade.
        self._settle_upgrade()
        before = self._last_committed()
        assert before is not None, "there is something to upgrade"
        # The leftovers of an upgrade that was reverted or never committed.
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
            # Their entries are in no changelog yet; the other stores continue their previous changelogs.
            fresh = [of["becomes"] for of in upgraded.initial if of["becomes"] not in upgraded.kept]
            pin["logs"] = sorted(fresh)
        self._write(pin | {"initial": list(upgraded.initial), "before": before})

    def initial_logs(self) -> list[str]:
        """Return the stores whose initial contents are not in their changelogs yet."""
        return list((self._read() or {}).get("logs", ())) if self.initial_stores() else []

    def initial_stores(self) -> list[Json]:
        """Return the initial contents of stores, as the kernel's `InitialState` reads them; empty once they are committed."""
        pin = self._read() or {}
        return [] if _has_committed(self.spark_dir) else list(pin.get("initial", ()))

    def settle_upgrade(self) -> None:
        """Remove the leftovers of an upgrade, once its first micro-batch is committed.

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
        """Spark's checkpoint before an upgrade that has committed nothing yet; None without such an upgrade."""
        pin = self._read() or {}
        return self._state_of(pin["before"]) if "before" in pin else None

    def _state_of(self, pin: Json) -> Path:
        return self.directory / str(pin.get("state", SPARK_DIR))

    def _last_committed(self) -> Json | None:
        """Return the pinned facts, or those before an upgrade that has committed nothing yet."""
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
        """Remove the Spark checkpoint and pinned facts of a topology that nothing continues."""
        remove_tree(self.spark_dir)
        (self.directory / PIN_FILE).unlink(missing_ok=True)

    def prepared(self, epoch: int) -> Path:
        """Return where the kernel stores the commit-log entry of an epoch while its transaction is committed."""
        return self.directory / f"{PREPARED}{epoch}"

    def forget_planned(self) -> None:
        """Remove the source offsets of a micro-batch that was planned and not committed.

        Spark would read the same range again, but after an out-of-memory failure smaller ranges must
        follow. Its results may have been written in part, as after any crash: at least once.
        """
        offsets, commits = self.spark_dir / "offsets", self.spark_dir / "commits"
        planned = max(numbers_in(offsets), default=-1)
        # A prepared entry may already be committed in Kafka; the micro-batch must then be marked as done.
        prepared = self.prepared(planned).exists()
        if planned >= 0 and not prepared and not (commits / str(planned)).exists():
            # With its checksum, which would block the checksum of the next one.
            for name in (f".{planned}.crc", str(planned)):
                (offsets / name).unlink(missing_ok=True)

        self.forget_unplanned()

    def forget_unplanned(self) -> None:
        """Remove the leftovers of a start that ended before it planned its first micro-batch.

        Spark refuses to start next to any file of an earlier attempt, even a partial one. State
        that no micro-batch has committed has no meaning.
        """
        logs = [self.spark_dir / name for name in ("offsets", "commits")]
        if not any(map(numbers_in, logs)):
            for directory in (*logs, self.spark_dir / "state"):
                remove_tree(directory)

    def committed_positions(self) -> dict[str, dict[int, int]]:
        """Return the offset at which each source partition continues, as Spark has committed it.

        Before the first commit, or if Spark's log cannot be read, the start positions: for display only.
        """
        return positions_of_last(self.spark_dir, "commits", self.starts())

    def go_on_from(self) -> tuple[Path, dict[str, dict[int, int]]]:
        """Return the Spark checkpoint that an upgrade takes over, and its committed positions.

        If an upgrade has committed nothing yet, this is the checkpoint before it.
        """
        pin = self._last_committed() or {}
        spark_dir = self._state_of(pin)
        return spark_dir, positions_of_last(spark_dir, "commits", starts_in(pin))

    def planned_positions(self) -> dict[str, dict[int, int]]:
        """Return the positions at which the next unplanned micro-batch starts.

        Before the first one, the start positions. A micro-batch that was planned and not committed is repeated as planned.
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
                "Its content does not match its fingerprint.",
                restore_or_reset_hint(self.directory.name),
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
