"""The steps of aggregates whose state is more than a number: functions that users cannot call.

    list        an ARRAY in arrival order, with at most `limit` elements
    map         a MAP with at most `limit` keys
    values      BYTES: sorted values with their counts; null is empty
    sketch      BYTES: an approximate count of different values; null is empty

`like` is a null whose type is the type of the values. Steps receive nulls, because an accumulator
may be null. The engine has the Spark SQL of each step, `duolog.testing.reference` its form in plain
Python.
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
    """Return the type of the first argument, a null of the STRUCT that the other arguments form."""
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
        Function("EMPTY", 1, 1, _first),  # like: an empty list or map
        Function("LIST_ADD", 3, 3, _first),  # list, value, limit; unchanged if the list is full
        Function("LIST_REMOVE", 2, 2, _first),  # list, value: removes the last equal one
        Function("LIST_CONCAT", 3, 3, _first),  # list, other list, limit
        Function("LIST_LAST", 2, 2, _first),  # list, number of elements
        Function("LIST_SUM", 1, 1, _element),  # list of numbers; null for null
        Function("SET_ADD", 3, 3, _first),  # list, value, limit: adds it unless present
        Function("SET_CONCAT", 3, 3, _first),  # list, other list, limit
        Function("MAP_PUT", 4, 4, _first),  # map, key, value, limit of keys; ignores a null key
        Function("MAP_CONCAT", 3, 3, _first),  # map, other map (whose values win), limit
        Function("SORTABLE", 1, None, _sortable),  # a STRUCT, ordered by its first field
        # The same with field names; the first argument is a null of the STRUCT.
        Function("SORTABLE_AS", 2, None, _wanted),
        Function("VALUES_ADD", 3, 3, _bytes),  # values, value, slot of its pages, 0 for none
        Function("VALUES_SUBTRACT", 2, 2, _bytes),  # values, value
        Function("VALUES_MERGE", 3, 3, _bytes),  # values, other values, limit of different ones
        Function("VALUES_ADD_WITHIN", 3, 3, _bytes),  # values, value, limit of different ones
        Function("VALUES_ADD_TOP", 4, 4, _bytes),  # values, value, size of the top, distinct
        Function("VALUES_MERGE_TOP", 4, 4, _bytes),  # values, other values, size, distinct
        Function("VALUES_LEAST", 4, 4, _list_of_like),  # values, like, number of values, distinct
        Function("VALUES_GREATEST", 4, 4, _list_of_like),  # the same, in descending order
        Function("VALUES_DISTINCT", 1, 1, _bigint),  # the number of different values
        Function("VALUES_COUNTS", 3, 3, _counts_of_like),  # values, like, limit: the least ones
        Function("VALUES_PAIRS", 3, 3, _map_of_pairs),  # values that are pairs, like, limit of keys
        Function("SKETCH_ADD", 2, 2, _bytes),  # sketch, value
        Function("SKETCH_MERGE", 2, 2, _bytes),  # sketch, other sketch
        Function("SKETCH_DISTINCT", 1, 1, _bigint),
        Function("BUCKET", 1, 1, _int),  # of a DOUBLE: shared by values within 1 %
        Function("QUANTILE", 2, 2, _double),  # values that are buckets, fraction
        Function("SQRT", 1, 1, _double),
    )
}
"""The steps by name."""
