"""Columns as users write them: operators and functions that build the plan's expressions.

    (col("dep_delay") > 15) & col("dest").is_not_null()
    when(col("dep_delay") > 0, "late").otherwise("on time")
    sum_(col("dep_delay")) / count()                          in aggregate(...)

A Python value next to a column is a literal. No value is computed here.
"""

from collections.abc import Collection, Sequence

from duolog.core.errors import StatementError
from duolog.dsl.expressions.schemas import type_named
from duolog.dsl.expressions.texts import Shown, bare, not_a_column
from duolog.dsl.handles.foreign_names import OF_COLUMNS
from duolog.dsl.handles.handles import Handle
from duolog.dsl.handles.short_tracebacks import short_tracebacks_of
from duolog.plan.errors import InvalidPlan, TypeMismatch
from duolog.plan.expressions import (
    AccumulatorRef,
    Call,
    Cast,
    ColumnRef,
    Expression,
    Item,
    RowTime,
    TableColumnRef,
    literal,
)
from duolog.plan.literals import PlainValue
from duolog.plan.types import Type


class Expr(Handle):
    """A column, or an expression over columns. Created by `col`, `lit` and operators."""

    __slots__ = ("expression", "name")

    _foreign = OF_COLUMNS

    def __init__(self, expression: Expression, name: str | None = None) -> None:
        self.expression = expression
        if name is None and isinstance(expression, ColumnRef):
            name = expression.name
        self.name = name
        """The name of a result column, if the user gives none."""

    def __repr__(self) -> str:
        return f"<{self.expression}>"

    def __str__(self) -> str:
        return Shown(repr(self))

    def __format__(self, _spec: str) -> str:
        raise InvalidPlan(
            f"{self!r} has no value while the topology is built, so it cannot be used in an "
            "f-string",
            hint='Write concat("order ", col("id").cast(str)). To print an expression, write '
            "{expression!r}.",
        )

    def __bool__(self) -> bool:
        raise StatementError(
            f"the condition {self.expression} has no value while the topology is built",
            hint="Combine conditions with &, | and ~, not with and, or, not; use isin(...) for in, "
            "greatest(...) and least(...) for max and min, when(...) for if.",
        )

    __hash__ = None  # type: ignore[assignment]  # because == builds a condition

    # Comparison.

    def __eq__(self, other: object) -> "Expr":  # type: ignore[override]
        return self._with("=", other)

    def __ne__(self, other: object) -> "Expr":  # type: ignore[override]
        return self._with("<>", other)

    def __lt__(self, other: object) -> "Expr":
        return self._with("<", other)

    def __le__(self, other: object) -> "Expr":
        return self._with("<=", other)

    def __gt__(self, other: object) -> "Expr":
        return self._with(">", other)

    def __ge__(self, other: object) -> "Expr":
        return self._with(">=", other)

    def between(self, low: "Expr | PlainValue", high: "Expr | PlainValue") -> "Expr":
        """True from `low` to `high`, both inclusive."""
        return self._with("BETWEEN", low, high)

    def isin(self, *values: "Expr | PlainValue | Collection[Expr | PlainValue]") -> "Expr":
        """True if it equals one of the values, which can be given in one list."""
        if len(values) == 1 and isinstance(values[0], list | tuple | set | frozenset):
            values = tuple(values[0])
        return self._with("IN", *values)

    def like(self, pattern: "Expr | str") -> "Expr":
        """True if the text matches: `%` is any text, `_` one character, a backslash escapes."""
        return self._with("LIKE", pattern)

    def is_null(self) -> "Expr":
        """True if the value is null; never null itself."""
        return self._with("IS_NULL")

    def is_not_null(self) -> "Expr":
        """True if the value is not null; never null itself."""
        return self._with("IS_NOT_NULL")

    # Logic.

    def __and__(self, other: "Expr | bool") -> "Expr":
        return self._with("AND", other)

    def __rand__(self, other: "bool") -> "Expr":
        return self._after("AND", other)

    def __or__(self, other: "Expr | bool") -> "Expr":
        return self._with("OR", other)

    def __ror__(self, other: "bool") -> "Expr":
        return self._after("OR", other)

    def __invert__(self) -> "Expr":
        return self._with("NOT")

    # Arithmetic.

    def __add__(self, other: "Expr | PlainValue") -> "Expr":
        return self._with("+", other)

    def __radd__(self, other: PlainValue) -> "Expr":
        return self._after("+", other)

    def __sub__(self, other: "Expr | PlainValue") -> "Expr":
        return self._with("-", other)

    def __rsub__(self, other: PlainValue) -> "Expr":
        return self._after("-", other)

    def __mul__(self, other: "Expr | PlainValue") -> "Expr":
        return self._with("*", other)

    def __rmul__(self, other: PlainValue) -> "Expr":
        return self._after("*", other)

    def __truediv__(self, other: "Expr | PlainValue") -> "Expr":
        return self._with("/", other)

    def __rtruediv__(self, other: PlainValue) -> "Expr":
        return self._after("/", other)

    def __mod__(self, other: "Expr | PlainValue") -> "Expr":
        return self._with("%", other)

    def __rmod__(self, other: PlainValue) -> "Expr":
        return self._after("%", other)

    def __neg__(self) -> "Expr":
        return self._with("-")

    def __abs__(self) -> "Expr":
        return self._with("ABS")

    def abs(self) -> "Expr":
        """The absolute value."""
        return self._with("ABS")

    def round(self, digits: int = 0) -> "Expr":
        """Rounded to `digits` decimal places, half away from zero."""
        return self._with("ROUND", digits)

    def floor(self) -> "Expr":
        """The greatest integer that is not greater."""
        return self._with("FLOOR")

    def ceil(self) -> "Expr":
        """The least integer that is not less."""
        return self._with("CEIL")

    # Text.

    def upper(self) -> "Expr":
        """The text in upper case."""
        return self._with("UPPER")

    def lower(self) -> "Expr":
        """The text in lower case."""
        return self._with("LOWER")

    def trim(self) -> "Expr":
        """The text without spaces at its ends."""
        return self._with("TRIM")

    def length(self) -> "Expr":
        """The number of characters of a text, or of bytes."""
        return self._with("LENGTH")

    def substring(self, position: int, length: int | None = None) -> "Expr":
        """A part of the text, starting at `position` (the first is 1; negative: from the end)."""
        return self._with("SUBSTRING", position, *([] if length is None else [length]))

    def contains(self, part: "Expr | str") -> "Expr":
        """True if the text contains the part."""
        return self._with("CONTAINS", part)

    def startswith(self, prefix: "Expr | str") -> "Expr":
        """True if the text starts with the prefix."""
        return self._with("STARTS_WITH", prefix)

    def endswith(self, suffix: "Expr | str") -> "Expr":
        """True if the text ends with the suffix."""
        return self._with("ENDS_WITH", suffix)

    def replace(self, old: "Expr | str", new: "Expr | str") -> "Expr":
        """The text with each `old` replaced by `new`."""
        return self._with("REPLACE", old, new)

    def split(self, separator: "Expr | str | None" = None) -> "Expr":
        """The parts of a text between separators, as an ARRAY; without a separator its words.

        Words are separated by blanks and never empty; parts may be empty, as in Python.
        """
        return self._with("SPLIT", *([] if separator is None else [separator]))

    def find_all(self, pattern: str) -> "Expr":
        r"""All matches of a Java regular expression, as an ARRAY: `find_all(r"[a-z']+")`."""
        return self._with("FIND_ALL", pattern)

    # Parts.

    def __getitem__(self, part: "Expr | PlainValue") -> "Expr":
        """Return a field of a STRUCT, an element of an ARRAY, or the value of a MAP for a key.

        `col("page")["url"]`, `col("stops")[0]`, `col("stops")[-1]`, `col("tags")["colour"]`; null
        if there is none.
        """
        name = part if isinstance(part, str) else None
        return Expr(Item(self.expression, to_expression(part)), name)

    __iter__ = None  # because [...] alone would make it a sequence without an end

    # Types and names.

    def cast(self, to: str | type | Type) -> "Expr":
        """The value as another type, `cast("INT")` or `cast(int)`; null if the conversion fails."""
        return Expr(Cast(self.expression, type_named(to)), self.name)

    def alias(self, name: str) -> "Expr":
        """The same expression with another name."""
        return Expr(self.expression, name)

    def _called(self) -> str:
        return "a column"

    def _with(self, function: str, *others: object) -> "Expr":
        return Expr(Call(function, (self.expression, *map(to_expression, others))))

    def _after(self, function: str, other: object) -> "Expr":
        return Expr(Call(function, (to_expression(other), self.expression)))


