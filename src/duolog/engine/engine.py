"""The entry to the engine: start a plan as a query, or explain how it would run.

    engine = Engine(EngineConfig(bootstrap_servers="127.0.0.1:9092", checkpoint_dir=data / "checkpoints"))
    query = engine.start(plan, "flights")
    query.progress(); query.stop(); engine.close()

Thread rule: any thread; starts of one application run one after the other.
"""

import contextlib
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from duolog.engine.changelog.commit_topic import StoredCommits
from duolog.engine.changelog.logged_state import LoggedState
from duolog.engine.checkpoint.application_ids import checkpoint_of
from duolog.engine.checkpoint.checkpoint import Checkpoint, Json
from duolog.engine.checkpoint.owner import claim, ensure_no_live_owner, release
from duolog.engine.checkpoint.state_schemas import relocate_schemas
from duolog.engine.errors import CheckpointDamaged
from duolog.engine.exactly_once.transaction_timeout import ensure_lookups_end_in_time
from duolog.engine.execution_plan import ExecutionPlan
from duolog.engine.explain import explain
from duolog.engine.jvm.masters import promised_slots
from duolog.engine.jvm.versions import versions
from duolog.engine.lowering.lower import lower
from duolog.engine.lowering.plan_shapes import shape_of_plan
from duolog.engine.lowering.python_functions import python_of
from duolog.engine.lowering.store_queries import Bounds
from duolog.engine.lowering.timestamps import with_default_extractor
from duolog.engine.query.launch import Launcher
from duolog.engine.query.query import RunningQuery
from duolog.engine.query.query_registry import (
    ensure_not_running,
    forget_ended,
    note_running,
    start_of,
    stop_running,
)
from duolog.engine.query.reservations import Reservations
from duolog.engine.query.source_topics import SourceTopics
from duolog.engine.query.spark_run import SparkRun
from duolog.engine.query.trigger_chooser import TriggerChooser
from duolog.engine.query.user_functions import UserFunctions
from duolog.engine.query.watched_topics import (
    ensure_changelogs_whole,
    ensure_logs_whole,
    watch_over,
)
from duolog.engine.settings import EngineConfig, ErrorHandling, Mode
from duolog.engine.spark.cluster_requirements import (
    ensure_can_run,
    ensure_shared,
    functions_on_executors,
    has_room,
)
from duolog.engine.spark.executors import slots_of
from duolog.engine.spark.failures import JVM_IS_GONE
from duolog.engine.spark.session import Session, open_session
from duolog.engine.spark.slots import hold_slots, release_slots
from duolog.engine.stores import CommittedRows, StoreQuery, read_committed
from duolog.engine.topics.patterns import matched_topics, topics_read, with_topics
from duolog.engine.topics.starting_offsets import resolve_starts
from duolog.engine.topics.topic_reader import EndOffsets, TopicReader
from duolog.engine.upgrades.rebuild import take_over
from duolog.engine.upgrades.restore import OnProgress, restore
from duolog.engine.upgrades.upgrade_plan import How, UpgradePlan
from duolog.engine.upgrades.upgrader import Lowered, Upgrader
from duolog.plan.cutting.levels import Levels, find_levels
from duolog.plan.nodes import Node, Plan


@dataclass(frozen=True, slots=True)
class _Ready:
    """A query that is ready to be launched."""

    launcher: Launcher
    prepared: ExecutionPlan
    renewed: Callable[[], Launcher]


