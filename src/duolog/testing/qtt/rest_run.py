"""Runs a case of the REST server: requests to the server's endpoints, and their responses.

    statements ─▶ one request of /ksql ─▶ inputs ─▶ persistent queries, to their end
    each SELECT ─▶ /query ─▶ header, rows, final message; again in Protobuf if the case wants it

The endpoints are the production code. Queries run on the test driver or on Spark, and a SELECT over
the topics of the case.

Source: ksqlDB's own runner, as described next to the cases.
"""

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, Protocol

from sqlglot import exp

from duolog.core.errors import DuologError
from duolog.ksql.expressions.legacy_semantics import with_legacy_semantics
from duolog.ksql.session import Done, SqlSession
from duolog.ksql.settings import Settings
from duolog.ksql.statements.queries import pushed_select
from duolog.ksql.statements.state import SessionState
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.script import TEXT, pieces
from duolog.ksql.syntax.types import sql_name
from duolog.runtime.sql.answers import DeletedRow, Rows
from duolog.runtime.sql.reply.pull import ensure_allowed
from duolog.server.access.checks import Checks
from duolog.server.ksql.endpoints import Endpoints
from duolog.server.ksql.entities import ServerFacts
from duolog.server.queries.row_forms import OBJECTS, PROTOBUF
from duolog.testing.qtt.answers import Answering
from duolog.testing.qtt.cases import Case, JsonObject
from duolog.testing.qtt.conditions import Mismatch, ensure_conditions
from duolog.testing.qtt.execution import CaseRun
from duolog.testing.qtt.plan_runs import PlanRun, in_memory
from duolog.testing.qtt.rest_matching import ensure_parts, ensure_proto_parts, matches
from duolog.testing.qtt.topics import Topics

Texts = Mapping[str, str]
_OF_STATEMENTS: Final = "KsqlStatementErrorMessage"
_SELECTS: Final = ("SELECT", "PRINT", "WITH", "VALUES", "(")


class Transport(Protocol):
    """Sends a request to endpoints; returns the status and the body of the response."""

    def __call__(
        self, endpoints: Endpoints, path: str, body: bytes, accept: str
    ) -> tuple[int, bytes]: ...


def in_process(endpoints: Endpoints, path: str, body: bytes, accept: str) -> tuple[int, bytes]:
    """Call endpoints without a connection."""
    reply = endpoints.query(body, accept) if path == "/query" else endpoints.ksql(body)
    return reply.status, reply.body


class RestRun(CaseRun):
    """One run of a case; further arguments as of `CaseRun`."""

    def __init__(
        self,
        case: Case,
        given: dict[str, str],
        run_plan: PlanRun = in_memory,
        transport: Transport = in_process,
    ) -> None:
        super().__init__(case, given, run_plan)
        facts = ServerFacts("127.0.0.1:8088", lambda: self.done, self._replicas)
        self.endpoints = Endpoints.of(self._opened, facts, lambda number: number <= self.done)
        self._transport = transport

    def _run(self) -> None:
        admin, selects = _parted(self._case.statements)
        error = self._case.expected_error
        try:
            entities = self._admin(admin)
            inputs = [self._input(record) for record in self._case.inputs]
            for query in self._queries.values():
                self._run_query(query, inputs)
            answers = [self._answer(text, OBJECTS) for text in selects]
        except _Refused as refused:
            if error is None:
                raise Mismatch(f"the server refuses with {refused}") from None
            _ensure_error(refused, error)
            return
        if error is not None:
            raise Mismatch(f"expected the error {error.get('message')!r}, and there was none")
        self._compare()
        self._compare_responses(admin, entities, selects, answers)
        ensure_conditions(self._case, self._session.catalog, self._schemas)

    def _admin(self, statements: list[str]) -> list[JsonObject]:
        if not statements:
            return []
        status, body = self._send("/ksql", self._body("\n".join(statements)), OBJECTS)
        found = _parsed(body)
        if status != 200:
            raise _Refused(status, found)
        return list(found)

    def _answer(self, text: str, accept: str) -> list[JsonObject]:
        status, body = self._send("/query", self._body(text), accept)
        found = _parsed(body)
        if status != 200:
            raise _Refused(status, found)
        return list(found)

    def _body(self, sql: str) -> bytes:
        given = self._case.spec.get("properties", {})
        return json.dumps({"ksql": sql, "streamsProperties": given}).encode()

    def _compare_responses(
        self,
        admin: list[str],
        entities: list[JsonObject],
        selects: list[str],
        answers: list[list[JsonObject]],
    ) -> None:
        responses = self._case.spec.get("responses") or []
        wanted_entities = [one["admin"] for one in responses if "admin" in one]
        if wanted_entities and len(entities) != len(wanted_entities):
            raise Mismatch(f"expected {len(wanted_entities)} entities, found {entities}")
        texts = [text for text in admin if not text.upper().startswith("INSERT INTO")]
        for text, found, wanted in zip(texts, entities, wanted_entities, strict=False):
            if not matches(found, wanted, text):
                raise Mismatch(f"entity: found {found}, expected {wanted}")
        in_order = bool((self._case.spec.get("outputConditions") or {}).get("verifyOrder"))
        queries = [one["query"] for one in responses if "query" in one]
        if queries and len(queries) != len(selects):
            raise Mismatch(f"expected {len(queries)} answers, and {len(selects)} were asked")
        for answer, parts in zip(answers, queries, strict=bool(queries)):
            ensure_parts(answer, parts, in_order=in_order)
        protos = [one["queryProto"] for one in responses if "queryProto" in one]
        for text, parts in zip(selects, protos, strict=bool(protos)):
            ensure_proto_parts(self._answer(text, PROTOBUF), parts)

    def _send(self, path: str, body: bytes, accept: str) -> tuple[int, bytes]:
        return self._transport(self.endpoints, path, body, accept)

    def _replicas(self) -> dict[str, list[int]]:
        there = self._session.catalog.partitions
        return {topic: [1] * count for topic, count in there.items()}

    def _opened(self, properties: Texts, variables: Texts, _checks: Checks) -> "_Session":
        return _Session(self, properties, variables)

    def performed(self, done: Done) -> None:
        """Take the result of a statement: a query to run, rows to write."""
        self.done += 1
        if done.query is not None:
            self._queries[done.query.id] = done.query
        for row in done.inserted:
            self._insert(row)


