"""The SQL service of one Kafka cluster in this process: what all its sessions share.

    command topic ─▶ catalog ─▶ sessions: one `StatementRunner` per client
                        └─────▶ persistent queries, if this process runs them
    topics of tables ─▶ current rows
    topics of push queries, of PRINT ─▶ one reader each

The catalog is in the service's command topic (`replayed_catalog`). The servers of a service share
its persistent queries. A shell or a program runs them all, unless other processes run them; it then
runs statements only, and the others follow what it writes. The JVM starts with the first persistent
query, or with `warm_up`.

Threads: any, except `close`, which comes last.
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from duolog.core.errors import DuologError
from duolog.ksql import settings
from duolog.ksql.catalog.catalog import Catalog, SourceInfo
from duolog.ksql.session import Done, SqlSession
from duolog.ksql.settings import Settings
from duolog.ksql.statements.state import PersistentQuery, SessionState
from duolog.runtime.schema_registries import provide_registries
from duolog.runtime.sql.command_log.command_topic import CommandTopic
from duolog.runtime.sql.command_log.commands import Offsets
from duolog.runtime.sql.command_log.desired_query import DesiredQuery
from duolog.runtime.sql.command_log.replayed_catalog import ReplayedCatalog
from duolog.runtime.sql.command_log.reserved_topics import deletable
from duolog.runtime.sql.command_log.topic_deletions import TopicDeletions, unshared, users_of
from duolog.runtime.sql.command_log.topics import Topics
from duolog.runtime.sql.fanout.print_feeds import PrintFeeds
from duolog.runtime.sql.figures.collector import Wiring
from duolog.runtime.sql.figures.service_figures import ServiceFigures
from duolog.runtime.sql.figures.unread import UnreadOnBroker
from duolog.runtime.sql.groups.of_service import groups_of_service
from duolog.runtime.sql.persistent.members import Member
from duolog.runtime.sql.persistent.query_supervisor import LiveQuery, QuerySupervisor, Starter
from duolog.runtime.sql.persistent.service_queries import ServiceQueries
from duolog.runtime.sql.persistent.shutdown_deadline import shutdown_deadline
from duolog.runtime.sql.persistent.spark_queries import SparkQueries
from duolog.runtime.sql.properties import with_properties
from duolog.runtime.sql.query_settings import pauses_of, processing_log_of, query_settings
from duolog.runtime.sql.reply import showing
from duolog.security.clients.brokers import Brokers
from duolog.security.clients.profiles import brokers_of

if TYPE_CHECKING:
    from duolog.engine import Engine
    from duolog.engine.upgrades.upgrade_plan import UpgradePlan
    from duolog.runtime.sql.fanout.shared_readers import SharedReaders
    from duolog.runtime.sql.reply.inserts import InsertWriter
    from duolog.runtime.sql.reply.lookup_shapes import LookupShapes
    from duolog.runtime.sql.tables.materialized_tables import MaterializedTables
    from duolog.runtime.sql.tables.progress import Progress

logger: Final = logging.getLogger(__name__)

DEFAULT_SERVICE: Final = "default_"
"""As in ksqlDB; names of a service's topics start with its id."""
_END_S: Final = 5.0
Ensure = Callable[[SessionState, SessionState], None]


