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

from dataclasses import dataclass
from decimal import Decimal as PythonDecimal
from typing import Final
from typing import Literal as OneOf

from duolog.plan.errors import unknown_name
from duolog.plan.expressions.functions import FUNCTIONS
from duolog.plan.expressions.python_functions import PythonFunction
from duolog.plan.expressions.steps import STEPS
from duolog.plan.literals import PlainValue, type_of_value
from duolog.plan.sql.registry import PLAN_FUNCTIONS
from duolog.plan.types import STRING, Type, quote

CALLED: Final = FUNCTIONS | STEPS | PLAN_FUNCTIONS
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
        if self.function not in CALLED:
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


def literal(value: PlainValue) -> Literal:
    """Return the literal of a Python value, typed as in Spark.

    Raises:
        StatementError: an integer exceeds 64 bits, or values of this type have no literal.

    Example:
        >>> literal(15).type, literal(2**40).type, literal(None).type
        (Type(name='INT'), Type(name='BIGINT'), Type(name='NULL'))
    """
    return Literal(value, type_of_value(value))
