"""A SQL service over a catalog in memory, and users who may describe a part of it."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from sqlglot import exp

from duolog.ksql.lineage import lineage_of
from duolog.ksql.session import SqlSession
from duolog.ksql.statements.state import SessionState
from duolog.runtime.sql.figures.query_figures import QueryFigures
from duolog.runtime.sql.figures.series import Point
from duolog.runtime.sql.figures.topic_growth import TopicSize
from duolog.runtime.sql.tables.progress import Progress
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.security.identity.principal import Identity
from unit.server.users import Rules

TEXT = """
CREATE STREAM orders (id STRING KEY, n INT)
  WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM salaries (id STRING KEY, n INT)
  WITH (KAFKA_TOPIC='salaries', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM large AS SELECT * FROM orders WHERE n > 3;
CREATE STREAM paid AS SELECT o.id AS id, s.n AS pay FROM large o
  JOIN salaries s WITHIN 1 HOUR ON o.id = s.id;
"""


class Figures:
    """Figures that a test sets."""

    def __init__(self) -> None:
        self.found: dict[str, QueryFigures] = {}
        self.points: dict[str, list[Point]] = {}
        self.growth: dict[str, TopicSize] = {}

    def history(self, query_ids: Iterable[str]) -> dict[str, list[Point]]:
        return {name: self.points.get(name, []) for name in query_ids}

    def topics(self, names: Iterable[str]) -> dict[str, TopicSize]:
        return {name: self.growth[name] for name in names if name in self.growth}

    def own(self) -> dict[str, QueryFigures]:
        return self.found

    def all(self, query_ids: Iterable[str]) -> dict[str, QueryFigures]:
        return {name: self.found[name] for name in query_ids if name in self.found}


class Service:
    """A service over a catalog in memory."""

    service_id = "default_"
    ending = ""

    def tables_read(self) -> dict[str, Progress]:
        """Return none: no table is read."""
        return {}

    def __init__(self) -> None:
        self.figures = Figures()
        self._session = SqlSession()
        for _ in self._session.run(TEXT):
            pass

    def run(self, text: str) -> None:
        """Run more statements."""
        for _ in self._session.run(text):
            pass

    def session(self) -> SqlSession:
        return SqlSession()

    def state_for(self, node: exp.Expression, mine: SessionState) -> SessionState:
        del node
        shared = self._session.state
        return SessionState(shared.catalog.copy(), mine.settings, {}, dict(shared.queries))

    def note(self, query_id: str, **changes: Any) -> None:
        """Change a query."""
        queries = self._session.state.queries
        queries[query_id] = replace(queries[query_id], **changes)

    @property
    def whole(self) -> dict[str, Any]:
        return lineage_of(self._session.state, self.service_id)


class Names(Rules):
    """Ann may do everything, bob may describe some streams."""

    def __init__(self, *described: str) -> None:
        super().__init__()
        self._described = {f"default_.{name}" for name in described}

    def allows(
        self, client: Identity, operation: Operation, resource: ResourceType, name: str
    ) -> bool:
        if (operation, resource) == (Operation.DESCRIBE, ResourceType.SOURCE):
            return client.principal.name == "ann" or name in self._described
        return super().allows(client, operation, resource, name)
