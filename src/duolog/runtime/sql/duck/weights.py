"""The size of a value, as ADR 0091 limits it, as SQL of DuckDB.

    STRING, BYTES          its bytes
    ARRAY, MAP, STRUCT     8 bytes for each element, key, value or field, and the sizes of these
    all else, and null     0: it is counted where it is an element

The kernel has the same rule (`Weighed.java`).
"""

from typing import Final

from duolog.plan.types import BYTES, STRING, Array, Map, Struct, Type

_WORD: Final = 8
_LENGTHS: Final = {STRING: "strlen", BYTES: "octet_length"}
"""How DuckDB counts the bytes of what may be long."""


def weight(value: str, of: Type, depth: int = 0) -> str | None:
    """Return the size of a value; None if it has none, whatever its value.

    Args:
        value: it, as SQL of DuckDB.
        of: its type.
        depth: number of enclosing lambdas of sizes, which names their parameters.
    """
    if of in _LENGTHS:
        return f"coalesce({_LENGTHS[of]}({value}), 0)"
    match of:
        case Array(element=element):
            return _of_list(value, element, depth)
        case Map(key=key, value=item):
            return (
                f"({_of_list(f'map_keys({value})', key, depth)} + "
                f"{_of_list(f'map_values({value})', item, depth)})"
            )
        case Struct(fields=fields):
            parts = [weight(f"({value}).f{at}", kind, depth) for at, (_, kind) in enumerate(fields)]
            sizes = " + ".join([str(_WORD * len(fields)), *(part for part in parts if part)])
            return f"CASE WHEN {value} IS NULL THEN 0 ELSE {sizes} END"
        case _:
            return None


def _of_list(value: str, element: Type, depth: int) -> str:
    name = f"w{depth}"
    one = weight(name, element, depth + 1)
    references = f"coalesce(len({value}), 0) * {_WORD}"
    if one is None:
        return references
    return f"({references} + coalesce(list_sum(list_transform({value}, lambda {name}: {one})), 0))"
