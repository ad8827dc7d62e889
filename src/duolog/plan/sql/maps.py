"""Functions of maps."""

from typing import Final

from duolog.plan.sql.signatures import Types, function
from duolog.plan.types import STRING, Array, Column, Map, Struct, Type

_FAMILY: Final = "MAP"


def _entries(types: Types) -> Type:
    given = types[0]
    value = given.value if isinstance(given, Map) else STRING
    return Array(Struct((Column("K", STRING), Column("V", value))))


MAP_FUNCTIONS: Final = (
    function(
        "AS_MAP",
        _FAMILY,
        "Returns a map of keys and the values at their places; what has no partner is left out.",
        "MAP<STRING, V> (keys ARRAY<STRING>, values ARRAY<V>)",
    ),
    function(
        "ENTRIES",
        _FAMILY,
        "Returns the entries of a map as structs of K and V, sorted by their keys if one likes.",
        "ARRAY<STRUCT> (map MAP<STRING, V>, sorted BOOLEAN)",
        result_of=_entries,
    ),
    function("MAP_KEYS", _FAMILY, "Returns the keys of a map.", "ARRAY<K> (map MAP<K, V>)"),
    function("MAP_VALUES", _FAMILY, "Returns the values of a map.", "ARRAY<V> (map MAP<K, V>)"),
    function(
        "MAP_UNION",
        _FAMILY,
        "Returns the entries of two maps, of a key that both have that of the right one; a map that is null is left out.",
        "MAP<K, V> (left MAP<K, V>, right MAP<K, V>)",
    ),
)
