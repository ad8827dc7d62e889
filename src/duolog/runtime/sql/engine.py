"""Run statements on one broker: their catalog, their persistent queries, their results.

    with SqlEngine("127.0.0.1:9092", data="data") as engine:
        for answer in engine.execute("SHOW STREAMS;"):
            ...

The service's catalog is in its command topic (`replayed_catalog`); SET and DEFINE apply to this
engine only. One engine of a service, the first that starts them, runs its queries. The others run
statements, and the running engine follows what they write. The JVM starts with the first persistent
query, or with `warm_up`.

Threads: one at a time, except that another thread may read the returned `Rows`.
"""

import logging
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from sqlglot import exp

from duolog.core.errors import DuologError, EncodingError
from duolog.core.text_files import read_text_file
from duolog.ksql import settings
from duolog.ksql.catalog.catalog import Catalog, SourceInfo
from duolog.ksql.errors import SqlError, too_deep
from duolog.ksql.expressions.legacy_semantics import with_legacy_semantics
from duolog.ksql.expressions.user_calls import with_functions
from duolog.ksql.session import Done, SqlSession
from duolog.ksql.statements.state import SessionState
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.nodes import place_of
from duolog.runtime.schema_registries import provide_registries
from duolog.runtime.sql.answers import Answer, Message, Rows
from duolog.runtime.sql.command_log.command_topic import CommandTopic
from duolog.runtime.sql.command_log.commands import Offsets
from duolog.runtime.sql.command_log.desired_query import DesiredQuery
from duolog.runtime.sql.command_log.replayed_catalog import ReplayedCatalog
from duolog.runtime.sql.command_log.topics import Topics
from duolog.runtime.sql.persistent.query_supervisor import (
    LiveQuery,
    Pauses,
    QuerySupervisor,
    Starter,
)
from duolog.runtime.sql.persistent.service_queries import ServiceQueries
from duolog.runtime.sql.persistent.shutdown_deadline import shutdown_deadline
from duolog.runtime.sql.persistent.spark_queries import SparkQueries, SparkQuerySettings
from duolog.runtime.sql.reply import showing
from duolog.security.clients.brokers import Brokers
from duolog.security.clients.profiles import brokers_of

if TYPE_CHECKING:
    from duolog.engine import Engine
    from duolog.runtime.sql.tables.materialized_tables import MaterializedTables

logger: Final = logging.getLogger(__name__)

DEFAULT_SERVICE: Final = "default_"
"""As in ksqlDB; names of a service's topics start with its id."""
PROCESSING_LOG: Final = "ksql.logging.processing.topic.name"
LOGGED_ROWS: Final = "ksql.logging.processing.rows.include"
_FIRST_PAUSE: Final = "ksql.query.retry.backoff.initial.ms"
_LONGEST_PAUSE: Final = "ksql.query.retry.backoff.max.ms"
_IDLE_S: Final = 2.0
"""Pause of an idle query before it polls again, unless commit.interval.ms is set."""
_END_S: Final = 5.0
_ASSERT_MS: Final = 1000
_OF_THE_SERVICE: Final = (
    nodes.CreateSource,
    nodes.CreateType,
    nodes.DropType,
    nodes.DropSource,
    nodes.AlterSource,
    nodes.InsertSelect,
    nodes.QueryCommand,
    nodes.CreateFunction,
    nodes.DropFunction,
)


