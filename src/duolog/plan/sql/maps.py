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
        "Returns a map of keys to the values at the same positions; keys or values without a "
        "counterpart are ignored.",
        "MAP<STRING, V> (keys ARRAY<STRING>, values ARRAY<V>)",
    ),
    function(
        "ENTRIES",
        _FAMILY,
        "Returns the entries of a map as structs of K and V, optionally sorted by key.",
        "ARRAY<STRUCT> (map MAP<STRING, V>, sorted BOOLEAN)",
        result_of=_entries,
    ),
    function("MAP_KEYS", _FAMILY, "Returns the keys of a map.", "ARRAY<K> (map MAP<K, V>)"),
    function("MAP_VALUES", _FAMILY, "Returns the values of a map.", "ARRAY<V> (map MAP<K, V>)"),
    function(
        "MAP_UNION",
        _FAMILY,
        "Returns the entries of two maps; for a key in both, that of the right one. "
        "A null map is ignored.",
        "MAP<K, V> (left MAP<K, V>, right MAP<K, V>)",
    ),
)
