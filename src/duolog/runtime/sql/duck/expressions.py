"""Lower bound expressions of a plan to DuckDB's SQL.

The scope of a query binds names to `Written`: DuckDB's SQL with a type. Everything else is lowered
here, function by function. Functions that DuckDB does not have are refused by name.
"""

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal as PythonDecimal
from typing import Final, NamedTuple

from duolog.ksql.errors import SqlError
from duolog.ksql.syntax.types import sql_name
from duolog.plan.expressions import (
    Call,
    Cast,
    Expression,
    Item,
    Lambda,
    Literal,
    PythonCall,
    Variable,
    walk,
)
from duolog.plan.expressions.python_functions import PythonFunction
from duolog.plan.sql.limits import ELEMENTS_MAX, LENGTH_MAX
from duolog.plan.sql.registry import PLAN_FUNCTIONS, PREFIX, SQL_FUNCTIONS
from duolog.plan.sql.signatures import UNIT
from duolog.plan.sql.user_functions import Routine
from duolog.plan.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    NULL,
    Array,
    Decimal,
    Map,
    Struct,
    Type,
)
from duolog.runtime.sql.duck.casts import cast
from duolog.runtime.sql.duck.lambda_sizes import bounded
from duolog.runtime.sql.duck.lists import LIST_FUNCTIONS
from duolog.runtime.sql.duck.lowering import ELSEWHERE, Lowering
from duolog.runtime.sql.duck.operators import LOGIC, OPERATORS
from duolog.runtime.sql.duck.times import TIME_FUNCTIONS
from duolog.runtime.sql.duck.types import duck_type, text
from duolog.runtime.sql.duck.user_functions import call_of
from duolog.runtime.sql.duck.values import VALUE_FUNCTIONS
from duolog.runtime.sql.duck.weights import weight

FUNCTIONS: Final[Mapping[str, Lowering]] = {
    **OPERATORS,
    **VALUE_FUNCTIONS,
    **LIST_FUNCTIONS,
    **TIME_FUNCTIONS,
}
"""Functions that DuckDB supports with the same meaning, by ksqlDB's names."""
_LAMBDAS: Final = ("FILTER", "TRANSFORM", "REDUCE")
_PRESENT: Final = PREFIX + "PRESENT"
_CONNECTIVES: Final = {"AND": ("NOT ({0})", "false"), "OR": ("({0})", "true")}
"""The condition on an operand that decides the result, and the result."""


@dataclass(frozen=True, slots=True)
class Written(Expression):
    """DuckDB's SQL for a column, an aggregate, or a subquery."""

    sql: str
    type: Type

    def __str__(self) -> str:
        return self.sql


class Lowered(NamedTuple):
    """DuckDB's SQL, and the type of its value."""

    sql: str
    type: Type


def lowered(  # noqa: PLR0911 - a table of cases
    expression: Expression, names: Mapping[str, str] | None = None
) -> Lowered:
    """Lower an expression to DuckDB's SQL; `names` has the SQL for parameters of lambdas.

    Raises:
        SqlError: DuckDB does not support a function, or not with these arguments.
    """
    names = names or {}
    match expression:
        case Written(sql, of):
            return Lowered(sql, of)
        case Literal(value, of):
            return Lowered(_literal(value, of), of)
        case Variable(name, of):
            return Lowered(names[name], of)
        case Cast(arg, of):
            inner = lowered(arg, names)
            return Lowered(cast(inner.sql, inner.type, of), of)
        case Item(arg, key):
            return _item(lowered(arg, names), key, names)
        case Call("CASE", args):
            return _case([lowered(arg, names) for arg in args])
        case Call(name, args) if name in LOGIC:
            if name in _CONNECTIVES and any(map(_may_fail, args[1:])):
                return _in_turn(name, expression, names)
            sides = [lowered(arg, names) for arg in args]
            template = LOGIC[name]([one.sql for one in sides], [], BOOLEAN)
            assert template is not None, name
            return Lowered(template, BOOLEAN)
        case PythonCall(PythonFunction(Routine() as routine), args):
            return Lowered(
                call_of(routine, [lowered(arg, names).sql for arg in args]), routine.result
            )
        case Call(name, args) if name in PLAN_FUNCTIONS:
            return _call(name.removeprefix(PREFIX), args, names)
        case _:
            raise SqlError(f"{expression} is not supported in pull queries")


