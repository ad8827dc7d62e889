"""Types of expressions: `type_of` returns an expression's type for the columns in scope."""

from dataclasses import dataclass
from typing import Final

from duolog.plan.errors import InvalidPlan, TypeMismatch, unknown_name
from duolog.plan.expressions.expressions import (
    CALLED,
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
    TableColumnRef,
    Variable,
    WallClock,
)
from duolog.plan.schema import Schema
from duolog.plan.sql.signatures import LambdaOf
from duolog.plan.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    Array,
    Column,
    Map,
    Struct,
    Type,
    numeric,
    render_columns,
)


@dataclass(frozen=True, slots=True)
class Scope:
    """The columns that an expression may name, and whether it may read a record's metadata."""

    columns: tuple[Column, ...]
    table_columns: tuple[Column, ...] = ()
    accumulators: tuple[Column, ...] = ()
    of_record: bool = False
    of_source: bool = False
    """True while the record is being read."""


def type_of(  # noqa: PLR0911, PLR0912 - a table of cases
    expression: Expression, scope: Scope | Schema
) -> Type:
    """Return the type of `expression` over the columns in `scope`.

    Raises:
        StatementError: a name is not in scope (the hint names the nearest), or types do not fit.

    Example:
        >>> from duolog.plan.expressions import literal
        >>> from duolog.plan.schema import parse_schema
        >>> flights = parse_schema("carrier STRING", "dep_delay BIGINT")
        >>> print(type_of(Call("/", (ColumnRef("dep_delay"), literal(60))), flights))
        DOUBLE
    """
    if isinstance(scope, Schema):
        scope = Scope(scope.columns)
    match expression:
        case ColumnRef(name):
            return _lookup("column", name, scope.columns)
        case TableColumnRef(name):
            return _lookup("column of the table", name, scope.table_columns)
        case AccumulatorRef(name):
            return _lookup("accumulator", name, scope.accumulators)
        case RowTime():
            return BIGINT
        case Metadata() if scope.of_record:
            return _METADATA[expression.part]
        case WallClock() if scope.of_source:
            return BIGINT
        case Metadata() | WallClock():
            raise _not_at_hand(expression)
        case Literal(_, of):
            return of
        case Cast(arg, of):
            return _cast_type(type_of(arg, scope), of, expression)
        case Call(function, args):
            return _call_type(function, tuple(type_of(arg, scope) for arg in args), expression)
        case PythonCall(function, args):
            function.ensure_takes(tuple(type_of(arg, scope) for arg in args))
            return function.result
        case Item(arg, key):
            return _item_type(type_of(arg, scope), key, type_of(key, scope), expression)
        case Variable(_, of):
            return of
        case Lambda(parameters, body):
            of_parameters = tuple(parameter.type for parameter in parameters)
            return LambdaOf("LAMBDA", of_parameters, type_of(body, scope))
        case _:
            raise TypeMismatch(
                f"{expression} is not a single value of a record",
                hint="Use aggregate functions in aggregate(...) after group_by(...).",
            )


_METADATA: Final[dict[str, Type]] = {
    "topic": STRING,
    "partition": INT,
    "offset": BIGINT,
    "header": BYTES,
    "headers": Array(Struct((Column("key", STRING), Column("value", BYTES)))),
}


def _not_at_hand(expression: Metadata | WallClock) -> InvalidPlan:
    if isinstance(expression, WallClock):
        return InvalidPlan(
            "the wall clock is not part of a record",
            detail="A repetition after a failure would compute another value.",
            hint="Use it as the timestamp of a source: stream(..., timestamp=wall_clock()).",
        )
    return InvalidPlan(
        f"{expression} is only available for records of a stream",
        detail="A row of a table is computed again when it is looked up or subtracted; "
        "the record that wrote it is no longer available then.",
        hint="Store it in a column of the stream, or read the changes: "
        "to_stream().with_columns(...).",
    )


def _lookup(kind: str, name: str, columns: tuple[Column, ...]) -> Type:
    for column in columns:
        if column.name == name:
            return column.type
    raise unknown_name(kind, name, [column.name for column in columns])


def _call_type(function: str, types: tuple[Type, ...], call: Expression) -> Type:
    try:
        return CALLED[function].type_of(types)
    except TypeMismatch as error:
        error.detail = f"{error.detail} In {call}."
        raise


def _item_type(given: Type, key: Expression, of_key: Type, item: Item) -> Type:
    match given, key:
        case Struct(fields=fields), Literal(str() as name, _):
            known = dict(fields)
            if name not in known:
                detail = f"{item.arg} has the fields {render_columns(fields)}."
                raise unknown_name("field", name, known, detail)
            return known[name]
        case Array(element=element), _ if of_key in {INT, BIGINT}:
            return element
        case Map(key=wanted, value=value), _ if of_key == wanted:
            return value
        case _:
            raise TypeMismatch(f"{item} does not exist", detail=f"{item.arg} {_parts_of(given)}.")


def _parts_of(given: Type) -> str:
    match given:
        case Struct(fields=fields):
            return f"has the fields {render_columns(fields)}"
        case Array():
            return f"is {_a(given)}: its elements have an INT or BIGINT index from 0"
        case Map(key=key):
            return f"is {_a(given)}: its keys are {key}"
        case _:
            return f"is {_a(given)}, which has no parts, unlike a STRUCT, ARRAY or MAP"


def _a(of: Type) -> str:
    return f"{'an' if of.name[0] in 'AI' else 'a'} {of}"


_CASTS_TO_TEXT: Final = {BOOLEAN, INT, BIGINT, DOUBLE, STRING, BYTES, DATE, TIMESTAMP}
_CASTS_FROM_TEXT: Final = {BOOLEAN, INT, BIGINT, DOUBLE, BYTES, DATE, TIMESTAMP}


def _cast_type(given: Type, wanted: Type, cast: Expression) -> Type:
    allowed = (
        given in {wanted, NULL}
        or (numeric(given) and numeric(wanted))
        or (wanted == STRING and (given in _CASTS_TO_TEXT or numeric(given)))
        or (given == STRING and (wanted in _CASTS_FROM_TEXT or numeric(wanted)))
        or (BOOLEAN in {given, wanted} and (numeric(given) or numeric(wanted)))
        or {given, wanted} == {DATE, TIMESTAMP}
    )
    if not allowed:
        raise TypeMismatch(f"cannot cast {given} to {wanted}", detail=f"In {cast}.")
    return wanted
