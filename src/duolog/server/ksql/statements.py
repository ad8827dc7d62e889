"""Run the statements of a /ksql request, and return their entities.

    wait for the command ─▶ try all statements on a copy of the catalog ─▶ run them in order

If any statement is invalid, none has run. A statement that fails when it runs, because another
client has changed the catalog meanwhile or the broker refuses a topic, leaves those before it in
force, and the error has their entities. SET, UNSET, DEFINE and UNDEFINE last until the end of the
request.

Threads: any; the session of a request is used by one.

Source: ksqlDB's documentation of the /ksql endpoint.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from sqlglot import exp

from duolog.core.errors import DuologError
from duolog.ksql.errors import SqlError
from duolog.ksql.session import Done, SqlSession
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.amounts import Amount
from duolog.runtime.sql.answers import Rows
from duolog.server.errors import OVERLOADED, RequestRefused
from duolog.server.failures import (
    ASSERTION_FAILED,
    Failure,
    commands_late,
    failure_of,
    message_of,
    not_here,
)
from duolog.server.ksql.command_status import CommandStatuses
from duolog.server.ksql.entities import ServerFacts, entity_of
from duolog.server.ksql.requests import StatementRequest

Json = dict[str, Any]

_ASSERTIONS: Final = (nodes.AssertTopic, nodes.AssertSchema)
_ASSERTIONS_MAX: Final = 4
"""Assertions that may wait at once: each keeps a thread, as long as its client wants."""
_OF_QUERIES: Final = (exp.Query, nodes.PrintTopic)


class StatementSession(Protocol):
    """Runs the statements of one client; `runtime.sql.StatementRunner` is one."""

    @property
    def session(self) -> SqlSession: ...

    def sandbox(self) -> SqlSession:
        """Return a copy with the current catalog, on which statements can be tried."""

    def perform(self, node: exp.Expression, text: str) -> Done:
        """Run a statement other than a query.

        Raises:
            SqlError: it cannot be executed.
        """

    def insert_all(self, rows: Sequence[nodes.InsertValues]) -> list[DuologError | None]:
        """Insert rows into one stream; return the outcome of each, up to the first error.

        Raises:
            RequestRefused: the client may not write to the stream.
        """

    def select(self, node: exp.Query, text: str) -> Rows:
        """Run a pull or push query.

        Raises:
            SqlError: the query is invalid.
        """

    def printed(self, node: nodes.PrintTopic) -> Rows:
        """Return the records of a topic.

        Raises:
            SqlError: there is no such topic.
        """


@dataclass(frozen=True, slots=True)
class Statements:
    """Runs requests of /ksql.

    Args:
        facts: facts about the server.
        statuses: keeps the statuses of commands.
        wait_for: waits until a command is known; returns false if it takes too long.
    """

    facts: ServerFacts
    statuses: CommandStatuses
    wait_for: Callable[[int], bool]
    _asserting: threading.BoundedSemaphore = field(
        default_factory=lambda: threading.BoundedSemaphore(_ASSERTIONS_MAX), repr=False
    )

    def run(self, request: StatementRequest, session: StatementSession) -> list[Json]:
        """Run the statements of a request in a session of its own; return their entities.

        Raises:
            Failure: the request is refused, or a statement has failed.
        """
        self.ensure_known(request)
        try_all(request.sql, session)
        entities: list[Json] = []
        for node, text in _read(request.sql, session.session, entities):
            with self._turn_of(node):
                done = _performed(node, text, session, entities)
            entity = entity_of(done, session.session.state, text, self.facts)
            if entity is not None:
                entities.append(entity)
                self.statuses.keep(entity)
        return entities

    @contextmanager
    def _turn_of(self, node: exp.Expression) -> Iterator[None]:
        """Count an assertion while it waits.

        Raises:
            RequestRefused: too many wait.
        """
        if not isinstance(node, _ASSERTIONS):
            yield
            return
        if not self._asserting.acquire(blocking=False):
            raise RequestRefused(
                f"Too many assertions are waiting: at most {_ASSERTIONS_MAX} at once. Try again, "
                "or use shorter timeouts.",
                OVERLOADED,
            )
        try:
            yield
        finally:
            self._asserting.release()

    def ensure_known(self, request: StatementRequest) -> None:
        """Wait for the command that a request depends on.

        Raises:
            Failure: 503, it is not known in time.
        """
        number = request.command_number
        if number is not None and not self.wait_for(number):
            raise commands_late(number)


def try_all(sql: str, session: StatementSession) -> None:
    """Validate the statements of a request: nothing is changed.

    Raises:
        Failure: one is invalid, or has to be sent to /query.
    """
    sandbox = session.sandbox()
    for node, text in _read(sql, sandbox, []):
        if isinstance(node, _OF_QUERIES):
            raise not_here(text)
        if isinstance(node, _ASSERTIONS):
            continue
        try:
            sandbox.execute(node.copy(), text)
        except DuologError as error:
            raise failure_of(error, text) from error


def _performed(
    node: exp.Expression, text: str, session: StatementSession, entities: list[Json]
) -> Done:
    try:
        return session.perform(node, text)
    except SqlError as error:
        if isinstance(node, _ASSERTIONS):
            raise Failure(message_of(error), ASSERTION_FAILED) from error
        raise failure_of(error, text, entities) from error
    except DuologError as error:
        raise failure_of(error, text, entities) from error


def _read(sql: str, session: SqlSession, entities: list[Json]) -> Any:
    """Yield the statements of a text; the next one is read after the last one has run."""
    try:
        yield from session.read(sql, Amount())
    except DuologError as error:
        raise failure_of(error, sql.strip(), entities) from error
