"""All scalar functions of SQL, by the name that a plan calls them by."""

from collections.abc import Mapping
from typing import Final

from duolog.plan.sql.operators import OPERATORS
from duolog.plan.sql.signatures import SqlFunction
from duolog.plan.sql.table import TABLE_STEPS
from duolog.plan.sql.text import TEXT_FUNCTIONS

PREFIX: Final = "sql:"
"""What the names of SQL's functions have in a plan, where the DSL's stand too."""

SQL_FUNCTIONS: Final[Mapping[str, SqlFunction]] = {
    function.name: function for function in (*OPERATORS, *TABLE_STEPS, *TEXT_FUNCTIONS)
}
PLAN_FUNCTIONS: Final = {PREFIX + name: function for name, function in SQL_FUNCTIONS.items()}
