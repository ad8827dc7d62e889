"""Functions of regular expressions: Java's, as in Spark, with other errors and group numbers."""

from collections.abc import Mapping, Sequence
from typing import Final

from duolog.engine.lowering.sql_functions.lowering import Lowering, plain
from duolog.plan.types import Type


def _extract(name: str) -> Lowering:
    def lower(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
        pattern, text, group = (*args, "0")[:3]
        return f"{name}({pattern}, {text}, {group})"

    return lower


REGULAR_EXPRESSION_FUNCTIONS: Final[Mapping[str, Lowering]] = {
    "REGEXP_EXTRACT": _extract("duolog_pattern_extract"),
    "REGEXP_EXTRACT_ALL": _extract("duolog_pattern_extract_all"),
    "REGEXP_REPLACE": plain("duolog_pattern_replace({all})"),
    "REGEXP_SPLIT_TO_ARRAY": plain("duolog_pattern_split({all})"),
}
