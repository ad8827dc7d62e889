"""Users' functions as expressions: a parameter is a column, its annotation a type.

    def price(n: int, dest: str | None) -> float: ...

    flights.with_columns(price=price)                parameters are columns of the same names
    flights.filter(call(cheap, col("price") / 2))    or are given explicitly

If the record has no such column, `timestamp` is its timestamp in milliseconds, `key` its key (the
value of one column, or a dict of several), and `value` a dict of its value columns. A parameter
annotated with a class (a dataclass, TypedDict, NamedTuple or pydantic model) receives an instance
instead of a dict, and a function may return a dataclass. A result that is a UUID or a member of an
Enum is a STRING: its text, or its name.

A function with `pyarrow.Array` or `pandas.Series` parameters is called with many records at once,
and returns as many results. Their type is given by the annotation, `Annotated[pyarrow.Array,
float]`, or by `returns=`.
"""

import inspect
import typing
from collections.abc import Sequence
from typing import Any, Final, TypeGuard, TypeVar, cast

from duolog.core.callables import AnyFunction
from duolog.core.counts import counted
from duolog.dsl.expressions.columns import Expr, alone
from duolog.dsl.expressions.schemas import is_named, type_named, type_returned
from duolog.dsl.handles.short_tracebacks import short_traceback
from duolog.plan.errors import InvalidPlan, TypeMismatch, unknown_name
from duolog.plan.expressions import (
    ColumnRef,
    Expression,
    Item,
    Named,
    PythonCall,
    RowTime,
    literal,
)
from duolog.plan.expressions.python_functions import Gathered, Lookups, PythonFunction, Takes
from duolog.plan.literals import PlainValue
from duolog.plan.schema import Schema
from duolog.plan.types import BOOLEAN, Array, Column, Struct, Type
from duolog.schemas.classes.classes import has_fields

Function = AnyFunction
GivenT = TypeVar("GivenT")

_VECTORS: Final[dict[tuple[str, str], Takes]] = {
    ("pyarrow.lib", "Array"): "arrow",
    ("pandas.core.series", "Series"): "pandas",
    ("pandas", "Series"): "pandas",
}
_BESIDE: Final = ("timestamp", "key", "value")


@short_traceback
def call(function: Function, *args: Expr | PlainValue, returns: object = None) -> Expr:
    """Return the result of a Python function for these values of each record.

    The function runs in separate processes, at least once per record, with arguments of the
    annotated types; a null is None. If it raises, the record cannot be processed: the error names
    the function, its line and the record, and the setting `processing.exception.handler` decides
    what happens to the record.

    Args:
        function: it is sent to other processes together with the objects that it uses, as they are
            when the application starts. Without `args`, its parameters are columns of the same
            names.
        args: columns or values, in the order of its parameters.
        returns: the result type, if it is not annotated.

    Raises:
        StatementError: the result type is missing, or an annotation is not a column type.

    Example:
        >>> from duolog import Topology, call, col
        >>> def shout(text: str) -> str:
        ...     return text.upper() + "!"
        >>> words = Topology("w").stream("words", value="word STRING")
        >>> print(words.map_values(loud=call(shout, col("word"))).schema)
        key () value (loud STRING)
    """
    parameters = _parameters(function)
    if not args:
        args = tuple(Expr(ColumnRef(name)) for name in parameters)
    if len(args) != len(parameters):
        raise InvalidPlan(
            f"{_called(function)} has {counted(len(parameters), 'parameter')}, but gets "
            f"{counted(len(args), 'value')}"
        )
    given = tuple(alone(arg) for arg in args)
    takes, types, shape = _taken(function, [(name, None) for name in parameters])
    found = PythonFunction(function, types, result_of(function, returns), takes, None, shape)
    return Expr(PythonCall(found, given), name=getattr(function, "__name__", None))