def col(name: str) -> Expr:
    """Return the column of this name, of a record's key or value; `"page.url"` is a field of one.

    Example:
        >>> (col("dep_delay") / 60 > 1.5) & ~col("dest").isin("SFO", "LAX")
        <(((dep_delay / 60) > 1.5) AND NOT(IN(dest, 'SFO', 'LAX')))>
    """
    return Expr(ColumnRef(name))


def lit(value: PlainValue) -> Expr:
    """Return a value that is the same for each record."""
    return Expr(literal(value))


def acc(name: str) -> Expr:
    """Return, in an adder, subtractor or result of `aggregate`, the current accumulator."""
    return Expr(AccumulatorRef(name), name)


def other(name: str) -> Expr:
    """Return, in the merger of `aggregate`, the accumulator of the session to merge."""
    return Expr(TableColumnRef(name), name)


def row_time() -> Expr:
    """Return the record's timestamp: BIGINT milliseconds since 1970, UTC."""
    return Expr(RowTime(), "rowtime")


def array(*values: Expr | PlainValue) -> Expr:
    """Return an ARRAY of the values, which must have one type."""
    return _call("ARRAY", values)


def coalesce(*values: Expr | PlainValue) -> Expr:
    """Return the first value that is not null."""
    return _call("COALESCE", values)


