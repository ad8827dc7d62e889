"""The functions that implement clauses, as Spark SQL."""

from collections.abc import Mapping, Sequence
from typing import Final

from duolog.engine.lowering.spark_sql.sql import spark_type
from duolog.engine.lowering.sql_functions.lowering import Lowering
from duolog.plan.sql.limits import ELEMENTS_MAX
from duolog.plan.types import Type

_ROWS_MAX_LOG2: Final = 32


def _cube(args: Sequence[str], types: Sequence[Type], result: Type) -> str:
    """Start with one empty row; each column doubles the rows: without it, and with it.

    A null column does not double them.
    """
    row = spark_type(types[0])
    without = f"concat(cube_row, CAST(array(NULL) AS {row}))"
    both = (
        f"CASE WHEN cube_column IS NULL THEN array({without}) ELSE array({without}, "
        "concat(cube_row, array(cube_column))) END"
    )
    start = f"CAST(array(array()) AS {spark_type(result)})"
    cube = (
        f"aggregate({args[0]}, {start}, (cube_rows, cube_column) -> "
        f"flatten(transform(cube_rows, cube_row -> {both})))"
    )
    rows = (
        f"shiftleft(1L, least(size(filter({args[0]}, one -> one IS NOT NULL)), {_ROWS_MAX_LOG2}))"
    )
    error = (
        f"raise_error('CUBE_EXPLODE of so many columns makes more than {ELEMENTS_MAX} elements')"
    )
    return f"CASE WHEN {rows} * size({args[0]}) <= {ELEMENTS_MAX} THEN {cube} ELSE {error} END"


TABLE_STEPS: Final[Mapping[str, Lowering]] = {
    "CUBE": _cube,
    "HEADERS": lambda args, _types, result: f"CAST({args[0]} AS {spark_type(result)})",
}
