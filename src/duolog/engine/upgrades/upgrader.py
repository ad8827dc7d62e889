"""Upgrade one application to a plan in three steps.

1. `find` compares the plan with the checkpoint and changes nothing.
2. Stores that cannot be kept are rebuilt while the application runs; then it is stopped.
3. `settle` claims the checkpoint, reads the remaining records, and replaces one file.
"""

import contextlib
import logging
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from duolog.engine.checkpoint.checkpoint import Checkpoint, StartFacts
from duolog.engine.checkpoint.owner import Holder, claim, release
from duolog.engine.checkpoint.state_schemas import relocate_schemas
from duolog.engine.json_object import Json
from duolog.engine.jvm.versions import versions
from duolog.engine.lowering.plan_shapes import pinned_spec, shape_of_plan, unpinned_spec
from duolog.engine.lowering.stores.store_names import Names
from duolog.engine.query.callbacks.user_functions import UserFunctions
from duolog.engine.query.launch.launcher import Launcher
from duolog.engine.query.query import RunningQuery
from duolog.engine.query.source_topics import SourceTopics
from duolog.engine.query.spark_run import SparkRun
from duolog.engine.query.supervision.trigger_chooser import TriggerChooser
from duolog.engine.settings import EngineConfig
from duolog.engine.spark.failures import JVM_IS_GONE
from duolog.engine.topics.offsets import EndOffsets
from duolog.engine.topics.patterns import with_topics
from duolog.engine.topics.starting_offsets import resolve_starts
from duolog.engine.topics.topic_reader import TopicReader
from duolog.engine.upgrades.comparison import Comparison, compare
from duolog.engine.upgrades.rebuild import BESIDE, Rebuild, go_on_with
from duolog.engine.upgrades.shadow import shadow_of
from duolog.engine.upgrades.upgrade_plan import How, UpgradePlan
from duolog.plan.cutting.levels import Levels
from duolog.plan.nodes import Plan

if TYPE_CHECKING:
    from duolog.engine.spark.session import Session

