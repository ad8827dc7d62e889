"""Texts and other values in place of a column: `with_columns(total="amount")`.

A text is a constant in pandas and a column in Polars. It is therefore refused if a column has that
name: the user writes `col("amount")` or `lit("amount")`. Next to an operator or in a method, as in
`col("dest") == "SFO"`, a text is a constant in all of these libraries, and in Duolog.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from duolog.plan.errors import InvalidPlan, TypeMismatch
from duolog.plan.expressions import Expression, Literal, literal
from duolog.plan.types import STRING


@dataclass(frozen=True, slots=True)
class BareText(Literal):
    """A text without an operator. It becomes a literal once the column names are known."""


class Shown(str):
    """The result of `str` for an expression. It is for people to read, not a value of a column."""

    __slots__ = ()


def bare(value: str) -> BareText:
    """Return a text that a user gave without an operator.

    Raises:
        StatementError: it is an expression that was converted to a text, as in
            `str(col("amount"))`.
    """
    if isinstance(value, Shown):
        raise InvalidPlan(
            f"str(...) was called with {value}, which has no value while the topology is built",
            hint='Write col("amount").cast(str) for the text of a column.',
        )
    return BareText(value, STRING)


def constant(text: str, *, is_column: bool) -> Expression:
    """Return the literal of a bare text.

    Raises:
        StatementError: it is also the name of a column, or of a field.
    """
    if is_column:
        raise ambiguous(text, f'col("{text}")', "the column")
    return literal(text)


def ambiguous(name: str, column: str, what: str) -> InvalidPlan:
    """Return the error for a text that is also the name of `what`, which is written as `column`."""
    return InvalidPlan(
        f'"{name}" can mean {what} of this name or a constant text',
        hint=f'Write {column} for {what}, or lit("{name}") for the text.',
    )


def ensure_not_kept(step: Mapping[str, object], kept: Collection[str]) -> None:
    """Raise a StatementError if a bare text is the name of an accumulator."""
    for text in texts_alone(step):
        if text in kept:
            raise ambiguous(text, f'acc("{text}")', "the accumulator")


def texts_alone(given: Mapping[str, object]) -> Iterator[str]:
    """Yield the values that are texts, not expressions."""
    return (value for value in given.values() if isinstance(value, str))


def not_a_column(given: object) -> TypeMismatch:
    """Return the error for a value that is not a column."""
    if isinstance(given, list | tuple):
        return TypeMismatch(
            f"{given!r} is not a column",
            hint=f"Write {', '.join(map(repr, given))} without brackets.",
        )
    if not callable(given):
        return TypeMismatch(f"{given!r} is not a column", hint='Write "dest" or col("dest").')
    name = getattr(given, "__name__", type(given).__name__)
    own = {"sum": "sum_", "min": "min_", "max": "max_"}.get(name)
    function = name if name.isidentifier() else "function"
    return TypeMismatch(
        f"{name} is a function of Python, not a column",
        hint=f'Write {own}("amount").' if own else f'Write call({function}, col("amount")).',
    )
