"""ksqlDB's endpoints as functions from a request's body to a reply, without sockets.

    POST /ksql            statements                     a JSON array of entities
    POST /query           a SELECT or PRINT              rows, as objects or delimited
    POST /query-stream    a SELECT or PRINT              rows, delimited or as an array
    POST /close-query     the id of a query              nothing
    POST /inserts-stream  a stream, then rows            an acknowledgement per row
    GET /ws/query         a SELECT or PRINT              rows, each a message of a WebSocket

A reply of rows blocks while it waits for them: it is read by a thread that may wait. Most push
queries are read by the event loop instead, see `LiveRows`.

Source: ksqlDB's documentation of its HTTP API.
"""

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from duolog.core.errors import DuologError
from duolog.runtime.sql.fanout.errors import ReadersClosed
from duolog.security.authorization.operations import ResourceType
from duolog.server.access.checks import EVERYTHING, Checks
from duolog.server.access.guarded_session import Trial
from duolog.server.errors import SERVER_ERROR, RequestRefused
from duolog.server.failures import Failure, bad_request, failure_of, message_of
from duolog.server.ksql.command_status import CommandStatuses
from duolog.server.ksql.entities import ServerFacts
from duolog.server.ksql.inserts import RowInserts
from duolog.server.ksql.reply import Reply, streamed_reply, whole_reply
from duolog.server.ksql.requests import (
    StatementRequest,
    inserts_request,
    query_request,
    query_to_close,
    socket_request,
    statement_request,
    stream_request,
)
from duolog.server.ksql.selects import start_query
from duolog.server.ksql.socket_lines import socket_form, socket_prints
from duolog.server.ksql.statements import Statements, StatementSession
from duolog.server.queries import printed_lines
from duolog.server.queries.live_rows import TOKENS_ENABLED, LiveRows
from duolog.server.queries.row_forms import (
    OBJECTS,
    RowForm,
    query_form,
    stream_form,
)
from duolog.server.queries.running import RunningQueries
from duolog.server.queries.started import StartedQuery

logger: Final = logging.getLogger(__name__)

