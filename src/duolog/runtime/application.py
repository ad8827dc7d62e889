"""Run a topology: its result topics, its directory, its query.

    data_dir/checkpoints/<application id>   state and source offsets
    data_dir/engine.log                     output of the JVM

- `check` reports errors before anything slow happens.
- `reserve` keeps other processes from starting the application.
- `open` starts the JVM, which needs no topics.
- `start` checks, creates missing result topics, opens if necessary, and starts the query.
- `stop` stops the query.
- `close` stops the query and the JVM, as does the end of a `with` block.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from duolog.dsl.handles.short_tracebacks import short_tracebacks
from duolog.engine.start_options import StartOptions
from duolog.runtime.admission import ensure_admitted, ensure_options
from duolog.runtime.broker_probe import ensure_reachable
from duolog.runtime.committed_stores import CommittedStores
from duolog.runtime.data_dirs import data_dir_of, local_part_of
from duolog.runtime.listing import note_started, stop_earlier
from duolog.runtime.metrics.local_registry import register_process
from duolog.runtime.metrics.spans import trace
from duolog.runtime.result_topics import create_result_topics
from duolog.runtime.source_topics import create_source_topics
from duolog.runtime.store_rows import Bounds, StoreRows, table_of_store
from duolog.runtime.store_view import StoreView
from duolog.runtime.table_topics import table_named, topic_of
from duolog.runtime.topic_schemas import ensure_accepted, registered
from duolog.runtime.topic_values import TopicValues
from duolog.runtime.views import LiveView, TableRows, TopicView
from duolog.runtime.waiting import Waiting
from duolog.security.clients.brokers import Brokers
from duolog.security.clients.profiles import Given, brokers_of

if TYPE_CHECKING:
    from duolog.dsl.topology import Topology
    from duolog.engine import Engine, EngineConfig
    from duolog.engine.changelog.commit_topic import StoredCommits
    from duolog.engine.query.metrics import Metrics
    from duolog.engine.query.query import RunningQuery
    from duolog.engine.repartition import Repartitioned
    from duolog.engine.restore_plan import RestorePlan
    from duolog.engine.upgrades.restore import Restored
    from duolog.engine.upgrades.upgrade_plan import How, UpgradePlan
    from duolog.plan.nodes import Node

Mode = Literal["auto", "micro-batch", "real-time"]


@short_tracebacks
class Application:
    """Runs one topology against one Kafka cluster.

    Args:
        topology: the topology; its name is the application id.
        bootstrap_servers: the cluster with the source topics.
        data_dir: directory for checkpoints and logs; created if missing. The URL of a Hadoop file
            system,
            `hdfs://HOST:PORT/PATH`, stores the checkpoints there; logs stay on this machine.
        mode: `auto` catches up in micro-batches, then switches to real time.
        settings: engine settings by name, as strings.
        upgrade: action for stores that a changed topology cannot keep. `keep` refuses to start if
            there are any, `rebuild`
            reads their topics again while the application keeps running (possibly in another
                process, which is then asked
            to stop), `from-now` starts them empty. By default, a changed topology is refused.
        client_properties: security of the connections to the brokers: a file of properties as for
            Kafka's tools, or a mapping. See the guide on secured clusters.
        profile: a profile of such properties. Without either, the environment's are used.

    Raises:
        ConfigError: the topology's name is not a valid application id, mode or upgrade is
            unknown, or a client property is refused.
    """

    def __init__(
        self,
        topology: "Topology",
        *,
        bootstrap_servers: Brokers | str,
        data_dir: Path | str,
        mode: Mode = "auto",
        settings: Mapping[str, str] | None = None,
        upgrade: "How | None" = None,
        client_properties: Given = None,
        profile: str | None = None,
    ) -> None:
        ensure_options(topology.name, mode, upgrade)
        self.plan = topology.build()
        self._copies: Mapping[Node, Node] = {}
        self._topology = topology
        self._live: list[LiveView] = []
        self.application_id = topology.name
        self.mode = mode
        self.upgrade = upgrade
        self._brokers = brokers_of(bootstrap_servers, client_properties, profile)
        self._settings = dict(settings or {})
        self._data_dir = data_dir_of(data_dir, self._settings)
        self._stores = CommittedStores()
        self._engine: Engine | None = None
        self._query: RunningQuery | None = None
        self._was_started = False
        self.on_restore: Callable[[Restored], None] = lambda _restored: None
        """Called with the progress of a restore while `start` or `restore` waits for it."""

    def __enter__(self) -> Self:
        # `open` or `start` starts the JVM, so that a missing topic is reported without waiting for
        # it.
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
            from duolog.engine.query.query_repr import describe_state  # noqa: PLC0415 - as the engine below

            state = describe_state(self._query)
        return f"<Application {self.application_id}: {state}, on {self._brokers}>"

    @property
    def runs(self) -> bool:
        """True if the application was started and has not stopped."""
        return self._query is not None and not self._query.has_ended

    @property
    def query(self) -> "RunningQuery":
        assert self._query is not None, "the application was not started"
        return self._query

    @property
    def bootstrap_servers(self) -> str:
        """Addresses of the brokers."""
        return self._brokers.servers

    @property
    def brokers(self) -> Brokers:
        """Addresses of the brokers, and the security of their clients."""
        return self._brokers

    def create_source_topics(self) -> list[str]:
        """Create missing source topics; return their names.

        Raises:
            BrokerUnavailable: no broker answers.
            KafkaError: the broker refuses a topic.
        """
        ensure_reachable(self._brokers)
        return create_source_topics(self.plan, self._brokers)

    def check(self) -> None:
        """Check within two seconds that the application can start; needs no JVM.

        Names and settings are checked before a broker is contacted.

        Raises:
            BrokerUnavailable: no broker answers.
            ConfigError: an address or a setting is invalid, or the topology does not fit the
                settings.
            StatementError: the topology uses an invalid topic name.
            QueryError: a source topic is missing, another process runs the application, or the
                checkpoint is damaged or belongs
                to another topology.
            RegistryError: the schema of a topic is not compatible with those in the registry.
        """
        self._ensure_admitted()
        ensure_accepted(self.plan, self._engine_of_this().config.schema_registry_url)
        self._engine_of_this().check(self.plan, self.application_id, self.upgrade)

    def _ensure_admitted(self) -> None:
        ensure_admitted(self.plan, self.application_id, self._engine_of_this().config)
        ensure_reachable(self._brokers)

    def reserve(self) -> None:
        """Keep other processes on this machine from starting the application until this one closes.

        Raises:
            ConfigError: the topology's name is not a valid application id.
            QueryError: another process runs or starts the application, or the directory is not
                writable.
        """
        if (
            self.upgrade != "rebuild"
        ):  # A rebuild takes the application over from the running process later.
            self._engine_of_this().reserve(self.application_id)

    def open(self) -> None:
        """Start the JVM. Takes seconds; needs no broker.

        Raises:
            ConfigError: Java or the Kafka connector is missing, or a setting is invalid.
            QueryError: the JVM did not start.
        """
        self._engine_of_this().warm_up()

    def start(self, *, replace: bool = False) -> "RunningQuery":
        """Create missing result topics and start the query, in a JVM if there is none yet.

        In a notebook or at a prompt, a line shows the time that this takes.

        Args:
            replace: first stop a query of the same name in this process, so that a notebook cell
                can be run again.

        Raises:
            BrokerUnavailable, ConfigError: as `check` and `open`.
            QueryError: as `check`, or the engine refuses the query.
            KafkaError: the broker refuses a result topic.
            RegistryError: the registry refuses the schema of a topic, or does not answer.
        """
        with Waiting.for_a_person(self.application_id):
            if replace:
                self._ensure_admitted()
                stop_earlier(self.application_id)
            return self._start()

    def _start(self) -> "RunningQuery":
        self.check()
        engine = self._engine_of_this()
        # The nodes of the topology stay those that its streams and tables have.
        self.plan, copies = registered(self.plan, engine.config.schema_registry_url)
        self._copies = copies or self._copies
        create_result_topics(self.plan, self._brokers, engine.config.errors.dead_letter_topic)
        options = StartOptions(upgrade=self.upgrade)
        self._query = engine.start(self.plan, self.application_id, self.mode, options)
        self._topology.running = self
        self._was_started = True
        note_started(self)
        register_process()
        trace(self._query)
        return self._query

    def restore(self) -> bool:
        """Set the checkpoint aside and restore the stores from their changelogs, without starting.

        `start` does this itself if the checkpoint is lost or unreadable. Returns False, and changes
        nothing, if there are no changelogs.

        Raises:
            BrokerUnavailable, ConfigError: as `check` and `open`.
            QueryError: the application runs, its changelogs belong to another topology, or cannot
                be read.
        """
        ensure_reachable(self._brokers)
        return self._engine_of_this().restore(self.plan, self.application_id)

    def what_is_kept(self) -> "StoredCommits | None":
        """Return what is stored for the application outside of its checkpoint, or None.

        Raises:
            BrokerUnavailable: no broker answers.
            QueryError: it cannot be read.
        """
        ensure_reachable(self._brokers)
        return self._engine_of_this().what_is_kept(self.application_id)

    def restore_plan(self, kept: "StoredCommits") -> "RestorePlan":
        """Return what `restore` would do with `kept`; changes nothing, and starts no JVM.

        Raises:
            ConfigError: a setting is invalid.
            QueryError: no broker answers.
        """
        from duolog.engine.restore_plan import restore_plan  # noqa: PLC0415 - as the engine below

        return restore_plan(self._engine_of_this(), self.plan, self.application_id, kept)

    @property
    def checkpoint_dir(self) -> Path:
        """Directory of its state and source offsets."""
        return self._data_dir / "checkpoints" / self.application_id

    @property
    def has_whole_checkpoint(self) -> bool:
        """True if a start can continue from the checkpoint on disk."""
        from duolog.engine.changelog.logged_checkpoint import LoggedCheckpoint  # noqa: PLC0415
        from duolog.engine.checkpoint.checkpoint import Checkpoint  # noqa: PLC0415 - as _engine_of_this

        return LoggedCheckpoint(Checkpoint(self.checkpoint_dir)).is_whole()

    def table(self, name: str) -> TableRows:
        """Return a table by name; its `to_pandas()`, `to_dicts()`, … read its current rows.

        The committed rows are read from the table's topic, whether or not the application is
        running.

        Args:
            name: the topic that the table is written to or read from, or its store.

        Raises:
            StatementError: there is no such table, or no topic contains its rows.
        """
        return self.table_of(table_named(self.plan, name))

    def table_of(self, node: "Node") -> TableRows:
        """Return the table of a plan node; as `table`."""
        values = TopicValues([topic_of(self.plan, self._copies.get(node, node))])
        return TableRows(values, self._brokers, self._live.append)

    def store(self, name: str) -> StoreView:
        """Return a read-only view of a store: its rows by key, range and window.

        The view reads the checkpoint of the last commit, whether or not the application is running.
        In micro-batches, that is moments old; in real time, as old as the current epoch
        (`epoch.ms`, by default at most a minute). If a table is written to a topic, `table(name)`
        reads newer rows. The first call after a commit takes a second or more and needs the JVM,
        which it starts if there is none. What was read is kept until the next commit is read, or
        until `close`.

        Raises:
            StatementError: there is no such store, or it does not contain rows of a table.
        """
        table = table_of_store(self.plan, name)

        def read(bounds: Bounds) -> StoreRows:
            engine = self._engine_of_this()
            store = engine.committed_store(self.plan, self.application_id, table)
            return self._stores.rows(table, store, bounds)

        return StoreView(table, read)

    def view_of(self, node: "Node") -> TopicView:
        """Return the records of a plan node from its topic, as a table or stream.

        Raises:
            StatementError: no topic contains them.
        """
        if node.is_table:
            return self.table_of(node)
        values = TopicValues([topic_of(self.plan, self._copies.get(node, node))])
        return TopicView(values, self._brokers, self._live.append)

    def metrics(self) -> "Metrics":
        """Return metrics: by node and task, by topic partition, by epoch and phase.

        The reference page on metrics defines names and meaning. Asks the broker for log end
        offsets; if no broker answers, lags are unknown.
        """
        # Imported in the function, as the engine is.
        from duolog.engine.query.metrics import metrics_of  # noqa: PLC0415

        return metrics_of(self.query)

    def explain(self) -> str:
        """Return levels, sub-topologies, stores, and the mode with its reason, as text.

        Raises:
            ConfigError: a setting is invalid.
        """
        return self._engine_of_this().explain(self.plan, self.application_id, self.mode)

    def explain_upgrade(self) -> "UpgradePlan":
        """Return the action for each store of the checkpoint under this topology; changes nothing.

        Raises:
            ConfigError: a setting is invalid.
            QueryError: the checkpoint is damaged.
        """
        return self._engine_of_this().explain_upgrade(self.plan, self.application_id)

    def repartition(self, tasks: int) -> "Repartitioned":
        """Repartition the state of the application, which must not run, to another number of tasks.

        Raises:
            ConfigError: a setting is invalid.
            QueryError: the application runs, or its state is missing or cannot be repartitioned;
                nothing is changed.
        """
        from duolog.engine.repartition import repartition  # noqa: PLC0415 - as the engine below

        return repartition(self._engine_of_this(), self.plan, self.application_id, tasks)

    def stop(self) -> None:
        """Stop the query and keep the JVM for the next start. Does nothing if stopped."""
        if self._topology.running is self:
            self._topology.running = None
        while self._live:
            self._live.pop().stop()
        query, self._query = self._query, None
        if query is not None:
            query.stop()

    def close(self) -> None:
        """Stop the query, then the JVM. Does nothing if closed."""
        engine, self._engine = self._engine, None
        self._stores.clear()
        try:
            self.stop()
        finally:
            if engine is not None:
                engine.close()

    def _engine_of_this(self) -> "Engine":
        if self._engine is None:
            # Imported in the function: pyspark takes half a second, and all commands import this
            # package.
            from duolog.engine import Engine  # noqa: PLC0415

            config = engine_config(self._settings, self._data_dir, self._brokers)
            self._engine = Engine(config)
            self._engine.on_restore = self._report_restored
        return self._engine

    def _report_restored(self, restored: "Restored") -> None:
        self.on_restore(restored)


def engine_config(
    settings: Mapping[str, str], data_dir: Path, bootstrap_servers: Brokers | str = ""
) -> "EngineConfig":
    """Return the configuration of an engine; to start only a JVM, no servers are needed.

    Raises:
        ConfigError: a setting is invalid.
    """
    from duolog.engine import EngineConfig  # noqa: PLC0415

    return EngineConfig.from_settings(
        settings,
        bootstrap_servers=bootstrap_servers,
        checkpoint_dir=data_dir / "checkpoints",
        log_path=local_part_of(data_dir) / "engine.log",
    )
