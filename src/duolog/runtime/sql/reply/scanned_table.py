"""Push query over a table without a JVM: the current rows, then each change.

    WHERE v > 5     1 → 7  (1, 7)      1 → 9  (1, 9)      1 → 3  (1, null)      2 → 4  nothing

A row that is deleted, or no longer satisfies the condition, is emitted as its key with nulls if it
was emitted before. With `auto.offset.reset=earliest`, the history of the topic is emitted too;
otherwise the current rows come first, once each.

Threads: one at a time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

from confluent_kafka import Message
from sqlglot import exp

from duolog.core.errors import SerdeError
from duolog.runtime.sql.answers import DeletedRow
from duolog.runtime.sql.duck.clauses import Query
from duolog.runtime.sql.duck.queries import Translator, source_columns
from duolog.runtime.sql.reply.scanned_records import ScannedRecords
from duolog.runtime.sql.tables.source_rows import SourceRows
from duolog.security.clients.brokers import Brokers
from duolog.serde.row import Row

_MARKS: Final = ("ROWPARTITION", "ROWOFFSET")
"""Last columns of input and result, which identify a row."""


@dataclass(frozen=True, slots=True)
class TableQueries:
    """A query over a table, and the same query without its condition.

    The marks are the last columns.
    """

    query: Query
    everything: Query
    keys: frozenset[int]
    """Positions of key columns."""

    @classmethod
    def of(cls, select: exp.Select, translator: Translator) -> Self:
        """Create it from a SELECT.

        Raises:
            SqlError: the query is invalid.
        """
        marked = select.copy()
        for name in _MARKS:
            mark = exp.alias_(exp.column(exp.to_identifier(name)), f"DUOLOG_{name}", quoted=True)
            marked.append("expressions", mark)
        query = translator.query(marked)
        (source,) = translator.sources.values()
        keys = {column.name for column in source_columns(source) if column.key}
        unconditional = marked.copy()
        unconditional.set("where", None)
        everything = translator.query(unconditional)
        return cls(query, everything, _key_places(select, query, keys))


def _key_places(select: exp.Select, query: Query, keys: set[str]) -> frozenset[int]:
    if any(item.find(exp.Star) for item in select.expressions):
        names = [column.name for column in query.columns]
    else:
        plain = [one.this if isinstance(one, exp.Alias) else one for one in select.expressions]
        names = [one.name if isinstance(one, exp.Column) else "" for one in plain]
    return frozenset(at for at, name in enumerate(names) if name in keys)


class _Change(NamedTuple):
    identity: bytes
    key: Row
    row: Row | None
    """None: deleted."""


class ScannedTable(ScannedRecords):
    """Evaluates the query over the changes of a table.

    Args:
        records: decodes the records of the table's topic.
        watched: the query.
        brokers: the brokers of the cluster.
        present: emit each current row once, without its history.
    """

    def __init__(
        self,
        records: SourceRows,
        watched: TableQueries,
        brokers: Brokers,
        *,
        present: bool,
    ) -> None:
        super().__init__(records, brokers)
        self._watched = watched
        self._shown: set[bytes] = set()
        self._came: list[_Change] = []
        self._present: dict[bytes, _Change] | None = {} if present else None
        """Current rows while they are read; None afterwards."""
        self._columns = len(source_columns(records.source))

    def take(self, message: Message) -> None:
        identity = message.key()
        if not isinstance(identity, bytes):
            return
        try:
            key = self.records.key(message)
            change = _Change(identity, key, self.records.row(message, key))
        except SerdeError:
            return
        if self._present is None:
            self._came.append(change)
        else:
            self._present.pop(identity, None)
            self._present[identity] = change

    def next_rows(self, timeout_s: float) -> list[tuple[object, ...]]:
        if self._present is None:
            self.read_on(timeout_s)
        elif self.catch_up(timeout_s):
            present, self._present = self._present, None
            self._came = list(present.values())
        came, self._came = self._came, []
        return self._rows_of(came)

    def _rows_of(self, came: Sequence[_Change]) -> list[tuple[object, ...]]:
        rows = [one.row for one in came if one.row is not None]
        passed = {row[-2:]: row[:-2] for row in self.over(rows, self._watched.query)}
        left: list[tuple[int, _Change]] = []
        emitted: list[tuple[object, ...]] = []
        for change in came:
            found = None if change.row is None else passed.get(change.row[-2:])
            if found is not None:
                self._shown.add(change.identity)
                emitted.append(found)
            elif change.identity in self._shown:
                self._shown.discard(change.identity)
                left.append((len(emitted), change))
                emitted.append(())
        for (at, _), row in zip(left, self._gone([one for _, one in left]), strict=True):
            emitted[at] = row
        return emitted

    def _gone(self, changes: Sequence[_Change]) -> list[tuple[object, ...]]:
        """Return the rows for removed keys: the key columns with nulls."""
        rows = []
        for number, change in enumerate(changes):
            nulls = (None,) * (self._columns - len(change.key) - 2)
            rows.append((*change.key, *nulls, 0, number))
        found = {row[-1]: row[:-2] for row in self.over(rows, self._watched.everything)}
        keys = self._watched.keys
        return [
            DeletedRow(value if at in keys else None for at, value in enumerate(found[number]))
            for number in range(len(changes))
        ]
