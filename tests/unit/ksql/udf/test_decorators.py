"""Python functions as SQL functions: types from annotations, overloads, and refusals."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeVar

import pytest

from duolog import udaf, udf, udtf
from duolog.core.errors import StatementError
from duolog.ksql.expressions.function_errors import written
from duolog.ksql.udf.decorators import define
from duolog.ksql.udf.modules import as_kept, functions_of, load, of_kept
from duolog.plan.sql.user_functions import FunctionFailed, Routine, UserFunction
from duolog.plan.types import parse_type
from unit.ksql.udf import sample_functions

MODULE = "unit.ksql.udf.sample_functions"
FUNCTIONS = {one.name: one for one in functions_of(MODULE)}
U = TypeVar("U")
Long = TypeVar("Long")


def routine(function: UserFunction, types: str) -> Routine:
    resolved = function.function.resolve(tuple(map(parse_type, types.split(" & "))))
    number = function.overload_of(resolved.signature)
    return Routine(function, number, "call", resolved.arguments, resolved.result)


def called(function: UserFunction, types: str, *values: object) -> object:
    return routine(function, types)(*values)


@pytest.mark.parametrize(
    ("name", "ways"),
    [
        (
            "SCORE",
            [
                "SCORE(name STRING, times BIGINT) BIGINT",
                "SCORE(name STRING) BIGINT",
                "SCORE(place STRUCT<`LAT` DOUBLE, `LON` DOUBLE>) STRUCT<LAT DOUBLE, LON DOUBLE>",
            ],
        ),
        ("PICK", ["PICK(items ARRAY<T>, at BIGINT) T"]),
        ("TOTAL", ["TOTAL(numbers DOUBLE...) DOUBLE"]),
        ("HALF", ["HALF(amount DECIMAL) DECIMAL(10,2)"]),
        ("KINDS", ["KINDS(first BIGINT, others ANY...) STRING"]),
        ("WIDEST", ["WIDEST(amounts MAP<STRING, ARRAY<DECIMAL>>) STRING"]),
        ("OWED", ["OWED(value DECIMAL) DECIMAL(38,18)"]),
        ("LATER", ["LATER(at TIMESTAMP, clock TIME) TIMESTAMP"]),
        ("WORDS", ["WORDS(texts STRING...) STRING"]),
        ("MEAN", ["MEAN(value DOUBLE, factor BIGINT) DOUBLE", "MEAN(value DOUBLE) DOUBLE"]),
    ],
)
def test_annotations_are_types_and_defaults_overloads(name: str, ways: list[str]) -> None:
    signatures = [one.signature for one in FUNCTIONS[name].overloads]

    assert [f"{written(name, one)} {one.result}" for one in signatures] == ways


def test_the_first_paragraph_of_a_docstring_is_the_description() -> None:
    assert FUNCTIONS["SCORE"].description == "Counts the letters of a name, several times."
    assert FUNCTIONS["SCORE"].family == "NATURE"
    assert FUNCTIONS["MEAN"].function.family == "AGGREGATE"


def test_a_decorated_function_can_still_be_called() -> None:
    assert sample_functions.score("abc") == 9
    assert list(sample_functions.words("a b", "c")) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("name", "types", "values", "wanted"),
    [
        ("SCORE", "STRING", ("abc",), 9),
        ("SCORE", "STRING & INT", ("abc", 5), 15),
        ("SCORE", "STRING", (None,), None),
        ("SHOWN", "STRING", (None,), "nothing"),
        (
            "SCORE",
            "STRUCT<LAT DOUBLE, LON DOUBLE>",
            ({"LAT": 1.0, "LON": 2.0},),
            {"LAT": 2.0, "LON": None},
        ),
        ("PICK", "ARRAY<INT> & BIGINT", ([4, 5], None), 4),
        ("TOTAL", "DOUBLE & DOUBLE", (1.0, 2.5), 3.5),
        ("TOTAL", "DOUBLE & DOUBLE", (1.0, None), None),
        ("HALF", "DECIMAL(6,3)", (Decimal("3.125"),), Decimal("1.56")),
        ("KINDS", "INT", (1,), "int"),
        (
            "KINDS",
            "INT & STRING & ARRAY<INT> & DOUBLE",
            (1, "a", [1], None),
            "int str list NoneType",
        ),
        (
            "WIDEST",
            "MAP<STRING, ARRAY<DECIMAL(6,3)>>",
            ({"a": [Decimal("1.000"), Decimal("10.000")]},),
            "10.000",
        ),
    ],
)
def test_a_call_converts_arguments_and_results(
    name: str, types: str, values: tuple[object, ...], wanted: object
) -> None:
    assert called(FUNCTIONS[name], types, *values) == wanted


@pytest.mark.parametrize(
    ("name", "value", "expected_message"),
    [
        (
            "INVERSE",
            0,
            r"^INVERSE \(sample_functions.py:\d+\): ZeroDivisionError: division by zero$",
        ),
        (
            "WRONG",
            1,
            r"^WRONG \(sample_functions.py:\d+\): TypeError: it returned 1 \(int\), not STRING$",
        ),
    ],
)
def test_a_call_that_fails_names_the_function_and_its_line(
    name: str, value: int, expected_message: str
) -> None:
    with pytest.raises(FunctionFailed, match=expected_message):
        routine(FUNCTIONS[name], "BIGINT").bound()([value])
    assert called(FUNCTIONS[name], "BIGINT", value) is None, "in a row it is null"


def test_a_function_can_be_restored_from_its_record() -> None:
    for function in FUNCTIONS.values():
        again = of_kept(function.name, function.origin, as_kept(function))

        assert again == function
        assert again.code.missing == ""


def test_a_function_without_its_module_keeps_its_types_and_reports_the_module() -> None:
    kept = as_kept(FUNCTIONS["SCORE"])

    found = of_kept("SCORE", "no_such_module:score", kept)

    assert found.overloads == FUNCTIONS["SCORE"].overloads
    assert 'there is no module "no_such_module"' in found.code.missing
    with pytest.raises(
        StatementError, match='function "SCORE" from "no_such_module:score" cannot be called'
    ):
        called(found, "STRING", "abc")


def test_a_function_whose_signature_has_changed_is_not_called() -> None:
    kept = as_kept(FUNCTIONS["INVERSE"])

    found = of_kept("INVERSE", f"{MODULE}:shown", kept)

    assert found.code.missing.startswith("Its signature was DOUBLE (value BIGINT) and has changed.")


def test_an_undecorated_function_is_a_scalar_function() -> None:
    found = load("NEGATIVE", f"{MODULE}:undecorated")

    assert called(found, "BIGINT", 4) == -4


@dataclass
class Twice:
    a: int
    A: int


def no_annotation(value) -> int:  # type: ignore[no-untyped-def] # That is what is tested.
    return 1


def no_result(value: int):  # type: ignore[no-untyped-def] # As above.
    return value


def bare_list(value: list) -> int:  # type: ignore[type-arg] # As above.
    return 1


def strange(value: set[int]) -> int:
    return 1


def by_name(*, value: int) -> int:
    return value


def twice(value: Twice) -> int:
    return 1


def long_name(value: Long) -> Long:
    return value


async def waits(value: int) -> int:
    return value


def no_rows(value: int) -> int:
    return value


class NoAggregate:
    def initialize(self) -> int:
        return 0


class OtherState:
    def initialize(self) -> int:
        return 0

    def aggregate(self, kept: str, value: int) -> int:
        return value


class OtherUndo:
    def initialize(self) -> int:
        return 0

    def aggregate(self, kept: int, value: int) -> int:
        return value

    def undo(self, kept: int, value: str) -> int:
        return kept


class Waiting:
    def initialize(self) -> int:
        return 0

    async def aggregate(self, kept: int, value: int) -> int:
        return kept + value


class Yielding:
    def initialize(self) -> int:
        return 0

    def aggregate(self, kept: int, value: int) -> int:  # type: ignore[misc] # that is what is wrong
        yield kept + value


@pytest.mark.parametrize(
    ("decorator", "of", "expected_message"),
    [
        (udf, no_annotation, 'function "no_annotation" has a parameter "value" without an annotation'),
        (udf, no_result, 'function "no_result" has no return annotation'),
        (udf, bare_list, 'there is no SQL type for list\nhint: Annotate the elements: list\\[str\\]'),
        (udf, strange, 'has a parameter "value: set\\[int\\]": there is no SQL type'),
        (udf, by_name, 'has a keyword parameter "value"'),
        (udf, twice, "two fields of Twice have the same name in upper case"),
        (udf, long_name, "the name of TypeVar Long is too long"),
        (udf, waits, "is a coroutine function"),
        (udtf, no_rows, 'returns "int": int is not a collection of rows\nhint: Annotate the rows: list\\[str\\]'),
        (udaf, NoAggregate, 'function "NoAggregate" has no aggregate'),
        (udaf, OtherState, 'has state BIGINT, but aggregate accepts STRING'),
        (udaf, OtherUndo, 'has different parameters in undo and aggregate'),
        (udaf, Waiting, 'function "Waiting" is a coroutine function'),
        (udaf, Yielding, 'function "Yielding" has a method that is a generator'),
        (udaf, no_rows, 'function "no_rows" is not a class'),
        (udf, Twice, 'function "Twice" is not a function'),
    ],
)  # fmt: skip
def test_an_invalid_function_is_refused_with_its_line(
    decorator: Callable[[Any], Any], of: Any, expected_message: str
) -> None:
    with pytest.raises(StatementError, match=expected_message) as raised:
        decorator(of)

    assert raised.value.place.startswith("test_decorators.py:")


def test_an_explicit_name_is_converted_to_capitals() -> None:
    assert define(sample_functions.undecorated).name == "UNDECORATED"
