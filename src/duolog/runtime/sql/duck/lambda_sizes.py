"""Bounds of the memory of lambdas, which DuckDB's own limit does not count.

DuckDB applies a lambda to the elements of 2,048 rows at once, and gives each element its own copy
of the columns that the lambda uses. So the size for one row is estimated before:

    size of the list + elements x (16 bytes + sizes of the columns used)
    lambdas in the lambda: + elements of all levels x 16 bytes x (1 + size / 16) for each column

A connection has the most of it in a variable. Without the variable, there is no bound.

Functions that make long texts of short ones, such as LPAD, are not part of the estimate.
"""

from collections.abc import Iterable
from typing import Final

from duolog.plan.types import Map, Type
from duolog.runtime.sql.duck.weights import weight

SIZE_VARIABLE: Final = "list_bytes_max"
TOO_LARGE: Final = "a list is too large for its function"
"""Message of the error for a larger one."""
_ELEMENT_BYTES: Final = 16
_LEAST_BYTES: Final = 8
"""The size of an element by `weight`, at least."""
_NO_LIMIT: Final = 2**62


def bounded(
    made: str, value: str, of: Type, used: Iterable[tuple[str, Type]], *, nested: bool
) -> str:
    """Return the result of a function with lambdas, or an error above the limit.

    Args:
        made: the result, as SQL of DuckDB.
        value: the list or map, which is written several times.
        of: its type.
        used: the columns that the lambdas use, with their types.
        nested: True if lambdas are within the lambdas.
    """
    length = "cardinality" if isinstance(of, Map) else "len"
    own = f"CAST({weight(value, of) or 0} AS DOUBLE)"
    count = f"coalesce({length}({value}), 0)"
    sizes = [size for one in used if (size := weight(*one))]
    if nested:
        factors = "".join(f" * (1 + {size} / {_ELEMENT_BYTES})" for size in sizes)
        estimate = f"({count} + {own} / {_LEAST_BYTES}) * {_ELEMENT_BYTES}{factors}"
    else:
        estimate = f"{count} * ({' + '.join([str(_ELEMENT_BYTES), *sizes])})"
    most = f"coalesce(getvariable('{SIZE_VARIABLE}'), {_NO_LIMIT})"
    fits = f"{own} + {estimate} <= {most}"
    return f"CASE WHEN {fits} THEN {made} ELSE error('{TOO_LARGE}') END"
