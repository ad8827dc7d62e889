"""What clauses are made of, as Spark SQL."""

from collections.abc import Mapping, Sequence
from typing import Final

from duolog.engine.sql import spark_type
from duolog.engine.sql_functions.lowering import Lowering
from duolog.plan.types import Type


def _cube(args: Sequence[str], types: Sequence[Type], result: Type) -> str:
    """Begin with one empty row; each column doubles the rows: without it, then with it. A null is not there twice."""
    row = spark_type(types[0])
    without = f"concat(cube_row, CAST(array(NULL) AS {row}))"
    both = f"CASE WHEN cube_column IS NULL THEN array({without}) ELSE array({without}, concat(cube_row, array(cube_column))) END"
    start = f"CAST(array(array()) AS {spark_type(result)})"
    return f"aggregate({args[0]}, {start}, (cube_rows, cube_column) -> flatten(transform(cube_rows, cube_row -> {both})))"


TABLE_STEPS: Final[Mapping[str, Lowering]] = {
    "CUBE": _cube,
    "HEADERS": lambda args, _types, result: f"CAST({args[0]} AS {spark_type(result)})",
}
