"""Start an application: compare its plan with its checkpoint, and launch it.

    claimed ─▶ (restored) ─▶ lowered ─▶ (upgraded) ─▶ pinned ─▶ ready ─▶ launched

Thread rule: one start of an application at a time, as `claims` ensures.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from duolog.engine.changelog.commit_topic import StoredCommits
from duolog.engine.changelog.logged_state import LoggedState
from duolog.engine.checkpoint.checkpoint import Checkpoint, StartFacts
from duolog.engine.checkpoint.owner import ensure_no_live_owner
from duolog.engine.claims import Claimed, claim_for
from duolog.engine.execution_plan import ExecutionPlan
from duolog.engine.json_object import Json
from duolog.engine.jvm.versions import versions
from duolog.engine.lowering.plan_shapes import shape_of_plan
from duolog.engine.planner import Planner
from duolog.engine.query.callbacks.user_functions import UserFunctions
from duolog.engine.query.launch.launcher import Launcher
from duolog.engine.query.query import RunningQuery
from duolog.engine.query.query_registry import ensure_not_running, stop_running
from duolog.engine.query.source_topics import SourceTopics
from duolog.engine.query.spark_run import SparkRun
from duolog.engine.query.supervision.trigger_chooser import TriggerChooser
from duolog.engine.query.watched_topics import (
    ensure_changelogs_whole,
    ensure_logs_whole,
    watch_over,
)
from duolog.engine.settings import EngineConfig, Mode
from duolog.engine.spark.cluster_requirements import ensure_shared, has_room
from duolog.engine.spark.executors import slots_of
from duolog.engine.spark.slots import hold_slots, release_slots
from duolog.engine.topics.offsets import EndOffsets
from duolog.engine.topics.patterns import topics_read, with_topics
from duolog.engine.topics.starting_offsets import resolve_starts
from duolog.engine.topics.topic_reader import TopicReader
from duolog.engine.upgrades.rebuild import take_over
from duolog.engine.upgrades.restore import OnProgress, restore
from duolog.engine.upgrades.upgrade_plan import How
from duolog.engine.upgrades.upgrader import Lowered, Upgrader
from duolog.plan.cutting.levels import find_levels
from duolog.plan.nodes import Plan

if TYPE_CHECKING:
    from duolog.engine.spark.session import Session


@dataclass(frozen=True, slots=True)
class StartRequest:
    """The application to start, and how."""

    plan: Plan
    application_id: str
    config: EngineConfig
    """The settings of this start."""
    mode: Mode = "auto"
    starts: EndOffsets = field(default_factory=dict)
    """The start positions of topics at the first start, which override those of their sources."""
    upgrade: How | None = None
    restores: bool = False
    """Whether the stores are filled from their changelogs though the checkpoint may be intact."""

    @property
    def of_sql(self) -> bool:
        """True if it is a query of a SQL service."""
        return bool(self.config.internal_prefix)


@dataclass(frozen=True, slots=True)
class ReadyQuery:
    """A query that is ready to be launched."""

    launcher: Launcher
    prepared: ExecutionPlan
    renewed: Callable[[], Launcher]
    """Returns a launcher on a new JVM, once the JVM of `launcher` has ended."""


@dataclass(frozen=True, slots=True)
class Starter:
    """Starts the applications of one engine."""

    planner: Planner
    session: "Callable[[], Session]"
    note: Callable[[RunningQuery], None]
    """Registers a query that the engine must stop when it closes."""
    on_restore: OnProgress
    """Receives the progress of restores."""

    @property
    def topics(self) -> TopicReader:
        return self.planner.topics

    def check(self, request: StartRequest) -> None:
        """Raise what a start would raise, as far as that is known without Spark."""
        plan, application_id = request.plan, request.application_id
        self.planner.ensure_can_run(plan, application_id, request.config)
        checkpoint = self.planner.checkpoint(application_id)
        if request.upgrade != "rebuild":  # A rebuild starts while the application runs.
            ensure_not_running(checkpoint.directory, application_id)
            ensure_no_live_owner(checkpoint.directory, application_id)
        logged = self.logged(checkpoint, application_id)
        if logged.lost() is not None:
            return  # The start checks the rest, once it has restored what must be compared.
        lowered = self.planner.lower(plan, application_id)
        if request.upgrade is not None:
            found = self.upgrader(request).find(lowered)
            if found.comparison is not None:
                found.ensure_allowed(request.upgrade)
                return
        topic_ids = self.topics.topic_ids(lowered.counts)
        checkpoint.ensure_fits(application_id, lowered.shape, topic_ids)
        logged.ensure_same_setting()
        ensure_logs_whole(self.topics, checkpoint, lowered.counts, of_sql=request.of_sql)

    def rebuild_beside(self, request: StartRequest, reserve: Callable[[str], None]) -> None:
        """Rebuild what an upgrade cannot keep, then make the running application stop."""
        application_id, upgrader = request.application_id, self.upgrader(request)
        if self.logged(upgrader.checkpoint, application_id).lost() is not None:
            return  # The start restores what may be upgraded.
        lowered = self.planner.lower(request.plan, application_id)
        if upgrader.find(lowered).comparison is not None:
            upgrader.beside(lowered)
        # Stop it here in any case; another process is asked only if there is something to upgrade.
        stop_running(upgrader.checkpoint.directory)
        if upgrader.find(lowered).comparison is not None:
            take_over(upgrader.checkpoint, application_id, reserve)

    def make_ready(self, request: StartRequest, claimed: Claimed) -> ReadyQuery:
        """Compare a plan with its checkpoint, and fix what a first start fixes.

        A checkpoint that is lost is restored first.
        """
        checkpoint, session = claimed
        plan, application_id, config = request.plan, request.application_id, request.config
        logged = self.logged(checkpoint, application_id)
        matched = self.planner.matched(plan, application_id)
        counts = self.topics.partition_counts(topics_read(plan, matched))
        lost = self._lost(request, logged)
        begun = None if lost is None else logged.put_back(lost)
        slots = slots_of(session.spark, config.master)
        levels = self.planner.levels(plan, checkpoint, counts)
        exactly_once = config.exactly_once
        prepared = ExecutionPlan.of(levels, counts, request.mode, slots, exactly_once=exactly_once)
        lowered = Lowered(self.planner.spec(levels, application_id), levels, counts, matched)
        ensure_shared(checkpoint.directory, session, config.master)
        self._pin(request, lowered, logged)
        spec = logged.begin(_spec_of_run(lowered, config), is_restored=begun is not None)

        def renewed() -> Launcher:
            session = self.session()
            claim_for(session, checkpoint, application_id)
            checkpoint.unfinished.forget_unplanned()
            return Launcher(session, config, checkpoint, spec, plan.places, counts)

        launcher = Launcher(session, config, checkpoint, spec, plan.places, counts)
        if begun is not None:
            restore(launcher, self.topics, begun, self.on_restore)
            logged.keep_content()
        return ReadyQuery(launcher, prepared, renewed)

    def launch(self, request: StartRequest, ready: ReadyQuery) -> RunningQuery:
        """Start a query that is ready.

        Raises:
            SlotsMissing: real-time mode was requested and does not fit the free slots.
            QueryFailed: Spark refuses the query.
        """
        launcher, prepared, master = ready.launcher, ready.prepared, request.config.master
        directory = launcher.checkpoint.directory
        watch = watch_over(self.topics, launcher, request.plan)
        if prepared.chosen.live == "real-time":
            slots = slots_of(launcher.session.spark, master)
            hold_slots(directory, request.application_id, prepared.needed, slots)
        fits = partial(has_room, directory, prepared.needed, master, self.session)
        query = RunningQuery(
            SparkRun(launcher, ready.renewed),
            SourceTopics(self.topics, prepared.partition_counts, watch),
            TriggerChooser(prepared.chosen, fits),
            UserFunctions.of(request.plan),
        )
        try:
            query.start()
        except BaseException:
            release_slots(directory)
            raise
        return query

    def logged(self, checkpoint: Checkpoint, application_id: str) -> LoggedState:
        """Return the changelogs of an application."""
        return LoggedState(self.planner.config, self.topics, checkpoint, application_id)

    def upgrader(self, request: StartRequest) -> Upgrader:
        """Return the upgrade of an application to the plan of a request."""
        return Upgrader(
            request.plan,
            request.application_id,
            self.planner.checkpoint(request.application_id),
            self.topics,
            request.config,
            self.session,
            self.note,
            request.starts,
        )

    def _lost(self, request: StartRequest, logged: LoggedState) -> StoredCommits | None:
        """Return what a lost checkpoint is restored from, or None; it must belong to the plan."""
        lost = logged.lost(forced=request.restores)
        if lost is None:
            return None
        levels = find_levels(request.plan, int(lost.application["tasks"]))
        shape = shape_of_plan(levels, request.application_id)
        # A restore by hand states that the changelogs are complete, whatever their ids.
        logged.ensure_restores(lost, shape, from_others=request.restores)
        lost = logged.fenced(lost, shape, from_others=request.restores)
        ensure_changelogs_whole(self.topics, logged.checkpoint, of_sql=request.of_sql)
        return lost

    def _pin(self, request: StartRequest, lowered: Lowered, logged: LoggedState) -> None:
        """Upgrade the checkpoint if that was requested, and fix what a first start fixes."""
        checkpoint, application_id = logged.checkpoint, request.application_id
        topic_ids = self.topics.topic_ids(lowered.counts)
        begins: EndOffsets = {}
        if checkpoint.pinned_tasks() is None:
            starts = {**checkpoint.given_starts(), **request.starts}
            begins = resolve_starts(request.plan, self.topics, dict(lowered.counts), starts)
        elif request.upgrade is not None:
            self.upgrader(request).settle(lowered, request.upgrade, topic_ids)
        logged.ensure_same_setting()
        facts = StartFacts(
            lowered.shape,
            versions(),
            topic_ids,
            begins,
            {topic for sink in request.plan.sinks for topic in sink.topics},
            changelog=logged.is_wanted,
            prefix=request.config.internal_prefix,
        )
        checkpoint.pin(application_id, facts)
        checkpoint.want_handover(wanted=False)


def _spec_of_run(lowered: Lowered, config: EngineConfig) -> Json:
    """Return the spec of one run: with the topics of its patterns, and a number of its own."""
    return lowered.spec | {
        "sources": with_topics(lowered.spec["sources"], lowered.matched),
        "errors": config.errors.spec(),
        "run": uuid.uuid4().hex,
    }
