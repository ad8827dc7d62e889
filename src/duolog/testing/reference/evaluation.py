"""Evaluates expressions in plain Python with SQL's nulls.

`compile_expression` returns a function from column values to a value. It types the expression
first, so that integers wrap at their width and arguments are widened as in Spark.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, Protocol

from duolog.functions.called import Called, CallError
from duolog.plan.expressions import (
    AccumulatorRef,
    Call,
    Cast,
    ColumnRef,
    Expression,
    Item,
    Literal,
    Metadata,
    PythonCall,
    RowTime,
    Scope,
    TableColumnRef,
    WallClock,
    type_of,
)
from duolog.plan.expressions.functions import common_type
from duolog.plan.types import BIGINT, INT, Array, Decimal, Type
from duolog.testing.reference.casts import cast_value
from duolog.testing.reference.choices import CHOICES
from duolog.testing.reference.scalars import NULL_PASSES, NULL_SEES, RecordError, Scalar, order_key
from duolog.testing.reference.steps import STEPS


@dataclass(frozen=True, slots=True)
class Values:
    """The inputs of an expression: values by name, and the record's time."""

    columns: Mapping[str, object] = field(default_factory=dict)
    table_columns: Mapping[str, object] = field(default_factory=dict)
    accumulators: Mapping[str, object] = field(default_factory=dict)
    timestamp_ms: int = 0
    record: "HasMetadata | None" = None
    """The current record of a stream, for its metadata."""
    wall_clock_ms: int = 0


Evaluate = Callable[[Values], object]

Headers = tuple[tuple[str, bytes | None], ...]
"""Headers by name, in order; names may be repeated."""


class HasMetadata(Protocol):
    """The metadata of a record."""

    @property
    def place(self) -> "RecordPosition": ...

    @property
    def headers(self) -> Headers: ...


class RecordPosition(NamedTuple):
    """The position of a record in a topic."""

    topic: str
    partition: int
    offset: int


def compile_expression(  # noqa: PLR0911 - a table of cases
    expression: Expression, scope: Scope
) -> Evaluate:
    """Return the function that computes `expression` over values of the columns in `scope`.

    Raises:
        StatementError: as for `type_of`.

    Example:
        >>> from duolog.plan.expressions import literal
        >>> half = compile_expression(Call("/", (literal(1), literal(2))), Scope(()))
        >>> half(Values())
        0.5
    """
    of = type_of(expression, scope)
    match expression:
        case ColumnRef(name):
            return lambda values: values.columns[name]
        case TableColumnRef(name):
            return lambda values: values.table_columns[name]
        case AccumulatorRef(name):
            return lambda values: values.accumulators[name]
        case RowTime():
            return lambda values: values.timestamp_ms
        case Metadata():
            return _metadata(expression)
        case WallClock():
            return lambda values: values.wall_clock_ms
        case Literal(value, _):
            return lambda _values: value
        case Cast(arg, _):
            return _widened(arg, of, scope)
        case PythonCall():
            return _python_call(expression, scope)
        case Item(arg, key):
            return _item(compile_expression(arg, scope), compile_expression(key, scope))
        case Call():
            return _call(expression, of, scope)
        case _:
            raise AssertionError(f"type_of let {expression} through")


def _metadata(of: Metadata) -> Evaluate:
    def compute(values: Values) -> object:
        record = values.record
        assert record is not None, f"{of} where no record is at hand"
        match of.part:
            case "header":
                return dict(record.headers).get(of.header)
            case "headers":
                return [{"key": name, "value": value} for name, value in record.headers]
            case part:
                return getattr(record.place, part)

    return compute


def _item(whole: Evaluate, key: Evaluate) -> Evaluate:
    def compute(values: Values) -> object:
        of, at = whole(values), key(values)
        match of, at:
            case (None, _) | (_, None):
                return None
            case list(), int():
                return of[at] if -len(of) <= at < len(of) else None
            case _:
                # A STRUCT or a MAP; keys are compared like other values.
                assert isinstance(of, dict), of
                same = (value for one, value in of.items() if order_key(one) == order_key(at))
                return next(same, None)

    return compute


def _python_call(call: PythonCall, scope: Scope) -> Evaluate:
    function = call.function.over(tuple(type_of(arg, scope) for arg in call.args))
    wanted = [of for of in function.parameters if of is not None]
    args = [_widened(arg, of, scope) for arg, of in zip(call.args, wanted, strict=True)]
    called = Called(function)

    def compute(values: Values) -> object:
        try:
            return called.one([arg(values) for arg in args])
        except CallError as error:
            raise RecordError(str(error)) from error

    return compute


def _call(call: Call, of: Type, scope: Scope) -> Evaluate:
    wanted = _argument_types(call, of, scope)
    args = [_widened(arg, to, scope) for arg, to in zip(call.args, wanted, strict=True)]
    if call.function in CHOICES:
        choose = CHOICES[call.function]
        return lambda values: choose([partial(arg, values) for arg in args])
    if call.function in NULL_SEES or call.function in STEPS:
        see = NULL_SEES.get(call.function) or STEPS[call.function]
        return lambda values: see([arg(values) for arg in args], of)
    return _null_if_any_is(NULL_PASSES[call.function], args, of)


def _null_if_any_is(scalar: Scalar, args: list[Evaluate], of: Type) -> Evaluate:
    def compute(values: Values) -> object:
        found = []
        for arg in args:
            value = arg(values)
            if value is None:
                return None  # Spark computes nothing after it.
            found.append(value)
        return scalar(found, of)

    return compute


def _argument_types(call: Call, of: Type, scope: Scope) -> tuple[Type, ...]:
    """Return the types to which the arguments are widened before the call."""
    types = tuple(type_of(arg, scope) for arg in call.args)
    match call.function:
        case "+" | "-" | "*" | "/" | "%" if isinstance(of, Decimal):
            # Decimals keep their own scale; integers become decimals with scale 0.
            return tuple(_exact(of_arg) for of_arg in types)
        case "+" | "-" | "*" | "/" | "%" | "ABS" | "COALESCE" | "GREATEST" | "LEAST":
            return (of,) * len(types)
        case "ARRAY":
            assert isinstance(of, Array), of
            return (of.element,) * len(types)
        case "=" | "<>" | "<" | "<=" | ">" | ">=" | "IN" | "BETWEEN":
            return (common_type(types, call.function),) * len(types)
        case "CASE" | "IF":
            last = len(types) - 1
            return tuple(
                of if position % 2 or position == last else given
                for position, given in enumerate(types)
            )
        case _:
            return types


def _exact(of: Type) -> Type:
    return {INT: Decimal(10), BIGINT: Decimal(20)}.get(of, of)


def _widened(arg: Expression, wanted: Type, scope: Scope) -> Evaluate:
    given = type_of(arg, scope)
    evaluate = compile_expression(arg, scope)
    if given == wanted:
        return evaluate
    return lambda values: cast_value(evaluate(values), given, wanted)
