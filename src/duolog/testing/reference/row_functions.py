"""Functions from a record to columns that are computed from it."""

from collections.abc import Callable

from duolog.plan.expressions import Named, Scope
from duolog.plan.schema import Schema
from duolog.serde.row import Row
from duolog.testing.reference.entries import Entry, named
from duolog.testing.reference.evaluation import Values, compile_expression


def columns_at(entry: Entry) -> tuple[Row, Row | None, int, Entry]:
    """Return the values that expressions over a stream's record read."""
    return entry.key, entry.value, entry.timestamp_ms, entry


def row_function(schema: Schema, columns: tuple[Named, ...]) -> Callable[..., Row]:
    """Return the function from key, value and time to `columns`; a null value has null columns.

    For streams it also receives the record.
    """
    scope = Scope(schema.columns, of_record=True)
    compiled = [compile_expression(expression, scope) for _, expression in columns]

    def compute(key: Row, value: Row | None, timestamp_ms: int, of: Entry | None = None) -> Row:
        at_hand = Values(named(schema, key, value), timestamp_ms=timestamp_ms, record=of)
        return tuple(evaluate(at_hand) for evaluate in compiled)

    return compute
