"""Lower the steps of aggregates, `plan.steps`: lists and maps to Spark's functions, else ours."""

from collections.abc import Callable, Sequence
from typing import Final

from duolog.engine.lowering.spark_sql.sql import spark_type, text
from duolog.engine.lowering.sql_functions.comparing import comparable, equal
from duolog.plan.types import Array, Map, Struct, Type

Args = Sequence[str]
Types = Sequence[Type]


def lower_step(function: str, args: Args, types: Types) -> str:
    """Return a step as Spark SQL, over arguments of their declared types.

    Example:
        >>> from duolog.plan.types import BYTES, INT
        >>> lower_step("VALUES_ADD", ["a0", "v1", "1"], [BYTES, INT, INT])
        "duolog_values_add(a0, struct(v1), 1, 'c INT')"
    """
    return _STEPS[function](args, types)


def _empty(_args: Args, types: Types) -> str:
    return f"CAST({'map' if isinstance(types[0], Map) else 'array'}() AS {spark_type(types[0])})"


def _list_add(args: Args, _types: Types) -> str:
    kept, value, limit = args
    return f"CASE WHEN size({kept}) >= {limit} THEN {kept} ELSE array_append({kept}, {value}) END"


def _list_remove(args: Args, types: Types) -> str:
    kept, value = args
    nulls = f"array_position(transform(reverse({kept}), one -> one IS NULL), true)"
    those, that = comparable(f"reverse({kept})", types[0]), comparable(value, types[1])
    # Counted from the end; 0 if it is not in the list.
    place = f"CASE WHEN {value} IS NULL THEN {nulls} ELSE array_position({those}, {that}) END"
    from_end = f"CAST({place} AS INT)"
    before = f"slice({kept}, 1, size({kept}) - {from_end})"
    behind = f"slice({kept}, size({kept}) - {from_end} + 2, {from_end})"
    return f"CASE WHEN {from_end} = 0 THEN {kept} ELSE concat({before}, {behind}) END"


def _list_concat(args: Args, _types: Types) -> str:
    return f"slice(concat({args[0]}, {args[1]}), 1, {args[2]})"


def _list_last(args: Args, _types: Types) -> str:
    kept, many = args
    return f"slice({kept}, greatest(size({kept}) - {many} + 1, 1), {many})"


def _set_add(args: Args, types: Types) -> str:
    kept, value, _ = args
    null = f"{value} IS NULL AND exists({kept}, one -> one IS NULL)"
    those, that = comparable(kept, types[0]), comparable(value, types[1])
    there = f"({null}) OR coalesce(array_contains({those}, {that}), false)"
    return f"CASE WHEN {there} THEN {kept} ELSE {_list_add(args, types)} END"


def _set_concat(args: Args, types: Types) -> str:
    kept, other, limit = args
    of = types[0]
    assert isinstance(of, Array), of
    there = f"exists({kept}, two -> {equal('one', 'two', of.element)})"
    return f"slice(concat({kept}, filter({other}, one -> NOT {there})), 1, {limit})"


def _list_sum(args: Args, types: Types) -> str:
    of = types[0]
    assert isinstance(of, Array), of
    zero = f"CAST(0 AS {spark_type(of.element)})"
    return f"aggregate({args[0]}, {zero}, (total, one) -> total + coalesce(one, {zero}))"


def _map_put(args: Args, _types: Types) -> str:
    kept, key, value, limit = args
    full = f"size({kept}) >= {limit} AND NOT map_contains_key({kept}, {key})"
    others = f"map_filter({kept}, (one, of) -> NOT one <=> {key})"
    put = f"map_concat({others}, map({key}, {value}))"
    return f"CASE WHEN {key} IS NULL OR ({full}) THEN {kept} ELSE {put} END"


def _map_concat(args: Args, _types: Types) -> str:
    kept, other, limit = args
    others = f"map_filter({kept}, (one, of) -> NOT map_contains_key({other}, one))"
    room = f"{limit} - size({kept})"
    new = f"map_filter({other}, (one, of) -> NOT map_contains_key({kept}, one))"
    known = f"map_filter({other}, (one, of) -> map_contains_key({kept}, one))"
    within = f"map_from_entries(slice(map_entries({new}), 1, {room}))"
    return f"map_concat({others}, {known}, {within})"


def _sortable(args: Args, _types: Types) -> str:
    names = ["sort_col", *(f"col{place}" for place in range(len(args) - 1))]
    fields = ", ".join(f"{text(name)}, {arg}" for name, arg in zip(names, args, strict=True))
    return f"named_struct({fields})"


def _sortable_as(args: Args, types: Types) -> str:
    assert isinstance(types[0], Struct), types
    named = zip(types[0].fields, args[1:], strict=True)
    return f"named_struct({', '.join(f'{text(of.name)}, {arg}' for of, arg in named)})"


def _of_value(function: str) -> Callable[[Args, Types], str]:
    """Lower to a kernel function of a list of values, a value, and further arguments."""

    def lower(args: Args, types: Types) -> str:
        more = "".join(f"{arg}, " for arg in args[2:])
        return f"{function}({args[0]}, struct({args[1]}), {more}{_type_text(types[1])})"

    return lower


def _of_like(function: str, *options: str) -> Callable[[Args, Types], str]:
    """Lower to a kernel function that takes values of the type of the second argument."""

    def lower(args: Args, types: Types) -> str:
        given = [args[0], args[2], *options, *args[3:], _type_text(types[1])]
        return f"{function}({', '.join(given)})"

    return lower


def _plain(function: str) -> Callable[[Args, Types], str]:
    return lambda args, _types: f"{function}({', '.join(args)})"


def _type_text(of: Type) -> str:
    return text(f"c {spark_type(of)}")


_STEPS: Final[dict[str, Callable[[Args, Types], str]]] = {
    "EMPTY": _empty,
    "LIST_ADD": _list_add,
    "LIST_REMOVE": _list_remove,
    "LIST_CONCAT": _list_concat,
    "LIST_LAST": _list_last,
    "LIST_SUM": _list_sum,
    "SET_ADD": _set_add,
    "SET_CONCAT": _set_concat,
    "MAP_PUT": _map_put,
    "MAP_CONCAT": _map_concat,
    "SORTABLE": _sortable,
    "SORTABLE_AS": _sortable_as,
    "VALUES_ADD": _of_value("duolog_values_add"),
    "VALUES_SUBTRACT": _of_value("duolog_values_subtract"),
    "VALUES_MERGE": _plain("duolog_values_merge"),
    "VALUES_ADD_WITHIN": _of_value("duolog_values_add_within"),
    "VALUES_ADD_TOP": _of_value("duolog_values_add_top"),
    "VALUES_MERGE_TOP": _plain("duolog_values_merge_top"),
    "VALUES_LEAST": _of_like("duolog_values_first", "false"),
    "VALUES_GREATEST": _of_like("duolog_values_first", "true"),
    "VALUES_DISTINCT": _plain("duolog_values_distinct"),
    "VALUES_COUNTS": _of_like("duolog_values_counts"),
    "VALUES_PAIRS": _of_like("duolog_values_pairs"),
    "SKETCH_ADD": _of_value("duolog_sketch_add"),
    "SKETCH_MERGE": _plain("duolog_sketch_merge"),
    "SKETCH_DISTINCT": _plain("duolog_sketch_distinct"),
    "BUCKET": _plain("duolog_bucket"),
    "QUANTILE": _plain("duolog_quantile"),
    "SQRT": _plain("SQRT"),
}