def _call(name: str, args: tuple[Expression, ...], names: Mapping[str, str]) -> Lowered:
    if name in _LAMBDAS:
        of_columns = any(isinstance(part, Written) for arg in args for part in walk(arg))
        # The bound of the outermost lambda counts the others; within TRY, an error would be null.
        return _applied(name, args) if of_columns and not names else _tried(name, args, names)
    sides = [lowered(arg, names) for arg in args]
    if name == "IN" and any(map(_may_fail, args[1:])):
        return _among(sides)
    types = tuple(one.type for one in sides)
    result = SQL_FUNCTIONS[name].type_of(types)
    lower = FUNCTIONS.get(name)
    sql = None if lower is None else lower([one.sql for one in sides], types, result)
    if sql is None:
        given = ", ".join("UNIT" if of == UNIT else sql_name(of) for of in types)
        what = f"function '{name}'" if lower is None else f"{name}({given}) with these arguments"
        raise SqlError(
            f"{what} is not supported in pull queries",
            hint=ELSEWHERE,
        )
    return Lowered(sql, result)


def _may_fail(expression: Expression) -> bool:
    """Return whether a part of an expression may fail, which only happens in lambdas."""
    return any(isinstance(part, Call) and part.function == _PRESENT for part in walk(expression))


def _in_turn(name: str, expression: Expression, names: Mapping[str, str]) -> Lowered:
    """Lower AND or OR so that no operand is computed that is not needed: it may fail.

    DuckDB computes all operands of AND, OR and IN, but only the needed branches of CASE.
    """
    conditions = [lowered(one, names).sql for one in _operands(name, expression)]
    when, result = _CONNECTIVES[name]
    branches = " ".join(f"WHEN {when.format(one)} THEN {result}" for one in conditions[:-1])
    everything = f" {name} ".join(f"({one})" for one in conditions)
    return Lowered(f"CASE {branches} ELSE ({everything}) END", BOOLEAN)


def _operands(name: str, expression: Expression) -> Iterator[Expression]:
    """Yield the operands of nested calls of one connective, from left to right."""
    if isinstance(expression, Call) and expression.function == name:
        for arg in expression.args:
            yield from _operands(name, arg)
    else:
        yield expression


def _among(sides: Sequence[Lowered]) -> Lowered:
    """Lower IN so that no operand is computed that is not needed."""
    types = [one.type for one in sides[:2]]
    value, *others = (one.sql for one in sides)
    found = (OPERATORS["IN"]((value, one), types, BOOLEAN) for one in others)
    branches = " ".join(f"WHEN {one} THEN true" for one in found)
    return Lowered(f"CASE WHEN {value} IS NULL THEN false {branches} ELSE false END", BOOLEAN)


def _applied(name: str, args: tuple[Expression, ...]) -> Lowered:
    """Lower a function with lambdas over columns within the bound of `lambda_sizes`."""
    given = lowered(args[0])
    # A lambda over a list of one element names a value that is used several times.
    value = given.sql if isinstance(args[0], Written) else "given"
    made = _tried(name, (Written(value, given.type), *args[1:]), {})
    bodies = [part for arg in args[1:] for part in walk(arg)]
    used = {part.sql: part.type for part in bodies if isinstance(part, Written)}
    nested = sum(isinstance(part, Lambda) for part in bodies) > sum(
        isinstance(arg, Lambda) for arg in args
    )
    sql = bounded(made.sql, value, given.type, used.items(), nested=nested)
    if value != given.sql:
        sql = f"list_extract(list_transform([{given.sql}], lambda {value}: {sql}), 1)"
    return Lowered(sql, made.type)


def _tried(name: str, args: tuple[Expression, ...], names: Mapping[str, str]) -> Lowered:
    found = _of_lambda(name, args, names)
    return Lowered(f"TRY({found.sql})", found.type) if any(map(_may_fail, args)) else found


def _of_lambda(name: str, args: tuple[Expression, ...], names: Mapping[str, str]) -> Lowered:
    given = lowered(args[0], names)
    functions = [arg for arg in args[1:] if isinstance(arg, Lambda)]
    item = f"l{len(names)}"
    over_map = isinstance(given.type, Map)

    def body(function: Lambda, *parts: str) -> Lowered:
        known = dict(zip((one.name for one in function.parameters), parts, strict=True))
        # Each nesting level has its own names: DuckDB's lambdas see those of outer ones.
        return lowered(function.body, {**names, **known, f"\0{item}": item})

    parts = (f"{item}.key", f"{item}.value") if over_map else (item,)
    items = f"map_entries({given.sql})" if over_map else given.sql
    if name == "REDUCE":
        start = lowered(args[1], names)
        state = f"{item}s"
        one = body(functions[0], state, *parts)
        step = _bounded(f"CAST({one.sql} AS {duck_type(start.type)})", start.type, f"{item}b")
        made = f"list_reduce({items}, lambda {state}, {item}: {step}, {start.sql})"
        return Lowered(
            f"CASE WHEN {given.sql} IS NULL THEN {start.sql} ELSE {made} END", start.type
        )
    made_of = [body(function, *parts) for function in functions]
    if name == "FILTER":
        kept = f"list_filter({items}, lambda {item}: coalesce({made_of[0].sql}, false))"
        return Lowered(_map_of(kept) if over_map else kept, given.type)
    if not over_map:
        of: Type = Array(made_of[0].type)
        made = f"list_transform({items}, lambda {item}: {made_of[0].sql})"
        return Lowered(_together(made, {"{0}": made_of[0].type}, f"{item}t"), of)
    entry = f"struct_pack(key := {made_of[0].sql}, value := {made_of[1].sql})"
    entries = f"list_transform({items}, lambda {item}: {entry})"
    entries = _together(
        entries, {"{0}.key": made_of[0].type, "{0}.value": made_of[1].type}, f"{item}t"
    )
    return Lowered(_map_of(entries), Map(made_of[0].type, made_of[1].type))