ERRORS: Final = "application/json"
"""Content type of an error."""
Sessions = Callable[[Mapping[str, str], Mapping[str, str], Checks], StatementSession]
"""Returns a session with properties, variables, and the rights of its client.

Raises SqlError if a property is unknown."""
FormOf = Callable[[StartedQuery, str], RowForm]


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The endpoints of one server.

    Args:
        sessions: makes the session of a request.
        statements: runs the statements of /ksql.
        running: the queries that clients read.
    """

    sessions: Sessions
    statements: Statements
    running: RunningQueries

    @classmethod
    def of(
        cls, sessions: Sessions, facts: ServerFacts, wait_for: Callable[[int], bool]
    ) -> "Endpoints":
        """Return the endpoints of a server that nothing has been sent to yet."""
        return cls(sessions, Statements(facts, CommandStatuses(), wait_for), RunningQueries())

    def ksql(self, body: bytes, checks: Checks = EVERYTHING) -> Reply:
        """Run the statements of a request."""

        def entities() -> Reply:
            request = statement_request(body)
            found = self.statements.run(request, self._session(request, checks))
            return whole_reply(200, OBJECTS, _json(found))

        return _answered(entities)

    def query(self, body: bytes, accept: str = "", checks: Checks = EVERYTHING) -> Reply:
        """Start a query, and return its rows as objects or in the form that is asked for."""
        return _answered(lambda: self._rows(query_request(body), accept, query_form, checks))

    def query_stream(self, body: bytes, accept: str = "", checks: Checks = EVERYTHING) -> Reply:
        """Start a query, and return its rows delimited or in the form that is asked for."""
        return _answered(lambda: self._rows(stream_request(body), accept, stream_form, checks))

    def socket_query(self, query: Mapping[str, str], checks: Checks = EVERYTHING) -> Reply:
        """Start the query of a WebSocket, and return its messages as lines.

        `query` has the parameters of the address.
        """
        return _answered(
            lambda: self._rows(socket_request(query), "", socket_form, checks, socket_prints)
        )

    def close_query(self, body: bytes, checks: Checks = EVERYTHING) -> Reply:
        """End a push query of the same client."""

        def closed() -> Reply:
            query_id = query_to_close(body)
            if not self.running.close(query_id, checks.client):
                raise bad_request(f"No query with id {query_id}")
            return whole_reply(200, OBJECTS, b"")

        return _answered(closed)

    def trial(self, request: StatementRequest, checks: Checks) -> tuple[Trial, frozenset[str]]:
        """Return a session over a copy of the catalog, and the topics that the client may see.

        Raises:
            RequestRefused: a property or variable is not allowed, or the service has ended.
            DuologError: no broker answers.
        """
        trial = self._session(request, checks).sandbox()
        assert isinstance(trial, Trial), trial
        partitions = trial.state.catalog.partitions
        return trial, checks.visible(ResourceType.TOPIC, partitions)

    def open_inserts(self, line: bytes, checks: Checks = EVERYTHING) -> RowInserts:
        """Return the stream that the first line of a request to /inserts-stream names.

        Raises:
            RequestRefused: the line is not such a request, or there is no such stream.
        """
        request = inserts_request(line)
        session = self._session(StatementRequest("", request.properties), checks)
        return RowInserts(session, request.target)

    def _session(self, request: StatementRequest, checks: Checks) -> StatementSession:
        try:
            return self.sessions(request.properties, request.variables, checks)
        except RequestRefused:
            raise
        except DuologError as error:
            raise bad_request(message_of(error)) from error

    def _rows(
        self,
        request: StatementRequest,
        accept: str,
        form_of: FormOf,
        checks: Checks,
        prints: Callable[[StartedQuery], Iterator[bytes]] = printed_lines.printed_text,
    ) -> Reply:
        # The session first: a terminated service has no command to wait for.
        session = self._session(request, checks)
        self.statements.ensure_known(request)
        query = start_query(request, session)
        if not isinstance(query, StartedQuery):
            # It has no id for clients. It ends with the server, as push queries do.
            printed = StartedQuery(f"print {id(query)}", (), query)
            self.running.add(printed, None)
            return streamed_reply(
                printed_lines.CONTENT_TYPE,
                prints(printed),
                lambda: self.running.remove(printed),
                unbounded=query.unbounded,
            )
        try:
            form = form_of(query, accept)
        except DuologError as error:
            query.rows.close()
            raise failure_of(error, request.sql) from error
        if query.rows.unbounded:
            self.running.add(query, checks.client)
        return streamed_reply(
            form.content_type,
            self._pieces(query, form),
            lambda: self.running.remove(query),
            query_id=query.query_id,
            unbounded=query.rows.unbounded,
            live=LiveRows.of(query, form, tokens=_wants_tokens(request)),
        )

    @staticmethod
    def _pieces(query: StartedQuery, form: RowForm) -> Iterator[bytes]:
        try:
            yield form.begin()
            for row in query.taken():
                yield form.row(row)
            if query.is_interrupted and query.rows.unbounded:
                # It has no token: the client must learn that rows may be missing.
                yield form.failed(failure_of(ReadersClosed()))
                return
            yield form.end(query.final_message)
        except DuologError as error:
            yield form.failed(failure_of(error))


def _wants_tokens(request: StatementRequest) -> bool:
    return request.properties.get(TOKENS_ENABLED, "").lower() == "true"


def _answered(run: Callable[[], Reply]) -> Reply:
    try:
        return run()
    except RequestRefused as refused:
        return failed_reply(refused)
    except DuologError as error:
        # Of no statement: for instance, no broker answers.
        return failed_reply(failure_of(error))
    except Exception:
        logger.exception("a request has failed")
        return failed_reply(Failure("the server has an internal error; see its log", SERVER_ERROR))


def failed_reply(refused: RequestRefused) -> Reply:
    """Return the reply of a refused request."""
    return whole_reply(refused.status, ERRORS, _json(refused.body()), note=str(refused.code))


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str).encode()
