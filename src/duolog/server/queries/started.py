"""A query whose rows a client reads: its id, its columns, its rows, and the end of them.

    SELECT … EMIT CHANGES LIMIT 2      header, 2 rows, "Limit Reached"
    SELECT … of a stream               header, rows, "Query Completed"
    SELECT … of a table                header, rows

Source: ksqlDB's documentation of the /query endpoint, and its own tests of responses.
"""

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from sqlglot import exp

from duolog.ksql.catalog.catalog import SourceInfo
from duolog.runtime.sql.answers import Rows

COMPLETED: Final = "Query Completed"
LIMITED: Final = "Limit Reached"
_BOUNDS: Final = ("WINDOWSTART", "WINDOWEND")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a result."""

    name: str
    type: str
    """Its type in SQL."""
    role: str = ""
    """` KEY` or a header's clause, as ksqlDB's schema text ends; else empty."""

    def __str__(self) -> str:
        return f"`{self.name}` {self.type}{self.role}"


@dataclass(slots=True)
class StartedQuery:
    """A running query; the caller closes `rows`."""

    query_id: str
    columns: tuple[Column, ...]
    rows: Rows
    limit: int | None = None
    reports_end: bool = True
    """False for a query of a table, which ends without a message."""
    sent: int = field(default=0, init=False)
    """The number of rows that were taken."""
    is_interrupted: bool = field(default=False, init=False)
    """True if the query ends because the server stops."""

    @property
    def schema(self) -> str:
        """The columns as text; those of headers are before those of the value."""
        keys = [one for one in self.columns if one.role == " KEY"]
        headers = [one for one in self.columns if one.role.startswith(" HEADER")]
        ordered = self.columns
        if headers:
            rest = [one for one in self.columns if not one.role]
            ordered = (*keys, *headers, *rest)
        return ", ".join(map(str, ordered))

    @property
    def types(self) -> tuple[str, ...]:
        """The types of the columns in SQL."""
        return tuple(one.type for one in self.columns)

    def taken(self) -> Iterator[tuple[object, ...]]:
        """Yield the rows, and count them."""
        for row in self.rows:
            self.sent += 1
            yield row

    @property
    def final_message(self) -> str:
        """The message after the last row; empty if there is none."""
        if not self.reports_end:
            return ""
        return LIMITED if self.limit is not None and self.sent >= self.limit else COMPLETED


def started(select: exp.Query, rows: Rows, sources: Mapping[str, SourceInfo]) -> StartedQuery:
    """Return a query that reads `rows`; `sources` are the streams and tables by name."""
    named = [sources[one.name] for one in select.find_all(exp.Table) if one.name in sources]
    pushes = rows.unbounded
    of_table = not pushes and bool(named) and all(one.is_table for one in named)
    limit = select.args.get("limit")
    starred = any(item.is_star for item in select.selects)
    marks = _marks(named, starred=starred) if of_table else {}
    columns = tuple(Column(name, of, marks.get(name, "")) for name, of in rows.columns)
    return StartedQuery(
        rows.query_id or _pull_ids.next(),
        columns,
        rows,
        None if limit is None else int(limit.expression.name),
        reports_end=not of_table,
    )


def _marks(sources: Iterable[SourceInfo], *, starred: bool) -> dict[str, str]:
    """Return the roles that a schema text shows, by the name of the column.

    Columns of headers are marked if a star selects them.
    """
    found: dict[str, str] = {}
    for source in sources:
        found |= {one.name: " KEY" for one in source.key}
        if source.window is not None:
            found |= dict.fromkeys(_BOUNDS, " KEY")
        for one in source.headers if starred else ():
            found[one.name] = f" HEADER('{one.header}')" if one.header else " HEADERS"
    return found


class _PullIds:
    """Ids of pull queries: `query_` and the time, each once. Threads: any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def next(self) -> str:
        with self._lock:
            self._last = max(self._last + 1, time.time_ns() // 1_000_000)
            return f"query_{self._last}"


_pull_ids: Final = _PullIds()


def next_pull_id() -> str:
    """Return the id of a pull query that no other one has."""
    return _pull_ids.next()
