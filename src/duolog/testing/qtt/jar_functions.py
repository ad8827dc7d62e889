"""Functions of ksqlDB's test jar, as users' functions in Python.

Their behaviour is inferred from the inputs and outputs of the cases alone. An overload whose
behaviour the cases do not determine is missing: BAD_UDF of a STRING returns nothing for some of its
calls, and no case shows for which.

    MULTI_ARG, FIVE_ARG      sum of numbers and of lengths of texts; starts from that of constants
    VAR_ARG, MID_VAR_ARG     the same, with any number of texts
    GENERIC_VAR_ARG          list of the first arguments of calls without nulls, of any type
    OBJ_COL_ARG              the same, with further arguments of different types
    TEST_UDF                 the name of the chosen overload
    TEST_UDTF                a row for each argument
    WHENCONDITION, WHENRESULT, BAD_UDF, THROWING_UDTF    fail if an argument says so
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Final, TypeVar

from duolog.ksql.udf.decorators import udaf, udf, udtf
from duolog.ksql.udf.modules import functions_of
from duolog.plan.sql.user_functions import UserFunction

A = TypeVar("A")
C = TypeVar("C")
Int = Annotated[int, "INT"]


@dataclass
class OfText:
    """STRUCT<A STRING>."""

    A: str | None


class _Failure(Exception):
    """A function fails because its caller asks for it."""


def _measure(*values: int | str | None) -> int:
    """Return the sum of numbers and of the lengths of texts; nulls count as 0."""
    return sum(len(value) if isinstance(value, str) else value or 0 for value in values)


class _Measuring:
    """Adds `_measure` of each row to a start value; base of the aggregates below."""

    start = 0

    def initialize(self) -> int:
        return self.start

    def map(self, kept: int) -> int:
        return kept


@udaf(name="VAR_ARG")
class VarArg(_Measuring):
    """Adds a number and the lengths of any number of texts."""

    def aggregate(self, kept: int, first: int | None, *others: str | None) -> int:
        return kept + _measure(first, *others)


@udaf(name="MID_VAR_ARG")
class MidVarArg(_Measuring):
    """Adds a number and the lengths of any number of texts, which two constants follow."""

    def __init__(self, one: int, other: int) -> None:
        self.start = one + other

    def aggregate(self, kept: int, first: int | None, *others: str | None) -> int:
        return kept + _measure(first, *others)


@udaf(name="MULTI_ARG")
class MultiArg(_Measuring):
    """Adds a number and the length of a text, which four constants follow."""

    def __init__(self, number: int, one: str, other: str, third: str) -> None:
        self.start = _measure(number, one, other, third)

    def aggregate(self, kept: int, first: int | None, second: str | None) -> int:
        return kept + _measure(first, second)


@udaf(name="FIVE_ARG")
class FiveArg(_Measuring):
    """Adds two numbers and the lengths of three texts, which four constants follow."""

    def __init__(self, number: int, one: str, other: str, third: str) -> None:
        self.start = _measure(number, one, other, third)

    def aggregate(
        self,
        kept: int,
        first: int | None,
        second: str | None,
        third: str | None,
        fourth: str | None,
        fifth: int | None,
    ) -> int:
        return kept + _measure(first, second, third, fourth, fifth)


@udaf(name="GENERIC_VAR_ARG")
class GenericVarArg:
    """Collects the first argument if no argument is null; the last ones have one type."""

    def initialize(self) -> list[A]:
        return []

    def aggregate(self, kept: list[A], first: A, _second: int, *_others: C) -> list[A]:
        return [*kept, first]


@udaf(name="OBJ_COL_ARG")
class ObjColArg:
    """Collects the first argument if no argument is null; the others have any types."""

    def initialize(self) -> list[Int]:
        return []

    def aggregate(self, kept: list[Int], first: Int, *others: object) -> list[Int]:
        return kept if None in others else [*kept, first]


@udf(name="TEST_UDF")
def struct_without_arguments() -> OfText:
    """Return a STRUCT."""
    return OfText("foo")


@udf(name="TEST_UDF")
def name_for_int(_number: Int, _text: str) -> str:
    """Return the name of this overload, which fits an INT without a cast."""
    return "doStuffIntString"


@udf(name="TEST_UDF")
def name_for_bigint(_number: int, _text: str) -> str:
    """Return the name of this overload, which fits an INT with a cast."""
    return "doStuffLongString"


@udf(name="TEST_UDF")
def name_for_bigints(*_numbers: int) -> str:
    """Return the name of this overload, which takes any number of BIGINTs."""
    return "doStuffLongVarargs"


@udtf(name="TEST_UDTF")
def row_of(value: Int) -> list[Int]:
    """Return the argument as the only row."""
    return [value]


@udtf(name="TEST_UDTF")
def rows_of_texts(
    integer: Int, big: int, double: float, flag: bool, text: str, decimal: Decimal, struct: OfText
) -> list[str]:
    """Return a row for each argument: its text."""
    return [_text(one) for one in (integer, big, double, flag, text, decimal, struct)]


@udtf(name="TEST_UDTF")
def rows_of_maps(
    integers: dict[str, Int],
    bigs: dict[str, int],
    doubles: dict[str, float],
    flags: dict[str, bool],
    texts: dict[str, str],
    decimals: dict[str, Decimal],
    structs: dict[str, OfText],
) -> Iterator[str]:
    """Return a row for each value of each argument: its text."""
    for entries in (integers, bigs, doubles, flags, texts, decimals, structs):
        yield from map(_text, entries.values())


def _text(value: object) -> str:
    """Return the text that Java makes of a value."""
    match value:
        case bool():
            return str(value).lower()
        case OfText(A=text):
            return f"Struct{{A={text}}}"
        case _:
            return str(value)


@udf(name="WHENCONDITION")
def when_condition(condition: bool, expected: bool) -> bool:
    """Return a condition; fail if it must not be evaluated."""
    if not expected:
        raise _Failure("a condition after the one that is met")
    return condition


@udf(name="WHENRESULT")
def when_result(result: Int, expected: bool) -> Int:
    """Return a result; fail if it must not be evaluated."""
    if not expected:
        raise _Failure("the result of a condition that is not met")
    return result


@udf(name="BAD_UDF")
def bad_number(_value: Int) -> Int:
    """Fail."""
    raise _Failure("always")


@udf(name="BAD_UDF")
def bad_flag(fails: bool) -> Int:
    """Return 0; fail if the argument is true."""
    if fails:
        raise _Failure("as the argument says")
    return 0


@udtf(name="THROWING_UDTF")
def throwing(fails: bool) -> list[bool]:
    """Return the argument as the only row; fail if it is true."""
    if fails:
        raise _Failure("as the argument says")
    return [fails]


FUNCTIONS: Final[Mapping[str, UserFunction]] = {one.name: one for one in functions_of(__name__)}
"""The functions by name."""
