"""Stores that are rebuilt beside the application, and the moment when the new topology takes its place.

    the old one    runs ─────────────────────────────── asked to stop ─▶ stops at commit P
    the shadow     reads from the first start on, never beyond what the old one has committed … ─▶ P
    the new one                                                        begins at P, with the stores of both

The shadow has a checkpoint of its own, `rebuild/`, and goes on there after a crash. Because it is never ahead of the old one,
no result is missing; because it writes to no topic that the old one writes, none is there twice.
"""

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from duolog.engine.checkpoint.checkpoint import Checkpoint, Upgraded
from duolog.engine.errors import CheckpointInUse, QueryFailed
from duolog.engine.modes import ChosenMode
from duolog.engine.query.query import RunningQuery
from duolog.engine.topics.topic_reader import EndOffsets
from duolog.engine.upgrades.comparison import Comparison
from duolog.engine.upgrades.shadow import Shadow
from duolog.engine.upgrades.upgrade_plan import initial_stores

HANDOVER_S: Final = 180.0
"""How long the old process has to stop: it looks every few seconds, and a micro-batch takes its time."""
_POLL_S: Final = 0.2
BESIDE: Final = ChosenMode("micro-batch", catches_up=True, why="It reads what was read before.")
"""How the shadow runs: in passes over what is there for it."""

Start = Callable[[Callable[[], EndOffsets], Callable[[], bool]], RunningQuery]
"""Starts the shadow: up to where it reads, asked at each pass, and whether the last pass was enough."""


@dataclass(frozen=True, slots=True)
class Rebuild:
    """The rebuilding of stores of one application."""

    checkpoint: Checkpoint
    shadow: Shadow
    old_topics: frozenset[str]
    """What the old topology reads, and of these the names of topics that match a pattern."""
    read_topics: frozenset[str]
    """What the shadow reads, likewise."""
    ends: Callable[[], EndOffsets]
    """Asks where the topics end now that the old topology does not read."""
    start: Start

    def come_near(self, records_max: int) -> None:
        """Read until no more than so many records are missing of what the old topology has committed.

        Raises:
            QueryFailed: Spark ended it; the next upgrade goes on where it was.
        """
        self._run(lambda: self.missing() <= records_max)

    def come_to_the_end(self) -> None:
        """Read what the old topology, which has stopped, has committed.

        Raises:
            QueryFailed: as `come_near`.
        """
        self._run(lambda: self.missing() == 0)

    def missing(self) -> int:
        """Return how many records the old topology has committed that were not read here."""
        _, read_there = self.checkpoint.go_on_from()
        read_here = self.checkpoint.shadow.committed_positions()
        return sum(
            max(0, at - read_here.get(topic, {}).get(partition, 0))
            for topic, partitions in read_there.items()
            if topic in self.read_topics
            for partition, at in partitions.items()
        )

    def positions(self) -> dict[str, dict[int, int]]:
        """Return where the topics go on that the old topology does not read."""
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
                hint="Start the upgrade again: it goes on where it was.",
            )

    def _until(self) -> EndOffsets:
        _, read_there = self.checkpoint.go_on_from()
        return {**self.ends(), **{t: at for t, at in read_there.items() if t in self.read_topics}}


def go_on_with(
    found: Comparison, checkpoint: Checkpoint, rebuild: Rebuild | None, begins: EndOffsets
) -> Upgraded:
    """Return what the new topology goes on with: stores that are kept, and those that were rebuilt.

    `begins` tells where topics begin that nobody has read yet, if not at their first record.
    """
    spark_dir, positions = checkpoint.go_on_from()
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
    """Ask the process that runs an application to stop, and keep the others from starting it.

    Raises:
        CheckpointInUse: it does not stop.
    """
    deadline = time.monotonic() + HANDOVER_S
    try:
        while True:
            with contextlib.suppress(CheckpointInUse):
                return reserve(application_id)
            if time.monotonic() > deadline:
                raise CheckpointInUse(
                    f'application "{application_id}" does not stop in its process',
                    query_id=application_id,
                    detail=f"It was asked to, for an upgrade, and had {HANDOVER_S:.0f} s.",
                    hint="Stop it, and start the upgrade again: it goes on where it was.",
                )
            checkpoint.want_handover(wanted=True)
            time.sleep(_POLL_S)
    finally:
        checkpoint.want_handover(wanted=False)
