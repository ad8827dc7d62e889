"""The rows of a table by key: stored, or computed from the rows of other tables."""

from duolog.plan.cutting.cuts import TableCopy
from duolog.plan.nodes import (
    AggregateNode,
    Filter,
    ForeignJoin,
    Node,
    Project,
    Rename,
    Suppress,
    TableJoin,
    TableSource,
    ToTable,
)
from duolog.serde.row import Row
from duolog.testing.reference.aggregating import is_over, results_of
from duolog.testing.reference.entries import Entry, LookedUp, LookUp, Run, Stores, TimestampedRow
from duolog.testing.reference.expiry import find
from duolog.testing.reference.scalars import RecordError
from duolog.testing.reference.shaping import filtered, pass_on, projected
from duolog.testing.reference.suppressing import emitted_by
from duolog.testing.reference.table_joins import joined_row
from duolog.testing.reference.versions import version_at


def kept_by(table: Node, looked_up: LookedUp) -> LookUp:
    """Return the function that returns the row of a key in `table`, stored or computed."""
    match table:
        case TableSource() | TableCopy() | ToTable() | ForeignJoin():
            return _kept_rows(table)
        case AggregateNode():
            results = results_of(table)

            def of_aggregate(key: Row, stores: Stores, _time: int | None) -> TimestampedRow | None:
                kept = find(table, key, stores)
                if kept is None or is_over(table, key, stores):
                    return None
                return TimestampedRow(results(key, kept), kept.timestamp_ms)

            return of_aggregate
        case Filter() | Project() | Rename():
            parent = kept_by(table.parent, looked_up)
            run = _derivation(table)

            def derived(key: Row, stores: Stores, time: int | None) -> TimestampedRow | None:
                kept = parent(key, stores, time)
                try:
                    found = run(Entry(key, kept.row, kept.timestamp_ms), stores) if kept else []
                except RecordError:  # reported when the row was new; counts as deleted since
                    return None
                row = found[0].value if found else None
                return (
                    None if kept is None or row is None else TimestampedRow(row, kept.timestamp_ms)
                )

            return derived
        case Suppress():
            above = kept_by(table.parent, looked_up)
            emitted = emitted_by(table, lambda key, stores: above(key, stores, None))
            return lambda key, stores, _time: emitted(key, stores)
        case TableJoin(sides=(of_left, of_right)):
            left = kept_by(looked_up(of_right, table.left), looked_up)
            right = kept_by(looked_up(of_left, table.right), looked_up)
            joined = joined_row(of_left)

            def of_join(key: Row, stores: Stores, _time: int | None) -> TimestampedRow | None:
                try:
                    return joined(key, left(key, stores, None), right(key, stores, None))
                except RecordError:  # reported when the row was new; counts as deleted since
                    return None

            return of_join
        case _:
            raise AssertionError(f"{table} is not a table")


def _derivation(table: Filter | Project | Rename) -> Run:
    match table:
        case Filter():
            return filtered(table)
        case Project():
            return projected(table)
        case Rename():
            return pass_on(table)


def _kept_rows(table: TableSource | TableCopy | ToTable | ForeignJoin) -> LookUp:
    store, history_ms = table.store, table.history_ms

    def look_up(key: Row, stores: Stores, time: int | None) -> TimestampedRow | None:
        if history_ms is None or time is None:
            return find(table, key, stores)
        return version_at(store, history_ms, key, time, stores)

    return look_up