def call_with_columns(
    function: Function,
    schema: Schema,
    returns: object = None,
    lookups: Lookups | None = None,
    first: Sequence[Expression] = (),
) -> PythonCall:
    """Return the call of a function whose parameters are columns of this schema, after `first`.

    Raises:
        StatementError: as `call`; or a parameter is not a column.
    """
    names = _parameters(function)
    if len(names) < len(first):
        raise InvalidPlan(
            f"{_called(function)} has {counted(len(names), 'parameter')}, but gets "
            f"{counted(len(first), 'value')}"
        )
    parts: list[tuple[str, Part]] = [
        (name, ((given,), None)) for name, given in zip(names, first, strict=False)
    ]
    parts += [(name, _part(name, schema, function)) for name in names[len(first) :]]
    takes, types, shape = _taken(function, [(name, part[1]) for name, part in parts])
    given = tuple(one for _, (expressions, _) in parts for one in expressions)
    result = result_of(function, returns)
    return PythonCall(PythonFunction(function, types, result, takes, lookups, shape), given)


def result_of(function: Function, returns: object = None) -> Type:
    """Return the type of a function's result: `returns`, or its annotation.

    A tuple of two is a key and a value, as for `map`: STRUCT<key, value>.
    """
    declared = (
        returns if returns is not None else _hints(function).get("return", inspect.Parameter.empty)
    )
    if typing.get_origin(declared) is typing.Annotated:
        declared = typing.get_args(declared)[1]
    if declared is inspect.Parameter.empty:
        raise InvalidPlan(
            f"{_called(function)} has no result type",
            hint="Annotate it, def f(n: int) -> float, or write call(f, …, returns=float).",
        )
    return _type_returned(declared)


def _type_returned(declared: object) -> Type:
    origin, args = typing.get_origin(declared), typing.get_args(declared)
    if origin is tuple and len(args) == 2:
        key, value = map(type_returned, args)
        return Struct((Column("key", key), Column("value", value)))
    if origin is list and typing.get_origin(args[0]) is tuple:
        return Array(_type_returned(args[0]))
    return type_returned(declared)


def _parameters(function: Function) -> list[str]:
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        raise InvalidPlan(
            f"the parameters of {_called(function)} are unknown",
            hint="Wrap it in a function: lambda text: ….",
        ) from error
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    wrong = [one.name for one in found if one.kind not in positional]
    if wrong:
        raise InvalidPlan(
            f'{_called(function)} has the parameter "{wrong[0]}", which is not a column'
        )
    return [one.name for one in found if one.default is inspect.Parameter.empty]


def _hints(function: Function) -> dict[str, object]:
    try:
        of = function if inspect.isroutine(function) else type(function).__call__
        return typing.get_type_hints(of, include_extras=True)
    except (NameError, TypeError) as error:
        raise TypeMismatch(
            f"cannot read the annotations of {_called(function)}",
            detail=f"{error}.",
            hint="Define the types that they name at the top of its module.",
        ) from error


Part = tuple[tuple[Expression, ...], tuple[Column, ...] | None]
"""The arguments of a parameter, and the columns if it gathers several."""


def _part(name: str, schema: Schema, function: Function) -> Part:
    known = [column.name for column in schema.columns]
    if name in known:
        return (ColumnRef(name),), None
    if name == "timestamp":
        return (RowTime(),), None
    if name in {"key", "value"}:
        columns = schema.key if name == "key" else schema.value
        if name == "key" and len(columns) == 1:
            return (ColumnRef(columns[0].name),), None
        return tuple(ColumnRef(column.name) for column in columns), columns
    error = unknown_name(
        f"column for the parameter of {_called(function)}", name, [*known, *_BESIDE]
    )
    error.hint = error.hint or (
        "Name the parameter after a column, or `value` for a dict of the value's columns: "
        "lambda value: ...."
    )
    raise error