class _Session:
    """A session of a request, over the catalog and the topics of a case."""

    def __init__(
        self, run: RestRun, properties: Mapping[str, str], variables: Mapping[str, str]
    ) -> None:
        self._run = run
        self._shared = shared = run._session.state  # noqa: SLF001 - the same case
        settings = Settings(shared.settings.given)
        for name, value in properties.items():
            settings.set(name, value)
        self.session = SqlSession(of_tests=False)
        self.session.state = SessionState(
            shared.catalog, settings, dict(variables), shared.queries, shared.begun
        )

    @property
    def catalog(self) -> Any:
        return self.session.catalog

    @property
    def topics(self) -> Topics:
        return self._run._topics  # noqa: SLF001 - the same case

    def sandbox(self) -> SqlSession:
        mine = self.session.state
        copy = SqlSession(of_tests=False)
        copy.state = SessionState(
            mine.catalog.copy(),
            Settings(mine.settings.given),
            dict(mine.variables),
            dict(mine.queries),
            mine.begun,
        )
        return copy

    def perform(self, node: exp.Expression, text: str) -> Done:
        done = self.session.execute(node, text)
        self._shared.begun = self.session.state.begun
        self._run.performed(done)
        return done

    def insert_all(self, rows: Sequence[nodes.InsertValues]) -> list[DuologError | None]:
        outcomes: list[DuologError | None] = []
        for node in rows:
            try:
                self.perform(node, "")
            except DuologError as error:
                return [*outcomes, error]
            outcomes.append(None)
        return outcomes

    def select(self, node: exp.Query, text: str) -> Rows:
        assert isinstance(node, exp.Expression), node
        asked = with_legacy_semantics(node, self.session.state.settings)
        assert isinstance(asked, exp.Query), asked
        asked.meta[TEXT] = text
        pushes = asked.args.get("emit") is not None
        if pushes:
            pushed_select(self.session.state, asked, text)
        else:
            ensure_allowed(self, asked)
        answer = Answering(self.session, self.topics).answer(asked)
        rows = (
            DeletedRow(row) if at in answer.deleted else row for at, row in enumerate(answer.rows)
        )
        columns = tuple((one.name, sql_name(one.type)) for one in answer.columns)
        return Rows(columns, rows, unbounded=pushes, query_id=answer.query_id)

    def printed(self, node: nodes.PrintTopic) -> Rows:
        raise NotImplementedError("PRINT needs a broker")


class _Refused(Exception):
    """An error of the server."""

    def __init__(self, status: int, body: JsonObject) -> None:
        super().__init__(f"{status}: {body}")
        self.status = status
        self.body = body


def _ensure_error(refused: _Refused, wanted: JsonObject) -> None:
    found = refused.body
    if wanted.get("message", "") not in found["message"]:
        raise Mismatch(f"expected the error {wanted['message']!r}, got {found['message']!r}")
    if "status" in wanted and refused.status != wanted["status"]:
        raise Mismatch(f"expected the status {wanted['status']}, got {refused.status}")
    of_statement = str(wanted.get("type", "")).endswith(f".{_OF_STATEMENTS}")
    if of_statement and found["@type"] != "statement_error":
        raise Mismatch(f"expected an error of the statement, got {found}")


def _parted(statements: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Return the statements for /ksql, and those for /query."""
    found = [piece.strip() for text in statements for piece in pieces(text) if piece.strip()]
    selects = [one for one in found if one.upper().startswith(_SELECTS)]
    return [one for one in found if one not in selects], selects


def _parsed(body: bytes) -> Any:
    return json.loads(body, parse_float=Decimal)