class Engine:
    """Runs plans on the Spark session of this process. Setting `given_up` aborts a JVM that is still starting."""

    def __init__(self, config: EngineConfig, given_up: threading.Event | None = None) -> None:
        self.config = config
        self.on_restore: OnProgress = lambda _restored: None  # Called while a restore runs.
        self._given_up = given_up or threading.Event()
        self._topics = TopicReader(config.bootstrap_servers, config.client_options)
        self._queries: dict[str, RunningQuery] = {}
        self._reserved = Reservations()
        self._opened: Session | None = None
        self._opening = threading.Lock()

    def warm_up(self) -> None:
        """Start the session now, so that the first query need not wait for it.

        Raises:
            ConfigError: there is no Java or no connector, or this process runs Spark with other settings.
        """
        self._session()

    def check(self, plan: Plan, application_id: str, upgrade: How | None = None) -> None:
        """Raise what `start` would raise seconds later, as far as that is known without Spark; changes nothing.

        Raises:
            ConfigError, SourceTopicMissing, BrokerUnreachable, CheckpointInUse, CheckpointMismatch,
            CheckpointDamaged, SourceTopicRecreated: as `start`.
        """
        self.ensure_can_run(plan, application_id, self.config)
        checkpoint = self._checkpoint(application_id)
        if upgrade != "rebuild":  # A rebuild starts while the application runs.
            ensure_not_running(checkpoint.directory, application_id)
            ensure_no_live_owner(checkpoint.directory, application_id)
        logged = self._logged(checkpoint, application_id)
        if logged.lost() is not None:
            return None  # The start checks the rest, once it has restored what must be compared.
        lowered = self._lowered(plan, application_id)
        if upgrade is not None:
            found = self._upgrading(plan, application_id, self.config).find(lowered)
            if found.comparison is not None:
                return found.ensure_allowed(upgrade)
        topic_ids = self._topics.topic_ids(lowered.counts)
        checkpoint.ensure_fits(application_id, lowered.shape, topic_ids)
        logged.ensure_same_setting()
        kept = self._topics, checkpoint, lowered.counts
        return ensure_logs_whole(*kept, of_sql=bool(self.config.internal_prefix))

    def reserve(self, application_id: str) -> None:
        """Keep other processes on this machine from starting the application until this engine closes.

        `start` reserves it, too. Callers that warm up first reserve before, so that a second process does not wait for its
        own JVM only to be refused.

        Raises:
            ConfigError: the name is not a valid application id.
            CheckpointInUse, CheckpointNotWritable: as `start`.
        """
        self._reserved.reserve(self._checkpoint(application_id).directory, application_id)

    def start(
        self,
        plan: Plan,
        application_id: str,
        mode: Mode = "auto",
        starts: EndOffsets | None = None,
        errors: ErrorHandling | None = None,
        *,
        upgrade: How | None = None,
        exactly_once: bool = False,
    ) -> RunningQuery:
        """Start `plan` under an application id, which identifies its state.

        `starts` overrides the start positions of its sources at the first start, for the topics that it names. `errors` overrides
        the error handling of the engine's settings. `upgrade` lets it continue with the state that it can keep from
        another plan, and decides what happens to the rest. `exactly_once` enables that guarantee, whatever the settings are.

        Raises:
            ConfigError: the name is not a valid application id.
            SourceTopicMissing: a topic that the plan reads does not exist.
            BrokerUnreachable: no broker answers.
            CheckpointInUse: the application is already running, in this process or another.
            CheckpointMismatch: the application's state belongs to another plan.
            CheckpointDamaged: a file of the checkpoint cannot be read.
            CheckpointNotWritable: nothing can be written to the checkpoint.
            SlotsMissing: real-time mode was requested and does not fit the free slots.
            QueryFailed: Spark refuses the query.
        """
        config = self.config.for_start(errors, exactly_once=exactly_once)
        self.ensure_can_run(plan, application_id, config)
        if upgrade == "rebuild":
            self._rebuild_beside(self._upgrading(plan, application_id, config, starts))
        with self.claimed(application_id) as (checkpoint, session):
            ready = self._make_ready(
                plan,
                application_id,
                mode,
                checkpoint,
                session,
                starts=starts or {},
                upgrade=upgrade,
                config=config,
            )
            query = self._launch(plan, application_id, ready)
            session.note_query()
            self._queries[application_id] = query
            note_running(checkpoint.directory, query)
            return query

    def restore(self, plan: Plan, application_id: str) -> bool:
        """Set the checkpoint of an application aside and fill its stores from their changelogs; start nothing.

        `on_restore` receives the progress. Returns False, and changes nothing, if there is nothing to restore from.

        Raises:
            CheckpointInUse: the application runs.
            CheckpointMismatch: the changelogs belong to another plan, or to another version of Duolog.
            BrokerUnreachable, SourceTopicMissing, CheckpointNotWritable, QueryFailed: as `start`.
        """
        with self.claimed(application_id) as (checkpoint, session):
            found = self._logged(checkpoint, application_id).lost(forced=True) is not None
            if found:
                self._make_ready(
                    plan,
                    application_id,
                    "micro-batch",
                    checkpoint,
                    session,
                    starts={},
                    upgrade=None,
                    config=self.config,
                    restores=True,
                )
            release(checkpoint.directory, session.holder, session.java_pid)
            return found

    def what_is_kept(self, application_id: str) -> StoredCommits | None:
        """Return what is stored of an application outside of its checkpoint, or None.

        Raises:
            BrokerUnreachable, CheckpointDamaged: it cannot be read.
        """
        return self._logged(self._checkpoint(application_id), application_id).lost(forced=True)

    @contextlib.contextmanager
    def claimed(self, application_id: str) -> Iterator[tuple[Checkpoint, Session]]:
        """Own the checkpoint of an application; it is released if the start fails."""
        checkpoint = self._checkpoint(application_id)
        with start_of(checkpoint.directory, application_id):
            ensure_not_running(checkpoint.directory, application_id)
            with self._reserved.while_starting(checkpoint.directory, application_id):
                session = self._session()
            claim(checkpoint.directory, session.holder, application_id, pid=session.java_pid)
            try:
                # A damaged one is reported later, unless it is restored.
                with contextlib.suppress(CheckpointDamaged):
                    checkpoint.forget_unplanned()
                relocate_schemas(checkpoint.directory)
                yield checkpoint, session
            except BaseException:
                # The original error says more. If the JVM has ended, the system has released the lock.
                with contextlib.suppress(OSError, *JVM_IS_GONE):
                    release(checkpoint.directory, session.holder, session.java_pid)
                raise

    def explain(self, plan: Plan, application_id: str = "", mode: Mode = "auto") -> str:
        """Return how `plan` would run: levels, sub-topologies, stores, sinks, mode and the reason for it.

        Does not start Spark. Partition counts are requested from the broker, if one answers: a plan can be
        explained before its topics exist.
        """
        checkpoint = self._checkpoint(application_id or "unnamed")
        known = self._topics.known_partition_counts(
            lambda topic: any(source.reads_topic(topic) for source in plan.sources)
        )
        topics = [
            topic
            for source in plan.sources
            for topic in sorted(filter(source.reads_topic, known or ())) or [source.topic]
        ]
        slots_total = promised_slots(self.config.master)
        given = plan, checkpoint, mode, slots_total, known or {}
        prepared = self._prepare(*given, config=self.config)
        return explain(
            prepared.levels,
            application_id,
            prepared.chosen,
            {topic: (known or {}).get(topic) for topic in topics},
            no_broker_at="" if known is not None else self.config.bootstrap_servers,
            tasks_pinned=checkpoint.pinned_tasks() is not None,
            cache_bytes_max=self.config.cache_bytes_max,
        )

    def explain_upgrade(self, plan: Plan, application_id: str) -> UpgradePlan:
        """Return the change of each store of the application under `plan`; changes nothing.

        Does not start Spark. Partition counts are requested from the broker, if one answers.

        Raises:
            CheckpointDamaged: a file of the checkpoint cannot be read.
        """
        checkpoint = self._checkpoint(application_id)
        known = self._topics.known_partition_counts(
            lambda topic: any(source.reads_topic(topic) for source in plan.sources)
        )
        levels = find_levels(plan, self._tasks(checkpoint, known or {}))
        spec = self.spec(levels, application_id)
        matched = {} if known is None else self._matched(plan, application_id)
        lowered = Lowered(spec, levels, known or {}, matched)
        return self._upgrading(plan, application_id, self.config).find(lowered)

    def committed_rows(
        self, plan: Plan, application_id: str, table: Node, bounds: Bounds | None = None
    ) -> CommittedRows:
        """Return the rows of the store of `table` as of the last commit, and that commit's positions.

        Raises:
            CheckpointMismatch: the application's state belongs to another plan.
            CheckpointDamaged: a file of the checkpoint cannot be read.
            QueryFailed: Spark cannot read the state.
        """
        checkpoint = self._checkpoint(application_id)
        tasks = checkpoint.pinned_tasks()
        if tasks is None:
            return CommittedRows()
        levels = find_levels(plan, tasks)
        spec = self.spec(levels, application_id)
        checkpoint.ensure_fits(application_id, shape_of_plan(levels, application_id), {})
        look = StoreQuery(levels, spec, table, bounds or {})
        return read_committed(self._session(), checkpoint, look)

    def close(self) -> None:
        """Stop all queries of this engine; the last engine of this process ends the JVM."""
        for query in self._queries.values():
            query.stop()
        forget_ended()
        self._queries.clear()
        self._reserved.give_back()
        # StoredCommits until it has ended, so that `end_now` finds it.
        if (opened := self._opened) is not None:
            opened.close()
            self._opened = None

    def end_now(self) -> None:
        """Kill the JVM, unless other engines of this process use it, so that callers waiting for it return. Any thread.

        Queries lose uncommitted work, and redo it at their next start, as after a crash.
        """
        self._given_up.set()
        if (opened := self._opened) is not None:
            opened.end_now()

    def _make_ready(
        self,
        plan: Plan,
        application_id: str,
        mode: Mode,
        checkpoint: Checkpoint,
        session: Session,
        *,
        starts: EndOffsets,
        upgrade: How | None,
        config: EngineConfig,
        restores: bool = False,
    ) -> _Ready:
        """Compare a plan with its checkpoint, restoring it first if it is lost, and fix what a first start fixes."""
        matched = self._matched(plan, application_id)
        counts = self._topics.partition_counts(topics_read(plan, matched))
        logged = self._logged(checkpoint, application_id)
        lost = logged.lost(forced=restores)
        if lost is not None:
            levels = find_levels(plan, int(lost.application["tasks"]))
            shape = shape_of_plan(levels, application_id)
            # A restore by hand states that the changelogs are complete, whatever their ids.
            logged.ensure_restores(lost, shape, from_others=restores)
            lost = logged.fenced(lost, shape, from_others=restores)
            ensure_changelogs_whole(self._topics, checkpoint, of_sql=bool(config.internal_prefix))
        begun = None if lost is None else logged.put_back(lost)
        slots = slots_of(session.spark, self.config.master)
        prepared = self._prepare(plan, checkpoint, mode, slots, counts, config=config)
        spec = self.spec(prepared.levels, application_id)
        ensure_shared(checkpoint.directory, session, config.master)
        lowered = Lowered(spec, prepared.levels, counts, matched)
        topic_ids = self._topics.topic_ids(counts)
        begins: EndOffsets = {}
        if checkpoint.pinned_tasks() is None:
            starts = {**checkpoint.given_starts(), **starts}
            begins = resolve_starts(plan, self._topics, counts, starts)
        elif upgrade is not None:
            upgrading = self._upgrading(plan, application_id, config, starts)
            upgrading.settle(lowered, upgrade, topic_ids)
        spec = spec | {
            "sources": with_topics(spec["sources"], matched),
            "errors": config.errors.spec(),
            "run": uuid.uuid4().hex,
        }
        logged.ensure_same_setting()
        changelog = logged.is_wanted
        written = {topic for sink in plan.sinks for topic in sink.topics}
        fixed = lowered.shape, versions(), topic_ids, begins
        prefix = config.internal_prefix
        checkpoint.pin(application_id, *fixed, changelog=changelog, prefix=prefix, written=written)
        checkpoint.want_handover(wanted=False)
        spec = logged.begin(spec, is_restored=begun is not None)

        def renewed() -> Launcher:
            session = self._session()
            claim(checkpoint.directory, session.holder, application_id, pid=session.java_pid)
            checkpoint.forget_unplanned()
            return Launcher(session, config, checkpoint, spec, plan.places, counts)

        launcher = Launcher(session, config, checkpoint, spec, plan.places, counts)
        if begun is not None:
            restore(launcher, self._topics, begun, self.on_restore)
            logged.keep_content()
        return _Ready(launcher, prepared, renewed)

    def _launch(self, plan: Plan, application_id: str, ready: _Ready) -> RunningQuery:
        launcher, prepared, checkpoint = ready.launcher, ready.prepared, ready.launcher.checkpoint
        watch = watch_over(self._topics, launcher, plan)
        if prepared.chosen.live == "real-time":
            slots = slots_of(launcher.session.spark, self.config.master)
            hold_slots(checkpoint.directory, application_id, prepared.needed, slots)
        query = RunningQuery(
            SparkRun(launcher, ready.renewed),
            SourceTopics(self._topics, prepared.partition_counts, watch),
            TriggerChooser(
                prepared.chosen,
                lambda: has_room(
                    checkpoint.directory, prepared.needed, self.config.master, self._session
                ),
            ),
            UserFunctions.of(plan),
        )
        try:
            query.start()
        except BaseException:
            release_slots(checkpoint.directory)
            raise
        return query

    def _logged(self, checkpoint: Checkpoint, application_id: str) -> LoggedState:
        return LoggedState(self.config, self._topics, checkpoint, application_id)

    def _upgrading(
        self,
        plan: Plan,
        application_id: str,
        config: EngineConfig,
        starts: EndOffsets | None = None,
    ) -> Upgrader:
        def note(query: RunningQuery) -> None:
            self._queries[query.application_id] = query

        given = self._checkpoint(application_id), self._topics, config, self._session
        return Upgrader(plan, application_id, *given, note, starts or {})

    def _lowered(self, plan: Plan, application_id: str) -> Lowered:
        matched = self._matched(plan, application_id)
        counts = self._topics.partition_counts(topics_read(plan, matched))
        levels = find_levels(plan, self._tasks(self._checkpoint(application_id), counts))
        return Lowered(self.spec(levels, application_id), levels, counts, matched)

    def _rebuild_beside(self, upgrading: Upgrader) -> None:
        """Rebuild what an upgrade cannot keep, then make the running application stop."""
        application_id, checkpoint = upgrading.application_id, upgrading.checkpoint
        lowered = self._lowered(upgrading.plan, application_id)
        if upgrading.find(lowered).comparison is not None:
            upgrading.beside(lowered)
        # Stop it here in any case; another process is asked only if there is something to upgrade.
        stop_running(checkpoint.directory)
        if upgrading.find(lowered).comparison is not None:
            take_over(checkpoint, application_id, self.reserve)

    def ensure_can_run(self, plan: Plan, application_id: str, config: EngineConfig) -> None:
        """Raise ConfigError if a plan does not fit the settings; the number of tasks does not matter."""
        ensure_can_run(plan, lambda: self.spec(find_levels(plan, 1), application_id), config)
        ensure_lookups_end_in_time(plan, config)

    def _checkpoint(self, application_id: str) -> Checkpoint:
        return checkpoint_of(self.config.checkpoint_dir, application_id)

    def _session(self) -> Session:
        with self._opening:  # Queries that lost their JVM call this concurrently.
            if self._opened is None or self._opened.has_ended:
                self._opened = open_session(self.config, given_up=self._given_up)
            return self._opened

    def _prepare(
        self,
        plan: Plan,
        checkpoint: Checkpoint,
        mode: Mode,
        slots_total: int | None,
        counts: dict[str, int],
        *,
        config: EngineConfig,
    ) -> ExecutionPlan:
        levels = find_levels(plan, self._tasks(checkpoint, counts))
        exactly_once = config.exactly_once
        return ExecutionPlan.of(levels, counts, mode, slots_total, exactly_once=exactly_once)

    def _matched(self, plan: Plan, application_id: str) -> dict[str, tuple[str, ...]]:
        if not any(source.is_pattern for source in plan.sources):
            return {}
        return matched_topics(plan, self._topics.names(), application_id)

    def _tasks(self, checkpoint: Checkpoint, counts: dict[str, int]) -> int:
        return checkpoint.pinned_tasks() or self.config.tasks or max(counts.values(), default=1)

    def spec(self, levels: Levels, application_id: str) -> Json:
        spec = lower(levels, application_id, cache_bytes_max=self.config.cache_bytes_max)
        sources = with_default_extractor(spec["sources"], self.config.timestamp_extractor)
        config = self.config
        python = python_of(config.python_timeout_ms, config.python_memory_bytes_max)
        there = functions_on_executors(levels, config.master)
        called = {"functions": spec.get("functions", []) + there} if there else {}
        return spec | called | python | {"errors": config.errors.spec(), "sources": sources}
