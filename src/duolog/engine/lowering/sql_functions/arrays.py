"""Functions of arrays."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from duolog.engine.lowering.spark_sql.pinned_texts import are_compared
from duolog.engine.lowering.spark_sql.sql import spark_type, text
from duolog.engine.lowering.sql_functions.comparing import equal
from duolog.engine.lowering.sql_functions.lowering import Lowering, plain
from duolog.plan.types import BYTES, Array, Map, Struct, Type, map_in


def _element(types: Sequence[Type]) -> Type:
    given = types[0]
    assert isinstance(given, Array), given
    return given.element


def _contains(args: Sequence[str], types: Sequence[Type], _result: Type) -> str:
    same = equal("e", args[1], _element(types))
    return f"coalesce(exists({args[0]}, e -> {same}), false)"


def _remove(args: Sequence[str], types: Sequence[Type], _result: Type) -> str:
    return f"filter({args[0]}, e -> NOT {equal('e', args[1], _element(types))})"


_Compared = Callable[[Sequence[str], Callable[[str, str], str], Callable[[str], str]], str]
"""Builds a set function from the arguments, `among(element, list)` and `once(list)`."""


def _of_sets(name: str, compared_as: _Compared) -> Lowering:
    """Lower to Spark's function, or to our own for elements that Spark cannot hash.

    Spark compares each of these with each other, and has no function for maps.
    """

    def lower(args: Sequence[str], types: Sequence[Type], _result: Type) -> str:
        element = _element(types)
        if are_compared():
            return _compared_text(element, args)
        if element == BYTES or isinstance(element, Array | Map | Struct):
            # A null has the type of the other argument.
            of = text(spark_type(Array(element)))
            return f"duolog_{name}({', '.join(args)}, {of})"
        return f"{name}({', '.join(args)})"

    def _compared_text(element: Type, args: Sequence[str]) -> str:
        if not map_in(element):
            return f"{name}({', '.join(args)})"

        def among(one: str, some: str) -> str:
            return f"exists({some}, f -> {equal(one, 'f', element)})"

        def once(some: str) -> str:
            return f"filter({some}, (e, i) -> NOT {among('e', f'slice({some}, 1, i)')})"

        return compared_as(args, among, once)

    return lower


def _joined(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
    delimiter = f"coalesce({args[1]}, '')" if len(args) > 1 else "','"
    return f"duolog_joined(transform({args[0]}, e -> CAST(e AS STRING)), {delimiter})"


def _sorted(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
    if len(args) == 1:
        return f"array_sort({args[0]})"
    array, direction = args
    return (
        f"CASE WHEN upper({direction}) IN ('ASC', 'ASCENDING') THEN array_sort({array}) "
        f"WHEN upper({direction}) IN ('DESC', 'DESCENDING') THEN sort_array({array}, false) END"
    )


def _series(args: Sequence[str], _types: Sequence[Type], result: Type) -> str:
    assert isinstance(result, Array), result
    first, last = (f"CAST({arg} AS BIGINT)" for arg in args[:2])
    if len(args) == 2:
        series = f"duolog_series({first}, {last}, if({first} <= {last}, 1L, -1L))"
        return f"CAST({series} AS {spark_type(result)})"
    step = f"CAST({args[2]} AS BIGINT)"
    # Null if the step is 0, or leads away from the last element.
    leads = f"{step} <> 0 AND ({first} = {last} OR ({first} < {last}) = ({step} > 0))"
    series = f"duolog_series({first}, {last}, {step})"
    return f"CASE WHEN {leads} THEN CAST({series} AS {spark_type(result)}) END"


def _slice(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
    array, first, last = args[0], f"coalesce({args[1]}, 1)", f"coalesce({args[2]}, size({args[0]}))"
    there = f"{first} >= 1 AND {last} <= size({array}) AND {last} >= {first} - 1"
    return f"CASE WHEN {there} THEN slice({array}, {first}, {last} - {first} + 1) END"


ARRAY_FUNCTIONS: Final[Mapping[str, Lowering]] = {
    "ARRAY_CONCAT": plain("coalesce(concat({0}, {1}), {0}, {1})"),
    "ARRAY_CONTAINS": _contains,
    "ARRAY_DISTINCT": _of_sets("array_distinct", lambda args, _among, once: once(args[0])),
    "ARRAY_EXCEPT": _of_sets(
        "array_except",
        lambda args, among, once: once(
            f"CASE WHEN {args[1]} IS NOT NULL THEN "
            f"filter({args[0]}, e -> NOT {among('e', args[1])}) END"
        ),
    ),
    "ARRAY_INTERSECT": _of_sets(
        "array_intersect",
        lambda args, among, once: once(f"filter({args[0]}, e -> {among('e', args[1])})"),
    ),
    "ARRAY_JOIN": _joined,
    "ARRAY_LENGTH": plain("array_size({0})"),
    "ARRAY_MAX": plain("array_max({0})"),
    "ARRAY_MIN": plain("array_min({0})"),
    "ARRAY_REMOVE": _remove,
    "ARRAY_SORT": _sorted,
    "ARRAY_UNION": _of_sets(
        "array_union", lambda args, _among, once: once(f"concat({args[0]}, {args[1]})")
    ),
    "GENERATE_SERIES": _series,
    "SLICE": _slice,
}
