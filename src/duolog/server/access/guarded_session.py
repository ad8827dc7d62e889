"""The session of a client whose rights are checked before each statement.

    trial      rights by names ─▶ statement on a copy ─▶ rights on the topics that it names
    perform    rights by names ─▶ trial, if it creates a source ─▶ statement

A statement is refused with the same error whether what it names exists or not. RUN SCRIPT is
refused to everyone: it reads files of the server.

Threads: one at a time, as the session itself.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, cast

from sqlglot import exp

from duolog.core.errors import DuologError
from duolog.ksql.catalog.schemas import registries_replaced
from duolog.ksql.session import Done, SqlSession
from duolog.ksql.statements.state import SessionState
from duolog.ksql.syntax import nodes
from duolog.runtime.sql.answers import Rows
from duolog.schemas.source import SchemaSource
from duolog.server.access.checks import Checks
from duolog.server.access.client import Right
from duolog.server.access.client_properties import ClientProperties
from duolog.server.access.readable_schemas import readable_by
from duolog.server.access.statement_rights import Known, rights_after, rights_before
from duolog.server.errors import BAD_REQUEST, RequestRefused


class Session(Protocol):
    """Runs the statements of one client; `runtime.sql.StatementRunner` is one."""

    session: SqlSession

    def sandbox(self) -> SqlSession:
        """Return a copy with the current catalog, on which statements can be tried."""

    def perform(self, node: exp.Expression, text: str) -> Done:
        """Run a statement other than a query."""

    def insert_all(self, rows: Sequence[nodes.InsertValues]) -> list[DuologError | None]:
        """Insert rows into one stream; return the outcome of each, up to the first error."""

    def select(self, node: exp.Query, text: str) -> Rows:
        """Run a pull or push query."""

    def printed(self, node: nodes.PrintTopic) -> Rows:
        """Return the records of a topic as they arrive."""


class Trial(SqlSession):
    """Tries statements on a copy of the catalog, for a client with these rights."""

    def __init__(
        self, state: SessionState, service_id: str, checks: Checks, properties: ClientProperties
    ) -> None:
        super().__init__(of_tests=False)
        self.state = state
        self._properties = properties
        self._service_id = service_id
        self._checks = checks

    def execute(self, node: exp.Expression, text: str = "") -> Done:
        """Run a statement; raises RequestRefused if the client lacks a right."""
        ensure_remote(node)
        self._properties.ensure_node(node)
        self._checks.ensure(rights_before(node, self._known()))
        done = super().execute(node, text)
        self._checks.ensure(rights_after(node, self._known()))
        return done

    def lacking(self, node: exp.Expression, *, after: bool = False) -> Right | None:
        """Return a right that the client lacks for a statement; None if it has all.

        Unlike a refusal, this leaves no line in the audit log.

        Args:
            node: the statement.
            after: true for the rights that only its execution here has shown.

        Raises:
            RequestRefused: the statement is not one for a server, or sets a property that its
                clients may not set.
        """
        ensure_remote(node)
        self._properties.ensure_node(node)
        wanted = rights_after if after else rights_before
        return self._checks.lacking(wanted(node, self._known()))

    def _known(self) -> Known:
        return Known(self._service_id, self.state.catalog.sources, self.state.queries)


class GuardedSession:
    """A session that runs what its client may run.

    Args:
        inner: runs the statements; its service is the one that the client may see.
        properties: the rules for SET.
    """

    def __init__(
        self,
        inner: Session,
        service_id: str,
        checks: Checks,
        properties: ClientProperties | None = None,
    ) -> None:
        self._inner = inner
        self._properties = properties or ClientProperties(checks, {})
        self.session = inner.session
        """The settings and variables of the client."""
        self._service_id = service_id
        self._checks = checks

    def sandbox(self) -> SqlSession:
        """Return a copy with the current catalog, on which statements can be tried."""
        return Trial(self._inner.sandbox().state, self._service_id, self._checks, self._properties)

    def perform(self, node: exp.Expression, text: str) -> Done:
        """Run a statement other than a query.

        Raises:
            RequestRefused: the client lacks a right.
            SqlError: it cannot be executed.
        """
        self._ensure(node, lambda trial: trial.execute(node.copy(), text))
        return self._inner.perform(node, text)

    def insert_all(self, rows: Sequence[nodes.InsertValues]) -> list[DuologError | None]:
        """Insert rows into one stream; return the outcome of each, up to the first error.

        Raises:
            RequestRefused: the client lacks a right.
        """
        names = {node.this.name for node in rows}
        assert len(names) == 1, "the rights on one stream are checked"
        self._ensure(rows[0])
        return self._inner.insert_all(rows)

    def select(self, node: exp.Query, text: str) -> Rows:
        """Run a pull or push query; raises as `perform`."""
        assert isinstance(node, exp.Expression), node
        self._ensure(node)
        return self._inner.select(node, text)

    def printed(self, node: nodes.PrintTopic) -> Rows:
        """Return the records of a topic as they arrive; raises as `perform`."""
        self._ensure(node)
        if not self._checks.decide:
            return self._inner.printed(node)

        def registry(address: str) -> SchemaSource:
            # PRINT only reads schemas.
            return cast("SchemaSource", readable_by(self._checks, address))

        with registries_replaced(registry):
            return self._inner.printed(node)

    def _ensure(
        self, node: exp.Expression, attempt: Callable[["SqlSession"], object] | None = None
    ) -> None:
        ensure_remote(node)
        self._properties.ensure_node(node)
        if not self._checks.decide:
            return
        trial = self.sandbox()
        known = Known(self._service_id, trial.state.catalog.sources, trial.state.queries)
        self._checks.ensure(rights_before(node, known))
        if attempt is not None and isinstance(node, nodes.CreateSource):
            attempt(trial)


def ensure_remote(node: exp.Expression) -> None:
    """Refuse a statement that only a user of this machine may run.

    Raises:
        RequestRefused: it is RUN SCRIPT.
    """
    if isinstance(node, nodes.RunScript):
        raise RequestRefused(
            "RUN SCRIPT reads a file of the client: send its statements instead", BAD_REQUEST
        )
