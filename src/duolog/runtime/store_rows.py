"""Rows of a store at one point in time: by key, range and window.

    rows = driver.store("totals")            a read-only dict, ordered by key
    rows["ann"], rows.get("ann")             one row: a dict by column name
    rows.prefix_scan("an")                   keys with this prefix
    rows.range("a", "b")                     keys from "a" to "b", inclusive
    rows.fetch("ann", from_ms=0)             windows of a key, by start and end
    rows.find_sessions("ann", earliest_end_ms=500, latest_start_ms=900)

A key of one column is its value, a key of several columns a tuple. Start and end follow in a
windowed key.

Source: Kafka Streams `ReadOnlyKeyValueStore`, `ReadOnlyWindowStore`, `ReadOnlySessionStore`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Self

from duolog.functions.processors.store import in_order
from duolog.plan.errors import InvalidPlan, unknown_name
from duolog.plan.nodes import (
    AggregateNode,
    ForeignJoin,
    Node,
    Plan,
    Process,
    ProcessorRows,
    Source,
    Suppress,
    ToTable,
)
from duolog.plan.schema import BOUNDS
from duolog.plan.types import STRING
from duolog.runtime.packed.hashable import hashable
from duolog.runtime.packed.packed_rows import PackedRows, are_equal
from duolog.serde.row import Row

LAST_CHARACTER: Final = chr(0x10FFFF)
"""Sorts after all characters: strings with a prefix sort before the prefix followed by this one."""
_WITH_ROWS: Final = (Source, ToTable, AggregateNode, ForeignJoin, Suppress)

Bounds = dict[str, tuple[object, object]]
"""Inclusive lower and upper bound of key columns, by name; None: no bound."""


NamedRow = dict[str, Any]
"""Values of a row by column name."""

Windows = dict[tuple[int, int], NamedRow]
"""Rows by start and end of their windows in milliseconds, earliest first."""


class StoredRow(NamedTuple):
    """Key and value columns of a row, and its timestamp."""

    key: Row
    value: Row
    timestamp_ms: int


def tables_by_store(plan: Plan) -> dict[str, Node]:
    """Return the stored tables of a plan and the stores of its processors, by store name."""
    kept = (node for node in plan.nodes if node.is_table and isinstance(node, _WITH_ROWS))
    of_tables: dict[str, Node] = {store: node for node in kept for store in node.stores}
    processors = (node for node in plan.nodes if isinstance(node, Process))
    return of_tables | {of.name: ProcessorRows(node, of) for node in processors for of in node.kept}


def table_of_store(plan: Plan, name: str) -> Node:
    """Return the table in a store.

    Raises:
        StatementError: there is no such store, or it does not contain a table.
    """
    tables = tables_by_store(plan)
    if name in tables:
        return tables[name]
    for node in plan.nodes:
        if name in node.stores:
            raise InvalidPlan(
                f'store "{name}" holds pending records of {node}, not rows of a table',
                hint=f"Use one of {', '.join(tables)}." if tables else "",
                place=plan.places.get(node.name, ""),
            )
    raise unknown_name("store", name, tables)


class StoreRows(Mapping[Any, NamedRow]):
    """Rows of a store; equal to a dict of rows by key.

    They are kept packed, and each call decodes the rows that it returns.

    Args:
        table: the table that the store belongs to.
        rows: its rows, read once; packed ones are kept as they are.
        position: offsets of the sources that the rows include.
    """

    def __init__(
        self,
        table: Node,
        rows: Iterable[StoredRow] | PackedRows,
        position: Mapping[str, Mapping[int, int]] = MappingProxyType({}),
    ) -> None:
        self._table = table
        self._position = position
        self._names = tuple(column.name for column in table.schema.value)
        if isinstance(rows, PackedRows):
            self._rows = rows
        else:
            self._rows = PackedRows([column.type for column in table.schema.key])
            self._rows.add(rows)

    def __getitem__(self, key: object) -> NamedRow:
        return self._row(self._found(key))

    def __iter__(self) -> Iterator[Any]:
        return (as_key(self._rows.row(at)[0]) for at in self._rows.keys())  # noqa: SIM118 - not a dict

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return repr(dict(self))

    def timestamp_ms(self, key: object) -> int:
        """Return the timestamp of a row: the record's, or the greatest of an aggregate's records.

        Raises:
            KeyError: there is no such row.
        """
        return self._found(key).timestamp_ms

    @property
    def position(self) -> Mapping[str, Mapping[int, int]]:
        """For each source partition, the offset of the first record that is not in the rows.

        Empty if nothing was committed, and in a test driver. Source: Kafka Streams `Position`
        (KIP-796).
        """
        return self._position

    def prefix_scan(self, prefix: str) -> Self:
        """Return the rows whose key, or its first column, has a prefix.

        Raises:
            StatementError: the first key column is not a STRING.
        """
        ensure_text(self._table)

        def fits(key: object) -> bool:
            first = whole_key(key)[0]
            return isinstance(first, str) and first.startswith(prefix)

        return self._where((prefix,), (prefix + LAST_CHARACTER,), fits)

    def all(self) -> Self:
        """Return all rows."""
        return self

    def range(self, low: object = None, high: object = None) -> Self:
        """Return the rows of a key range, both ends inclusive; None means no bound."""
        lowest = None if low is None else whole_key(low)
        highest = None if high is None else whole_key(high)

        def fits(key: object) -> bool:
            at = in_order(whole_key(key))
            return (lowest is None or in_order(lowest) <= at) and (
                highest is None or at <= in_order(highest)
            )

        return self._where(lowest, highest, fits)

    def fetch(
        self, key: object, *, from_ms: int | None = None, to_ms: int | None = None
    ) -> Windows:
        """Return the windows of a key that start in a time range, both ends inclusive.

        The result has rows by (start, end) in milliseconds, earliest first.

        Raises:
            StatementError: the store is not windowed.
        """
        return self._windows(key, lambda start, _end: _is_within(start, from_ms, to_ms))

    def fetch_all(self, *, from_ms: int | None = None, to_ms: int | None = None) -> Self:
        """Return the windows of all keys that start in a time range, both ends inclusive.

        Raises:
            StatementError: the store is not windowed.
        """
        self._ensure_windowed()
        return self._where(None, None, lambda key: _is_within(key[-2], from_ms, to_ms))

    def find_sessions(
        self, key: object, *, earliest_end_ms: int | None = None, latest_start_ms: int | None = None
    ) -> Windows:
        """Return the sessions of a key by their earliest end and latest start, both inclusive.

        As `fetch`; a session ends at its last record. Works for other windows too.
        """
        return self._windows(
            key,
            lambda start, end: (
                _is_within(end, earliest_end_ms, None) and _is_within(start, None, latest_start_ms)
            ),
        )

    def _windows(self, key: object, fits: Callable[[int, int], bool]) -> Windows:
        self._ensure_windowed()
        wanted = whole_key(key)
        found = (StoredRow(*self._rows.row(at)) for at in self._rows.between(wanted, wanted))
        keyed = ((as_key(row.key), row) for row in found)
        return {
            at[-2:]: self._row(row)
            for at, row in keyed
            if are_equal(at[:-2], wanted) and fits(*at[-2:])
        }

    def _found(self, key: object) -> StoredRow:
        hash(key)  # As in a dict, a key that cannot be hashed is an error.
        count = len(self._table.schema.key)
        columns = (key,) if count == 1 else key
        found = self._rows.get(columns) if isinstance(columns, tuple) else None
        if found is None:
            raise KeyError(key)
        return StoredRow(*found)

    def _row(self, row: StoredRow) -> NamedRow:
        return dict(zip(self._names, row.value, strict=True))

    def _where(self, low: Row | None, high: Row | None, fits: Callable[[Any], bool]) -> Self:
        """Return the rows from `low` to `high` whose key fits."""
        near = self._rows.between(low, high)
        rows = self._rows.select(at for at in near if fits(as_key(self._rows.row(at)[0])))
        return type(self)(self._table, rows, self._position)

    def _ensure_windowed(self) -> None:
        ensure_windowed(self._table)


def ensure_text(table: Node) -> None:
    """Raise a StatementError unless the first key column is a STRING."""
    first = table.schema.key[0]
    if first.type != STRING:
        raise InvalidPlan(
            f'the keys of "{table}" have no prefix: they start with {first.name} '
            f"{first.type}, not a STRING",
            hint="Use get(key), range(low, high) or all().",
        )


def ensure_windowed(table: Node) -> None:
    """Raise a StatementError unless the keys are windowed."""
    if table.schema.key[-len(BOUNDS) :] != BOUNDS:
        raise InvalidPlan(
            f'the store of "{table}" is not windowed',
            hint="Use get(key), range(low, high) or all().",
        )


def as_key(row: Row) -> Any:
    """Return a key as users write it; lists in it become tuples, so that it is hashable."""
    return hashable(row[0] if len(row) == 1 else row)


def whole_key(key: object) -> Row:
    """Return the columns of a key as users write it."""
    return key if isinstance(key, tuple) else (key,)


def _is_within(at: int, first: int | None, last: int | None) -> bool:
    return (first is None or at >= first) and (last is None or at <= last)
