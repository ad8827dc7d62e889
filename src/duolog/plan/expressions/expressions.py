"""Expressions over the columns of a record: frozen, compared by value, independent of any engine.

    ColumnRef("dep_delay")                     a column of the record's key or value
    TableColumnRef("name")                     in a join: a value column of the table's side
    AccumulatorRef("sum(dep_delay)")           in an aggregate: the accumulator before the record
    RowTime()                                  the record's timestamp, BIGINT milliseconds
    Metadata("offset")                         topic, partition, offset, headers of a record
    Literal(15, INT) · Call("+", (a, b)) · Cast(a, STRING)
    Item(ColumnRef("page"), literal("url"))    a part of a STRUCT, ARRAY or MAP
    PythonCall(function, (ColumnRef("a"),))    the result of a user's function
    Aggregate("avg", ColumnRef("dep_delay"))   only as a result of an aggregation

Conditions follow SQL's three-valued logic. Users write expressions with the operators of
`duolog.dsl.expressions.columns`. `type_of` returns an expression's type for the columns in scope.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal as PythonDecimal
from typing import Final
from typing import Literal as OneOf

from duolog.plan.errors import InvalidPlan, TypeMismatch, unknown_name
from duolog.plan.expressions.functions import FUNCTIONS
from duolog.plan.expressions.python_functions import PythonFunction
from duolog.plan.expressions.steps import STEPS
from duolog.plan.literals import PlainValue, type_of_value
from duolog.plan.schema import Schema
from duolog.plan.sql.registry import PLAN_FUNCTIONS
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
    quote,
    render_columns,
)

_CALLED: Final = FUNCTIONS | STEPS | PLAN_FUNCTIONS
_INFIX: Final = {"+", "-", "*", "/", "%", "=", "<>", "<", "<=", ">", ">=", "AND", "OR", "LIKE"}


@dataclass(frozen=True, slots=True)
class Expression:
    """The base class of all expressions. `str` renders them as SQL."""


@dataclass(frozen=True, slots=True)
class ColumnRef(Expression):
    """A column of the current record's key or value."""

    name: str

    def __str__(self) -> str:
        return quote(self.name)


@dataclass(frozen=True, slots=True)
class TableColumnRef(Expression):
    """In a stream-table join: a column of the table's value. All are null without a match."""

    name: str

    def __str__(self) -> str:
        return f"table.{quote(self.name)}"


@dataclass(frozen=True, slots=True)
class AccumulatorRef(Expression):
    """In an aggregate: the accumulator of this name, as it was before the record."""

    name: str

    def __str__(self) -> str:
        # The accumulator of an aggregate function is named after its call, `sum(dep_delay)`.
        return f"acc.{self.name}" if quote(self.name) == self.name else self.name


@dataclass(frozen=True, slots=True)
class RowTime(Expression):
    """The record's timestamp: BIGINT milliseconds since 1970, UTC."""

    def __str__(self) -> str:
        return "ROWTIME"


@dataclass(frozen=True, slots=True)
class Metadata(Expression):
    """Metadata of the source record that caused the current record.

    Topic, partition and offset are the source record's. Headers are those left by the nodes in
    between.
    """

    part: OneOf["topic", "partition", "offset", "header", "headers"]
    header: str = ""
    """The header's name. If a record has several headers of this name, the last one is read."""

    def __str__(self) -> str:
        if self.part == "header":
            return f"HEADER({Literal(self.header, STRING)})"
        return self.part.upper()


@dataclass(frozen=True, slots=True)
class WallClock(Expression):
    """The time at which a record is read: BIGINT milliseconds. Only for source timestamps."""

    def __str__(self) -> str:
        return "WALL_CLOCK"


@dataclass(frozen=True, slots=True)
class Literal(Expression):
    """A value that is the same for each record."""

    value: PlainValue
    type: Type

    def __str__(self) -> str:
        match self.value:
            case None:
                return "NULL"
            case bool() | int() | float() | PythonDecimal():
                return str(self.value).upper()
            case str():
                return "'" + self.value.replace("'", "''") + "'"
            case bytes():
                return f"X'{self.value.hex()}'"
            case _:
                return f"{self.type} '{self.value}'"


@dataclass(frozen=True, slots=True)
class Call(Expression):
    """A call of a scalar function of `functions.FUNCTIONS`, an aggregate's step or SQL function."""

    function: str
    args: tuple[Expression, ...]

    def __post_init__(self) -> None:
        if self.function not in _CALLED:
            raise unknown_name("function", self.function, FUNCTIONS)

    def __str__(self) -> str:
        args = [str(arg) for arg in self.args]
        if self.function in _INFIX and len(args) > 1:
            return f"({f' {self.function} '.join(args)})"
        return f"{self.function}({', '.join(args)})"


