"""What applications keep on this disk: their checkpoints, looked at without a JVM and without a broker.

    DATA/checkpoints/<application id>    one for each application; below the data directory that it was run with

Nothing is changed here but by `remove`.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from duolog.engine.changelogs import commit_topic
from duolog.engine.checkpoint import FORMAT_VERSION, PIN_FILE, SPARK_DIR, Checkpoint
from duolog.engine.checkpoint_files import last_commit
from duolog.engine.epochs import marker_topic
from duolog.engine.errors import CheckpointDamaged, CheckpointInUse, CheckpointMismatch
from duolog.engine.generations import InternalTopics
from duolog.engine.logged_checkpoint import LoggedCheckpoint
from duolog.engine.owner import LEASE_S, ensure_no_live_owner
from duolog.engine.remote import RemotePath
from duolog.runtime.data_dirs import data_home

Condition = Literal["running", "stopped", "new", "damaged", "other format"]


@dataclass(frozen=True, slots=True)
class KeptState:
    """The checkpoint of one application, as it stands on disk."""

    directory: Path

    @property
    def application_id(self) -> str:
        return self.directory.name

    @property
    def checkpoint(self) -> Checkpoint:
        return Checkpoint(self.directory)

    @property
    def condition(self) -> Condition:
        """Running, or why a start would or would not go on from it; `new` has committed nothing yet."""
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
            # Something was, and is gone.
            return "damaged" if self.fixed.get("committed") == self._spark_dir.name else "new"
        whole = pinned is not None and LoggedCheckpoint(self.checkpoint).is_whole()
        return "stopped" if whole else "damaged"

    @property
    def fixed(self) -> Mapping[str, Any]:
        """What the first start has fixed, whatever its format; empty where it cannot be read."""
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
        """The number of the last micro-batch or epoch that was committed."""
        return last_commit(self._spark_dir)

    @property
    def _spark_dir(self) -> Path:
        # What says it may be damaged, or of another format: then it is told as far as it can be.
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
        """How large it is on disk."""
        return sum(_size(path) for path in self.directory.rglob("*"))

    @property
    def has_changelogs(self) -> bool | None:
        """Whether its stores have changelogs; None where that is not known, as before its first start has fixed it."""
        return "changelog" in self.fixed if self.fixed else None

    @property
    def stores(self) -> Mapping[str, Any]:
        """The layout of each store, as `store_layouts` says it."""
        return dict(self.fixed.get("shape", {}).get("stores", {}))

    @property
    def source_topics(self) -> list[str]:
        return sorted(self.fixed.get("topics", {}))

    @property
    def internal_topics(self) -> list[str]:
        """The names of its changelogs, and of what belongs to them; whether they exist only a broker says."""
        return internal_topics(self.application_id, self.fixed)

    @property
    def changelogs(self) -> Mapping[str, str]:
        """The changelog topic of each store; empty where there are none."""
        return changelogs_of(self.application_id, self.fixed)

    def positions(self) -> dict[str, dict[int, int]]:
        """Return where each source partition is read on from."""
        try:
            return self.checkpoint.committed_positions()
        except (CheckpointDamaged, CheckpointMismatch):
            return {}

    def ensure_stopped(self) -> None:
        """Raise CheckpointInUse where the application runs on this machine; behind an URL, on any."""
        ensure_no_live_owner(self.directory, self.application_id, watch_s=LEASE_S)

    def remove(self) -> None:
        """Remove it, if it is there.

        Raises:
            CheckpointInUse: the application runs.
            OSError: the system refuses it.
        """
        self.ensure_stopped()
        if isinstance(self.directory, RemotePath):
            self.directory.remove_tree()
        elif self.directory.exists():
            shutil.rmtree(self.directory)


def changelogs_of(application_id: str, fixed: Mapping[str, Any]) -> dict[str, str]:
    """Return the changelog topic of each store; empty where there are none."""
    if "changelog" not in fixed:
        return {}
    names = InternalTopics.of(application_id, fixed["changelog"])
    return {store: names.changelog(store) for store in fixed.get("shape", {}).get("stores", {})}


def internal_topics(application_id: str, fixed: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Return the names of the topics that an application makes for itself, by what its checkpoint has fixed.

    Those of an upgrade that was struck too, and of one before that; `prefix` stands in front of all of them.
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
    # Rebuilds for upgrades mark what they have committed under a name of their own.
    return [*changelogs, commit_topic(name), marker_topic(name), marker_topic(f"{name}.rebuild")]


def kept_states(data_dir: Path | None) -> list[KeptState]:
    """Return what stands below a data directory, or below all default ones, by name."""
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
        return 0  # A running query removes what it needs no more.
