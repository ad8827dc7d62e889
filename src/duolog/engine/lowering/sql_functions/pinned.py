"""The first lowerings of functions that changed since: the pinned texts (`spark_sql.pinned_texts`).

These texts are compared and never run. No entry may change.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from duolog.engine.lowering.spark_sql.sql import spark_type
from duolog.engine.lowering.sql_functions.lowering import Lowering, plain
from duolog.plan.types import Array, Type

_ZONE: Final = "'UTC'"


def _joined(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
    delimiter = f"coalesce({args[1]}, '')" if len(args) > 1 else "','"
    return f"array_join(transform({args[0]}, e -> CAST(e AS STRING)), {delimiter}, 'null')"


def _series(args: Sequence[str], _types: Sequence[Type], result: Type) -> str:
    assert isinstance(result, Array), result
    of = spark_type(result.element)
    first, last = (f"CAST({arg} AS {of})" for arg in args[:2])
    if len(args) == 2:
        return f"sequence({first}, {last})"
    step = f"CAST({args[2]} AS {of})"
    leads = f"{step} <> 0 AND ({first} = {last} OR ({first} < {last}) = ({step} > 0))"
    return f"CASE WHEN {leads} THEN sequence({first}, {last}, {step}) END"


def _cube(args: Sequence[str], types: Sequence[Type], result: Type) -> str:
    without = f"concat(cube_row, CAST(array(NULL) AS {spark_type(types[0])}))"
    both = (
        f"CASE WHEN cube_column IS NULL THEN array({without}) ELSE array({without}, "
        "concat(cube_row, array(cube_column))) END"
    )
    start = f"CAST(array(array()) AS {spark_type(result)})"
    return (
        f"aggregate({args[0]}, {start}, (cube_rows, cube_column) -> "
        f"flatten(transform(cube_rows, cube_row -> {both})))"
    )


def _parse_timestamp(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
    zone = args[2] if len(args) > 2 else _ZONE
    return f"timestamp_millis(duolog_text_millis({args[0]}, {args[1]}, {zone}))"


PINNED_LOWERINGS: Final[Mapping[str, Lowering]] = {
    "ARRAY_JOIN": _joined,
    "GENERATE_SERIES": _series,
    "CUBE": _cube,
    "ATAN2": plain("atan2({all})"),
    "ELEMENT": plain("try_element_at({0}, CAST(nullif({1}, 0) AS INT))"),
    "CONVERT_TZ": plain("duolog_convert_zone({0}, {1}, {2})"),
    "DATEADD": plain("duolog_add_to_date({0}, ({1}), {2})"),
    "DATESUB": plain("duolog_add_to_date({0}, -({1}), {2})"),
    "TIMESTAMPADD": plain("duolog_add_to_timestamp({0}, ({1}), {2})"),
    "TIMESTAMPSUB": plain("duolog_add_to_timestamp({0}, -({1}), {2})"),
    "PARSE_DATE": plain("duolog_text_date({0}, {1})"),
    "PARSE_TIMESTAMP": _parse_timestamp,
    "FROM_DAYS": plain("date_from_unix_date({0})"),
    "FROM_UNIXTIME": plain("timestamp_millis({0})"),
}
