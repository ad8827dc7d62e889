"""Call user-defined functions from DuckDB: scalar ones per row, aggregates once per group.

    SCORE(a, b)      duolog_user_3(a, b)
    SPREAD(a, b)     duolog_user_4(list(struct_pack(f0 := a, f1 := b)))

They run in this process, as those of `sql.functions`, which registers them. Values are DuckDB's:
fields of a STRUCT by position, timestamps without a zone.
"""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from duolog.core.errors import StatementError
from duolog.ksql.errors import SqlError
from duolog.plan.aggregates.user_folds import UserAggregate
from duolog.plan.sql.user_functions import Body, Routine
from duolog.plan.types import DOUBLE, TIMESTAMP, Array, Column, Map, Struct, Type, parts_of
from duolog.runtime.sql.duck.types import Convert, duck_type, reader
from duolog.runtime.sql.functions.registry import Function, called, ensure_known

_NAMES: Final[dict[tuple[Routine, Body | None, bool], str]] = {}
"""Names of the routines called in this process; true for a fold over a group's rows."""


def call_of(routine: Routine, args: Sequence[str]) -> str:
    """Return the call of a scalar function in DuckDB's SQL.

    Raises:
        SqlError: the function's module is not available.
    """
    _ensure_there(routine)
    return _called(routine, args, routine.arguments, routine, fold=False)


def fold_of(kept: UserAggregate, args: Sequence[str], suffix: str) -> str:
    """Return the call of an aggregate in DuckDB's SQL.

    `suffix` has FILTER (…) and OVER (…), or is empty.

    Raises:
        SqlError: the function's module is not available.
    """
    steps = kept.routine.overload.steps
    state, columns = kept.state, kept.routine.arguments
    initialize = replace(kept.routine, step="initialize", arguments=(), result=state)
    add = replace(kept.routine, arguments=(state, *columns), result=state)
    give = replace(kept.routine, step="map", arguments=(state,)) if "map" in steps else None
    _ensure_there(initialize)

    def folded(rows: Sequence[Mapping[str, object]] | None) -> object:
        found = initialize()
        for row in rows or ():
            found = add(found, *(row[f"f{at}"] for at in range(len(columns))))
        return found if give is None else give(found)

    listed = ", ".join(f"f{at} := {arg}" for at, arg in enumerate(args)) or "none := true"
    rows = f"list(struct_pack({listed})){suffix}"
    of_row = Struct(tuple(Column(f"f{at}", of) for at, of in enumerate(columns)))
    return _called(kept.routine, [rows], (Array(of_row),), folded, fold=True)


def _ensure_there(routine: Routine) -> None:
    """Raise a SqlError if a function is missing, before rows are read."""
    try:
        routine.bound()
    except StatementError as error:
        raise SqlError(error.message, detail=error.detail, hint=error.hint) from error


def _called(
    routine: Routine,
    args: Sequence[str],
    types: Sequence[Type],
    call: Callable[..., object],
    *,
    fold: bool,
) -> str:
    name = _NAMES.setdefault((routine, routine.body, fold), f"user_{len(_NAMES)}")
    readers = [reader(of) for of in types]
    write = _writer(routine.result)

    def converted(*values: object) -> object:
        given = (
            value if read is None else read(value)
            for read, value in zip(readers, values, strict=True)
        )
        found = call(*given)
        return None if found is None else write(found)

    gives = "DOUBLE" if routine.result == DOUBLE else duck_type(routine.result)
    ensure_known(name, Function(converted, gives, takes_nulls=True))
    return called(name, args)


def _writer(of: Type) -> Convert:
    """Return a converter from row values to function results of DuckDB."""
    if not any(isinstance(part, Struct) or part == TIMESTAMP for part in parts_of(of)):
        return lambda value: value
    match of:
        case Array(element=element):
            item = _or_null(_writer(element))
            return lambda value: [item(one) for one in value]
        case Map(key=key, value=inner):
            of_key, of_value = _or_null(_writer(key)), _or_null(_writer(inner))
            return lambda value: {of_key(k): of_value(v) for k, v in value.items()}
        case Struct(fields=fields):
            parts = [
                (one.name, f"f{at}", _or_null(_writer(one.type))) for at, one in enumerate(fields)
            ]
            return lambda value: {to: write(value[name]) for name, to, write in parts}
        case _:
            return lambda value: value.astimezone(dt.UTC).replace(tzinfo=None)


def _or_null(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)
