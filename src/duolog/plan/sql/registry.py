"""All scalar functions of SQL, by the names that plans use."""

from collections.abc import Mapping
from typing import Final

from duolog.plan.sql.arrays import ARRAY_FUNCTIONS
from duolog.plan.sql.binary import BYTES_FUNCTIONS
from duolog.plan.sql.choices import CHOICE_FUNCTIONS
from duolog.plan.sql.json_texts import JSON_FUNCTIONS
from duolog.plan.sql.lambdas import LAMBDA_FUNCTIONS
from duolog.plan.sql.maps import MAP_FUNCTIONS
from duolog.plan.sql.mathematical import MATHEMATICAL_FUNCTIONS
from duolog.plan.sql.operators import OPERATORS
from duolog.plan.sql.regular_expressions import REGULAR_EXPRESSION_FUNCTIONS
from duolog.plan.sql.signatures import SqlFunction
from duolog.plan.sql.table import TABLE_STEPS
from duolog.plan.sql.text import TEXT_FUNCTIONS
from duolog.plan.sql.times import TIME_FUNCTIONS
from duolog.plan.sql.urls import URL_FUNCTIONS

PREFIX: Final = "sql:"
"""The prefix of SQL functions in a plan, which distinguishes them from the DSL's."""

_FAMILIES: Final = (
    OPERATORS,
    TABLE_STEPS,
    TEXT_FUNCTIONS,
    BYTES_FUNCTIONS,
    REGULAR_EXPRESSION_FUNCTIONS,
    JSON_FUNCTIONS,
    URL_FUNCTIONS,
    MATHEMATICAL_FUNCTIONS,
    ARRAY_FUNCTIONS,
    MAP_FUNCTIONS,
    LAMBDA_FUNCTIONS,
    TIME_FUNCTIONS,
    CHOICE_FUNCTIONS,
)
SQL_FUNCTIONS: Final[Mapping[str, SqlFunction]] = {
    function.name: function for family in _FAMILIES for function in family
}
PLAN_FUNCTIONS: Final = {PREFIX + name: function for name, function in SQL_FUNCTIONS.items()}
