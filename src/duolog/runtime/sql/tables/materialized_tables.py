"""Serve the current rows of tables: look-ups by key from a store, all other queries by DuckDB.

    topic ─ follower ─▶ rows by key ─▶ look-ups
                             └───────▶ a copy in DuckDB, from the first query that needs it

A table is followed from the first question on until `close` or `forget`. An answer includes every
record that was committed when it was asked, unless it may be older; `freshness` has the forms.

Threads: any.
"""

import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from duolog.core.counts import counted
from duolog.core.errors import KafkaError
from duolog.ksql.catalog.catalog import SourceInfo
from duolog.ksql.errors import SqlError
from duolog.ksql.settings import ANSWER_CONSISTENCY
from duolog.runtime.errors import BrokerUnavailable
from duolog.runtime.sql.answers import Freshness
from duolog.runtime.sql.duck.clauses import Query
from duolog.runtime.sql.duck.interrupting import AnswerLimits
from duolog.runtime.sql.tables.currency import Currency, Outdated, offsets_of_tables
from duolog.runtime.sql.tables.duck_copies import DuckCopies
from duolog.runtime.sql.tables.freshness import LATEST, Wanted
from duolog.runtime.sql.tables.materialized_table import MaterializedTable
from duolog.runtime.sql.tables.progress import Progress
from duolog.runtime.sql.tables.stored_rows import Undecodable
from duolog.runtime.sql.tables.stream_copy import copied_stream
from duolog.runtime.sql.tables.table_rows import TableRows
from duolog.security.clients.brokers import Brokers
from duolog.serde.row import Row

if TYPE_CHECKING:
    from duolog.runtime.sql.duck.tables import DuckTable

logger: Final = logging.getLogger(__name__)

_TOKEN: Final = secrets.token_hex(8)
"""Not known to clients, whose texts might contain the placeholder of a table."""
_ATTEMPTS: Final = 5
_REFRESH_S: Final = 2.0
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answered(Generic[T]):
    """A result, and the records that it includes."""

    value: T
    freshness: Freshness