def concat(*values: Expr | str) -> Expr:
    """Return the concatenated texts; null if one of them is null."""
    return _call("CONCAT", values)


def greatest(*values: Expr | PlainValue) -> Expr:
    """Return the greatest of the values, ignoring nulls."""
    return _call("GREATEST", values)


def least(*values: Expr | PlainValue) -> Expr:
    """Return the least of the values, ignoring nulls."""
    return _call("LEAST", values)


class Case(Expr):
    """A conditional expression created by `when`; null if no condition is true."""

    __slots__ = ("_branches",)

    def __init__(self, branches: tuple[Expression, ...]) -> None:
        super().__init__(Call("CASE", branches))
        self._branches = branches

    def when(self, condition: Expr, value: Expr | PlainValue) -> "Case":
        """Add a case, used if no earlier condition is true."""
        return Case((*self._branches, _condition(condition), alone(value)))

    def otherwise(self, value: Expr | PlainValue) -> Expr:
        """Set the value for the case that no condition is true."""
        return Expr(Call("CASE", (*self._branches, alone(value))))


def when(condition: Expr, value: Expr | PlainValue) -> Case:
    """Return `value` if `condition` is true: `when(...).when(...).otherwise(...)`.

    Example:
        >>> when(col("dep_delay") > 15, "late").otherwise("on time")
        <CASE((dep_delay > 15), 'late', 'on time')>
    """
    return Case((_condition(condition), alone(value)))


def to_expression(value: object) -> Expression:
    """Return the expression of a column, or the literal of a Python value."""
    if isinstance(value, Shown):
        return bare(value)
    return value.expression if isinstance(value, Expr) else literal(value)  # type: ignore[arg-type]


def alone(value: object) -> Expression:
    """Convert a value as `to_expression` does, if it has an operator: a text could be a column."""
    if callable(value) and not isinstance(value, Expr):
        raise not_a_column(value)
    return bare(value) if isinstance(value, str) else to_expression(value)


def _condition(condition: object) -> Expression:
    if not isinstance(condition, Expr):
        raise TypeMismatch(
            f"{condition!r} is not a condition over columns",
            hint='Write when(col("dep_delay") > 15, "late").',
        )
    return condition.expression


def _call(function: str, values: Sequence[object]) -> Expr:
    return Expr(Call(function, tuple(alone(value) for value in values)))


short_tracebacks_of(globals())
