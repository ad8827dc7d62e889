"""The entry to the engine: start a plan as a query, or explain how it would run.

    engine = Engine(EngineConfig("127.0.0.1:9092", checkpoint_dir=data / "checkpoints"))
    query = engine.start(plan, "flights")
    query.progress(); query.stop(); engine.close()

Thread rule: any thread; starts of one application run one after the other.
"""

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from duolog.engine.changelog.commit_topic import StoredCommits
from duolog.engine.claims import Claimed, Claims
from duolog.engine.execution_plan import ExecutionPlan
from duolog.engine.explain import Explanation, KnownTopics
from duolog.engine.json_object import Json
from duolog.engine.jvm.exit_status import JvmEnd
from duolog.engine.jvm.masters import promised_slots
from duolog.engine.lowering.plan_shapes import shape_of_plan
from duolog.engine.lowering.stores.store_queries import Bounds
from duolog.engine.planner import Planner
from duolog.engine.query.query import RunningQuery
from duolog.engine.query.query_registry import forget_ended, note_running
from duolog.engine.settings import EngineConfig, Mode
from duolog.engine.spark.engine_session import EngineSession
from duolog.engine.start_options import StartOptions
from duolog.engine.starting import Starter, StartRequest
from duolog.engine.stores import CommittedRows, CommittedStore, StoreQuery, find_committed
from duolog.engine.topics.topic_reader import TopicReader
from duolog.engine.upgrades.upgrade_plan import How, UpgradePlan
from duolog.engine.upgrades.upgrader import rebuild_of
from duolog.plan.cutting.levels import Levels, find_levels
from duolog.plan.nodes import Node, Plan

if TYPE_CHECKING:
    from duolog.engine.upgrades.restore import OnProgress, Restored


