"""A topology that runs: its result topics, its place on disk, its query.

    data_dir/checkpoints/<application id>   state and source offsets
    data_dir/engine.log                     what the JVM says

Its life: `check` tells what is wrong before anything takes long; `reserve` keeps others out; `open` starts what does and needs no
topic (the JVM); `start` checks, makes the result topics that are missing, opens what is not open and starts the
query; `stop` ends the query; `close` ends both, as the end of a `with` does.
"""

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from duolog.runtime.reach import ensure_reachable
from duolog.runtime.result_topics import create_result_topics
from duolog.runtime.source_topics import create_source_topics
from duolog.runtime.store_rows import Bounds, table_of_store
from duolog.runtime.store_view import StoreView
from duolog.runtime.table_topics import table_named, topic_of
from duolog.runtime.topic_values import TopicValues
from duolog.runtime.views import LiveView, TableRows, TopicView

if TYPE_CHECKING:
    from duolog.dsl.topology import Topology
    from duolog.engine import Engine, EngineConfig
    from duolog.engine.query import RunningQuery
    from duolog.engine.stores import KeptRow
    from duolog.plan.nodes import Node

Mode = Literal["auto", "micro-batch", "real-time"]


class Application:
    """Runs one topology against one Kafka cluster.

    Args:
        topology: what to run; its name is the application id.
        bootstrap_servers: the cluster that has the source topics.
        data_dir: where checkpoints and logs go; made if missing.
        mode: `auto` catches up in micro-batches and then goes live in real time.
        settings: engine settings by name, as texts.
    """

    def __init__(
        self,
        topology: "Topology",
        *,
        bootstrap_servers: str,
        data_dir: Path | str,
        mode: Mode = "auto",
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.plan = topology.build()
        self._topology = topology
        self._live: list[LiveView] = []
        self.application_id = topology.name
        self.mode = mode
        self._bootstrap_servers = bootstrap_servers
        # The JVM works elsewhere, and a program may change its directory between two starts.
        self._data_dir = Path(data_dir).resolve()
        self._settings = dict(settings or {})
        self._engine: Engine | None = None
        self._query: RunningQuery | None = None

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

    @property
    def query(self) -> "RunningQuery":
        assert self._query is not None, "the application was not started"
        return self._query

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

        Raises:
            BrokerUnavailable: no broker answers.
            ConfigError: an address, a setting or the name of the topology is wrong.
            QueryError: a source topic is missing, another process runs the application, or its
                checkpoint is damaged or belongs to another topology.
        """
        ensure_reachable(self._bootstrap_servers)
        self._engine_of_this().check(self.plan, self.application_id)

    def reserve(self) -> None:
        """Keep other processes of this machine from starting the application until this one closes.

        Raises:
            ConfigError: the name of the topology cannot name an application.
            QueryError: another process runs the application or is starting it; nothing can be written.
        """
        self._engine_of_this().reserve(self.application_id)

    def open(self) -> None:
        """Start the JVM. Takes seconds; needs no broker.

        Raises:
            ConfigError: there is no Java or no connector, or a setting is wrong.
            QueryError: the JVM did not start.
        """
        self._engine_of_this().warm_up()

    def start(self) -> "RunningQuery":
        """Make the result topics that are missing and start the query, in a JVM if there is none yet.

        Raises:
            BrokerUnavailable, ConfigError: as `check` and `open`.
            QueryError: as `check`, or the engine refuses the query.
            KafkaError: the broker refuses a result topic.
        """
        self.check()
        engine = self._engine_of_this()
        create_result_topics(
            self.plan, self._bootstrap_servers, engine.config.errors.dead_letter_topic
        )
        self._query = engine.start(self.plan, self.application_id, self.mode)
        self._topology.running = self
        return self._query

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

        def read(bounds: Bounds) -> "list[KeptRow]":
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

    def explain(self) -> str:
        """Return levels, sub-topologies, stores and the mode with its reason, as text.

        Raises:
            ConfigError: a setting is wrong.
        """
        return self._engine_of_this().explain(self.plan, self.application_id, self.mode)

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
        return self._engine


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
        log_path=data_dir / "engine.log",
    )
