"""Lower functions of arrays, maps and lambdas to DuckDB. Positions count from 1."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from duolog.plan.sql.limits import ELEMENTS_MAX
from duolog.plan.types import STRING, Array, Type
from duolog.runtime.sql.duck.casts import written
from duolog.runtime.sql.duck.lowering import Lowering, plain
from duolog.runtime.sql.duck.types import duck_type
from duolog.runtime.sql.functions.registry import called

SERIES_VARIABLE: Final = "series_max"
"""Variable of a connection: the most elements of a series that differs from row to row."""
TOO_LONG: Final = "a series of numbers is too long"
"""Message of the error of a longer one."""
_CONSTANT: Final = re.compile(r"-?\d+|(TRY_)?CAST\(-?\d+ AS [A-Z]+\)")


def _has(array: str, item: str) -> str:
    """Return true if a value is in an array; nulls are equal."""
    return f"(len(list_filter({array}, lambda h: h IS NOT DISTINCT FROM {item})) > 0)"


_IS_NEW: Final = "i = 1 OR list_extract(sorted, i - 1).key IS DISTINCT FROM e.key"
"""Holds for the first of equal elements; those of the right array come before those of the left."""
_IS_IN_BOTH: Final = (
    "i > 1 AND list_extract(sorted, i - 1).key IS NOT DISTINCT FROM e.key "
    "AND list_extract(sorted, i - 1).side = 0"
)


def _distinct(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
    return _kept(f"struct_pack(ls := {args[0]}, rs := [])", _sided("given.ls", 1), _IS_NEW)


def _union(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
    pair = f"struct_pack(ls := {args[0]}, rs := {args[1]})"
    return _kept(pair, _sided("list_concat(given.ls, given.rs)", 1), _IS_NEW)


def _of_left(condition: str) -> Lowering:
    """Lower a function that keeps elements of the left one of two arrays."""

    def lower(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
        pair = f"struct_pack(ls := {args[0]}, rs := {args[1]})"
        both = f"list_concat({_sided('given.ls', 1)}, {_sided('given.rs', 0)})"
        return _kept(pair, both, condition)

    return lower


def _sided(array: str, side: int) -> str:
    entry = f"struct_pack(key := x, side := {side}, place := p)"
    return f"list_transform({array}, lambda x, p: {entry})"


def _kept(pair: str, sided: str, condition: str) -> str:
    """Return the elements of side 1 that a condition keeps, in their order.

    All elements are sorted, so that equal ones are neighbors: a search for each element would take
    a time that grows with the square of the length. A lambda over a list of one element names a
    value that is used several times.

    Args:
        pair: the arrays, named `given.ls` and `given.rs`; if one is null, the result is.
        sided: their elements, each with its side and its place.
        condition: on an element `e` and its index `i` in `sorted`.
    """
    found = f"list_filter(sorted, lambda e, i: e.side = 1 AND ({condition}))"
    by_place = (
        f"list_sort(list_transform({found}, lambda e: struct_pack(place := e.place, key := e.key)))"
    )
    made = f"list_transform({by_place}, lambda e: e.key)"
    made = f"list_extract(list_transform([list_sort({sided})], lambda sorted: {made}), 1)"
    made = f"CASE WHEN given.ls IS NOT NULL AND given.rs IS NOT NULL THEN {made} END"
    return f"list_extract(list_transform([{pair}], lambda given: {made}), 1)"


def _joined(args: Sequence[str], types: Sequence[Type], _result: Type) -> str:
    of = types[0]
    assert isinstance(of, Array), of
    item = f"coalesce({written('e', of.element)}, 'null')"
    delimiter = f"coalesce({args[1]}, '')" if len(args) > 1 else "','"
    return called("joined", (f"list_transform({args[0]}, lambda e: {item})", delimiter))


def _sorted(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
    up, down = (f"list_sort({args[0]}, '{way}', 'NULLS LAST')" for way in ("ASC", "DESC"))
    if len(args) == 1:
        return up
    said = f"upper({args[1]})"
    return (
        f"CASE WHEN {said} IN ('ASC', 'ASCENDING') THEN {up} WHEN {said} IN ('DESC', 'DESCENDING') "
        f"THEN {down} END"
    )


def _series(args: Sequence[str], _types: Sequence[Type], result: Type) -> str:
    first, last = args[:2]
    step = args[2] if len(args) > 2 else f"CASE WHEN {first} <= {last} THEN 1 ELSE -1 END"
    count = f"abs(CAST({last} AS HUGEINT) - {first}) // abs(CAST({step} AS HUGEINT))"
    fits = f"{count} < {ELEMENTS_MAX}"
    allowed = fits
    if not all(map(_CONSTANT.fullmatch, args)):
        # DuckDB has the series of 2,048 rows at once in memory, and its memory limit does not count
        # them. A series of constants is the same one for all rows.
        allowed = f"{count} < coalesce(getvariable('{SERIES_VARIABLE}'), {ELEMENTS_MAX})"
    # DuckDB computes a series of constants when it plans the query, also in a branch that is never
    # taken, and without its memory limit. So the end is within the limit, too.
    end = f"CASE WHEN {allowed} THEN {last} ELSE {first} END"
    made = f"CAST(generate_series({first}, {end}, {step}) AS {duck_type(result)})"
    if allowed != fits:
        made = f"CASE WHEN {allowed} THEN {made} ELSE error('{TOO_LONG}') END"
    series = f"CASE WHEN {fits} THEN {made} END"
    if len(args) == 2:
        return series
    # Null if the step is 0 or leads away from the end.
    leads = f"{step} <> 0 AND ({first} = {last} OR ({first} < {last}) = ({step} > 0))"
    return f"CASE WHEN {leads} THEN {series} END"


def _slice(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
    array = args[0]
    first, last = f"coalesce({args[1]}, 1)", f"coalesce({args[2]}, len({array}))"
    there = f"{first} >= 1 AND {last} <= len({array}) AND {last} >= {first} - 1"
    return f"CASE WHEN {there} THEN list_slice({array}, {first}, {last}) END"


def _as_map(args: Sequence[str], types: Sequence[Type], _result: Type) -> str:
    """Return a map of two arrays, sorted by key; the last value of a duplicate key counts.

    A lambda over a list of one element names a value that is used several times. A subquery cannot
    be part of a lambda.
    """
    keys, values = args
    if types[0] == Array(STRING):
        # Java's maps may have a null key, written as 'null'; DuckDB's may not.
        keys = f"list_transform({keys}, lambda k: coalesce(k, 'null'))"
    places = "range(1, least(len(given.ks), len(given.vs)) + 1)"
    place = "struct_pack(key := list_extract(given.ks, i), place := i)"
    by_key = f"list_sort(list_transform({places}, lambda i: {place}))"
    is_last = "coalesce(list_extract(sorted, i + 1).key <> e.key, true)"
    last = f"list_filter(sorted, lambda e, i: {is_last})"
    by_place = (
        f"list_sort(list_transform({last}, lambda e: struct_pack(place := e.place, key := e.key)))"
    )
    entry = "struct_pack(key := e.key, value := list_extract(given.vs, e.place))"
    made = f"map_from_entries(list_transform({by_place}, lambda e: {entry}))"
    made = f"list_extract(list_transform([{by_key}], lambda sorted: {made}), 1)"
    pair = f"struct_pack(ks := {keys}, vs := {values})"
    made = f"list_extract(list_transform([{pair}], lambda given: {made}), 1)"
    return f"CASE WHEN {args[0]} IS NOT NULL AND {args[1]} IS NOT NULL THEN {made} END"


def _entries(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
    entries = (
        f"list_transform(map_entries({args[0]}), lambda e: struct_pack(f0 := e.key, f1 := e.value))"
    )
    return f"CASE WHEN {args[1]} THEN list_sort({entries}) ELSE {entries} END"


LIST_FUNCTIONS: Final[Mapping[str, Lowering]] = {
    "ARRAY_CONCAT": plain(
        "CASE WHEN {0} IS NOT NULL OR {1} IS NOT NULL THEN list_concat({0}, {1}) END"
    ),
    "ARRAY_CONTAINS": lambda args, _types, _result: f"coalesce({_has(*args)}, false)",
    "ARRAY_DISTINCT": _distinct,
    "ARRAY_EXCEPT": _of_left(_IS_NEW),
    "ARRAY_INTERSECT": _of_left(_IS_IN_BOTH),
    "ARRAY_UNION": _union,
    "ARRAY_JOIN": _joined,
    "ARRAY_LENGTH": plain("CAST(len({0}) AS INTEGER)"),
    "ARRAY_MAX": plain("list_max({0})"),
    "ARRAY_MIN": plain("list_min({0})"),
    "ARRAY_REMOVE": plain("list_filter({0}, lambda e: e IS DISTINCT FROM {1})"),
    "ARRAY_SORT": _sorted,
    "GENERATE_SERIES": _series,
    "SLICE": _slice,
    "AS_MAP": _as_map,
    "ENTRIES": _entries,
    "MAP_KEYS": plain("map_keys({0})"),
    "MAP_VALUES": plain("map_values({0})"),
    "MAP_UNION": plain(
        "CASE WHEN {0} IS NULL THEN {1} WHEN {1} IS NULL THEN {0} ELSE map_concat({0}, {1}) END"
    ),
}
