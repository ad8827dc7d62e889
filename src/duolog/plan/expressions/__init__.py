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
    TableColumnRef,
    Variable,
    WallClock,
    literal,
)
from duolog.plan.expressions.scopes import Scope, type_of
from duolog.plan.expressions.walking import column_names, rewrite, walk

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