class MaterializedTables:
    """Materialized tables of a cluster, and their copies in DuckDB.

    Args:
        brokers: the brokers of the cluster.
    """

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers
        self._lock = threading.Lock()
        self._tables: dict[str, MaterializedTable] = {}
        self._checked: set[SourceInfo] = set()
        """Tables with a value that cannot be decoded."""
        self._is_closed = False
        self._currency = Currency(brokers)
        self._duck = DuckCopies()

    def read(
        self, source: SourceInfo, read: Callable[[TableRows], T], wanted: Wanted = LATEST
    ) -> Answered[T]:
        """Return what a function reads from the rows of a table.

        The function may be called twice.

        Raises:
            BrokerUnavailable, KafkaError: the topic cannot be read, or not in time.
            SqlError: its format is not supported, or an offset is of an unknown partition.
        """

        def read_one(tables: Sequence[MaterializedTable]) -> T:
            return read(tables[0].rows)

        return self._answer([source], read_one, wanted)

    def refresh(self, sources: Sequence[SourceInfo]) -> None:
        """Bring the rows of tables up to date, as `read` does before it reads, within seconds.

        One of them must not delay the answers from the others for as long as it is read again.

        Raises:
            BrokerUnavailable, KafkaError, SqlError: as `read`.
        """
        self._answer(sources, lambda _: None, Wanted(timeout_s=_REFRESH_S))

    def progress(self) -> dict[str, Progress]:
        """Return the progress of the first read of each table's topic, by table."""
        with self._lock:
            tables = list(self._tables.values())
        found = ((table.source.name, table.progress()) for table in tables)
        return {name: progress for name, progress in found if progress is not None}

    def rows_of(self, source: SourceInfo, age_s_max: float) -> TableRows | None:
        """Return the rows of a table that are not older; None if they are, or are not read yet."""
        table = self._tables.get(source.name)
        if table is None or table.is_outdated or table.complete_at_s is None:
            return None
        if table.source is not source and table.source != source:
            return None
        is_recent = time.monotonic() - table.complete_at_s <= age_s_max
        return table.rows if is_recent else None

    def rows(
        self,
        query: Query,
        sources: Mapping[str, SourceInfo],
        limits: AnswerLimits,
        wanted: Wanted = LATEST,
    ) -> Answered[Iterator[Row]]:
        """Run a query over sources, which it names by placeholders, within limits.

        Raises:
            BrokerUnavailable, KafkaError, SqlError: as `read`.
            SqlError: a value cannot be computed.
        """
        # Imported here: duckdb takes 100 ms, and look-ups do not need it.
        from duckdb import CatalogException  # noqa: PLC0415

        from duolog.runtime.sql.duck.answers import Snapshot, answered  # noqa: PLC0415

        if wanted.snapshot and not all(one.is_table for one in sources.values()):
            raise SqlError(
                "a snapshot answer reads tables only, and this query reads a stream",
                hint=f"SET '{ANSWER_CONSISTENCY}' = 'latest'.",
            )
        tables = [one for one in sources.values() if one.is_table]
        streams: list[DuckTable] = []

        def drop() -> None:
            for stream in streams:
                self._duck.drop(stream)

        def copied(found: Sequence[MaterializedTable]) -> tuple[dict[str, str], Snapshot]:
            names = {one.source.name: self._duck.copied(one.source, one.rows) for one in found}
            try:
                return names, Snapshot(self._duck.database, names.values())
            except CatalogException:
                raise Outdated from None  # Another answer has dropped a copy.

        try:
            for source in sources.values():
                if not source.is_table:
                    streams += [copied_stream(source, self._brokers, self._duck)]
            answer = self._answer(tables, copied, wanted)
            names, snapshot = answer.value
        except BaseException:
            drop()
            raise
        of_streams = [name for name, source in sources.items() if not source.is_table]
        names |= {name: duck.name for name, duck in zip(of_streams, streams, strict=True)}
        sql = query.sql
        for name, table in names.items():
            sql = sql.replace(placeholder(name), table)
        rows = answered(snapshot, Query(sql, query.columns), drop, limits)
        return Answered(rows, answer.freshness)

    def forget(self, name: str) -> None:
        """Stop following a table, and drop its rows. Does nothing if it is not followed."""
        with self._lock:
            table = self._tables.get(name)
        if table is not None:
            self._forget(table)

    def retain(self, sources: Mapping[str, SourceInfo]) -> None:
        """Stop following tables that are not among these, and drop their rows, without waiting."""
        with self._lock:
            dropped = [
                table for name, table in self._tables.items() if sources.get(name) != table.source
            ]
            for table in dropped:
                del self._tables[table.source.name]
            self._checked.intersection_update(sources.values())
        for table in dropped:
            table.end()
            self._duck.forget(table.rows)

    def close(self) -> None:
        """Drop all rows. Does nothing if closed."""
        with self._lock:
            tables, self._tables = list(self._tables.values()), {}
            self._is_closed = True
        for table in tables:
            table.end()
        for table in tables:
            table.close()
        self._duck.close()

    def _answer(
        self,
        sources: Sequence[SourceInfo],
        read: Callable[[Sequence[MaterializedTable]], T],
        wanted: Wanted,
    ) -> Answered[T]:
        for _ in range(_ATTEMPTS):
            tables = [self._followed(source) for source in sources]
            try:
                with self._currency.current(tables, wanted) as known_at_s:
                    # Taken before the rows, which may already include more.
                    offsets = offsets_of_tables(tables)
                    value = read(tables)
            except (Undecodable, Outdated):
                for table in tables:
                    self._replace(table)
                continue
            except KafkaError as error:
                for table in tables:
                    if table.is_lost(error):
                        self._forget(table)
                raise
            for table in tables:
                _warn_of_skipped(table)
            age_ms = None if known_at_s is None else (time.monotonic() - known_at_s) * 1000
            return Answered(value, Freshness(offsets, age_ms))
        topics = ", ".join(f'"{source.topic}"' for source in sources)
        raise BrokerUnavailable(
            f"cannot read {topics} to the end",
            detail=f"It was created again while it was read, {_ATTEMPTS} times.",
        )

    def _followed(self, source: SourceInfo) -> MaterializedTable:
        """Return the materialized table of a source; drop one with another definition.

        Raises:
            BrokerUnavailable, KafkaError: the topic cannot be opened.
        """
        with self._lock:
            if self._is_closed:
                raise BrokerUnavailable(f"cannot read {source.name}: the tables are closed")
            table = self._tables.get(source.name)
            before = table if table is not None and table.source != source else None
            if table is None or before is not None:
                checked = source in self._checked
                table = MaterializedTable(source, self._brokers, checked=checked)
                self._tables[source.name] = table
        if before is not None:
            self._close(before)
        try:
            table.ensure_started()
        except BaseException:
            self._forget(table)
            raise
        return table

    def _replace(self, table: MaterializedTable) -> None:
        """Read a table again if it has a value that cannot be decoded, or its topic is new."""
        if table.rows.is_undecodable:
            logger.warning(
                "topic %s has values that cannot be decoded; reading it again without them",
                table.source.topic,
            )
            with self._lock:
                self._checked.add(table.source)
        if table.rows.is_undecodable or table.is_outdated:
            self._forget(table)

    def _forget(self, table: MaterializedTable) -> None:
        with self._lock:
            if self._tables.get(table.source.name) is table:
                del self._tables[table.source.name]
        self._close(table)

    def _close(self, table: MaterializedTable) -> None:
        table.close()
        self._duck.forget(table.rows)


def placeholder(name: str) -> str:
    """Return the placeholder of a source's table in a query."""
    return f"\0{_TOKEN} {name}\0"


def _warn_of_skipped(table: MaterializedTable) -> None:
    skipped = table.rows.report_skipped()
    if skipped:
        logger.warning(
            "%s of topic %s could not be read", counted(skipped, "record"), table.source.topic
        )
