"""All functions of SQL as Spark SQL, by the names of `plan.sql`.

A function that fails returns null, and the record continues: `COALESCE(PARSE_DATE(a, …), …)` sees
the null, so errors are caught at each call, and not at the column. A null condition does not hold,
so its record is dropped.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from duolog.engine.lowering.spark_sql.pinned_texts import are_compared, are_pinned
from duolog.engine.lowering.spark_sql.sql import text
from duolog.engine.lowering.sql_functions.arrays import ARRAY_FUNCTIONS
from duolog.engine.lowering.sql_functions.binary import BYTES_FUNCTIONS
from duolog.engine.lowering.sql_functions.choices import CHOICE_FUNCTIONS
from duolog.engine.lowering.sql_functions.json_texts import JSON_FUNCTIONS
from duolog.engine.lowering.sql_functions.lambdas import LAMBDA_FUNCTIONS
from duolog.engine.lowering.sql_functions.lowering import Lowering
from duolog.engine.lowering.sql_functions.maps import MAP_FUNCTIONS
from duolog.engine.lowering.sql_functions.mathematical import MATHEMATICAL_FUNCTIONS
from duolog.engine.lowering.sql_functions.operators import OPERATORS
from duolog.engine.lowering.sql_functions.pinned import PINNED_LOWERINGS
from duolog.engine.lowering.sql_functions.regular_expressions import REGULAR_EXPRESSION_FUNCTIONS
from duolog.engine.lowering.sql_functions.table import TABLE_STEPS
from duolog.engine.lowering.sql_functions.text import TEXT_FUNCTIONS
from duolog.engine.lowering.sql_functions.times import TIME_FUNCTIONS
from duolog.engine.lowering.sql_functions.urls import URL_FUNCTIONS
from duolog.plan.types import Type

LOWERINGS: Final[Mapping[str, Lowering]] = {
    **OPERATORS,
    **TABLE_STEPS,
    **TEXT_FUNCTIONS,
    **BYTES_FUNCTIONS,
    **REGULAR_EXPRESSION_FUNCTIONS,
    **JSON_FUNCTIONS,
    **URL_FUNCTIONS,
    **MATHEMATICAL_FUNCTIONS,
    **ARRAY_FUNCTIONS,
    **MAP_FUNCTIONS,
    **LAMBDA_FUNCTIONS,
    **TIME_FUNCTIONS,
    **CHOICE_FUNCTIONS,
}
_NEVER_FAIL: Final = (
    OPERATORS.keys()
    | TABLE_STEPS.keys()
    | {"CONCAT", "LCASE", "LEN", "UCASE"}
    | {"AS_VALUE", "COALESCE", "IFNULL", "NULLIF"}
) - {"LIKE", "MAP"}
"""Except those whose pattern may be invalid or whose keys may be null."""


def lower_sql_function(name: str, args: Sequence[str], types: Sequence[Type], result: Type) -> str:
    """Return a call as Spark SQL.

    Args:
        name: the function's name in `plan.sql`.
        args: its arguments as Spark SQL, already of the types in its signature.
        types: their types.
        result: the type of its result.
    """
    lowering = PINNED_LOWERINGS.get(name) if are_pinned() else None
    lowered = (lowering or LOWERINGS[name])(args, types, result)
    if name in _NEVER_FAIL:
        return lowered
    # The processing log names the function that fails.
    return f"duolog_try({lowered})" if are_compared() else f"duolog_try({lowered}, {text(name)})"
