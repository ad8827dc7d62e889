"""What a session keeps between statements, and what it answers to one."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from sqlglot import exp

from duolog.ksql.catalog.catalog import Catalog, SourceInfo
from duolog.ksql.settings import Settings

if TYPE_CHECKING:
    # Loaded by who plans: SHOW STREAMS does not.
    from duolog.ksql.query.planner import Planned
    from duolog.plan.expressions import Expression

QueryState = Literal["STARTING", "RUNNING", "PAUSED", "UNRESPONSIVE", "ERROR"]


@dataclass(frozen=True, slots=True)
class PersistentQuery:
    """A query that a statement has begun."""

    id: str
    planned: "Planned"
    sink: str
    """The stream or table that it writes."""
    statement: str = ""
    state: QueryState = "RUNNING"
    """RUNNING or PAUSED is what statements want; the others are told by whoever runs it."""
    error: str = ""
    """Its last error, as far as whoever runs it has told."""
    dead_letters: str = ""
    """The topic for records that it cannot read or process; empty: the processing log has them."""
    functions: tuple[str, ...] = ()
    """The functions of users' that it calls."""
    guarantee: str = ""
    """What `processing.guarantee` said when it was begun."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The names of the streams and tables that it reads."""
        return tuple(source.name for source in self.planned.sources)


@dataclass(frozen=True, slots=True)
class Rows:
    """A table of texts: what SHOW, DESCRIBE and EXPLAIN answer."""

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    title: str = ""


@dataclass(frozen=True, slots=True)
class InsertedRow:
    """A row that INSERT … VALUES writes: for each column of the source a constant expression of its type, by name.

    A column that is not there is null. `timestamp` is None where the statement does not set ROWTIME. DELETE writes
    rows too, each a `tombstone`.
    """

    source: SourceInfo
    values: "tuple[tuple[str, Expression], ...]"
    timestamp: "Expression | None" = None
    headers: "tuple[tuple[str, Expression], ...]" = ()
    """What its headers are, bytes or a text, by their names."""
    tombstone: bool = False
    """Whether the record has a key and no value at all."""


@dataclass(frozen=True, slots=True)
class Done:
    """What a statement has done; `message` says it to a person."""

    node: exp.Expression
    query: PersistentQuery | None = None
    selected: PersistentQuery | None = None
    """A query whose rows go to whoever asked, and that is in no catalog."""
    message: str = ""
    rows: tuple[Rows, ...] = ()
    inserted: tuple[InsertedRow, ...] = ()
    claimed: InsertedRow | None = None
    """The row that ASSERT VALUES says comes next; its `tombstone` tells ASSERT NULL VALUES."""
    ended: tuple[str, ...] = ()
    """The queries that it has ended."""


@dataclass
class SessionState:
    """The catalog, the queries that run, and what SET and DEFINE have said."""

    catalog: Catalog = field(default_factory=Catalog)
    settings: Settings = field(default_factory=Settings)
    variables: dict[str, str] = field(default_factory=dict)
    queries: dict[str, PersistentQuery] = field(default_factory=dict)
    begun: int = 0
    """How many queries have got a number of their own."""

    def next_id(self, begin: str) -> str:
        """Return the id of the next query, which begins with `begin`.

        Example:
            >>> SessionState().next_id("CSAS_FLIGHTS")
            'CSAS_FLIGHTS_0'
        """
        number = self.begun
        self.begun += 1
        return f"{begin}_{number}"

    def readers(self, name: str) -> list[PersistentQuery]:
        return [query for query in self.queries.values() if name in query.reads]

    def writers(self, name: str) -> list[PersistentQuery]:
        return [query for query in self.queries.values() if query.sink == name]
