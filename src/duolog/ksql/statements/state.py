"""State of a session between statements, and the results of statements."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from sqlglot import exp

from duolog.ksql.catalog.catalog import Catalog, SourceInfo
from duolog.ksql.settings import DEFAULT_GROUP, Settings

if TYPE_CHECKING:
    # Not loaded at run time: SHOW STREAMS does not need the planner.
    from duolog.ksql.planning.planner import Planned
    from duolog.plan.expressions import Expression

QueryState = Literal["STARTING", "RUNNING", "PAUSED", "UNRESPONSIVE", "ERROR"]


@dataclass(frozen=True, slots=True)
class PersistentQuery:
    """A query that a statement has started."""

    id: str
    planned: "Planned"
    sink: str
    """Stream or table that it writes."""
    statement: str = ""
    state: QueryState = "RUNNING"
    """Statements set RUNNING or PAUSED; the engine that runs the query reports the other states."""
    error: str = ""
    """Last error that the engine has reported."""
    error_kind: str = "UNKNOWN"
    """USER, SYSTEM or UNKNOWN, as ksqlDB classifies errors."""
    error_at_ms: int = 0
    """Time of the error, in ms since 1970; 0 if it is unknown."""
    dead_letters: str = ""
    """Topic for records that it cannot read or process; empty: the processing log."""
    functions: tuple[str, ...] = ()
    """User-defined functions that it calls."""
    guarantee: str = ""
    """Value of `processing.guarantee` when it was started."""
    skips_refused: bool = False
    """True if it skips results that the broker refuses."""
    properties: tuple[tuple[str, str], ...] = ()
    """Properties of the session that started it, without secrets."""
    jvm_group: str = DEFAULT_GROUP
    """Group whose JVM runs it."""
    host: str = ""
    """Address of the server that runs it, as `host:port`; empty if it is unknown."""

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the streams and tables that it reads."""
        return tuple(source.name for source in self.planned.sources)


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows that SHOW, DESCRIBE or EXPLAIN returns."""

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    title: str = ""


@dataclass(frozen=True, slots=True)
class InsertedRow:
    """A row to write: constant expressions by column name.

    Missing columns are null. `timestamp` is None if the statement does not set ROWTIME. DELETE
    writes rows that are `tombstone`s.
    """

    source: SourceInfo
    values: "tuple[tuple[str, Expression], ...]"
    timestamp: "Expression | None" = None
    headers: "tuple[tuple[str, Expression], ...]" = ()
    """Values of headers by name, BYTES or STRING."""
    tombstone: bool = False
    """True if the record has a key and a null value."""


@dataclass(frozen=True, slots=True)
class Done:
    """Result of a statement; `message` describes it to the user."""

    node: exp.Expression
    query: PersistentQuery | None = None
    selected: PersistentQuery | None = None
    """Query whose rows are returned to the caller; it is not in the catalog."""
    message: str = ""
    rows: tuple[Rows, ...] = ()
    inserted: tuple[InsertedRow, ...] = ()
    claimed: InsertedRow | None = None
    """Next row that ASSERT VALUES expects; a `tombstone` for ASSERT NULL VALUES."""
    ended: tuple[str, ...] = ()
    """Ids of the queries that it has ended."""


@dataclass
class SessionState:
    """Catalog, running queries, and the values of SET and DEFINE."""

    catalog: Catalog = field(default_factory=Catalog)
    settings: Settings = field(default_factory=Settings)
    variables: dict[str, str] = field(default_factory=dict)
    queries: dict[str, PersistentQuery] = field(default_factory=dict)
    begun: int = 0
    """Number of query ids assigned so far."""

    def next_id(self, begin: str) -> str:
        """Return the next query id, which starts with `begin`.

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
