"""Calls of all functions of the plan, over arguments of all types that they take."""

from collections.abc import Iterator
from functools import partial

from duolog.core.errors import DuologError
from duolog.engine.lowering.expressions.expressions import Names, lower_expression
from duolog.engine.lowering.expressions.steps import lower_step
from duolog.engine.lowering.sql_functions.registry import lower_sql_function
from duolog.plan.expressions import Call, ColumnRef
from duolog.plan.expressions.functions import FUNCTIONS, Function
from duolog.plan.expressions.steps import STEPS
from duolog.plan.schema import Schema
from duolog.plan.sql.registry import SQL_FUNCTIONS
from duolog.plan.sql.signatures import ANY, AnyDecimal, Generic, LambdaOf, Signature, SqlFunction
from duolog.plan.types import STRING, TIME, Array, Column, Map, Struct, Type, parse_type

_TYPES = [
    TIME,
    *map(
        parse_type,
        (
            *("BOOLEAN", "INT", "BIGINT", "DOUBLE", "DECIMAL(10,2)", "STRING", "BYTES"),
            *("DATE", "TIMESTAMP", "ARRAY<STRING>", "ARRAY<DOUBLE>", "ARRAY<DECIMAL(4,1)>"),
            *("MAP<STRING, INT>", "STRUCT<f DECIMAL(4,1), g DATE>"),
        ),
    ),
]
Case = tuple[str, str, str]
_LENGTHS = range(5)
_LAMBDAS = ("`p_s` -> `p_s`", "(`p_s`, `p_e`) -> `p_e`", "(`p_s`, `p_k`, `p_v`) -> `p_v`")


def pinned_cases() -> Iterator[Case]:
    """Yield functions, calls of them, and each call as Spark SQL."""
    for name, function in SQL_FUNCTIONS.items():
        yield from _of_sql(name, function)
    yield from _casts()
    for name in FUNCTIONS:
        yield from _of_dsl(name)
    for name in STEPS:
        yield from _of_steps(name)


def _of_sql(name: str, function: SqlFunction) -> Iterator[Case]:
    seen = set()
    for signature in function.signatures:
        for of in _TYPES:
            for count in _LENGTHS:
                types = _filled(signature, of, count)
                if types is None or name == "CAST" or types in seen:
                    continue
                seen.add(types)
                args = _args(types)
                try:
                    result = function.resolve(types).result
                    lowered = lower_sql_function(name, args, types, result)
                except (DuologError, AssertionError, KeyError, IndexError, TypeError, ValueError):
                    continue
                yield name, f"({', '.join(map(str, types))})", lowered


def _filled(signature: Signature, of: Type, count: int) -> tuple[Type, ...] | None:
    wanted = signature.types_for(count)
    return None if wanted is None else tuple(_concrete(one, of) for one in wanted)


def _concrete(wanted: Type, of: Type) -> Type:
    """Return a type that an argument for a parameter of type `wanted` has."""
    match wanted:
        case Array(element=element):
            return Array(_concrete(element, of))
        case Map(key=key, value=value):
            return Map(_concrete(key, STRING), _concrete(value, of))
        case Generic() | AnyDecimal() | Struct():
            return of
        case _:
            return of if wanted == ANY else wanted


def _args(types: tuple[Type, ...]) -> list[str]:
    return [
        _LAMBDAS[len(of.parameters) - 1] if isinstance(of, LambdaOf) else f"v{place}"
        for place, of in enumerate(types)
    ]


def _casts() -> Iterator[Case]:
    for given in _TYPES:
        for wanted in _TYPES:
            lowered = lower_sql_function("CAST", ["v0"], [given], wanted)
            yield "CAST", f"({given} AS {wanted})", lowered


def _takes(function: Function, count: int) -> bool:
    return function.arguments_min <= count <= (function.arguments_max or count)


def _of_dsl(name: str) -> Iterator[Case]:
    for of in _TYPES:
        columns = Schema((), tuple(Column(f"c{place}", of) for place in _LENGTHS))
        for count in filter(partial(_takes, FUNCTIONS[name]), _LENGTHS):
            call = Call(name, tuple(ColumnRef(f"c{place}") for place in range(count)))
            try:
                yield f"dsl:{name}", f"{call} of {of}", lower_expression(call, Names.of(columns))
            except (DuologError, AssertionError, KeyError, IndexError, TypeError, ValueError):
                continue


def _of_steps(name: str) -> Iterator[Case]:
    for of in _TYPES:
        for count in filter(partial(_takes, STEPS[name]), _LENGTHS):
            types = [of] * count
            try:
                lowered = lower_step(name, [f"v{place}" for place in range(count)], types)
            except (DuologError, AssertionError, KeyError, IndexError, TypeError, ValueError):
                continue
            yield f"step:{name}", f"over {count} {of}", lowered
