"""A checkpoint whose stores have changelogs: its generations, and how it is restored.

CHECKPOINTS/<application id>/application.json      "changelog": see `generations`
CHECKPOINTS/<application id>/restoring             exists while the stores are filled
CHECKPOINTS/<application id>/spark.before-restore  set aside by a restore; after an upgrade
                                                   spark-2.before-restore
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from duolog.engine.changelog.commit_topic import Committed
from duolog.engine.checkpoint.checkpoint import Checkpoint
from duolog.engine.checkpoint.checkpoint_files import (
    ensure_readable,
    last_commit,
    read_json,
    writing,
)
from duolog.engine.checkpoint.checkpoint_positions import as_kept, positions_in
from duolog.engine.checkpoint.checksums import write_with_checksum
from duolog.engine.checkpoint.durable import make_durable_dir, remove_tree, sync_dir, write_durably
from duolog.engine.checkpoint.generations import (
    BEFORE_ALL,
    Generations,
    InternalTopics,
    begun,
    held_topics,
    with_ids,
    with_made,
    with_topics,
    without_dropped,
)
from duolog.engine.checkpoint.pending_upgrade import OF_SPARKS
from duolog.engine.checkpoint.pin_file import SPARK_DIR
from duolog.engine.errors import CheckpointDamaged, CheckpointMismatch
from duolog.engine.json_object import Json

_RESTORING: Final = "restoring"
_ASIDE: Final = ".before-restore"


@dataclass(frozen=True, slots=True)
class LoggedCheckpoint:
    """The changelog side of the same directory as `checkpoint`."""

    checkpoint: Checkpoint

    @property
    def directory(self) -> Path:
        return self.checkpoint.directory

    @property
    def spark_dir(self) -> Path:
        return self.checkpoint.spark_dir

    @property
    def topics(self) -> InternalTopics:
        """The names of its internal topics."""
        return InternalTopics.of(self.directory.name, self._content()["changelog"])

    @property
    def generation(self) -> int:
        """The number of its last generation."""
        return int(self._content()["changelog"]["generation"])

    def name_topics(self, stores: Sequence[str]) -> InternalTopics:
        """Fix the names of the changelogs of its stores, unless that is done; return them."""
        pinned = self._content()
        log = with_topics(pinned["changelog"], self.directory.name, stores)
        if log != pinned["changelog"]:
            self.checkpoint.file.replace_content(pinned | {"changelog": log})
        return self.topics

    def dropped_topics(self) -> list[str]:
        """Return the unused changelogs; an empty list while an upgrade may still be reverted."""
        pinned = self._content()
        return [] if "before" in pinned else list(pinned["changelog"].get("dropped", ()))

    def forget_dropped_topics(self) -> None:
        """Record that those topics are deleted."""
        pinned = self._content()
        self.checkpoint.file.replace_content(
            pinned | {"changelog": without_dropped(pinned["changelog"])}
        )

    def held_topics(self, topics: Sequence[str]) -> list[str]:
        """Return those of its changelogs `topics` that hold entries, if something was committed."""
        pinned = self._content()
        before = pinned.get("before", {})
        names = InternalTopics.of(self.directory.name, before.get("changelog", {}))
        stores = before.get("shape", {}).get("stores", {})
        return held_topics(pinned["changelog"], topics, [names.changelog(of) for of in stores])

    def topic_ids(self) -> dict[str, str]:
        """Return the ids of its changelogs, as far as a broker has reported them."""
        return dict(self._content()["changelog"].get("ids", {}))

    def note_made(self, topics: Sequence[str], ids: Mapping[str, str]) -> None:
        """Record that these topics exist, with these ids."""
        pinned = self._content()
        log = with_ids(with_made(pinned["changelog"], topics), ids)
        if log != pinned["changelog"]:
            self.checkpoint.file.replace_content(pinned | {"changelog": log})

    def begin_generation(self) -> Committed:
        """Count a start of a query; return the last commit before it, with the new generation.

        If an upgrade has committed nothing yet, this is the last commit of the topology before it.

        Raises:
            CheckpointNotWritable: this user may not write there, or there is no space.
        """
        pinned = self._content()
        spark_dir = self.spark_dir
        log = begun(pinned["changelog"], last_commit(spark_dir))
        self.checkpoint.file.replace_content(pinned | {"changelog": log})
        before = self.checkpoint.upgrade.spark_dir_before
        told = spark_dir if before is None or last_commit(spark_dir) is not None else before
        committed = Committed(
            log["generation"], BEFORE_ALL, log["generations"], None, state=told.name
        )
        commit = last_commit(told)
        if commit is None:
            return replace(committed, **log.get("restored", {}))
        text = (told / "offsets" / str(commit)).read_text()
        query = read_json(told / "metadata", self.directory.name)["id"]
        at_ms = (told / "commits" / str(commit)).stat().st_mtime_ns // 1_000_000
        return replace(
            committed, offsets=text, query=str(query), number=commit, committed_at_ms=at_ms
        )

    def skip_generations(self, committed: Committed) -> None:
        """Skip a generation that another checkpoint of this name has started without committing."""
        pinned = self._content()
        log = pinned["changelog"] | _generation(
            committed.generation, committed.generations, since=BEFORE_ALL
        )
        self.checkpoint.file.replace_content(pinned | {"changelog": log})

    def is_whole(self) -> bool:
        """Return whether a query can continue from it; false if nothing was committed."""
        if self.is_half_restored:
            return False
        try:
            spark_dir = self.checkpoint.upgrade.go_on_from()[0]
            if self.checkpoint.pinned_tasks() is None or last_commit(spark_dir) is None:
                return False
            ensure_readable(spark_dir, self.directory.name)
        except CheckpointMismatch:
            return True  # Its own check reports what is wrong.
        except CheckpointDamaged:
            return False
        return True

    @property
    def is_half_restored(self) -> bool:
        """True if a restore was interrupted; its partial results are not needed."""
        return (self.directory / _RESTORING).exists()

    def moves_of_restore(self) -> list[tuple[Path, Path]]:
        """Return the directories that a restore sets aside, with their targets.

        After an interrupted restore it removes them instead.
        """
        # The file that names Spark's directory may be damaged; after an interrupted upgrade there
        # are two.
        return [
            (spark_dir, spark_dir.with_name(spark_dir.name + _ASIDE))
            for spark_dir in sorted(self.directory.glob(f"{SPARK_DIR}*"))
            if not spark_dir.name.endswith(_ASIDE)
        ]

    def begin_restore(self, content: Json, generation: int, generations: Generations) -> None:
        """Restore the pinned facts, and set aside what is left of Spark's checkpoint.

        Raises:
            CheckpointMismatch: another version of Duolog wrote it.
            CheckpointNotWritable: this user may not write there, or there is no space.
        """
        self.checkpoint.file.ensure_format(content)
        # Entries that a restore writes belong to no epoch, and count.
        log = content["changelog"] | _generation(generation, generations, since=BEFORE_ALL - 1)
        marked = self.directory / _RESTORING
        with writing(self.directory, self.directory.name):
            make_durable_dir(self.directory)
            half_restored = self.is_half_restored
            for spark_dir, aside in self.moves_of_restore():
                remove_tree(spark_dir if half_restored else aside)
                if spark_dir.exists():
                    spark_dir.rename(aside)
            write_durably(marked, "")
        kept = {name: of for name, of in content.items() if name not in OF_SPARKS}
        self.checkpoint.file.replace_content(kept | {"changelog": log})

    def end_restore(self, committed: Committed) -> None:
        """Restore the text of Spark's entry: the next micro-batch continues after `committed`.

        The states are those of the last commit of the restore, if there was anything to restore.
        """
        commit, offsets = last_commit(self.spark_dir), committed.offsets
        assert offsets is not None, "something was committed"
        with writing(self.directory, self.directory.name):
            if commit is None:
                content = self._content()
                starts = as_kept(positions_in(offsets, self.checkpoint.starts()))
                # No file of Spark's contains that commit: a start before the next commit would not
                # find it.
                log = content["changelog"] | {"restored": _told(committed)}
                self.checkpoint.file.replace_content(content | {"starts": starts, "changelog": log})
                remove_tree(self.spark_dir)
            else:
                # These entries contain offsets of changelogs.
                for path in (self.spark_dir / "offsets").iterdir():
                    path.unlink()
                for path in (self.spark_dir / "commits").iterdir():
                    if path.name not in (str(commit), f".{commit}.crc"):
                        path.unlink()
                remove_tree(self.spark_dir / "sources")
                write_with_checksum(self.spark_dir / "offsets" / str(commit), offsets)
            (self.directory / _RESTORING).unlink()
            sync_dir(self.directory)

    def _content(self) -> Json:
        content = self.checkpoint.file.content()
        assert content is not None, "nothing was fixed yet"
        return content


def _told(committed: Committed) -> Json:
    """Return the fields of `Committed` that describe the commit itself."""
    of = asdict(committed)
    return {name: of[name] for name in ("offsets", "query", "number", "committed_at_ms")}


def _generation(number: int, generations: Generations, *, since: int) -> Json:
    """Return the record of a generation that starts after the commit `since`."""
    return {"generation": number, "since": since, "generations": generations}
