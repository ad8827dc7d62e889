"""The steps of aggregates that keep more than a number: functions that no user writes.

    list        an ARRAY in the order in which values came, at most `limit` of them
    map         a MAP, at most `limit` keys
    values      BYTES: values with how often each is there, ascending; null holds nothing
    sketch      BYTES: how many different values there are, nearly; null holds nothing

`like` is a null of a type, and says which one. Nulls reach these functions: an accumulator may be one.
How they are written in Spark SQL is known to `engine.steps`, what they give to `testing.steps`.
"""

from typing import Final

from duolog.plan.expressions.functions import Function, Types
from duolog.plan.types import BIGINT, BYTES, DOUBLE, INT, Array, Column, Map, Struct, Type


def _first(_name: str, types: Types) -> Type:
    return types[0]


def _element(_name: str, types: Types) -> Type:
    assert isinstance(types[0], Array), types
    return types[0].element


def _list_of_like(_name: str, types: Types) -> Type:
    return Array(types[1])


def _counts_of_like(_name: str, types: Types) -> Type:
    return Map(types[1], BIGINT)


def _map_of_pairs(_name: str, types: Types) -> Type:
    assert isinstance(types[1], Struct), types
    key, value = (column.type for column in types[1].fields)
    return Map(key, value)


def _sortable(_name: str, types: Types) -> Type:
    names = ("sort_col", *(f"col{place}" for place in range(len(types) - 1)))
    return Struct(tuple(map(Column, names, types)))


def _wanted(_name: str, types: Types) -> Type:
    """Return the type of the first argument, a null that says which STRUCT the others make."""
    return types[0]


def _bytes(_name: str, _types: Types) -> Type:
    return BYTES


def _bigint(_name: str, _types: Types) -> Type:
    return BIGINT


def _int(_name: str, _types: Types) -> Type:
    return INT


def _double(_name: str, _types: Types) -> Type:
    return DOUBLE


STEPS: Final = {
    function.name: function
    for function in (
        Function("EMPTY", 1, 1, _first),  # like: the list or map of nothing
        Function("LIST_ADD", 3, 3, _first),  # list, value, limit: beyond it the list stays
        Function("LIST_REMOVE", 2, 2, _first),  # list, value: the last that is equal to it
        Function("LIST_CONCAT", 3, 3, _first),  # list, other list, limit
        Function("LIST_LAST", 2, 2, _first),  # list, how many
        Function("LIST_SUM", 1, 1, _element),  # list of numbers; null of no list
        Function("SET_ADD", 3, 3, _first),  # list, value, limit: where it is not there yet
        Function("SET_CONCAT", 3, 3, _first),  # list, other list, limit
        Function("MAP_PUT", 4, 4, _first),  # map, key, value, limit of keys; no null key
        Function("MAP_CONCAT", 3, 3, _first),  # map, other map (whose values win), limit
        Function("SORTABLE", 1, None, _sortable),  # a STRUCT that is ordered by its first field
        Function(
            "SORTABLE_AS", 2, None, _wanted
        ),  # the same with names: a null of the STRUCT first
        Function("VALUES_ADD", 3, 3, _bytes),  # values, value, slot of its pages; 0: it has none
        Function("VALUES_SUBTRACT", 2, 2, _bytes),  # values, value
        Function("VALUES_MERGE", 3, 3, _bytes),  # values, others, limit of different ones
        Function("VALUES_ADD_WITHIN", 3, 3, _bytes),  # values, value, limit of different ones
        Function("VALUES_ADD_TOP", 4, 4, _bytes),  # values, value, how many to keep, distinct
        Function("VALUES_MERGE_TOP", 4, 4, _bytes),  # values, others, how many, distinct
        Function("VALUES_LEAST", 4, 4, _list_of_like),  # values, like, how many, distinct
        Function("VALUES_GREATEST", 4, 4, _list_of_like),  # the same, from the greatest on
        Function("VALUES_DISTINCT", 1, 1, _bigint),  # how many different ones there are
        Function("VALUES_COUNTS", 3, 3, _counts_of_like),  # values, like, limit: the least ones
        Function("VALUES_PAIRS", 3, 3, _map_of_pairs),  # values that are pairs, like, limit of keys
        Function("SKETCH_ADD", 2, 2, _bytes),  # sketch, value
        Function("SKETCH_MERGE", 2, 2, _bytes),  # sketch, other sketch
        Function("SKETCH_DISTINCT", 1, 1, _bigint),
        Function("BUCKET", 1, 1, _int),  # of a DOUBLE: of all that are within 1 % of it
        Function("QUANTILE", 2, 2, _double),  # values that are buckets, fraction
        Function("SQRT", 1, 1, _double),
    )
}
"""The steps by name."""