class SqlService:
    """Catalog, persistent queries and rows of tables of a service id on one Kafka cluster.

    Args:
        bootstrap: the cluster's servers. Addresses alone get the connection settings of the
            environment: see `duolog.security.clients.profiles`.
        data: directory for checkpoints and logs; created if missing.
        service_id: the service; those with the same id share catalog and queries.
        properties: properties of all sessions, as with SET.
        engine_settings: settings of the Spark engine by name, as strings.
        starter: starts queries instead of Spark.
        shares: true for a server, whose queries may move to other servers.
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
        shares: bool = False,
    ) -> None:
        self.brokers = brokers = brokers_of(bootstrap)
        self.service_id, self.ending = service_id, ""
        self.given = given = {"ksql.service.id": service_id, **(properties or {})}
        provide_registries()
        # A value that is not allowed is an error of the start, not of the first statement.
        self._settings = with_properties(Settings(given), given)
        self.topics = Topics(brokers)
        # The JVM has another working directory, and a program may change its own.
        self.data = Path(data).resolve() / service_id
        self.processing_log = processing_log_of(service_id, given)
        of_queries = query_settings(
            service_id, self.data, given, engine_settings or {}, moves=shares
        )
        self._spark = SparkQueries(brokers, self.topics, of_queries)
        self._groups = groups_of_service(
            brokers,
            of_queries,
            shared=self._spark,
            properties=given,
            registry=self._settings[settings.REGISTRY],
            offset=lambda: self.last_command,
        )
        self._starter: Starter = starter or self._groups
        self._replayed = ReplayedCatalog(
            CommandTopic(brokers, service_id), self._settings[settings.REGISTRY]
        )
        self._lock = threading.RLock()
        self._present: MaterializedTables | None = None
        self._inserts: InsertWriter | None = None
        self._presenting, self._opening_readers = threading.Lock(), threading.Lock()
        self._readers: SharedReaders | None = None
        self.prints = PrintFeeds(brokers)
        self._deletions = TopicDeletions(self.topics)
        self._followed_at_s = -math.inf
        self._lookups: LookupShapes | None = None
        self._queries = ServiceQueries(
            brokers,
            service_id,
            replayed=self._replayed,
            follow=self.follow,
            supervise=partial(QuerySupervisor, self._starter, pauses_of(given), data=self.data),
            lock=self._lock,
        )
        self.figures = ServiceFigures(
            brokers,
            service_id,
            Wiring(
                queries=lambda: self._queries.supervisor,
                wanted=self._wanted,
                kept=lambda wanted: self._spark.positions(wanted.checkpoint),
                counts=self.topics.partitions,
                unread=UnreadOnBroker(brokers),
            ),
            spans=self.topics.spans,
        )
        """Rates, lag, errors and state of the persistent queries."""

    @property
    def bootstrap(self) -> str:
        """Addresses of the brokers."""
        return self.brokers.servers

    @property
    def catalog(self) -> Catalog:
        """Streams, tables and types, as far as the command topic was read."""
        return self._replayed.catalog

    @property
    def last_command(self) -> int:
        """Offset of the last command that was read; -1 before any."""
        return self._replayed.topic.last

    @property
    def present(self) -> "MaterializedTables":
        """Current rows of sources, read on demand."""
        with self._presenting:
            if self._present is None:
                from duolog.runtime.sql.tables.materialized_tables import MaterializedTables  # noqa: PLC0415 - takes 50 ms, which SHOW does not need

                self._present = MaterializedTables(self.brokers)
            return self._present

    def tables_read(self) -> "dict[str, Progress]":
        """Return the progress of the first read of tables that were asked for, by table."""
        return {} if self._present is None else self._present.progress()

    @property
    def inserts(self) -> "InsertWriter":
        """Writes the rows of INSERT; it connects with the first row."""
        with self._presenting:
            if self._inserts is None:
                from duolog.runtime.sql.reply.inserts import InsertWriter  # noqa: PLC0415 - SHOW does not need it

                self._inserts = InsertWriter(self.brokers)
            return self._inserts

    @property
    def shared_readers(self) -> "SharedReaders":
        """Readers of the topics of push queries."""
        with self._opening_readers:
            if self._readers is None:
                from duolog.runtime.sql.fanout.shared_readers import SharedReaders  # noqa: PLC0415 - takes 100 ms, for DuckDB

                self._readers = SharedReaders(self.brokers)
            return self._readers

    @property
    def lookups(self) -> "LookupShapes":
        """Known shapes of look-ups."""
        with self._presenting:
            if self._lookups is None:
                from duolog.runtime.sql.reply.lookup_shapes import LookupShapes  # noqa: PLC0415 - as in `present`

                self._lookups = LookupShapes()
            return self._lookups

    @property
    def spark(self) -> "Engine":
        """The Spark engine; its JVM starts when it is first used."""
        return self._spark.engine

    @property
    def runs_queries(self) -> bool:
        """True if this process runs the queries of the service, or some of them."""
        return self._queries.supervisor is not None

    @property
    def is_closing(self) -> bool:
        """True if statements that wait for something should end."""
        return self._queries.given_up.is_set()

    def session(
        self,
        properties: Mapping[str, str] | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> SqlSession:
        """Return a session of one client, for a `StatementRunner`.

        Args:
            properties: properties on top of those of the service, as with SET.
            variables: variables as with DEFINE, by names in any case.

        Raises:
            SqlError: a property is unknown, or its value is not allowed.
        """
        session = SqlSession(given=self.given)
        session.state.settings.of_server = dict(session.state.settings.given)
        with_properties(session.state.settings, properties or {})
        session.state.variables.update(
            {name.upper(): value for name, value in (variables or {}).items()}
        )
        return session

    def follow(self) -> None:
        """Read the existing topics, and the statements that others have written.

        Raises:
            BrokerUnavailable: no broker answers.
            CommandDamaged: the command topic cannot be read; the error has the offset.
        """
        with self._lock:
            self._ask_for_topics()
            self._replayed.follow()

    def state_for(self, node: exp.Expression, mine: SessionState) -> SessionState:
        """Return the state of a session for its next statement.

        It has the service's catalog and queries of now, with their states if the statement shows
        them, and the settings and variables of `mine`.

        Raises:
            BrokerUnavailable, CommandDamaged: as `follow`.
        """
        with self._lock:
            news = self._follow_commands()
            if news or not self._knows_topics(node):
                self._ask_for_topics()
            shared = self._replayed.state
            state = SessionState(
                self.catalog.copy(),
                mine.settings,
                mine.variables,
                dict(shared.queries),
                shared.begun,
            )
        if state.queries and showing.shows_states(node):
            state.queries = showing.with_states(state.queries, self.queries())
        return state

    def recent_catalog(self, staleness_ms_max: int) -> Catalog:
        """Return the catalog; statements of the last `staleness_ms_max` ms may be missing.

        Raises:
            BrokerUnavailable, CommandDamaged: as `follow`.
        """
        if not staleness_ms_max or self.catalog_age_s * 1000 > staleness_ms_max:
            with self._lock:
                if self._follow_commands():
                    self._ask_for_topics()
        return self.catalog

    @property
    def catalog_age_s(self) -> float:
        """Time since the command topic was read."""
        return time.monotonic() - self._followed_at_s

    def _follow_commands(self) -> bool:
        started_s = time.monotonic()
        news = bool(self._replayed.follow())
        self._followed_at_s = started_s
        if news:
            self._forget_dropped()
        return news

    def _forget_dropped(self) -> None:
        """Stop following the topics of dropped tables."""
        if self._present is not None:
            self._present.retain(self.catalog.sources)

    def change(
        self, node: exp.Expression, text: str, given: Settings, ensure: Ensure | None = None
    ) -> Done:
        """Run a statement that may change the catalog, with the settings of a session.

        `ensure` is called before the statement changes anything, with the state that it changes,
        and with the state after it; it may refuse the statement by an error.

        Raises:
            SqlError: it cannot be executed; nothing has changed.
            BrokerUnavailable, CommandDamaged: as `follow`.
        """
        dropped: SourceInfo | None = None

        def prepare(done: Done, state: SessionState) -> Offsets:
            nonlocal dropped
            if ensure is not None:
                ensure(self._replayed.state, state)
            if node.args.get("delete_topic"):
                dropped = deletable(unshared(self.catalog, node.this.name))
            return self._prepare(done, state)

        def run() -> tuple[Done, Mapping[str, DesiredQuery]]:
            with self._lock:
                self.follow()
                before = self._replayed.wanted
                done = self._replayed.run(node, text, given, prepare)
                self._queries.apply()
                self._forget_dropped()
                return done, before

        done, before = self._deletions.waited_for(run)
        if done.query is not None:
            self._queries.start_first()
        if done.ended:
            self._queries.wait_stopped({one: before[one] for one in done.ended if one in before})
        if dropped is not None:
            self._delete_topic_of(dropped)
        return done

    def explain_upgrade(self, query: PersistentQuery) -> "UpgradePlan":
        """Return what a replaced query does with its stores."""
        with self._lock:
            known = self._replayed.wanted.get(query.id)
        wanted = DesiredQuery(query) if known is None else replace(known, query=query)
        return self._spark.explain_upgrade(wanted)

    def start(self) -> None:
        """Start running all of the service's persistent queries in this process.

        Raises:
            ServiceInUse: another process runs them.
            BrokerUnavailable, CommandDamaged: as `follow`.
        """
        self._queries.start()

    def stand_by(self, address: str = "") -> None:
        """Share the persistent queries with the other servers of the service; return at once.

        Needs no broker now. `address` is where clients reach this server, as `host:port`.
        """
        self._queries.stand_by(address)

    def members(self) -> list[Member]:
        """Return the processes that run persistent queries; raises KafkaError without a broker."""
        return self._queries.members()

    def warm_up(self) -> None:
        """Start the JVM in the background, so that the first query does not wait for it."""
        # The thread imports the engine while statements import the planner. CPython 3.11 fails if
        # two threads import modules of one package at the same moment ("KeyError: 'duolog.plan'"):
        # the package is missing from sys.modules for an instant. So what both need comes first.
        import_module("duolog.ksql.planning.planner")
        threading.Thread(target=self._warm_up, name="duolog-sql-jvm", daemon=True).start()

    def start_jvm(self) -> None:
        """Start the JVM unless it runs, and wait for it."""
        self._spark.warm_up()

    def give_up(self) -> None:
        """Abort waits for ownership and for the JVM, from any thread; call `close` next."""
        self._queries.give_up()
        self._groups.give_up()
        self._spark.give_up()

    def end_now(self) -> None:
        """Make `close` return at once; queries end as in a crash. Any thread may call this."""
        self.give_up()
        self._groups.end_now()
        self._spark.end_now()

    def close(self) -> None:
        """Stop this process's queries, and the JVM if it is not used otherwise.

        Does nothing if closed. What has not stopped within seconds, on a busy machine or without a
        broker, is killed.
        """
        self.give_up()
        self.figures.close()
        readers, self._readers = self._readers, None
        for one in (self._present, self._inserts, readers, self.prints):
            if one is not None:
                one.close()
        with shutdown_deadline(_END_S, self.end_now):
            self._queries.stop()
            self._starter.close()
            self._spark.close()
        self._replayed.topic.close()

    def terminate(self, doomed: Callable[[str], bool], interrupt: Callable[[], None]) -> None:
        """Stop the queries for good, and delete the topics of the service; see `termination`."""
        from duolog.runtime.sql.termination import terminate  # noqa: PLC0415 - rarely needed

        forget = self._starter.forget
        terminate(self, self._queries, self._replayed, forget, doomed, interrupt=interrupt)

    def queries(self, *, with_progress: bool = False) -> list[LiveQuery]:
        """Return the persistent queries with their states; UNRESPONSIVE if no process runs them."""
        return self._queries.live(with_progress=with_progress)

    def pid_of_group(self, group: str) -> int | None:
        """Return the process id of a group of queries; None if none runs."""
        return self._groups.pid_of(group)

    def statements(self) -> dict[str, str]:
        """Return the statements of the persistent queries by id."""
        with self._lock:
            return {name: query.statement for name, query in self._replayed.state.queries.items()}

    def desired(self) -> Mapping[str, DesiredQuery]:
        """Return the persistent queries that should run or pause, by id; raises as `follow`."""
        with self._lock:
            self._follow_commands()
            return self._replayed.wanted

    def wait_settled(self, timeout_s: float) -> bool:
        """Wait until each query is running, paused or failed; return false after the timeout."""
        return self._queries.wait_settled(timeout_s)

    def _wanted(self) -> Mapping[str, DesiredQuery]:
        with self._lock:
            return self._replayed.wanted

    def _knows_topics(self, node: exp.Expression) -> bool:
        """Return true if a query reads only known topics, which need not be listed again."""
        if not isinstance(node, exp.Query):
            return False
        named = (self.catalog.sources.get(table.name) for table in node.find_all(exp.Table))
        return all(one.topic in self.catalog.partitions for one in named if one is not None)

    def _ask_for_topics(self) -> None:
        # Replaced, not changed: other threads look for the topics of their queries meanwhile.
        self.catalog.partitions = self.topics.partitions()

    def _prepare(self, done: Done, state: SessionState) -> Offsets:
        from duolog.runtime.sql.command_log.made_topics import first_offsets, make_topics  # noqa: PLC0415 - loaded by the statements that need it

        new = state.catalog.sources.keys() - self.catalog.sources.keys()
        self._deletions.ensure_gone(state.catalog.sources[name].topic for name in new)
        there = dict(self.topics.partitions())
        make_topics(self.topics, there, done, state)
        return first_offsets(self.topics, there, done, state)

    def _delete_topic_of(self, source: SourceInfo) -> None:
        with self._lock:
            self._follow_commands()
            # Others may have declared a source over it while the query was stopping.
            if users_of(self.catalog, source.topic):
                return
            self._deletions.begin(source.topic)
        self._deletions.finish(source.topic)

    def _warm_up(self) -> None:
        try:
            self._spark.warm_up()
        except DuologError as error:
            if not self._queries.given_up.is_set():
                logger.warning("the JVM did not start: %s", error.message)
