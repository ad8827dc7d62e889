"""A session over a catalog in memory, for tests of the endpoints."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from duolog.core.errors import DuologError
from duolog.ksql.errors import SqlError
from duolog.ksql.session import Done, SqlSession
from duolog.ksql.settings import Settings
from duolog.ksql.statements.state import SessionState
from duolog.ksql.syntax import nodes
from duolog.runtime.sql.answers import Rows
from duolog.server.access.checks import Checks
from duolog.server.access.guarded_session import GuardedSession
from duolog.server.ksql.endpoints import Endpoints
from duolog.server.ksql.entities import ServerFacts

GIVEN = {"auto.offset.reset": "earliest"}


@dataclass
class Catalog:
    """The catalog and the queries that the sessions share."""

    state: SessionState = field(default_factory=lambda: SessionState(settings=Settings(GIVEN)))
    performed: list[str] = field(default_factory=list)
    selected: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    answers: list[Rows] = field(default_factory=list)
    """The answers of the next queries."""
    batches: list[int] = field(default_factory=list)
    """The numbers of rows that were inserted together."""
    inserted: list[nodes.InsertValues] = field(default_factory=list)
    """The rows of /inserts-stream."""
    failing: str = ""
    """The start of a statement that the broker refuses when it runs."""

    def session(
        self, properties: Mapping[str, str], variables: Mapping[str, str], checks: Checks
    ) -> GuardedSession:
        return GuardedSession(Session(self, properties, variables), "default_", checks)

    def endpoints(self, known_to: int = 0) -> Endpoints:
        facts = ServerFacts(
            "127.0.0.1:8088",
            lambda: len(self.performed),
            lambda: {name: [1] * count for name, count in self.state.catalog.partitions.items()},
        )
        return Endpoints.of(self.session, facts, lambda number: number <= known_to)


class Session:
    """One request's session."""

    def __init__(
        self, shared: Catalog, properties: Mapping[str, str], variables: Mapping[str, str]
    ) -> None:
        self._shared = shared
        settings = Settings(shared.state.settings.given)
        settings.of_server = shared.state.settings.of_server
        for name, value in properties.items():
            settings.set(name, value)
        self._given = dict(settings.given)
        self.session = SqlSession()
        self.session.state = SessionState(
            shared.state.catalog, settings, dict(variables), shared.state.queries
        )

    def sandbox(self) -> SqlSession:
        mine = self.session.state
        copy = SqlSession()
        copy.state = SessionState(
            mine.catalog.copy(),
            Settings(mine.settings.given),
            dict(mine.variables),
            dict(mine.queries),
        )
        return copy

    def perform(self, node: exp.Expression, text: str) -> Done:
        if self._shared.failing and text.startswith(self._shared.failing):
            raise SqlError("the topic was deleted meanwhile", statement=text)
        done = self.session.execute(node, text)
        self._shared.performed.append(text)
        return done

    def insert_all(self, rows: Sequence[nodes.InsertValues]) -> list[DuologError | None]:
        """Note each row that is valid; the broker refuses those that `failing` names."""
        outcomes: list[DuologError | None] = []
        self._shared.batches.append(len(rows))
        for node in rows:
            try:
                self.perform(node, written(node))
                self._shared.inserted.append(node)
                outcomes.append(None)
            except DuologError as error:
                return [*outcomes, error]
        return outcomes

    def select(self, node: exp.Query, text: str) -> Rows:
        self._shared.selected.append((text, self.session.state.settings.given))
        return self._shared.answers.pop(0)

    def printed(self, node: nodes.PrintTopic) -> Rows:
        self._shared.selected.append((f"PRINT {node.this.name}", self._given))
        return self._shared.answers.pop(0)


def written(node: exp.Expression) -> str:  # noqa: PLR0911 - a table of cases
    """Return an INSERT of /inserts-stream as text."""

    def listed(of: list[exp.Expression]) -> str:
        return ", ".join(map(written, of))

    match node:
        case nodes.InsertValues():
            into = f"INSERT INTO {written(node.this)} ({listed(node.args['columns'])})"
            return f"{into} VALUES ({listed(node.expressions)});"
        case exp.Identifier():
            return f"`{node.name}`"
        case exp.Literal() if node.is_string:
            return "'" + node.name.replace("'", "''") + "'"
        case exp.Neg():
            return f"-{node.name}"
        case exp.Anonymous():
            return f"{node.name}({listed(node.expressions)})"
        case exp.Array():
            return f"ARRAY[{listed(node.expressions)}]"
        case nodes.MapOf() | nodes.StructOf():
            kind = "MAP" if isinstance(node, nodes.MapOf) else "STRUCT"
            return f"{kind}({listed(node.expressions)})"
        case nodes.Assigned():
            return f"{written(node.this)} := {written(node.expression)}"
        case exp.Boolean():
            return "TRUE" if node.this else "FALSE"
        case exp.Null():
            return "NULL"
        case _:
            return node.name


class OneRow:
    """A source with one row, which then waits."""

    def __init__(self) -> None:
        self.rows: list[tuple[object, ...]] = [("a", 1)]
        self.closed = threading.Event()

    def next_rows(self, timeout_s: float) -> list[tuple[object, ...]]:
        self.closed.wait(0 if self.rows else timeout_s)
        rows, self.rows = self.rows, []
        return rows

    def close(self) -> None:
        self.closed.set()


def answer(
    columns: Sequence[tuple[str, str]],
    rows: Sequence[tuple[object, ...]],
    *,
    query_id: str = "",
    unbounded: bool = False,
) -> Rows:
    return Rows(tuple(columns), iter(rows), unbounded=unbounded, query_id=query_id)
