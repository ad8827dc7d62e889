"""Lower expressions of the plan to Spark SQL text over positional names.

    k0, k1, …   key columns      v0, v1, …   value columns     r0, r1, …  the table's side of a join
    a0, a1, …   accumulators         ts          the record's timestamp, BIGINT milliseconds
    topic, partition, offset, headers            of the source record that caused the current one

Columns are referred to by position, so that any column name is safe, and a topology's names never
clash with Spark's. The functions of the plan compute what Spark's do, so most keep their own name.
Comparisons of DOUBLEs follow Java and Python.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from duolog.engine.lowering.expressions.python_functions import lower_call, lower_result
from duolog.engine.lowering.expressions.steps import lower_step
from duolog.engine.lowering.formats.formats import encode
from duolog.engine.lowering.spark_sql.pinned_texts import are_compared
from duolog.engine.lowering.spark_sql.sql import literal, quoted, spark_type, text
from duolog.engine.lowering.sql_functions.comparing import compared, compares_as_java
from duolog.engine.lowering.sql_functions.registry import lower_sql_function
from duolog.plan.expressions import (
    AccumulatorRef,
    Call,
    Cast,
    ColumnRef,
    Expression,
    Item,
    Lambda,
    Literal,
    Metadata,
    PythonCall,
    RowTime,
    Scope,
    TableColumnRef,
    Variable,
    WallClock,
    type_of,
)
from duolog.plan.expressions.functions import BLANKS, common_type
from duolog.plan.expressions.steps import STEPS
from duolog.plan.formats import JSON
from duolog.plan.schema import Schema
from duolog.plan.sql.registry import PLAN_FUNCTIONS, PREFIX
from duolog.plan.types import INT, Column, Decimal, Map, Struct

_INFIX: Final = {"+", "-", "*", "/", "%", "=", "<>", "<", "<=", ">", ">=", "AND", "OR", "LIKE"}


@dataclass(frozen=True, slots=True)
class Names:
    """The names of the columns in scope in the row of a node, and their types."""

    scope: Scope
    columns: dict[str, str]
    table_columns: dict[str, str]
    accumulators: dict[str, str]
    calls: tuple[tuple[PythonCall, str], ...] = ()
    """Calls whose results are in the row, and their positions."""

    @classmethod
    def of(
        cls,
        schema: Schema,
        *,
        table_columns: tuple[Column, ...] = (),
        accumulators: tuple[Column, ...] = (),
    ) -> "Names":
        return cls(
            # The plan has checked whether there is a record.
            Scope(schema.columns, table_columns, accumulators, of_record=True, of_source=True),
            _numbered(schema.key, "k") | _numbered(schema.value, "v"),
            _numbered(table_columns, "r"),
            _numbered(accumulators, "a"),
        )

    def name_of(self, reference: ColumnRef | TableColumnRef | AccumulatorRef) -> str:
        match reference:
            case ColumnRef(name):
                return self.columns[name]
            case TableColumnRef(name):
                return self.table_columns[name]
            case AccumulatorRef(name):
                return self.accumulators[name]


def lower_expression(  # noqa: PLR0911, PLR0912 - a table of cases
    expression: Expression, names: Names
) -> str:
    """Return `expression` as Spark SQL.

    Example:
        >>> from duolog.plan.expressions import Call, ColumnRef, literal
        >>> from duolog.plan.schema import parse_schema
        >>> names = Names.of(parse_schema("carrier STRING", "dep_delay BIGINT"))
        >>> lower_expression(Call(">", (ColumnRef("dep_delay"), literal(15))), names)
        '(v0 > 15)'
    """
    match expression:
        case ColumnRef() | TableColumnRef() | AccumulatorRef():
            return names.name_of(expression)
        case RowTime():
            return "ts"
        case Metadata(part, header):
            return _METADATA[part].format(text(header))
        case WallClock():
            # Depends on a column; otherwise it would be computed once for all records.
            return "duolog_wall_clock(`offset`)"
        case Literal(value, of):
            return literal(value, of)
        case Cast(arg, of):
            return f"CAST({lower_expression(arg, names)} AS {spark_type(of)})"
        case Call("ADD_EXACT", (left, right)):
            of = type_of(expression, names.scope)
            assert isinstance(of, Decimal), of
            terms = f"{lower_expression(left, names)}, {lower_expression(right, names)}"
            return f"duolog_add_exact({terms}, {of.precision}, {of.scale})"
        case Call("FITS", (value, *others)):
            return _fits(value, others, names)
        case PythonCall(function, args):
            known = function.over(tuple(type_of(arg, names.scope) for arg in args))
            given = next((at for call, at in names.calls if call == expression), None)
            return lower_result(known, given or lower_call(known, arguments_of(args, names)))
        case Item(arg, key):
            return _item(arg, key, names)
        case Variable(name, _):
            return quoted(f"p_{name}")
        case Lambda(parameters, body):
            named = [quoted(f"p_{parameter.name}") for parameter in parameters]
            # Spark's grammar does not allow parentheses around one parameter.
            names_of = named[0] if len(named) == 1 else f"({', '.join(named)})"
            return f"{names_of} -> {lower_expression(body, names)}"
        case Call(function, args) if function in PLAN_FUNCTIONS:
            of_args = tuple(type_of(arg, names.scope) for arg in args)
            result = type_of(expression, names.scope)
            lowered = [lower_expression(arg, names) for arg in args]
            return lower_sql_function(function.removeprefix(PREFIX), lowered, of_args, result)
        case Call(function, args) if function in STEPS:
            types = [type_of(arg, names.scope) for arg in args]
            return lower_step(function, [_argument(arg, names) for arg in args], types)
        case Call(function, args):
            lowered = [lower_expression(arg, names) for arg in args]
            if function in _COMPARISONS and _of_doubles(args, names):
                return _COMPARISONS[function](lowered)
            return _call(function, lowered)
        case _:
            raise AssertionError(f"{expression} has no value in a single record")


def lower_as_declared(expression: Expression, names: Names) -> str:
    """Return `expression` as Spark SQL of exactly the type that the plan declares."""
    declared = spark_type(type_of(expression, names.scope))
    lowered = lower_expression(expression, names)
    if isinstance(expression, ColumnRef | TableColumnRef | AccumulatorRef | RowTime | WallClock):
        return lowered
    return f"CAST({lowered} AS {declared})"


def arguments_of(args: Sequence[Expression], names: Names) -> str:
    """Return the arguments of a Python function as bytes of a JSON object, `{"a0": …}`."""
    # Without arguments one is passed that is not read: Spark cannot create an object without
    # fields.
    given = args or (RowTime(),)
    columns = tuple(
        Column(f"a{number}", type_of(arg, names.scope)) for number, arg in enumerate(given)
    )
    return encode(JSON, columns, [lower_expression(arg, names) for arg in given], "value")


_METADATA: Final = {
    "topic": "topic",
    "partition": "`partition`",
    "offset": "`offset`",
    "header": "duolog_header(headers, {})",
    "headers": "duolog_header_list(headers)",
}


def _argument(arg: Expression, names: Names) -> str:
    """Return an argument of a step; its limits and flags must be literals in Spark SQL."""
    plain = isinstance(arg, Literal | Call) and (isinstance(arg, Literal) or arg.function in STEPS)
    return lower_expression(arg, names) if plain else lower_as_declared(arg, names)


def key_names(columns: tuple[Column, ...]) -> list[str]:
    return list(_numbered(columns, "k").values())


def _numbered(columns: tuple[Column, ...], letter: str) -> dict[str, str]:
    return {column.name: f"{letter}{index}" for index, column in enumerate(columns)}


def _of_doubles(args: Sequence[Expression], names: Names) -> bool:
    return compares_as_java({common_type(tuple(type_of(arg, names.scope) for arg in args), "=")})


def _item(arg: Expression, key: Expression, names: Names) -> str:
    whole, part = lower_expression(arg, names), lower_expression(key, names)
    match type_of(arg, names.scope):
        case Struct():
            assert isinstance(key, Literal), key
            return f"({whole}).{quoted(str(key.value))}"
        case Map():
            return f"try_element_at({whole}, {part})"
        case _ if isinstance(key, Literal) and key.type == INT:
            from_end = isinstance(key.value, int) and key.value < 0
            return f"get({whole}, size({whole}) + {part})" if from_end else f"get({whole}, {part})"
        case _:
            # Spark would take the lower half of a BIGINT.
            fits = f"{part} BETWEEN {-(2**31)} AND {2**31 - 1}"
            place = f"CAST(CASE WHEN {fits} THEN {part} END AS INT)"
            return (
                f"get({whole}, CASE WHEN {part} < 0 THEN size({whole}) + {place} ELSE {place} END)"
            )


def _fits(value: Expression, others: Sequence[Expression], names: Names) -> str:
    of = type_of(value, names.scope)
    lowered = lower_expression(value, names)
    given = " AND ".join(f"({lower_expression(one, names)}) IS NOT NULL" for one in others)
    error = f"CAST(raise_error({text(f'{value} does not fit {of}')}) AS {spark_type(of)})"
    return f"CASE WHEN {lowered} IS NULL AND {given} THEN {error} ELSE {lowered} END"


def _call(function: str, args: list[str]) -> str:
    if function in _SPECIAL:
        return _SPECIAL[function](args)
    if function in _INFIX and len(args) > 1:
        return f"({f' {function} '.join(args)})"
    return f"{function}({', '.join(args)})"


def _case(args: list[str]) -> str:
    pairs = zip(args[:-1:2], args[1::2], strict=True)
    arms = " ".join(f"WHEN {condition} THEN {value}" for condition, value in pairs)
    otherwise = f" ELSE {args[-1]}" if len(args) % 2 else ""
    return f"CASE {arms}{otherwise} END"


def _split(args: list[str]) -> str:
    if len(args) > 1:
        return f"duolog_split({', '.join(args)})"
    return f"array_remove(split({args[0]}, {text('[' + BLANKS + ']+')}), '')"


def _comparison(sign: str) -> Callable[[list[str]], str]:
    return lambda args: compared(sign, *args)


def _between(args: list[str]) -> str:
    value, low, high = args
    if are_compared():
        return f"({compared('>=', value, low)} AND {compared('<=', value, high)})"
    return f"duolog_between({value}, {low}, {high})"


def _among(args: list[str]) -> str:
    value, *others = args
    if are_compared():
        return f"({' OR '.join(compared('=', value, one) for one in others)})"
    return f"duolog_among({value}, {', '.join(others)})"


_COMPARISONS: Final[dict[str, Callable[[list[str]], str]]] = {
    **{sign: _comparison(sign) for sign in ("=", "<>", "<", "<=", ">", ">=")},
    "BETWEEN": _between,
    "IN": _among,
}
"""Comparisons of DOUBLEs by Java's and Python's rules for NaN; operands are computed once."""
_SPECIAL: Final[dict[str, Callable[[list[str]], str]]] = {
    "IS_NULL": lambda args: f"({args[0]} IS NULL)",
    "IS_NOT_NULL": lambda args: f"({args[0]} IS NOT NULL)",
    "NOT": lambda args: f"(NOT {args[0]})",
    "IN": lambda args: f"({args[0]} IN ({', '.join(args[1:])}))",
    "BETWEEN": lambda args: f"({args[0]} BETWEEN {args[1]} AND {args[2]})",
    "CASE": _case,
    "STARTS_WITH": lambda args: f"startswith({', '.join(args)})",
    "ENDS_WITH": lambda args: f"endswith({', '.join(args)})",
    "SPLIT": _split,
    "FIND_ALL": lambda args: f"regexp_extract_all({args[0]}, {args[1]}, 0)",
}
