"""Rebuild stores while the old application runs, then let the new topology take over.

    the old one    runs ─────────────────────────── asked to stop ─▶ stops at commit P
    the shadow     reads from the first start on, never beyond the commits of the old one … ─▶ P
    the new one                                                    starts at P, with both stores

The shadow has a checkpoint of its own, `rebuild/`, and continues there after a crash. It is never
ahead of the old one, so no result is missing; it writes to no topic that the old one writes, so no
result is duplicated.
"""

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from duolog.engine.checkpoint.checkpoint import Checkpoint
from duolog.engine.checkpoint.pending_upgrade import Upgraded
from duolog.engine.errors import CheckpointInUse, QueryFailed
from duolog.engine.modes import ChosenMode
from duolog.engine.query.query import RunningQuery
from duolog.engine.topics.offsets import EndOffsets
from duolog.engine.upgrades.comparison import Comparison
from duolog.engine.upgrades.shadow import Shadow
from duolog.engine.upgrades.upgrade_plan import initial_stores

HANDOVER_S: Final = 180.0
"""The time limit for the old process to stop, which includes its last micro-batch."""
_POLL_S: Final = 0.2
BESIDE: Final = ChosenMode(
    "micro-batch", catches_up=True, why="It reads records that were read before."
)
"""The mode of the shadow: passes over the records that are available to it."""

Start = Callable[[Callable[[], EndOffsets], Callable[[], bool]], RunningQuery]
"""Starts the shadow, given functions that return the end of a pass, and if it was the last."""


@dataclass(frozen=True, slots=True)
class Rebuild:
    """The rebuild of stores of one application."""

    checkpoint: Checkpoint
    shadow: Shadow
    old_topics: frozenset[str]
    """The topics that the old topology reads, with patterns resolved."""
    read_topics: frozenset[str]
    """The topics that the shadow reads, with patterns resolved."""
    ends: Callable[[], EndOffsets]
    """Returns the current ends of topics that the old topology does not read."""
    start: Start

    def come_near(self, records_max: int) -> None:
        """Read until at most this many of the old topology's committed records are missing.

        Raises:
            QueryFailed: Spark ended it; the next upgrade continues from there.
        """
        self._run(lambda: self.missing() <= records_max)

    def come_to_the_end(self) -> None:
        """Read everything that the old topology, which has stopped, has committed.

        Raises:
            QueryFailed: as `come_near`.
        """
        self._run(lambda: self.missing() == 0)

    def missing(self) -> int:
        """Return how many of the old topology's committed records were not read here."""
        _, read_there = self.checkpoint.upgrade.go_on_from()
        read_here = self.checkpoint.shadow.committed_positions()
        return sum(
            max(0, at - read_here.get(topic, {}).get(partition, 0))
            for topic, partitions in read_there.items()
            if topic in self.read_topics
            for partition, at in partitions.items()
        )

    def positions(self) -> dict[str, dict[int, int]]:
        """Return the positions of the topics that the old topology does not read."""
        read = self.checkpoint.shadow.committed_positions()
        return {topic: at for topic, at in read.items() if topic not in self.old_topics}

    def _run(self, is_enough: Callable[[], bool]) -> None:
        query = self.start(self._until, is_enough)
        try:
            query.wait()
        finally:
            query.stop()
        if not is_enough():
            raise QueryFailed(
                f'the rebuild for an upgrade of "{query.application_id}" was stopped',
                query_id=query.application_id,
                hint="Start the upgrade again: it continues from there.",
            )

    def _until(self) -> EndOffsets:
        _, read_there = self.checkpoint.upgrade.go_on_from()
        return {**self.ends(), **{t: at for t, at in read_there.items() if t in self.read_topics}}


def go_on_with(
    found: Comparison, checkpoint: Checkpoint, rebuild: Rebuild | None, begins: EndOffsets
) -> Upgraded:
    """Return the checkpoint of the new topology, with kept and rebuilt stores.

    `begins` has the start positions of topics that were not read before, if not their first
    records.
    """
    spark_dir, positions = checkpoint.upgrade.go_on_from()
    if rebuild is None:
        initial = initial_stores(found.subtopologies, spark_dir, found.kept)
        return Upgraded({}, {}, {**begins, **positions}, initial, kept=found.kept)
    rebuilt = rebuild.shadow.stores
    kept = {store: old for store, old in found.kept.items() if store not in rebuilt}
    initial = [
        *initial_stores(found.subtopologies, spark_dir, kept),
        *initial_stores(
            found.subtopologies, checkpoint.shadow.spark_dir, {store: store for store in rebuilt}
        ),
    ]
    begins = {**begins, **rebuild.positions(), **positions}
    return Upgraded({}, {}, begins, initial, kept=kept)


def take_over(checkpoint: Checkpoint, application_id: str, reserve: Callable[[str], None]) -> None:
    """Ask the process that runs an application to stop, and reserve the checkpoint against others.

    Raises:
        CheckpointInUse: the process does not stop.
    """
    deadline = time.monotonic() + HANDOVER_S
    try:
        while True:
            with contextlib.suppress(CheckpointInUse):
                return reserve(application_id)
            if time.monotonic() > deadline:
                raise CheckpointInUse(
                    f'application "{application_id}" does not stop',
                    query_id=application_id,
                    detail="It was asked to stop for an upgrade, and did not within "
                    f"{HANDOVER_S:.0f} s.",
                    hint="Stop it, and start the upgrade again: it continues from there.",
                )
            checkpoint.want_handover(wanted=True)
            time.sleep(_POLL_S)
    finally:
        checkpoint.want_handover(wanted=False)