class SqlEngine:
    """Runs statements against one Kafka cluster.

    Args:
        bootstrap: the cluster's servers. Addresses alone get the connection settings of the
            environment: see `duolog.security.clients.profiles`.
        data: directory for checkpoints and logs; created if missing.
        service_id: the service; engines with the same id share catalog and queries.
        properties: properties for all statements, as with SET.
        engine_settings: settings of the Spark engine by name, as strings.
        starter: starts queries instead of Spark.
    """

    def __init__(
        self,
        bootstrap: Brokers | str,
        *,
        data: Path | str,
        service_id: str = DEFAULT_SERVICE,
        properties: Mapping[str, str] | None = None,
        engine_settings: Mapping[str, str] | None = None,
        starter: Starter | None = None,
    ) -> None:
        self.brokers = brokers = brokers_of(bootstrap)
        self.service_id = service_id
        given = {"ksql.service.id": service_id, **(properties or {})}
        self.session = SqlSession(given=given)
        provide_registries()
        for name, value in given.items():
            self.session.state.settings.set(name, value)
        self.topics = Topics(brokers)
        self._present: MaterializedTables | None = None
        # The JVM has another working directory, and a program may change its own.
        self.data = Path(data).resolve() / service_id
        self.processing_log = given.get(PROCESSING_LOG, f"{service_id}ksql_processing_log")
        self._spark = SparkQueries(
            brokers,
            self.topics,
            SparkQuerySettings(
                data=self.data,
                settings=dict(engine_settings or {}),
                processing_log=self.processing_log,
                log_rows=str(given.get(LOGGED_ROWS, "")).lower() == "true",
                interval_ms=int(_seconds(given, settings.COMMIT_INTERVAL, _IDLE_S) * 1000),
                internal_prefix=f"_duolog-ksql-{service_id}_query_",
            ),
        )
        self._starter: Starter = starter or self._spark
        pauses = Pauses(
            first_s=_seconds(given, _FIRST_PAUSE, 15.0),
            longest_s=_seconds(given, _LONGEST_PAUSE, 900.0),
        )
        self._replayed = ReplayedCatalog(
            CommandTopic(brokers, service_id), self.session.state.settings[settings.REGISTRY]
        )
        self._lock = threading.RLock()
        self._queries = ServiceQueries(
            brokers,
            service_id,
            replayed=self._replayed,
            follow=self.follow,
            supervise=partial(QuerySupervisor, self._starter, pauses),
            lock=self._lock,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def bootstrap(self) -> str:
        """Addresses of the brokers."""
        return self.brokers.servers

    @property
    def catalog(self) -> Catalog:
        """Streams, tables and types, as far as the command topic was read."""
        return self._replayed.catalog

    @property
    def present(self) -> "MaterializedTables":
        """Current rows of sources, read on demand."""
        if self._present is None:
            from duolog.runtime.sql.tables.materialized_tables import MaterializedTables  # noqa: PLC0415 - takes 50 ms, which SHOW does not need

            self._present = MaterializedTables(self.brokers)
        return self._present

    @property
    def spark(self) -> "Engine":
        """The Spark engine; its JVM starts when it is first used."""
        return self._spark.engine

    @property
    def runs_queries(self) -> bool:
        """True if this engine runs the queries of its service."""
        return self._queries.supervisor is not None

    def follow(self) -> None:
        """Read the existing topics, and the statements that other engines have written.

        Raises:
            BrokerUnavailable: no broker answers.
            CommandDamaged: the command topic cannot be read; the error has the offset.
        """
        with self._lock:
            self._ask_for_topics()
            self._replayed.follow()

    def start(self) -> None:
        """Start running the service's persistent queries in this process.

        Raises:
            ServiceInUse: another engine runs them.
            BrokerUnavailable, CommandDamaged: as `follow`.
        """
        self._queries.start()

    def warm_up(self) -> None:
        """Start the JVM in the background, so that the first query does not wait for it."""
        threading.Thread(target=self._warm_up, name="duolog-sql-jvm", daemon=True).start()

    def give_up(self) -> None:
        """Abort waits for ownership and for the JVM, from any thread; call `close` next."""
        self._queries.give_up()
        self._spark.give_up()

    def end_now(self) -> None:
        """Make `close` return at once; queries end as in a crash. Any thread may call this."""
        self.give_up()
        self._spark.end_now()

    def close(self) -> None:
        """Stop this engine's queries, and the JVM if it is not used otherwise.

        Does nothing if closed. What has not stopped within seconds, on a busy machine or without a
        broker, is killed.
        """
        self.give_up()
        if self._present is not None:
            self._present.close()
        with shutdown_deadline(_END_S, self.end_now):
            self._queries.stop()
            self._starter.close()
            self._spark.close()
        self._replayed.topic.close()

    def queries(self, *, with_progress: bool = False) -> list[LiveQuery]:
        """Return the persistent queries with their current states.

        If another engine runs them, it has reported their states; if no engine does, they are
        UNRESPONSIVE.
        """
        return self._queries.live(with_progress=with_progress)

    def statements(self) -> dict[str, str]:
        """Return the statements of the persistent queries by id."""
        with self._lock:
            return {name: query.statement for name, query in self._replayed.state.queries.items()}

    def wait_settled(self, timeout_s: float) -> bool:
        """Wait until each query is running, paused or failed; return false after the timeout."""
        return self._queries.wait_settled(timeout_s)

    def execute(self, text: str) -> Iterator[Answer]:
        """Run each statement of a text, and yield its results.

        Raises:
            SqlError: a statement cannot be parsed or executed. The statements before it have run.
            BrokerUnavailable, CommandDamaged: as `follow`.
        """
        for node, written in self.session.read(text):
            try:
                yield from self.run(node, written)
            except RecursionError as error:
                raise too_deep(written) from error
            except SqlError as error:
                error.at = error.at or place_of(node)
                raise error.in_statement(written) from error.__cause__

    def run(self, node: exp.Expression, text: str) -> Iterator[Answer]:
        """Run one parsed statement; `text` is its source. As `execute`."""
        match node:
            case exp.Query():
                self._know(node)
                # Imported in branches: each statement loads only what it needs.
                from duolog.runtime.sql.reply import pull, push  # noqa: PLC0415

                answers = push if node.args.get("emit") is not None else pull
                asked = with_legacy_semantics(node, self.session.state.settings)
                with_functions(asked, self.catalog.functions)
                assert isinstance(asked, exp.Query), asked
                answer = answers.select(self, asked, text)
                named = (self.catalog.sources.get(one.name) for one in asked.find_all(exp.Table))
                read = [one for one in named if one is not None]
                yield showing.with_reason(answer, read, self.queries)
            case nodes.PrintTopic():
                from duolog.runtime.sql.reply import printing  # noqa: PLC0415

                registry = self.session.state.settings[settings.REGISTRY]
                yield printing.printed(self.brokers, node, registry)
            case nodes.RunScript():
                yield from self.execute(_read(node))
            case nodes.InsertValues() | nodes.DeleteRows():
                self._know(node)
                yield Message(self._insert(node, text))
            case nodes.AssertTopic():
                yield Message(self._assert_topic(node, text).message)
            case _ if isinstance(node, _OF_THE_SERVICE):
                yield Message(self._change(node, text).message)
            case nodes.Show() if node.args["kind"] == "TOPICS":
                self._know(node)
                queries = self.session.state.queries.values()
                yield showing.topics(node, self.topics.replicas(), queries)
            case nodes.Explain() if node.args.get("upgrade"):
                self._know(node)
                query = self.session.execute(node, text).query
                assert query is not None
                known = self._replayed.wanted.get(query.id)
                wanted = DesiredQuery(query) if known is None else replace(known, query=query)
                yield from showing.upgrade(self._spark.explain_upgrade(wanted))
            case _:
                self._know(node)
                yield from showing.answers(self.session.execute(node, text))

    def _know(self, node: exp.Expression) -> None:
        """Update the session for a statement: catalog, topics, and queries with their states."""
        with self._lock:
            news = self._replayed.follow()
            if news or not self._knows_topics(node):
                self._ask_for_topics()
            mine = self.session.state
            shared = self._replayed.state
            queries = shared.queries
            if queries and _shows_states(node):
                queries = showing.with_states(queries, self.queries())
            self.session.state = SessionState(
                self.catalog.copy(), mine.settings, mine.variables, queries, shared.begun
            )

    def _knows_topics(self, node: exp.Expression) -> bool:
        """Return true if a query reads only known topics, which need not be listed again."""
        if not isinstance(node, exp.Query):
            return False
        named = (self.catalog.sources.get(table.name) for table in node.find_all(exp.Table))
        return all(one.topic in self.catalog.partitions for one in named if one is not None)

    def _ask_for_topics(self) -> None:
        known = self.topics.partitions()
        self.catalog.partitions.clear()
        self.catalog.partitions.update(known)

    def _insert(self, node: nodes.InsertValues | nodes.DeleteRows, text: str) -> str:
        from duolog.runtime.sql.reply import inserts  # noqa: PLC0415 - as in `run`

        done = self.session.execute(node, text)
        for topic in {row.source.topic for row in done.inserted} - self.catalog.partitions.keys():
            raise SqlError(f"Topic '{topic}' does not exist.", at=place_of(node))
        inserts.insert(self.brokers, done.inserted, self._spark.warm_up)
        return done.message

    def _change(self, node: exp.Expression, text: str) -> Done:
        """Run a statement that may change the catalog of the service."""
        dropped: SourceInfo | None = None
        with self._lock:
            self.follow()
            mine = self.session.state.settings
            if node.args.get("delete_topic"):
                dropped = self.catalog.sources.get(node.this.name)
            done = self._replayed.run(node, text, mine, self._prepare)
            self._queries.apply(has_new_query=done.query is not None)
        if done.ended:
            self._queries.wait_stopped(done.ended)
        if dropped is not None:
            self._delete_topic_of(dropped)
        return done

    def _prepare(self, done: Done, state: SessionState) -> Offsets:
        from duolog.runtime.sql.command_log.made_topics import make_topics  # noqa: PLC0415 - as in `run`

        there = dict(self.topics.partitions())
        make_topics(self.topics, there, done, state)
        if done.query is None or state.settings[settings.OFFSET_RESET] != "latest":
            return {}
        sources = done.query.planned.plan.sources
        tables = {source.topic for source in sources if source.is_table}
        streams = [source for source in sources if source.topic not in tables]
        read = [topic for topic in there if any(one.reads_topic(topic) for one in streams)]
        return self.topics.ends(read, there)

    def _delete_topic_of(self, source: SourceInfo) -> None:
        with self._lock:
            if source.name not in self.catalog.sources:
                self.topics.delete(source.topic)

    def _assert_topic(self, node: nodes.AssertTopic, text: str) -> Done:
        timeout = node.args.get("timeout")
        deadline = (
            time.monotonic()
            + (_ASSERT_MS if timeout is None else showing.milliseconds(timeout)) / 1000
        )
        while True:
            self._know(node)
            try:
                return self.session.execute(node, text)
            except SqlError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.1)

    def _warm_up(self) -> None:
        try:
            self._spark.warm_up()
        except DuologError as error:
            if not self._queries.given_up.is_set():
                logger.warning("the JVM did not start: %s", error.message)


def _shows_states(node: exp.Expression) -> bool:
    """Return true if a statement returns query states, which may have to be read from a topic."""
    if isinstance(node, nodes.Show):
        return node.args["kind"] == "QUERIES" or bool(node.args.get("extended"))
    return isinstance(node, nodes.Describe | nodes.Explain)


def _read(node: nodes.RunScript) -> str:
    path = node.this.name
    try:
        return read_text_file(Path(path))
    except OSError as error:
        raise SqlError(
            f"Failed to read file: {path}", detail=f"{error.strerror}.", at=place_of(node)
        ) from error
    except EncodingError as error:
        raise SqlError(
            f"Failed to read file: {path}",
            detail=f"{error.message}.",
            hint=error.hint,
            at=place_of(node),
        ) from error


def _seconds(given: Mapping[str, str], name: str, otherwise: float) -> float:
    value = given.get(name)
    try:
        return otherwise if value is None else int(value) / 1000
    except ValueError:
        raise SqlError(
            f"Invalid value {value} for configuration {name}: Not a number of type LONG"
        ) from None


__all__ = ["DEFAULT_SERVICE", "Answer", "Message", "Rows", "SqlEngine"]