@dataclass(frozen=True, slots=True)
class Cast(Expression):
    """A value converted to another type; null if the conversion fails."""

    arg: Expression
    type: Type

    def __str__(self) -> str:
        return f"CAST({self.arg} AS {self.type})"


@dataclass(frozen=True, slots=True)
class Item(Expression):
    """A part of a composite value; null if the value is null or has no such part.

    The key is the name of a field (STRUCT), an index from 0, or from -1 backwards (ARRAY), or a key
    (MAP).
    """

    arg: Expression
    key: Expression

    def __str__(self) -> str:
        return f"{self.arg}[{self.key}]"


@dataclass(frozen=True, slots=True)
class PythonCall(Expression):
    """The result of a Python function for these arguments; if it raises, the record fails."""

    function: PythonFunction
    args: tuple[Expression, ...]

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.args))})"


@dataclass(frozen=True, slots=True)
class Variable(Expression):
    """A parameter of a lambda, in its body."""

    name: str
    type: Type

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Lambda(Expression):
    """A function as an argument of another function, applied to each element or entry."""

    parameters: tuple[Variable, ...]
    body: Expression

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.parameters))}) => {self.body}"


@dataclass(frozen=True, slots=True)
class Aggregate(Expression):
    """A call of an aggregate function of `plan.aggregates`. `arg` None is `count(*)`.

    Nulls are ignored: the sum and the mean of no values are null, the count is 0. `others` are
    further columns that it reads, `options` its named parameters.
    """

    function: str
    arg: Expression | None = None
    others: tuple[Expression, ...] = ()
    options: tuple[tuple[str, object], ...] = ()

    def __str__(self) -> str:
        columns = ["*" if self.arg is None else str(self.arg), *map(str, self.others)]
        options = [f"{name}={value!r}" for name, value in self.options]
        return f"{self.function}({', '.join(columns + options)})"


Named = tuple[str, Expression]
"""A result column: its name and expression."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The columns that an expression may name, and whether it may read a record's metadata."""

    columns: tuple[Column, ...]
    table_columns: tuple[Column, ...] = ()
    accumulators: tuple[Column, ...] = ()
    of_record: bool = False
    of_source: bool = False
    """True while the record is being read."""


def literal(value: PlainValue) -> Literal:
    """Return the literal of a Python value, typed as in Spark.

    Raises:
        StatementError: an integer exceeds 64 bits, or values of this type have no literal.

    Example:
        >>> literal(15).type, literal(2**40).type, literal(None).type
        (Type(name='INT'), Type(name='BIGINT'), Type(name='NULL'))
    """
    return Literal(value, type_of_value(value))


def type_of(  # noqa: PLR0911, PLR0912 - a table of cases
    expression: Expression, scope: Scope | Schema
) -> Type:
    """Return the type of `expression` over the columns in `scope`.

    Raises:
        StatementError: a name is not in scope (the hint names the nearest), or types do not fit.

    Example:
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


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield the expression and all of its parts, itself first."""
    yield expression
    match expression:
        case Cast(arg, _):
            yield from walk(arg)
        case Call(_, args) | PythonCall(_, args):
            for arg in args:
                yield from walk(arg)
        case Item(arg, key):
            yield from walk(arg)
            yield from walk(key)
        case Lambda(_, body):
            yield from walk(body)
        case Aggregate(_, arg, others) if arg is not None:
            for one in (arg, *others):
                yield from walk(one)
        case _:
            pass


def rewrite(  # noqa: PLR0911 - a table of cases
    expression: Expression, change: Callable[[Expression], Expression | None]
) -> Expression:
    """Return the expression after replacing each part for which `change` returns another one.

    The parts of a replacement are not visited.
    """
    changed = change(expression)
    if changed is not None:
        return changed
    match expression:
        case Cast(arg, of):
            return Cast(rewrite(arg, change), of)
        case Call(function, args):
            return Call(function, tuple(rewrite(arg, change) for arg in args))
        case PythonCall(_, args):
            return replace(expression, args=tuple(rewrite(arg, change) for arg in args))
        case Item(arg, key):
            return Item(rewrite(arg, change), rewrite(key, change))
        case Lambda(parameters, body):
            return Lambda(parameters, rewrite(body, change))
        case Aggregate(_, arg, others) if arg is not None:
            changed_others = tuple(rewrite(one, change) for one in others)
            return replace(expression, arg=rewrite(arg, change), others=changed_others)
        case _:
            return expression


def column_names(expression: Expression) -> frozenset[str]:
    """Return the names of the record's columns that the expression reads."""
    return frozenset(part.name for part in walk(expression) if isinstance(part, ColumnRef))


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
        return _CALLED[function].type_of(types)
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
