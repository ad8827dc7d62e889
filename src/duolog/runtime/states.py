"""Inspect the checkpoints of applications on disk, without a JVM or a broker.

    DATA/checkpoints/<application id>    one directory per application, below its data directory

Only `remove` changes anything.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from duolog.engine.changelog.changelogs import commit_topic
from duolog.engine.changelog.logged_checkpoint import LoggedCheckpoint
from duolog.engine.checkpoint.checkpoint import Checkpoint
from duolog.engine.checkpoint.checkpoint_files import last_commit
from duolog.engine.checkpoint.generations import InternalTopics
from duolog.engine.checkpoint.owner import LEASE_S, ensure_no_live_owner
from duolog.engine.checkpoint.pin_file import FORMAT_VERSION, PIN_FILE, SPARK_DIR
from duolog.engine.checkpoint.remote import RemotePath
from duolog.engine.errors import CheckpointDamaged, CheckpointInUse, CheckpointMismatch
from duolog.engine.exactly_once.epochs import marker_topic
from duolog.runtime.data_dirs import data_home

Fixed = Mapping[str, Any]
"""Content of a checkpoint's pin file, in any format."""

Condition = Literal["running", "stopped", "new", "damaged", "other format"]


@dataclass(frozen=True, slots=True)
class KeptState:
    """The checkpoint of one application on disk."""

    directory: Path

    @property
    def application_id(self) -> str:
        return self.directory.name

    @property
    def checkpoint(self) -> Checkpoint:
        return Checkpoint(self.directory)

    @property
    def condition(self) -> Condition:
        """State of the application or its checkpoint; `new` has not committed anything yet."""
        try:
            ensure_no_live_owner(self.directory, self.application_id)
        except CheckpointInUse:
            return "running"
        try:
            pinned = self.checkpoint.pinned_tasks()
        except CheckpointDamaged:
            return "damaged"
        except CheckpointMismatch:
            return "other format"
        if self.epoch is None:
            # There was a commit, and it is gone.
            return "damaged" if self.fixed.get("committed") == self._spark_dir.name else "new"
        whole = pinned is not None and LoggedCheckpoint(self.checkpoint).is_whole()
        return "stopped" if whole else "damaged"

    @property
    def fixed(self) -> Fixed:
        """Facts that the first start has fixed, in any format; empty if they cannot be read."""
        try:
            found = json.loads((self.directory / PIN_FILE).read_text())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def format(self) -> int | None:
        found = self.fixed
        return int(found.get("format", FORMAT_VERSION)) if found else None

    @property
    def epoch(self) -> int | None:
        """Number of the last committed micro-batch or epoch."""
        return last_commit(self._spark_dir)

    @property
    def _spark_dir(self) -> Path:
        # The checkpoint may be damaged or have another format; then as much as possible is
        # reported.
        return self.directory / str(self.fixed.get("state", SPARK_DIR))

    @property
    def committed_at_ms(self) -> int | None:
        epoch = self.epoch
        try:
            path = self._spark_dir / "commits" / str(epoch)
            return None if epoch is None else path.stat().st_mtime_ns // 1_000_000
        except OSError:
            return None

    @property
    def bytes(self) -> int:
        """Size on disk, in bytes."""
        return sum(_size(path) for path in self.directory.rglob("*"))

    @property
    def has_changelogs(self) -> bool | None:
        """True if its stores have changelogs; None if unknown, as before the first start."""
        return "changelog" in self.fixed if self.fixed else None

    @property
    def stores(self) -> Mapping[str, Fixed]:
        """Layout of each store, as written by `store_layouts`."""
        return dict(self.fixed.get("shape", {}).get("stores", {}))

    @property
    def source_topics(self) -> list[str]:
        return sorted(self.fixed.get("topics", {}))

    @property
    def internal_topics(self) -> list[str]:
        """Names of its changelog and commit topics; only a broker knows which exist."""
        return internal_topics(self.application_id, self.fixed)

    @property
    def changelogs(self) -> Mapping[str, str]:
        """Changelog topic of each store; empty if there are none."""
        return changelogs_of(self.application_id, self.fixed)

    def positions(self) -> dict[str, dict[int, int]]:
        """Return the next offset of each source partition."""
        try:
            return self.checkpoint.committed_positions()
        except (CheckpointDamaged, CheckpointMismatch):
            return {}

    def ensure_stopped(self) -> None:
        """Raise CheckpointInUse if the application runs on this machine (on any, for a URL)."""
        ensure_no_live_owner(self.directory, self.application_id, watch_s=LEASE_S)

    def remove(self) -> None:
        """Delete the checkpoint, if it exists.

        Raises:
            CheckpointInUse: the application is running.
            OSError: the file system refuses.
        """
        self.ensure_stopped()
        if isinstance(self.directory, RemotePath):
            self.directory.remove_tree()
        elif self.directory.exists():
            shutil.rmtree(self.directory)


def changelogs_of(application_id: str, fixed: Fixed) -> dict[str, str]:
    """Return the changelog topic of each store; empty if there are none."""
    if "changelog" not in fixed:
        return {}
    names = InternalTopics.of(application_id, fixed["changelog"])
    return {store: names.changelog(store) for store in fixed.get("shape", {}).get("stores", {})}


def internal_topics(application_id: str, fixed: Fixed, prefix: str = "") -> list[str]:
    """Return the names of an application's internal topics, from the contents of its checkpoint.

    Includes those of an interrupted upgrade and of the version before it; `prefix` is prepended to
    all of them.
    """
    before = fixed.get("before", {})
    logs = [of["changelog"] for of in (fixed, before) if "changelog" in of]
    changelogs: dict[str, None] = {}
    for log in logs:
        names = InternalTopics.of(application_id, log)
        stores = (*fixed.get("shape", {}).get("stores", {}), *names.topics)
        changelogs |= dict.fromkeys(names.changelog(store) for store in stores)
        changelogs |= dict.fromkeys(log.get("dropped", ()))
    name = (logs[0].get("prefix", prefix) if logs else prefix) + application_id
    # Rebuilds for upgrades have their own marker topic.
    return [*changelogs, commit_topic(name), marker_topic(name), marker_topic(f"{name}.rebuild")]


def kept_states(data_dir: Path | None) -> list[KeptState]:
    """Return the checkpoints below a data directory, or below all default ones, sorted by name."""
    return sorted(
        (
            KeptState(path)
            for root in _checkpoint_dirs(data_dir)
            for path in root.iterdir()
            if path.is_dir() and not path.name.startswith(".")
        ),
        key=lambda state: (state.application_id, state.directory),
    )


def _checkpoint_dirs(data_dir: Path | None) -> Iterator[Path]:
    found = data_home().glob("*/checkpoints") if data_dir is None else [data_dir / "checkpoints"]
    return (path for path in found if path.is_dir())


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size if not path.is_dir() else 0
    except OSError:
        return 0  # A running query deletes files that it no longer needs.