logger: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Lowered:
    """A plan as it would run now."""

    spec: Json
    levels: Levels
    counts: Mapping[str, int]
    """The number of partitions of each topic that it reads."""
    matched: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The topics of each pattern."""

    def topics(self, named: Iterable[str]) -> frozenset[str]:
        """Return topics, with patterns replaced by their topics."""
        return frozenset(topic for name in named for topic in self.matched.get(name, (name,)))

    @property
    def names(self) -> Names:
        return Names.of(self.levels)

    @property
    def shape(self) -> Json:
        """Return the shape that a start pins."""
        return shape_of_plan(self.levels, self.spec["application_id"])

    def compared(self, pinned: Json) -> Comparison:
        """Compare the plan with a checkpoint, using the kind of texts in which that was written."""
        application_id = self.spec["application_id"]
        specs = (of(self.levels, application_id) for of in (pinned_spec, unpinned_spec))
        found = (compare(pinned, spec, self.names) for spec in specs)
        return max(found, key=lambda one: len(one.kept))


@dataclass(frozen=True, slots=True)
class Upgrader:
    """The upgrade of an application, with what it needs of the engine."""

    plan: Plan
    application_id: str
    checkpoint: Checkpoint
    topics: TopicReader
    config: EngineConfig
    session: "Callable[[], Session]"
    note: Callable[[RunningQuery], None]
    """Registers a query that the engine must stop when it closes."""
    starts: EndOffsets = field(default_factory=dict)
    """Start positions of topics that were not read before; they override the sources' own."""

    def find(self, lowered: Lowered) -> UpgradePlan:
        """Compare the plan with the checkpoint."""
        pinned, shape = self.checkpoint.pinned_shape(), lowered.shape
        if pinned is None or not self.checkpoint.differs(shape):
            looked_in = self.checkpoint.directory
            return UpgradePlan(
                self.application_id, None, begun=pinned is not None, directory=looked_in
            )
        found = lowered.compared(pinned)
        missed = lowered.topics(
            topic
            for change in found.begins_empty
            for topic in change.topics
            if topic in found.old_topics
        )
        return UpgradePlan(self.application_id, found, behind=self._behind(missed))

    def beside(self, lowered: Lowered) -> None:
        """Rebuild what cannot be kept, until hardly any records are missing.

        Raises:
            QueryFailed: Spark ended it; the next upgrade continues from there.
        """
        found = self.find(lowered)
        if found.comparison is not None and not found.keeps_all:
            self._rebuild(lowered, found.comparison).come_near(self.config.auto_lag_records_max)

    def settle(
        self,
        lowered: Lowered,
        how: How,
        topic_ids: Mapping[str, str],
    ) -> None:
        """Let the plan continue after the previous one; does nothing if the checkpoint fits.

        Raises:
            CheckpointMismatch: a store that must be kept cannot be kept.
            CheckpointDamaged, SourceTopicRecreated, CheckpointNotWritable: as a start.
            QueryFailed: the rebuild failed.
        """
        found = self.find(lowered)
        if found.comparison is None:
            return
        found.ensure_allowed(how)
        self.checkpoint.ensure_same_topics(self.application_id, topic_ids)
        rebuild = None
        if how == "rebuild" and not found.keeps_all:
            rebuild = self._rebuild(lowered, found.comparison)
            rebuild.come_to_the_end()
        begins = resolve_starts(self.plan, self.topics, lowered.counts, self.starts)
        going_on = go_on_with(found.comparison, self.checkpoint, rebuild, begins)
        going_on = replace(
            going_on, versions=versions(), topic_ids=topic_ids, stores=lowered.spec["stores"]
        )
        self.checkpoint.upgrade.begin(lowered.shape, going_on)

    def _behind(self, topics: Collection[str]) -> dict[str, int] | None:
        """Return how many records of topics were read; None if no broker answers."""
        counts = self.topics.known_partition_counts(lambda topic: topic in topics)
        if counts is None:
            return None
        _, positions = self.checkpoint.upgrade.go_on_from()
        first = self.topics.offsets_at(counts, 0) if counts else {}
        return {
            topic: sum(max(0, positions.get(topic, {}).get(n, 0) - at) for n, at in offsets.items())
            for topic, offsets in first.items()
        }

    def _rebuild(self, lowered: Lowered, found: Comparison) -> Rebuild:
        name, shadow = rebuild_of(self.application_id), self.checkpoint.shadow
        part = shadow_of(lowered.spec, found, self.checkpoint.written_topics())
        shape = lowered.shape | {"rebuilds": sorted(part.stores)}
        sources = with_topics(part.spec["sources"], lowered.matched)
        read = frozenset(source["topic"] for source in sources)
        old = lowered.topics(found.old_topics)
        counts = {topic: n for topic, n in lowered.counts.items() if topic in read}
        first_read = {topic: n for topic, n in counts.items() if topic not in old}
        # The old topology has already reported the records that it skipped.
        errors = replace(self.config.errors, dead_letter_topic=None)
        config = replace(self.config, errors=errors)
        spec = part.spec | {"application_id": name, "sources": sources, "errors": errors.spec()}
        spec["run"] = uuid.uuid4().hex
        begins = {
            **resolve_starts(self.plan, self.topics, first_read, self.starts),
            **{
                topic: at
                for topic, at in self.checkpoint.upgrade.first_starts().items()
                if topic in read
            },
        }

        def launcher(until: Callable[[], EndOffsets]) -> Launcher:
            session = self.session()
            with _claiming(shadow.directory, session.holder, name, pid=session.java_pid):
                if shadow.pinned_tasks() is not None and shadow.differs(shape):
                    shadow.forget_all()
                    if part.spec["sinks"] and config.exactly_once:
                        logger.warning(
                            "an earlier rebuild, for another topology, is discarded: results that "
                            "it has committed remain in its topics",
                        )
                shadow.unfinished.forget_unplanned()
                relocate_schemas(shadow.directory)
                ids = self.topics.topic_ids(counts)
                shadow.pin(name, StartFacts(shape, versions(), ids, begins))
                made = Launcher(session, config, shadow, spec, self.plan.places, counts, until)
                made.transactions.take_over_what_was_begun()
            return made

        def start(until: Callable[[], EndOffsets], is_done: Callable[[], bool]) -> RunningQuery:
            first = launcher(until)
            query = RunningQuery(
                SparkRun(first, lambda: launcher(until)),
                SourceTopics(self.topics, counts),
                TriggerChooser(BESIDE, is_done=is_done),
                UserFunctions.of(self.plan),
            )
            try:
                query.start()
            except BaseException:
                # The next attempt, also in this process, continues from there.
                first.release()
                raise
            self.note(query)
            return query

        return Rebuild(
            self.checkpoint, part, old, read, lambda: self.topics.end_offsets(first_read), start
        )


@contextlib.contextmanager
def _claiming(directory: Path, holder: Holder, application_id: str, *, pid: int) -> Iterator[None]:
    """Make the JVM `pid` the owner of a checkpoint; release it again if the block fails.

    Raises:
        CheckpointInUse, CheckpointNotWritable: as `claim`.
    """
    claim(directory, holder, application_id, pid=pid)
    try:
        yield
    except BaseException:
        # The original error says more. If the JVM has ended, the system has released the lock.
        with contextlib.suppress(OSError, *JVM_IS_GONE):
            release(directory, holder, pid)
        raise


def rebuild_of(application_id: str) -> str:
    """Return the application id of the query that rebuilds state of an application.

    Example:
        >>> rebuild_of("flights")
        'flights.rebuild'
    """
    return f"{application_id}.rebuild"
