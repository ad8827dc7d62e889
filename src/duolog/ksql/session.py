"""A session: statements in their order, over one catalog.

text ─▶ statements ─▶ catalog changed │ query planned │ rows to insert
"""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.errors import ParseError

from duolog.ksql import nodes
from duolog.ksql.catalog import Catalog, SourceInfo, SqlColumn, SqlFormat
from duolog.ksql.dialect import Ksql
from duolog.ksql.errors import SqlError, syntax_error
from duolog.ksql.nodes import Place
from duolog.ksql.planner import Planned, Target, plan_query
from duolog.ksql.properties import Properties
from duolog.ksql.types import type_from


@dataclass(frozen=True, slots=True)
class PersistentQuery:
    """A query that a statement has begun."""

    id: str
    planned: Planned
    sink: str


@dataclass(frozen=True, slots=True)
class Done:
    """What a statement has done."""

    node: exp.Expression
    query: PersistentQuery | None = None


class SqlSession:
    """Runs statements over a catalog; what is to be executed is handed to whoever asked."""

    def __init__(self, catalog: Catalog | None = None) -> None:
        self.catalog = catalog or Catalog()
        self._queries = 0

    def run(self, text: str) -> Iterator[Done]:
        """Run each statement of a text.

        Raises:
            SqlError: one cannot be read, or cannot run; those before it have run.
        """
        for node in parse(text):
            yield self.execute(node)

    def execute(self, node: exp.Expression) -> Done:
        match node:
            case nodes.CreateSource() if node.args.get("expression") is None:
                self._declare(node)
                return Done(node)
            case nodes.CreateSource():
                return Done(node, self._create_as(node))
            case nodes.CreateType():
                found = type_from(node.args["kind"], self.catalog.types)
                self.catalog.types[node.this.name] = found
                return Done(node)
            case _:
                raise SqlError(f"Do not know how to execute statement: {type(node).__name__}")

    def _declare(self, node: nodes.CreateSource) -> None:
        properties = Properties(node.args.get("properties"))
        columns = tuple(self._column(one) for one in node.args.get("elements") or ())
        source = SourceInfo(
            node.this.name,
            node.args["kind"],
            columns,
            properties.topic() or node.this.name,
            properties.format("KEY")
            or SqlFormat("KAFKA" if any(c.role == "KEY" for c in columns) else "NONE"),
            properties.format("VALUE") or SqlFormat("JSON"),
            properties.window(),
            properties.timestamp(),
            bool(node.args.get("read_only")),
        )
        if source.is_table and not source.key:
            raise SqlError("Tables require a PRIMARY KEY. Please define the PRIMARY KEY.")
        self.catalog.sources[source.name] = source

    def _column(self, node: nodes.Element) -> SqlColumn:
        role = node.args.get("role") or "VALUE"
        of = type_from(node.args["kind"], self.catalog.types)
        return SqlColumn(node.this.name, of, "KEY" if role.endswith("KEY") else role)

    def _create_as(self, node: nodes.CreateSource) -> PersistentQuery:
        properties = Properties(node.args.get("properties"))
        name, kind = node.this.name, node.args["kind"]
        target = Target(
            properties.topic() or name,
            properties.format("KEY"),
            properties.format("VALUE"),
            properties.number("PARTITIONS"),
        )
        planned = plan_query(node.args["expression"], self.catalog, target)
        query_id = f"C{kind[0]}AS_{name}_{self._queries}"
        self._queries += 1
        self.catalog.sources[name] = SourceInfo(
            name,
            kind,
            planned.columns,
            planned.topic,
            planned.key_format,
            planned.value_format,
            query=query_id,
        )
        return PersistentQuery(query_id, planned, name)


def parse(text: str) -> list[exp.Expression]:
    """Return the statements of a text.

    Raises:
        SqlError: it has another form; the place is in it.
    """
    try:
        return [node for node in Ksql().parse(text) if node is not None]
    except ParseError as error:
        told = error.errors[0]
        length = len(told["highlight"] or " ")
        at = Place(told["line"], told["col"] - length + 1, 0, 0)
        raise syntax_error(at, told["description"], text.strip()) from error