def _bounded(state: str, of: Type, name: str) -> str:
    """Return the state of a REDUCE, or null above the size limit: each element may double it."""
    size = weight(name, of)
    if size is None:
        return state
    fits = f"{size} <= {LENGTH_MAX}"
    if isinstance(of, Array):
        fits += f" AND len({name}) <= {ELEMENTS_MAX}"
    elif isinstance(of, Map):
        fits += f" AND cardinality({name}) <= {ELEMENTS_MAX}"
    return _only_if(state, name, fits)


def _together(made: str, parts: Mapping[str, Type], name: str) -> str:
    """Return the result of a TRANSFORM, or null if a part exceeds the size limit."""
    one = f"{name}e"
    sizes = [weight(part.format(one), of) for part, of in parts.items()]
    fits = [
        f"coalesce(list_sum(list_transform({name}, lambda {one}: {size})), 0) <= {LENGTH_MAX}"
        for size in sizes
        if size is not None
    ]
    return _only_if(made, name, " AND ".join(fits)) if fits else made


def _only_if(value: str, name: str, condition: str) -> str:
    """Return a value, evaluated once, or null if a condition on it is false."""
    return f"list_extract(list_filter([{value}], lambda {name}: {condition}), 1)"


def _map_of(entries: str) -> str:
    """Return the map of entries.

    As in ksqlDB, null if a key is duplicate or null, or a value is null.
    """
    keys = "list_filter(list_distinct(list_transform(t, lambda e: e.key)), lambda k: k IS NOT NULL)"
    values = "list_filter(t, lambda e: e.value IS NULL)"
    made = f"CASE WHEN len({keys}) = len(t) AND len({values}) = 0 THEN map_from_entries(t) END"
    return f"list_extract(list_transform([{entries}], lambda t: {made}), 1)"


def _item(given: Lowered, key: Expression, names: Mapping[str, str]) -> Lowered:
    match given.type, key:
        case Struct(fields=fields), Literal(str() as name, _):
            places = {one.name: (at, one.type) for at, one in enumerate(fields)}
            at, of = places[name]
            return Lowered(f"struct_extract({given.sql}, 'f{at}')", of)
        case Map(value=of), _:
            return Lowered(f"map_extract_value({given.sql}, {lowered(key, names).sql})", of)
        case Array(element=of), _:
            # The plan counts from 0.
            return Lowered(f"list_extract({given.sql}, 1 + {lowered(key, names).sql})", of)
        case _:
            raise AssertionError(given.type)


def _case(parts: list[Lowered]) -> Lowered:
    pairs, otherwise = parts[: len(parts) // 2 * 2], parts[len(parts) // 2 * 2 :]
    arms = " ".join(
        f"WHEN {pairs[at].sql} THEN {pairs[at + 1].sql}" for at in range(0, len(pairs), 2)
    )
    end = f" ELSE {otherwise[0].sql}" if otherwise else ""
    values = [*(one.type for one in pairs[1::2]), *(one.type for one in otherwise)]
    of = next((one for one in values if one != NULL), NULL)
    return Lowered(f"CASE {arms}{end} END", of)


def _literal(value: object, of: Type) -> str:  # noqa: PLR0911 - a table of cases
    if value is None:
        return "NULL" if of == NULL else f"CAST(NULL AS {duck_type(of)})"
    if of == UNIT:
        return text(str(value))
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return text(value)
        case bytes():
            return f"unhex('{value.hex()}')"
        case dt.datetime():
            naive = value.astimezone(dt.UTC).replace(tzinfo=None)
            return f"TIMESTAMP '{naive.isoformat(sep=' ')}'"
        case dt.date():
            return f"DATE '{value.isoformat()}'"
        case float():
            return f"CAST('{value!r}' AS DOUBLE)"
        case PythonDecimal():
            assert isinstance(of, Decimal), of
            return f"CAST('{value:f}' AS {duck_type(of)})"
        case int() if of == BIGINT:
            return f"CAST({value} AS BIGINT)"
        case int() if of == DOUBLE:
            return f"CAST({value} AS DOUBLE)"
        case _:
            return f"({value})" if isinstance(value, int) and value < 0 else str(value)
