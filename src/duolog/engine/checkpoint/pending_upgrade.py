"""An upgrade of an application, from its start until its first micro-batch is committed.

    "before": {…}          the pinned facts of the topology before the upgrade
    "initial": [{…}, …]    initial contents of stores, as the kernel's `InitialState` reads them
    "logs": ["totals"]     the stores whose initial contents are not in their changelogs yet
    "state": "spark-2"     the new Spark checkpoint; the one before it stays until the commit

Replacing one file switches everything: before it the application is the old one, after it the new
one, which takes over its stores in its first micro-batch. A start of the old topology before that
commit reverts the upgrade (ADR 0074). Afterwards these fields mean nothing, and `settle` removes
them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from duolog.engine.checkpoint.checkpoint_files import last_commit
from duolog.engine.checkpoint.checkpoint_positions import as_kept, positions_of_last, starts_in
from duolog.engine.checkpoint.durable import remove_tree
from duolog.engine.checkpoint.generations import taken_back
from duolog.engine.checkpoint.generations import upgraded as upgraded_log
from duolog.engine.checkpoint.pin_file import SPARK_DIR, PinFile
from duolog.engine.checkpoint.shape_difference import first_difference
from duolog.engine.json_object import Json

SHADOW_DIR: Final = "rebuild"
_OF_UPGRADES: Final = ("initial", "before", "logs")  # Fields of one upgrade, dropped by the next.
OF_SPARKS: Final = (*_OF_UPGRADES, "committed")  # Fields that describe one Spark checkpoint.


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
class PendingUpgrade:
    """The upgrade of one checkpoint, if one is pending."""

    file: PinFile

    def begin(self, shape: Json, upgraded: Upgraded) -> None:
        """Let another topology continue where this one has stopped, in a new Spark checkpoint.

        Raises:
            CheckpointNotWritable: this user may not write there, or there is no space.
        """
        # Keeps what was rebuilt for this upgrade.
        self._settle()
        before = self.committed_facts()
        assert before is not None, "there is something to upgrade"
        # The leftovers of an upgrade that was reverted or never committed.
        state = f"{SPARK_DIR}-{int(before.get('state', SPARK_DIR).partition('-')[2] or 1) + 1}"
        remove_tree(self.file.directory / state)
        pin = {name: value for name, value in before.items() if name not in OF_SPARKS}
        pin |= {
            "tasks": shape["tasks"],
            "shape": shape,
            "versions": dict(upgraded.versions),
            "state": state,
            "topics": {**upgraded.topic_ids, **before["topics"]},
            "starts": as_kept(upgraded.starts),
            "first": before.get("first", before.get("starts", {})),
        }
        if "changelog" in before:
            pin["changelog"] = self._changelog(before, upgraded)
            # Their entries are in no changelog yet; the other stores continue their previous ones.
            fresh = [of["becomes"] for of in upgraded.initial if of["becomes"] not in upgraded.kept]
            pin["logs"] = sorted(fresh)
        self.file.write(pin | {"initial": list(upgraded.initial), "before": before})

    def _changelog(self, before: Json, upgraded: Upgraded) -> Json:
        return upgraded_log(
            before["changelog"],
            last_commit(self.file.spark_dir(before)),
            (self.file.read() or before)["changelog"],
            application_id=self.file.directory.name,
            stores=upgraded.stores,
            kept=upgraded.kept,
        )

    def initial_logs(self) -> list[str]:
        """Return the stores whose initial contents are not in their changelogs yet."""
        return list((self.file.read() or {}).get("logs", ())) if self.initial_stores() else []

    def initial_stores(self) -> list[Json]:
        """Return the initial contents of stores; empty once they are committed."""
        pin = self.file.read() or {}
        return [] if self._is_committed(pin) else list(pin.get("initial", ()))

    def settle(self) -> None:
        """Remove the leftovers of an upgrade, once its first micro-batch is committed.

        Raises:
            CheckpointNotWritable: this user may not write there, or there is no space.
        """
        if self._settle():
            remove_tree(self.file.directory / SHADOW_DIR)

    def _settle(self) -> bool:
        pin = self.file.read()
        if pin is None or "before" not in pin or not self._is_committed(pin):
            return False
        self.file.write({name: of for name, of in pin.items() if name not in _OF_UPGRADES})
        remove_tree(self.file.spark_dir(pin["before"]))
        return True

    @property
    def spark_dir_before(self) -> Path | None:
        """Spark's checkpoint before an upgrade that has committed nothing; None without one."""
        pin = self.file.read() or {}
        return self.file.spark_dir(pin["before"]) if "before" in pin else None

    def committed_facts(self) -> Json | None:
        """Return the pinned facts; those before an upgrade that has committed nothing yet."""
        pin = self.file.read()
        if pin is None or "before" not in pin or self._is_committed(pin):
            return pin
        return dict(pin["before"])

    def go_on_from(self) -> tuple[Path, dict[str, dict[int, int]]]:
        """Return the Spark checkpoint that an upgrade takes over, and its committed positions.

        If an upgrade has committed nothing yet, this is the checkpoint before it.
        """
        pin = self.committed_facts() or {}
        spark_dir = self.file.spark_dir(pin)
        return spark_dir, positions_of_last(spark_dir, "commits", starts_in(pin))

    def first_starts(self) -> dict[str, dict[int, int]]:
        """Return the start positions of the very first start, before any upgrade."""
        pin = self.committed_facts() or {}
        return starts_in({"starts": pin.get("first", pin.get("starts", {}))})

    def was_from(self, shape: Json) -> bool:
        """Return whether a pending upgrade replaced a topology of this shape."""
        pin, before = self.file.read(), self.committed_facts()
        return pin != before and before is not None and not first_difference(before["shape"], shape)

    def revert(self) -> None:
        """Continue with the topology before a pending upgrade.

        Raises:
            CheckpointNotWritable: this user may not write there, or there is no space.
        """
        pin, before = self.file.read(), self.committed_facts()
        assert pin is not None, "there is something to revert"
        assert before is not None, "there is something to return to"
        if "changelog" in before:
            last = last_commit(self.file.spark_dir(before))
            before["changelog"] = taken_back(before["changelog"], last, pin["changelog"])
        self.file.write(before)
        remove_tree(self.file.spark_dir(pin))

    def _is_committed(self, pin: Json) -> bool:
        return last_commit(self.file.spark_dir(pin)) is not None
