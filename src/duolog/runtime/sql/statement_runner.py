"""Run the statements of one client: its properties and variables over the catalog of a service.

    service = SqlService("127.0.0.1:9092", data="data")
    for answer in StatementRunner(service, service.session()).execute("SHOW STREAMS;"):
        ...

SET and DEFINE apply to this runner only.

Threads: one at a time, except that another thread may read the returned `Rows`.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from duolog.core.errors import DuologError, EncodingError
from duolog.core.text_files import read_text_file
from duolog.ksql import settings
from duolog.ksql.catalog.catalog import Catalog
from duolog.ksql.errors import SqlError, too_deep
from duolog.ksql.expressions.legacy_semantics import with_legacy_semantics
from duolog.ksql.expressions.user_calls import with_functions
from duolog.ksql.session import Done, SqlSession
from duolog.ksql.settings import Settings
from duolog.ksql.statements.assertions import ensure_replicas
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.nodes import place_of
from duolog.runtime.sql.answers import Answer, Rows
from duolog.runtime.sql.reply import showing
from duolog.runtime.sql.service import SqlService

if TYPE_CHECKING:
    from duolog.engine import Engine
    from duolog.runtime.sql.command_log.topics import Topics
    from duolog.runtime.sql.fanout.shared_readers import SharedReaders
    from duolog.runtime.sql.reply.lookup import Lookup
    from duolog.runtime.sql.reply.prepared import PreparedLookup
    from duolog.runtime.sql.tables.materialized_tables import MaterializedTables
    from duolog.security.clients.brokers import Brokers

_ASSERT_MS: Final = 1000
_OF_LOOKUPS: Final = (
    settings.COMPATIBILITY,
    settings.TABLE_SCAN,
    settings.RANGE_SCAN,
    settings.LIMIT,
    settings.SUBSTRING,
    settings.CAST,
)
"""Settings on which the meaning of a look-up may depend."""
OF_THE_SERVICE: Final = (
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
"""Statements that change the catalog, and so are written to the command topic."""


class StatementRunner:
    """Runs statements of one client of a service.

    Args:
        service: the service, which other runners use too.
        session: properties and variables of the client.
    """

    def __init__(self, service: SqlService, session: SqlSession) -> None:
        self.service = service
        self.session = session
        self.brokers: Brokers = service.brokers
        self.topics: Topics = service.topics
        self.data: Path = service.data

    @property
    def catalog(self) -> Catalog:
        """Streams, tables and types, as far as the command topic was read."""
        return self.service.catalog

    @property
    def present(self) -> "MaterializedTables":
        """Current rows of sources, read on demand."""
        return self.service.present

    @property
    def shared_readers(self) -> "SharedReaders":
        """Readers of the topics of push queries."""
        return self.service.shared_readers

    @property
    def spark(self) -> "Engine":
        """The Spark engine; its JVM starts when it is first used."""
        return self.service.spark

    def execute(self, text: str) -> Iterator[Answer]:
        """Run each statement of a text, and yield its results.

        Raises:
            SqlError: a statement cannot be parsed or executed. The statements before it have run.
            BrokerUnavailable, CommandDamaged: as `SqlService.follow`.
        """
        repeated = self.look_up(text)
        if repeated is not None:
            yield repeated
            return
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
                yield self.select(node, text)
            case nodes.PrintTopic():
                yield self.printed(node)
            case nodes.RunScript():
                yield from self.execute(_read(node))
            case nodes.Show() if node.args["kind"] == "TOPICS":
                self._know(node)
                queries = self.session.state.queries.values()
                yield showing.topics(node, self.topics.replicas(), queries)
            case nodes.Show() if node.args["kind"] == "QUERIES" and node.args.get("extended"):
                yield from showing.answers(self.perform(node, text))
                yield showing.figures(self.service.figures.all(self.session.state.queries))
            case nodes.Describe() if node.args["kind"] == "SOURCE" and node.args.get("extended"):
                yield from showing.answers(self.perform(node, text))
                if named := showing.queries_of(self.session.state, node.this.name):
                    yield showing.figures(self.service.figures.all(named))
            case nodes.Explain() if node.args.get("upgrade"):
                query = self.perform(node, text).query
                assert query is not None
                yield from showing.upgrade(self.service.explain_upgrade(query))
            case _:
                yield from showing.answers(self.perform(node, text))

    def look_up(self, text: str) -> Rows | None:
        """Answer a look-up by key whose shape is known, without parsing it; None for other texts.

        Raises:
            SqlError, BrokerUnavailable, CommandDamaged: as `select`.
        """
        if text.lstrip()[:6].upper() != "SELECT":
            return None
        # Imported after the check: a statement loads only what it needs.
        from duolog.runtime.sql.reply import pull  # noqa: PLC0415
        from duolog.runtime.sql.reply.lookup_shapes import shape_of  # noqa: PLC0415

        shaped = shape_of(text)
        if shaped is None:
            return None
        given = self.session.state.settings
        lookup = self.service.lookups.find(
            shaped,
            self._options(),
            lambda: self.service.recent_catalog(given.number(settings.ANSWER_STALENESS)),
            self._bound_lookup,
        )
        if lookup is None:
            return None
        answer = pull.looked_up(self, lookup)
        if answer is None:
            return None
        return showing.with_reason(answer, [lookup.source], self.service.queries)

    def prepared(self, text: str) -> "PreparedLookup | None":
        """Prepare a look-up by whole keys, for statements with other literals; None for others.

        Raises:
            SqlError: a property has an invalid value.
            BrokerUnavailable, CommandDamaged: as `SqlService.follow`.
        """
        from duolog.runtime.sql.reply.lookup_shapes import shape_of  # noqa: PLC0415 - as in `run`
        from duolog.runtime.sql.reply.prepared import prepared_lookup  # noqa: PLC0415
        from duolog.runtime.sql.tables.freshness import wanted_of  # noqa: PLC0415

        shaped, given = shape_of(text), self.session.state.settings
        if shaped is None:
            return None
        catalog = self.service.recent_catalog(0)
        shapes = self.service.lookups
        form = shapes.form(shaped, self._options(), catalog, self._bound_lookup)
        return prepared_lookup(form, wanted_of(given), given.number(settings.ANSWER_ROWS))

    def _options(self) -> tuple[object, ...]:
        """Return the settings on which the meaning of a look-up depends."""
        given = self.session.state.settings
        return given.are_new, given.refuses_early, *(given[name] for name in _OF_LOOKUPS)

    def _bound_lookup(self, text: str) -> "Lookup | None":
        from duolog.runtime.sql.reply import pull  # noqa: PLC0415 - as in `run`

        found = [node for node, _ in self.session.read(text)]
        if len(found) != 1:
            return None
        (node,) = found
        if not isinstance(node, exp.Query) or node.args.get("emit") is not None:
            return None
        asked = with_legacy_semantics(node, self.session.state.settings)
        with_functions(asked, self.catalog.functions)
        assert isinstance(asked, exp.Query), asked
        return pull.bound_lookup(self, asked)

    def select(self, node: exp.Query, text: str) -> Rows:
        """Run a pull or push query.

        Raises:
            SqlError: the query is invalid.
            BrokerUnavailable, CommandDamaged: as `SqlService.follow`.
        """
        # Imported in functions: each statement loads only what it needs.
        from duolog.runtime.sql.reply import pull, push  # noqa: PLC0415

        assert isinstance(node, exp.Expression), node
        self._know(node)
        answers = push if node.args.get("emit") is not None else pull
        asked = with_legacy_semantics(node, self.session.state.settings)
        with_functions(asked, self.catalog.functions)
        assert isinstance(asked, exp.Query), asked
        answer = answers.select(self, asked, text)
        named = (self.catalog.sources.get(one.name) for one in asked.find_all(exp.Table))
        read = [one for one in named if one is not None]
        return showing.with_reason(answer, read, self.service.queries)

    def printed(self, node: nodes.PrintTopic) -> Rows:
        """Return the records of a topic as they arrive.

        Raises:
            SqlError: there is no such topic.
            BrokerUnavailable: no broker answers.
        """
        from duolog.runtime.sql.reply import printing  # noqa: PLC0415 - as in `select`

        registry = self.session.state.settings[settings.REGISTRY]
        return printing.printed(self.service.prints, node, registry)

    def sandbox(self) -> SqlSession:
        """Return a copy of the session over the current catalog, to try statements on.

        Raises:
            BrokerUnavailable, CommandDamaged: as `SqlService.follow`.
        """
        mine = self.session.state
        copy = SqlSession(of_tests=False)
        copy.state = replace(
            self.service.state_for(exp.Null(), mine),
            settings=Settings(mine.settings.given),
            variables=dict(mine.variables),
        )
        return copy

    def perform(self, node: exp.Expression, text: str) -> Done:
        """Run a statement other than a query, and return what it has done.

        Raises:
            SqlError: it cannot be executed.
            BrokerUnavailable, CommandDamaged: as `SqlService.follow`.
        """
        match node:
            case nodes.InsertValues() | nodes.DeleteRows():
                return self._insert(node, text)
            case nodes.AssertTopic() | nodes.AssertSchema():
                return self._assert(node, text)
            case _ if isinstance(node, OF_THE_SERVICE):
                return self.service.change(node, text, self.session.state.settings)
            case _:
                self._know(node)
                return self.session.execute(node, text)

    def insert_all(self, rows: Sequence[nodes.InsertValues]) -> list[DuologError | None]:
        """Insert rows one after another, with one wait for all; return the outcome of each.

        The first error ends the list: the rows before it are durable. Those after it are not
        evaluated, but some may be durable if the broker has refused the row.
        """
        from duolog.runtime.sql.reply import inserts  # noqa: PLC0415 - as in `select`

        records: list[inserts.Addressed] = []
        refused: list[DuologError | None] = []
        try:
            self._know(rows[0])
            for node in rows:
                (row,) = self._tried(node, "").inserted
                records.append(inserts.record_of(row, self.service.start_jvm))
        except DuologError as error:
            refused.append(error)
        outcomes: list[DuologError | None] = [*self.service.inserts.write_each(records), *refused]
        ends = (at for at, outcome in enumerate(outcomes, 1) if outcome is not None)
        return outcomes[: next(ends, len(outcomes))]

    def _know(self, node: exp.Expression) -> None:
        """Update the session for a statement: catalog, topics, and queries with their states."""
        self.session.state = self.service.state_for(node, self.session.state)

    def _insert(self, node: nodes.InsertValues | nodes.DeleteRows, text: str) -> Done:
        from duolog.runtime.sql.reply import inserts  # noqa: PLC0415 - as in `select`

        self._know(node)
        done = self._tried(node, text)
        inserts.insert(self.service.inserts, done.inserted, self.service.start_jvm)
        return done

    def _tried(self, node: nodes.InsertValues | nodes.DeleteRows, text: str) -> Done:
        done = self.session.execute(node, text)
        for topic in {row.source.topic for row in done.inserted} - self.catalog.partitions.keys():
            raise SqlError(f"Topic '{topic}' does not exist.", at=place_of(node))
        return done

    def _assert(self, node: nodes.AssertTopic | nodes.AssertSchema, text: str) -> Done:
        """Wait until an assertion holds.

        Raises:
            SqlError: it does not hold before its timeout.
        """
        timeout = node.args.get("timeout")
        deadline = (
            time.monotonic()
            + (_ASSERT_MS if timeout is None else showing.milliseconds(timeout)) / 1000
        )
        while True:
            self._know(node)
            try:
                return self._asserted(node, text)
            except SqlError:
                if time.monotonic() > deadline or self.service.is_closing:
                    raise
            time.sleep(0.1)

    def _asserted(self, node: nodes.AssertTopic | nodes.AssertSchema, text: str) -> Done:
        done = self.session.execute(node, text)
        if isinstance(node, nodes.AssertTopic):
            ensure_replicas(node, self.topics.replicas)
        return done


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
