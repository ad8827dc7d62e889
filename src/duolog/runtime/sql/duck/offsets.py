"""Lower EARLIEST_BY_OFFSET and LATEST_BY_OFFSET: first or last values of a group, in record order.

    EARLIEST_BY_OFFSET(x)              the first value that is not null
    LATEST_BY_OFFSET(x, 2)             an array of the last two, the older one first
    LATEST_BY_OFFSET(x, 2, false)      the same, including nulls

The position of a table's row is that of its last update. Offsets of different partitions are
compared as numbers, then by timestamp.
"""

from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from duolog.ksql.errors import SqlError
from duolog.ksql.expressions.scope import Visible
from duolog.ksql.syntax.nodes import place_of
from duolog.plan.types import Array, Type
from duolog.runtime.sql.duck.lowering import ELSEWHERE

BY_OFFSET: Final = ("EARLIEST_BY_OFFSET", "LATEST_BY_OFFSET")
_ORDER: Final = ("ROWOFFSET", "ROWTIME", "ROWPARTITION")


def by_offset(
    call: exp.Anonymous, value: str, of: Type, columns: Sequence[Visible], suffix: str
) -> tuple[str, Type]:
    """Return a call in DuckDB's SQL, and its result type.

    Args:
        call: the call.
        value: its first argument, in DuckDB's SQL.
        of: the type of that argument.
        columns: columns in scope.
        suffix: FILTER (…) and OVER (…), or empty.

    Raises:
        SqlError: the rows have no offsets, or the other arguments are not a number and a boolean.
    """
    name = str(call.this).upper()
    most, ignores_nulls = _options(call, name)
    order = [
        str(one.expression) for kind in _ORDER for one in columns if one.name == kind and one.pseudo
    ]
    if not order:
        raise SqlError(
            f"function '{name}' is not supported over a subquery: its rows have no offsets",
            at=place_of(call),
            hint=ELSEWHERE,
        )
    found = f"list({value} ORDER BY {', '.join(order)}){suffix}"
    if ignores_nulls:
        found = f"list_filter({found}, lambda e: e IS NOT NULL)"
    first = name == BY_OFFSET[0]
    if most is None:
        return f"list_extract({found}, {1 if first else -1})", of
    some = f"list_slice({found}, 1, {most})" if first else f"list_slice({found}, -{most}, -1)"
    return f"coalesce({some}, [])", Array(of)


def _options(call: exp.Anonymous, name: str) -> tuple[int | None, bool]:
    """Return the number of values (None for a single value), and true if nulls are ignored."""
    most, ignores_nulls = None, True
    rest = call.expressions[1:]
    if rest and isinstance(rest[0], exp.Literal) and not rest[0].is_string and rest[0].is_int:
        most, rest = int(rest[0].name), rest[1:]
    if rest and isinstance(rest[0], exp.Boolean):
        ignores_nulls, rest = bool(rest[0].this), rest[1:]
    if rest or not call.expressions or most == 0:
        raise SqlError(
            f"{name} accepts a value, then optionally a number of values, at least 1, and true "
            "to ignore nulls.",
            at=place_of(call),
            hint=f"Use {name}(x), {name}(x, 3), {name}(x, false) or {name}(x, 3, false).",
        )
    return most, ignores_nulls
