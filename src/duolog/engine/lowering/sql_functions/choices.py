"""Functions that return one of their arguments, and those that belong to no other family."""

from collections.abc import Mapping, Sequence
from typing import Final

from duolog.engine.lowering.sql_functions.comparing import equal
from duolog.engine.lowering.sql_functions.lowering import Lowering, plain
from duolog.plan.types import Type


def _null_if(args: Sequence[str], types: Sequence[Type], _result: Type) -> str:
    return f"CASE WHEN NOT {equal(args[0], args[1], types[0])} THEN {args[0]} END"


def _distance(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
    *places, unit = args if len(args) > 4 else (*args, "NULL")
    return f"duolog_distance({', '.join(places)}, coalesce({unit}, 'KM'))"


CHOICE_FUNCTIONS: Final[Mapping[str, Lowering]] = {
    "COALESCE": plain("coalesce({all})"),
    "IFNULL": plain("coalesce({0}, {1})"),
    "NULLIF": _null_if,
    "AS_VALUE": plain("{0}"),
    "GEO_DISTANCE": _distance,
}
