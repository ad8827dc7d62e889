"""Evaluate a push query over batches of records.

    stream     the rows that satisfy the condition
    table      each change of a row; its key with nulls when it leaves the result

    WHERE v > 5     1 → 7  (1, 7)      1 → 9  (1, 9)      1 → 3  (1, null)      2 → 4  nothing

The state of a table's query, the keys in its result, depends on the position only: queries that
are at one position can share it.

Threads: one at a time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, Self

from sqlglot import exp

from duolog.ksql.catalog.catalog import Catalog, SourceInfo
from duolog.runtime.sql.answers import DeletedRow
from duolog.runtime.sql.duck.clauses import Query, ResultColumn
from duolog.runtime.sql.duck.queries import Translator, source_columns
from duolog.runtime.sql.fanout.batch_database import LEFT, RECORDS, BatchTables
from duolog.runtime.sql.fanout.positions import Mark
from duolog.runtime.sql.fanout.records import Record
from duolog.runtime.sql.fanout.row_buffer import NOTHING, Emitted
from duolog.runtime.sql.fanout.row_sizes import size_of

_MARKS: Final = ("ROWPARTITION", "ROWOFFSET")
"""Last columns of source and result, which identify a record."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A push query over one source; queries that are equal are evaluated once.

    Two statements are equal if they have the same SQL for DuckDB over the same source.
    """

    source: SourceInfo
    query: Query
    """The query; the last two columns of its result are the marks."""
    everything: Query | None = None
    """The query without its condition over `LEFT`, if the source is a table."""
    keys: frozenset[int] = frozenset()
    """Positions of key columns in the result."""

    @classmethod
    def of(cls, select: exp.Select, catalog: Catalog, source: SourceInfo) -> Self:
        """Create it from a SELECT without EMIT and LIMIT.

        Raises:
            SqlError: the query is invalid.
        """
        marked = select.copy()
        for name in _MARKS:
            mark = exp.alias_(exp.column(exp.to_identifier(name)), f"DUOLOG_{name}", quoted=True)
            marked.append("expressions", mark)
        query = Translator(catalog, lambda _source: RECORDS).query(marked)
        if not source.is_table:
            return cls(source, query)
        unconditional = marked.copy()
        unconditional.set("where", None)
        everything = Translator(catalog, lambda _source: LEFT).query(unconditional)
        keys = {column.name for column in source_columns(source) if column.key}
        return cls(source, query, everything, _key_places(select, query, keys))

    @property
    def columns(self) -> tuple[ResultColumn, ...]:
        """The columns of the result, without the marks."""
        return self.query.columns[: -len(_MARKS)]

    def evaluator(self) -> "StreamEvaluator | TableEvaluator":
        """Return an evaluator that has seen no record."""
        return StreamEvaluator(self) if self.everything is None else TableEvaluator(self)


def _key_places(select: exp.Select, query: Query, keys: set[str]) -> frozenset[int]:
    if any(item.find(exp.Star) for item in select.expressions):
        names = [column.name for column in query.columns]
    else:
        plain = [one.this if isinstance(one, exp.Alias) else one for one in select.expressions]
        names = [one.name if isinstance(one, exp.Column) else "" for one in plain]
    return frozenset(at for at, name in enumerate(names) if name in keys)


class Evaluator(Protocol):
    """Evaluates a query over batches in the order of the topic."""

    def emitted(self, records: Sequence[Record], tables: BatchTables) -> Emitted:
        """Return the rows for records, which `load` has loaded.

        Raises:
            SqlError: a value cannot be computed.
        """


def load(records: Sequence[Record], tables: BatchTables) -> None:
    """Load records for evaluators."""
    tables.load([one.row for one in records if one.row is not None])


class StreamEvaluator:
    """Evaluates a query over a stream; it has no state."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape

    def emitted(self, records: Sequence[Record], tables: BatchTables) -> Emitted:
        if not records:
            return NOTHING
        found = tables.answer(self._shape.query)
        return _emitted([row[:-2] for row in found], [_mark(row) for row in found])


class TableEvaluator:
    """Evaluates a query over the changes of a table."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        assert shape.everything is not None
        self._everything = shape.everything
        self._shown: set[bytes] = set()
        self._columns = len(source_columns(shape.source))
        self._known: set[bytes] | None = None
        """Keys whose state is known, if the client may have rows that this object has not seen."""
        self._next: dict[int, int] = {}
        """For each partition, the offset before which no record is missing."""

    def continue_from_unknown(self) -> None:
        """Emit the key with nulls also for a row that leaves and whose earlier state is unknown.

        Compaction may have removed the record that the client has seen.
        """
        self._known = set()

    def prime(self, records: Sequence[Record], tables: BatchTables) -> None:
        """Process records whose rows the client already has; `load` has loaded them."""
        passed = self._passed(records, tables)
        for one in records:
            assert one.identity is not None
            if (one.partition, one.offset) in passed:
                self._shown.add(one.identity)
            else:
                self._shown.discard(one.identity)
            self._know(one)

    def emitted(self, records: Sequence[Record], tables: BatchTables) -> Emitted:
        passed = self._passed(records, tables)
        left: list[tuple[int, Record]] = []
        rows: list[tuple[object, ...]] = []
        marks: list[Mark] = []
        for one in records:
            identity, mark = one.identity, (one.partition, one.offset)
            assert identity is not None
            if (found := passed.get(mark)) is not None:
                self._shown.add(identity)
                rows.append(found)
            elif identity in self._shown or self._may_be_shown(one):
                self._shown.discard(identity)
                left.append((len(rows), one))
                rows.append(())
            self._know(one)
            if len(rows) > len(marks):
                marks.append(mark)
        for (at, _), row in zip(left, self._gone([one for _, one in left], tables), strict=True):
            rows[at] = row
        return _emitted(rows, marks)

    def _may_be_shown(self, one: Record) -> bool:
        if self._known is None or one.identity in self._known:
            return False
        return self._next.get(one.partition, 0) != one.offset

    def _know(self, one: Record) -> None:
        if self._known is not None and one.identity is not None:
            self._known.add(one.identity)
            if self._next.get(one.partition, 0) == one.offset:
                self._next[one.partition] = one.offset + 1

    def _passed(
        self, records: Sequence[Record], tables: BatchTables
    ) -> dict[Mark, tuple[object, ...]]:
        if not any(one.row is not None for one in records):
            return {}
        return {_mark(row): row[:-2] for row in tables.answer(self._shape.query)}

    def _gone(self, records: list[Record], tables: BatchTables) -> list[tuple[object, ...]]:
        """Return the rows for removed keys: the key columns with nulls."""
        if not records:
            return []
        nulls = (None,) * (self._columns - len(records[0].key) - 2)
        tables.load([(*one.key, *nulls, one.partition, one.offset) for one in records], LEFT)
        found = {_mark(row): row[:-2] for row in tables.answer(self._everything)}
        keys = self._shape.keys
        return [
            DeletedRow(
                value if at in keys else None
                for at, value in enumerate(found[one.partition, one.offset])
            )
            for one in records
        ]


def _mark(row: tuple[object, ...]) -> Mark:
    partition, offset = row[-2:]
    assert isinstance(partition, int)
    assert isinstance(offset, int)
    return partition, offset


def _emitted(rows: Sequence[tuple[object, ...]], marks: Sequence[Mark]) -> Emitted:
    return Emitted(rows, marks, size_of(rows)) if rows else NOTHING