def _taken(
    function: Function, parts: Sequence[tuple[str, tuple[Column, ...] | None]]
) -> tuple[Takes, tuple[Type | None, ...], tuple[Gathered | None, ...]]:
    """Return how to call a function, its argument types, and the arguments of each parameter."""
    hints = _hints(function)
    takes: Takes = "values"
    types: list[Type | None] = []
    shape: list[Gathered | None] = []
    for name, gathered in parts:
        declared = _without_none(hints.get(name))
        made = declared if has_fields(declared) else None
        if gathered is not None:
            types += [column.type for column in gathered]
            shape.append(Gathered(tuple(column.name for column in gathered), made))
        elif (vector := _vector(declared)) is not None:
            takes = vector
            types.append(None)
            shape.append(None)
        else:
            # A class whose fields have types that only schemas know takes any STRUCT.
            any_type = declared in (None, Any, dict) or (made is not None and not is_named(made))
            types.append(None if any_type else type_named(declared))
            shape.append(None if made is None else Gathered(made=made))
    plain = all(part is None for part in shape)
    return takes, tuple(types), () if plain else tuple(shape)


def _without_none(declared: object) -> object:
    if typing.get_origin(declared) is typing.Annotated:
        declared = typing.get_args(declared)[0]
    args = [one for one in typing.get_args(declared) if one is not type(None)]
    is_optional = len(args) == 1 and type(None) in typing.get_args(declared)
    return args[0] if is_optional else declared


def _vector(declared: object) -> Takes | None:
    if not isinstance(declared, type):
        return None
    names = [(base.__module__, base.__name__) for base in declared.__mro__]
    return next((_VECTORS[name] for name in names if name in _VECTORS), None)


def _called(function: Function) -> str:
    return getattr(function, "__qualname__", type(function).__name__)


def is_function(given: object) -> TypeGuard[Function]:
    """Return True for a function, False for an expression, a name or a value."""
    return callable(given) and not isinstance(given, Expr)


def is_of_columns(function: Function, schema: Schema) -> bool:
    """Return True if a function's parameters are all annotated columns, and its result annotated.

    Otherwise, for example with a single parameter `key` or without annotations, it is a function of
    the key as a whole.
    """
    names = _parameters(function)
    hints = _hints(function)
    known = {column.name for column in schema.columns} | {"timestamp", "value"}
    return (
        bool(names) and "return" in hints and all(name in known and name in hints for name in names)
    )


def bound(given: GivenT | Function, schema: Schema) -> GivenT | Expr:
    """Return the call of a function over records of this schema; other values unchanged."""
    if not is_function(given):
        return cast("GivenT", given)
    return Expr(call_with_columns(given, schema), name=getattr(given, "__name__", None))


def predicate(function: Function, schema: Schema) -> PythonCall:
    """Return the call of a function that decides if a record is kept; its default is BOOLEAN."""
    annotated = "return" in _hints(function)
    found = call_with_columns(function, schema, None if annotated else bool)
    if found.function.result != BOOLEAN:
        raise TypeMismatch(
            f"{_called(function)} returns {found.function.result}, not BOOLEAN",
            hint="Return True for the records to keep.",
        )
    return found


def parts_of(whole: Expression, of: Type, alone: str) -> tuple[Named, ...]:
    """Return the columns of a result: the fields of a STRUCT, or a single column called `alone`."""
    if isinstance(of, Struct):
        return tuple((name, Item(whole, literal(name))) for name, _ in of.fields)
    return ((alone, whole),)


def pair_of(of: Type, function: Function) -> tuple[Type, Type]:
    """Return the types of the key and the value that a function returns together.

    Raises:
        StatementError: the function returns something else.
    """
    match of:
        case Struct(fields=(Column("key", key), Column("value", value))):
            return key, value
        case _:
            raise TypeMismatch(
                f"{_called(function)} returns {of}, not a key with a value",
                hint="Annotate it: def f(…) -> tuple[str, Priced], key first; for flat_map, a list "
                "of these.",
            )
