"""A topology that runs: its result topics, its place on disk, its query.

    data_dir/checkpoints/<application id>   state and source offsets
    data_dir/engine.log                     what the JVM says

Its life: `check` tells what is wrong before anything takes long; `reserve` keeps others out; `open` starts what does and needs no
topic (the JVM); `start` checks, makes the result topics that are missing, opens what is not open and starts the
query; `stop` ends the query; `close` ends both, as the end of a `with` does.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from duolog.core.addresses import whole_servers
from duolog.dsl.handles.short_tracebacks import short_tracebacks
from duolog.runtime.admission import ensure_admitted, ensure_words
from duolog.runtime.broker_probe import ensure_reachable
from duolog.runtime.data_dirs import data_dir_of, local_part_of
from duolog.runtime.listing import note_started, stop_earlier
from duolog.runtime.metrics.local_registry import register_process
from duolog.runtime.metrics.spans import trace
from duolog.runtime.result_topics import create_result_topics
from duolog.runtime.source_topics import create_source_topics
from duolog.runtime.store_rows import Bounds, table_of_store
from duolog.runtime.store_view import StoreView
from duolog.runtime.table_topics import table_named, topic_of
from duolog.runtime.topic_values import TopicValues
from duolog.runtime.views import LiveView, TableRows, TopicView
from duolog.runtime.waiting import Waiting

if TYPE_CHECKING:
    from duolog.dsl.topology import Topology
    from duolog.engine import Engine, EngineConfig
    from duolog.engine.commit_topic import Kept
    from duolog.engine.metrics import Metrics
    from duolog.engine.query import RunningQuery
    from duolog.engine.repartition import Repartitioned
    from duolog.engine.restore import Restored
    from duolog.engine.restore_plan import RestorePlan
    from duolog.engine.stores import CommittedRows
    from duolog.engine.upgrades.upgrade import How, Upgrade
    from duolog.plan.nodes import Node

Mode = Literal["auto", "micro-batch", "real-time"]


@short_tracebacks
class Application:
    """Runs one topology against one Kafka cluster.

    Args:
        topology: what to run; its name is the application id.
        bootstrap_servers: the cluster that has the source topics.
        data_dir: where checkpoints and logs go; made if missing. An URL of a Hadoop file system, `hdfs://HOST:PORT/PATH`, for
            checkpoints; logs stay on this machine then.
        mode: `auto` catches up in micro-batches and then goes live in real time.
        settings: engine settings by name, as texts.
        upgrade: what becomes of stores that a changed topology cannot keep: `keep` refuses to start where there are such,
            `rebuild` reads their topics again beside the application, which may run in another process and is then
            asked to stop, `from-now` lets them begin empty. Without it a changed topology is refused.

    Raises:
        ConfigError: the topology's name cannot name an application, or there is no such mode or upgrade.
    """

    def __init__(
        self,
        topology: "Topology",
        *,
        bootstrap_servers: str,
        data_dir: Path | str,
        mode: Mode = "auto",
        settings: Mapping[str, str] | None = None,
        upgrade: "How | None" = None,
    ) -> None:
        ensure_words(topology.name, mode, upgrade)
        self.plan = topology.build()
        self._topology = topology
        self._live: list[LiveView] = []
        self.application_id = topology.name
        self.mode = mode
        self.upgrade = upgrade
        self._bootstrap_servers = whole_servers(bootstrap_servers)
        self._settings = dict(settings or {})
        self._data_dir = data_dir_of(data_dir, self._settings)
        self._engine: Engine | None = None
        self._query: RunningQuery | None = None
        self._was_started = False
        self.on_restore: Callable[[Restored], None] = lambda _restored: None
        """Told how far a restore is, while `start` or `restore` waits for it."""

    def __enter__(self) -> Self:
        # The JVM starts with `open` or `start`: where a topic is missing nobody waits for it.
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "stopped" if self._was_started else "not started"
        if self._query is not None:
            from duolog.engine.in_words import state_in_words  # noqa: PLC0415 - as the engine below

            state = state_in_words(self._query)
        return f"<Application {self.application_id}: {state}, on {self._bootstrap_servers}>"

    @property
    def runs(self) -> bool:
        """Whether it was started and has not ended."""
        return self._query is not None and not self._query.has_ended

    @property
    def query(self) -> "RunningQuery":
        assert self._query is not None, "the application was not started"
        return self._query

    @property
    def bootstrap_servers(self) -> str:
        """The addresses of its brokers."""
        return self._bootstrap_servers

    def create_source_topics(self) -> list[str]:
        """Make the source topics that are missing; return their names.

        Raises:
            BrokerUnavailable: no broker answers.
            KafkaError: the broker refuses a topic.
        """
        ensure_reachable(self._bootstrap_servers)
        return create_source_topics(self.plan, self._bootstrap_servers)

    def check(self) -> None:
        """See within two seconds that nothing stands in the way of a start; needs no JVM.

        Names and settings are looked at before a broker is.

        Raises:
            BrokerUnavailable: no broker answers.
            ConfigError: an address or a setting is wrong, or the topology does not fit the settings.
            StatementError: it names a topic that cannot be.
            QueryError: a source topic is missing, another process runs the application, or its
                checkpoint is damaged or belongs to another topology.
        """
        self._ensure_admitted()
        self._engine_of_this().check(self.plan, self.application_id, self.upgrade)

    def _ensure_admitted(self) -> None:
        ensure_admitted(self.plan, self.application_id, self._engine_of_this().config)
        ensure_reachable(self._bootstrap_servers)

    def reserve(self) -> None:
        """Keep other processes of this machine from starting the application until this one closes.

        Raises:
            ConfigError: the name of the topology cannot name an application.
            QueryError: another process runs the application or is starting it; nothing can be written.
        """
        if (
            self.upgrade != "rebuild"
        ):  # It takes it over from the process that runs it, when it has come so far.
            self._engine_of_this().reserve(self.application_id)

    def open(self) -> None:
        """Start the JVM. Takes seconds; needs no broker.

        Raises:
            ConfigError: there is no Java or no connector, or a setting is wrong.
            QueryError: the JVM did not start.
        """
        self._engine_of_this().warm_up()

    def start(self, *, replace: bool = False) -> "RunningQuery":
        """Make the result topics that are missing and start the query, in a JVM if there is none yet.

        In a notebook and at a prompt a line says how long that takes.

        Args:
            replace: stop what this process runs under the same name first: a cell of a notebook can be run again.

        Raises:
            BrokerUnavailable, ConfigError: as `check` and `open`.
            QueryError: as `check`, or the engine refuses the query.
            KafkaError: the broker refuses a result topic.
        """
        with Waiting.for_a_person(self.application_id):
            if replace:
                self._ensure_admitted()
                stop_earlier(self.application_id)
            return self._start()

    def _start(self) -> "RunningQuery":
        self.check()
        engine = self._engine_of_this()
        create_result_topics(
            self.plan, self._bootstrap_servers, engine.config.errors.dead_letter_topic
        )
        self._query = engine.start(self.plan, self.application_id, self.mode, upgrade=self.upgrade)
        self._topology.running = self
        self._was_started = True
        note_started(self)
        register_process()
        trace(self._query)
        return self._query

    def restore(self) -> bool:
        """Put the checkpoint aside and fill the stores from their changelogs; start nothing.

        A start does so by itself where the checkpoint is lost or cannot be read. Returns whether there are changelogs
        to restore from; else nothing is changed.

        Raises:
            BrokerUnavailable, ConfigError: as `check` and `open`.
            QueryError: the application runs, its changelogs belong to another topology, or cannot be read.
        """
        ensure_reachable(self._bootstrap_servers)
        return self._engine_of_this().restore(self.plan, self.application_id)

    def what_is_kept(self) -> "Kept | None":
        """Return what is kept of the application outside of its checkpoint; None where nothing is.

        Raises:
            BrokerUnavailable: no broker answers.
            QueryError: it cannot be read.
        """
        ensure_reachable(self._bootstrap_servers)
        return self._engine_of_this().what_is_kept(self.application_id)

    def restore_plan(self, kept: "Kept") -> "RestorePlan":
        """Return what `restore` would do with what is kept; changes nothing, and starts no JVM.

        Raises:
            ConfigError: a setting is wrong.
            QueryError: no broker answers.
        """
        from duolog.engine.restore_plan import restore_plan  # noqa: PLC0415 - as the engine below

        return restore_plan(self._engine_of_this(), self.plan, self.application_id, kept)

    @property
    def checkpoint_dir(self) -> Path:
        """Where its state and source offsets are."""
        return self._data_dir / "checkpoints" / self.application_id

    @property
    def has_whole_checkpoint(self) -> bool:
        """Whether a start can go on from what is on disk."""
        from duolog.engine.checkpoint import Checkpoint  # noqa: PLC0415 - as _engine_of_this
        from duolog.engine.logged_checkpoint import LoggedCheckpoint  # noqa: PLC0415

        return LoggedCheckpoint(Checkpoint(self.checkpoint_dir)).is_whole()

    def table(self, name: str) -> TableRows:
        """Return the table of this name, whose `to_pandas()`, `to_dicts()` and others read its present rows.

        They are read from its topic: what is committed there, whether or not the application runs now.

        Args:
            name: of the topic that it is written to or read from, or of its store.

        Raises:
            StatementError: there is no such table, or no topic has its rows.
        """
        return self.table_of(table_named(self.plan, name))

    def table_of(self, node: "Node") -> TableRows:
        """Return the table that a node of the plan makes; as `table`."""
        values = TopicValues([topic_of(self.plan, node)])
        return TableRows(values, self._client_options(), self._live.append)

    def store(self, name: str) -> StoreView:
        """Return a look into the store of this name: its rows by key, range and window, read-only.

        What is read is the checkpoint, as the last commit has left it, whether or not the application runs now. In
        micro-batches that is a moment old, in real time as old as the epoch that runs (`epoch.ms`, a minute at
        most by default). `table(name)` reads newer rows of a table that is written to a topic. Each look takes a
        second or more and needs the JVM, which it starts if there is none.

        Raises:
            StatementError: there is no such store, or it holds no rows of a table.
        """
        table = table_of_store(self.plan, name)

        def read(bounds: Bounds) -> "CommittedRows":
            engine = self._engine_of_this()
            return engine.committed_rows(self.plan, self.application_id, table, bounds)

        return StoreView(table, read)

    def view_of(self, node: "Node") -> TopicView:
        """Return what a node of the plan makes, as its topic has it: a table or a stream.

        Raises:
            StatementError: no topic has it.
        """
        if node.is_table:
            return self.table_of(node)
        values = TopicValues([topic_of(self.plan, node)])
        return TopicView(values, self._client_options(), self._live.append)

    def metrics(self) -> "Metrics":
        """Return what runs, in numbers: by node and task, by topic partition, by epoch and phase.

        Names and meaning are those of the page on metrics. Asks the broker where topics end; where none
        answers, lags are not known.
        """
        # Imported here, as the engine is.
        from duolog.engine.metrics import metrics_of  # noqa: PLC0415

        return metrics_of(self.query)

    def explain(self) -> str:
        """Return levels, sub-topologies, stores and the mode with its reason, as text.

        Raises:
            ConfigError: a setting is wrong.
        """
        return self._engine_of_this().explain(self.plan, self.application_id, self.mode)

    def explain_upgrade(self) -> "Upgrade":
        """Return what becomes of each store of the application's checkpoint under this topology; changes nothing.

        Raises:
            ConfigError: a setting is wrong.
            QueryError: the checkpoint is damaged.
        """
        return self._engine_of_this().explain_upgrade(self.plan, self.application_id)

    def repartition(self, tasks: int) -> "Repartitioned":
        """Give the state of the application, which must not run, to another number of tasks.

        Raises:
            ConfigError: a setting is wrong.
            QueryError: it runs, has no state, or one that cannot be moved; nothing is changed.
        """
        from duolog.engine.repartition import repartition  # noqa: PLC0415 - as the engine below

        return repartition(self._engine_of_this(), self.plan, self.application_id, tasks)

    def stop(self) -> None:
        """Stop the query and leave the JVM to what starts next. Does nothing when stopped."""
        if self._topology.running is self:
            self._topology.running = None
        while self._live:
            self._live.pop().stop()
        query, self._query = self._query, None
        if query is not None:
            query.stop()

    def close(self) -> None:
        """Stop the query, then the JVM. Does nothing when closed."""
        engine, self._engine = self._engine, None
        try:
            self.stop()
        finally:
            if engine is not None:
                engine.close()

    def _client_options(self) -> dict[str, str]:
        options = self._engine_of_this().config.client_options
        return {**options, "bootstrap.servers": self._bootstrap_servers}

    def _engine_of_this(self) -> "Engine":
        if self._engine is None:
            # Imported here: pyspark takes half a second, and all commands import this package.
            from duolog.engine import Engine  # noqa: PLC0415

            config = engine_config(self._settings, self._data_dir, self._bootstrap_servers)
            self._engine = Engine(config)
            self._engine.on_restore = self._tell_restored
        return self._engine

    def _tell_restored(self, restored: "Restored") -> None:
        self.on_restore(restored)


def engine_config(
    settings: Mapping[str, str], data_dir: Path, bootstrap_servers: str = ""
) -> "EngineConfig":
    """Return what an engine is told; a JVM alone needs no servers.

    Raises:
        ConfigError: a setting is wrong.
    """
    from duolog.engine import EngineConfig  # noqa: PLC0415

    return EngineConfig.from_settings(
        settings,
        bootstrap_servers=bootstrap_servers,
        checkpoint_dir=data_dir / "checkpoints",
        log_path=local_part_of(data_dir) / "engine.log",
    )
