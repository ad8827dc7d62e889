"""Functions of maps."""

from collections.abc import Mapping, Sequence
from typing import Final

from duolog.engine.lowering.spark_sql.sql import spark_type, text
from duolog.engine.lowering.sql_functions.lowering import Lowering, plain
from duolog.plan.types import Type


def _map_of(keys: str, values: str, result: Type) -> str:
    return f"duolog_map_of({keys}, {values}, {text(spark_type(result))})"


def _as_map(args: Sequence[str], _types: Sequence[Type], result: Type) -> str:
    return _map_of(args[0], args[1], result)


def _union(args: Sequence[str], _types: Sequence[Type], result: Type) -> str:
    left, right = args
    both = _map_of(
        f"concat(map_keys({left}), map_keys({right}))",
        f"concat(map_values({left}), map_values({right}))",
        result,
    )
    return f"coalesce({both}, {left}, {right})"


_BY_KEY: Final = "(a, b) -> CASE WHEN a.K < b.K THEN -1 WHEN a.K > b.K THEN 1 ELSE 0 END"


def _entries(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
    entries = f"transform(map_entries({args[0]}), e -> named_struct('K', e.key, 'V', e.value))"
    return f"CASE WHEN {args[1]} THEN array_sort({entries}, {_BY_KEY}) ELSE {entries} END"


MAP_FUNCTIONS: Final[Mapping[str, Lowering]] = {
    "AS_MAP": _as_map,
    "ENTRIES": _entries,
    "MAP_KEYS": plain("map_keys({0})"),
    "MAP_UNION": _union,
    "MAP_VALUES": plain("map_values({0})"),
}
