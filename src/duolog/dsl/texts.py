"""Texts that stand alone where a column may stand: `with_columns(total="amount")`.

A text is a constant in pandas and a column in Polars. So it is refused if a column has that name: the user writes
`col("amount")` or `lit("amount")`. Next to an operator or in a method, `col("dest") == "SFO"`, it is a constant in
all of these libraries, and here.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions import Expression, Literal, literal
from duolog.plan.types import STRING


@dataclass(frozen=True, slots=True)
class BareText(Literal):
    """A text that was given alone. It becomes a literal where the names of the columns are known."""


def bare(value: str) -> BareText:
    """Return a text that a user gave alone."""
    return BareText(value, STRING)


def constant(text: str, *, is_column: bool) -> Expression:
    """Return the literal that a bare text stands for.

    Raises:
        StatementError: it is the name of a column, or of a field of one.
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
    """Raise a StatementError where a text given alone is the name of an accumulator."""
    for text in texts_alone(step):
        if text in kept:
            raise ambiguous(text, f'acc("{text}")', "the accumulator")


def texts_alone(given: Mapping[str, object]) -> Iterator[str]:
    """Yield the values that are texts, and not expressions."""
    return (value for value in given.values() if isinstance(value, str))
