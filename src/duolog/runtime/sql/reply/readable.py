"""Format TIME values, which are milliseconds of the day in rows."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from duolog.ksql.syntax.script import type_written
from duolog.plan.types import TIME, Array, Map, Struct, Type
from duolog.serde.row import Row
from duolog.serde.times import time_text

_NAMED: Final = re.compile(r"\bTIME\b")
_DAY_MS: Final = 86_400_000


def readable(rows: Iterator[Row], columns: Sequence[tuple[str, str]]) -> Iterator[Row]:
    """Return rows with each TIME as text, also inside arrays, maps and structs.

    Args:
        rows: the rows.
        columns: names and types of their columns, as in a result.

    Example:
        >>> list(readable(iter([(1, 36_930_000)]), [("ID", "INTEGER"), ("AT", "TIME")]))
        [(1, '10:15:30')]
    """
    types = {at: type_written(of) for at, (_, of) in enumerate(columns) if _NAMED.search(of)}
    if not types:
        return rows
    return (
        tuple(_shown(value, types[at]) if at in types else value for at, value in enumerate(row))
        for row in rows
    )


def _shown(value: object, of: Type) -> object:
    match of, value:
        case Array(element=element), list() | tuple():
            return [_shown(one, element) for one in value]
        case Map(key=key, value=kind), Mapping():
            return {_shown(name, key): _shown(one, kind) for name, one in value.items()}
        case Struct(fields=fields), Mapping():
            types = {field.name: field.type for field in fields}
            return {name: _shown(one, types[name]) for name, one in value.items()}
        case _, int() if of == TIME and 0 <= value < _DAY_MS:
            return time_text(value)
        case _:
            return value
