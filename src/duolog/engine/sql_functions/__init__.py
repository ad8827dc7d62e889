"""SQL's functions as Spark SQL: a row for each, by families as in `plan.sql`."""

from collections.abc import Mapping, Sequence
from typing import Final

from duolog.engine.sql_functions.lowering import Lowering
from duolog.engine.sql_functions.operators import OPERATORS
from duolog.engine.sql_functions.text import TEXT_FUNCTIONS
from duolog.plan.types import Type

LOWERINGS: Final[Mapping[str, Lowering]] = OPERATORS | TEXT_FUNCTIONS


def lower_sql_function(name: str, args: Sequence[str], types: Sequence[Type], result: Type) -> str:
    """Return a call as Spark SQL.

    Args:
        name: the function's, as `plan.sql` has it.
        args: its arguments as Spark SQL, already of the types that its signature wants.
        types: their types.
        result: the type of what it gives.
    """
    return LOWERINGS[name](args, types, result)
