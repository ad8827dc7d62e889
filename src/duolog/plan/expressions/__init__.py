"""Expressions over columns, and the functions that they call.

Start with `expressions`.
"""

from duolog.plan.expressions.expressions import (
    AccumulatorRef,
    Aggregate,
    Call,
    Cast,
    ColumnRef,
    Expression,
    Item,
    Lambda,
    Literal,
    Metadata,
    Named,
    PythonCall,
    RowTime,
    Scope,
    TableColumnRef,
    Variable,
    WallClock,
    column_names,
    literal,
    rewrite,
    type_of,
    walk,
)

__all__ = [
    "AccumulatorRef",
    "Aggregate",
    "Call",
    "Cast",
    "ColumnRef",
    "Expression",
    "Item",
    "Lambda",
    "Literal",
    "Metadata",
    "Named",
    "PythonCall",
    "RowTime",
    "Scope",
    "TableColumnRef",
    "Variable",
    "WallClock",
    "column_names",
    "literal",
    "rewrite",
    "type_of",
    "walk",
]