class Engine:
    """Runs plans on the Spark session of this process.

    Setting `given_up` aborts a JVM that is still starting.
    """

    def __init__(self, config: EngineConfig, given_up: threading.Event | None = None) -> None:
        self.config = config
        self.on_restore: OnProgress = lambda _restored: None  # Called while a restore runs.
        self._session = EngineSession(config, given_up or threading.Event())
        self._claims = Claims(self._session.get)
        topics = TopicReader(config.bootstrap_servers, config.python_clients)
        self._planner = Planner(config, topics)
        self._starter = Starter(self._planner, self._session.get, self._note, self._report_restored)
        self._queries: dict[str, RunningQuery] = {}

    def warm_up(self) -> None:
        """Start the session now, so that the first query need not wait for it.

        Raises:
            ConfigError: there is no Java or no connector, or this process runs Spark with other
                settings.
        """
        self._session.get()

    def check(self, plan: Plan, application_id: str, upgrade: How | None = None) -> None:
        """Raise what `start` would raise seconds later, as far as it is known without Spark.

        Changes nothing.

        Raises:
            ConfigError, SourceTopicMissing, BrokerUnreachable, CheckpointInUse, CheckpointMismatch,
            CheckpointDamaged, SourceTopicRecreated: as `start`.
        """
        self._starter.check(StartRequest(plan, application_id, self.config, upgrade=upgrade))

    def reserve(self, application_id: str) -> None:
        """Keep other processes on this machine from starting the application.

        The reservation ends when this engine closes. `start` reserves the application, too.
        Callers that warm up first reserve before, so that a second process does not wait for its
        own JVM only to be refused.

        Raises:
            ConfigError: the name is not a valid application id.
            CheckpointInUse, CheckpointNotWritable: as `start`.
        """
        checkpoint = self._planner.checkpoint(application_id)
        self._claims.reservations.reserve(checkpoint.directory, application_id)

    def start(
        self,
        plan: Plan,
        application_id: str,
        mode: Mode = "auto",
        options: StartOptions | None = None,
    ) -> RunningQuery:
        """Start `plan` under an application id, which identifies its state.

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
        given = options or StartOptions()
        config = self.config.for_start(given.errors, exactly_once=given.exactly_once)
        self.ensure_can_run(plan, application_id, config)
        request = StartRequest(
            plan, application_id, config, mode, given.starts or {}, given.upgrade
        )
        if request.upgrade == "rebuild":
            self._starter.rebuild_beside(request, self.reserve)
        with self.claimed(application_id) as claimed:
            ready = self._starter.make_ready(request, claimed)
            query = self._starter.launch(request, ready)
            claimed.session.note_query()
            self._note(query)
            note_running(claimed.checkpoint.directory, query)
            return query

    def abandon_rebuild(self, application_id: str) -> None:
        """End a start that rebuilds state, if there is one; it raises QueryFailed. Any thread.

        The application that it would replace runs on. A later start continues the rebuild.
        """
        query = self._queries.get(rebuild_of(application_id))
        if query is not None and not query.has_ended:
            query.stop()

    def restore(self, plan: Plan, application_id: str, *, forced: bool = True) -> bool:
        """Fill the stores of an application from their changelogs, and start nothing.

        Sets the checkpoint aside first. `on_restore` receives the progress. Returns False, and
        changes nothing, if there is nothing to restore from.

        Args:
            plan: the plan that wrote the changelogs.
            application_id: the application.
            forced: restore an intact checkpoint, too, and use changelogs that were created again.

        Raises:
            CheckpointInUse: the application runs.
            CheckpointMismatch: the changelogs belong to another plan or version of Duolog.
            BrokerUnreachable, SourceTopicMissing, CheckpointNotWritable, QueryFailed: as `start`.
        """
        with self.claimed(application_id) as claimed:
            logged = self._starter.logged(claimed.checkpoint, application_id)
            found = logged.lost(forced=forced) is not None
            if found:
                request = StartRequest(
                    plan, application_id, self.config, "micro-batch", restores=forced
                )
                self._starter.make_ready(request, claimed)
            claimed.release()
            return found

    def what_is_kept(self, application_id: str) -> StoredCommits | None:
        """Return what is stored of an application outside of its checkpoint, or None.

        Raises:
            BrokerUnreachable, CheckpointDamaged: it cannot be read.
        """
        checkpoint = self._planner.checkpoint(application_id)
        return self._starter.logged(checkpoint, application_id).lost(forced=True)

    @contextlib.contextmanager
    def claimed(self, application_id: str) -> Iterator[Claimed]:
        """Own the checkpoint of an application; it is released if the block fails."""
        checkpoint = self._planner.checkpoint(application_id)
        with self._claims.claimed(checkpoint, application_id) as claimed:
            yield claimed

    def explain(self, plan: Plan, application_id: str = "", mode: Mode = "auto") -> str:
        """Return how `plan` would run: levels, sub-topologies, stores, sinks, and why in its mode.

        Does not start Spark. Partition counts are requested from the broker, if one answers: a plan
        can be explained before its topics exist.
        """
        checkpoint = self._planner.checkpoint(application_id or "unnamed")
        counts = self._planner.known_partition_counts(plan)
        known = counts or {}
        topics = [
            topic
            for source in plan.sources
            for topic in sorted(filter(source.reads_topic, known)) or [source.topic]
        ]
        levels = self._planner.levels(plan, checkpoint, known)
        slots_total = promised_slots(self.config.master)
        exactly_once = self.config.exactly_once
        prepared = ExecutionPlan.of(levels, known, mode, slots_total, exactly_once=exactly_once)
        explanation = Explanation(
            levels,
            application_id,
            prepared.chosen,
            KnownTopics(
                {topic: known.get(topic) for topic in topics},
                no_broker_at="" if counts is not None else self.config.bootstrap_servers,
            ),
            tasks_pinned=checkpoint.pinned_tasks() is not None,
            cache_bytes_max=self.config.cache_bytes_max,
        )
        return explanation.render()

    def explain_upgrade(self, plan: Plan, application_id: str) -> UpgradePlan:
        """Return the change of each store of the application under `plan`; changes nothing.

        Does not start Spark. Partition counts are requested from the broker, if one answers.

        Raises:
            CheckpointDamaged: a file of the checkpoint cannot be read.
        """
        lowered = self._planner.lower_without_topics(plan, application_id)
        request = StartRequest(plan, application_id, self.config)
        return self._starter.upgrader(request).find(lowered)

    def committed_store(
        self, plan: Plan, application_id: str, table: Node
    ) -> CommittedStore | None:
        """Return the store of `table` as of the last commit; None before the first start.

        Rows are read with a JVM; this is not.

        Raises:
            CheckpointMismatch: the application's state belongs to another plan.
            CheckpointDamaged: a file of the checkpoint cannot be read.
        """
        checkpoint = self._planner.checkpoint(application_id)
        tasks = checkpoint.pinned_tasks()
        if tasks is None:
            return None
        levels = find_levels(plan, tasks)
        checkpoint.ensure_fits(application_id, shape_of_plan(levels, application_id), {})
        look = StoreQuery(levels, lambda: self.spec(levels, application_id), table)
        return find_committed(checkpoint, look, self._session.get)

    def committed_rows(
        self, plan: Plan, application_id: str, table: Node, bounds: Bounds | None = None
    ) -> CommittedRows:
        """Return the rows of the store of `table` as of the last commit, and its positions.

        Raises:
            CheckpointMismatch, CheckpointDamaged: as `committed_store`.
            QueryFailed: Spark cannot read the state.
        """
        store = self.committed_store(plan, application_id, table)
        return CommittedRows() if store is None else store.read(bounds or {})

    @property
    def ended_jvm(self) -> JvmEnd | None:
        """The end of the JVM; None while it runs, and before it starts or starts again."""
        opened = self._session.opened
        return None if opened is None else opened.its_end

    def ping_jvm(self) -> None:
        """Return once the JVM has answered a call; at once if none runs.

        Raises:
            Py4JError, ConnectionError: it ends.
        """
        opened = self._session.opened
        if opened is not None:
            opened.ping()

    def close(self) -> None:
        """Stop all queries of this engine; the last engine of this process ends the JVM."""
        for query in self._queries.values():
            query.stop()
        forget_ended()
        self._queries.clear()
        self._claims.reservations.give_back()
        self._session.close()

    def end_now(self) -> None:
        """Kill the JVM, so that callers waiting for it return. Any thread.

        Does nothing if other engines of this process use the JVM. Queries lose uncommitted work,
        and redo it at their next start, as after a crash.
        """
        self._session.end_now()

    def kill_jvm(self) -> None:
        """Kill the JVM; running queries continue in another one. Any thread.

        Does nothing if other engines of this process use the JVM.
        """
        if (opened := self._session.opened) is not None:
            opened.end_now()

    def ensure_can_run(self, plan: Plan, application_id: str, config: EngineConfig) -> None:
        """Raise ConfigError if a plan does not fit the settings; the number of tasks is ignored."""
        self._planner.ensure_can_run(plan, application_id, config)

    def spec(self, levels: Levels, application_id: str) -> Json:
        """Lower a plan that has been cut to the spec that the kernel runs."""
        return self._planner.spec(levels, application_id)

    def _report_restored(self, restored: "Restored") -> None:
        self.on_restore(restored)

    def _note(self, query: RunningQuery) -> None:
        self._queries[query.application_id] = query
