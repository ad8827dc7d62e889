"""A call of a function of SQL means the overload that fits best, and tells lambdas their types."""

import pytest

from duolog.plan.errors import TypeMismatch
from duolog.plan.sql.casting import castable
from duolog.plan.sql.signatures import UNIT, LambdaOf, SqlFunction, function
from duolog.plan.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    INT,
    NULL,
    STRING,
    Array,
    Type,
    parse_type,
)

REDUCE = function(
    "REDUCE",
    "LAMBDA",
    "",
    "S (array ARRAY<T>, state S, f (S, T) => S)",
    "S (map MAP<K, V>, state S, f (S, K, V) => S)",
)


def types_in(of: SqlFunction, signature: int, *given: Type) -> list[str] | None:
    found = of.signatures[signature]
    wanted = found.parameters[-1].type
    assert isinstance(wanted, LambdaOf)
    types = of.parameter_types(found, given, wanted)
    return None if types is None else [str(one) for one in types]


def test_a_lambda_has_the_types_of_what_it_is_called_with() -> None:
    assert types_in(REDUCE, 0, Array(STRING), INT, NULL) == ["INT", "STRING"]
    given = parse_type("MAP<STRING, ARRAY<INT>>")
    assert types_in(REDUCE, 1, given, BIGINT, NULL) == ["BIGINT", "STRING", "ARRAY<INT>"]


def test_arguments_that_do_not_fit_tell_a_lambda_nothing() -> None:
    assert types_in(REDUCE, 1, Array(STRING), INT, NULL) is None


def test_a_lambda_of_another_number_of_parameters_does_not_fit() -> None:
    with pytest.raises(TypeMismatch):
        REDUCE.resolve((Array(INT), INT, LambdaOf("LAMBDA", (INT,), INT)))


def test_a_unit_of_time_is_taken_where_a_signature_has_one() -> None:
    found = function("DATEADD", "DATE", "", "DATE (unit UNIT, interval INT, date DATE)")

    assert (found.takes(UNIT, 0), found.takes(UNIT, 1), found.takes(UNIT, 3)) == (
        True,
        False,
        False,
    )


def test_a_whole_number_where_a_decimal_is_wanted_becomes_one_that_holds_it() -> None:
    found = function("ROUNDED", "MATH", "", "DECIMAL (value DECIMAL)")

    assert str(found.resolve((INT,)).arguments[0]) == "DECIMAL(10,0)"


@pytest.mark.parametrize(
    ("given", "wanted", "allowed"),
    [
        (STRING, DATE, True),
        (DATE, STRING, True),
        (DATE, INT, False),
        (BOOLEAN, INT, False),
        (BYTES, STRING, False),
        (parse_type("ARRAY<STRING>"), parse_type("ARRAY<INT>"), True),
        (parse_type("STRUCT<a INT>"), parse_type("STRUCT<b DATE>"), True),
        (parse_type("STRUCT<a INT>"), parse_type("STRUCT<a DATE>"), False),
        (parse_type("MAP<STRING, INT>"), STRING, True),
    ],
)
def test_casts_are_those_of_the_language(given: Type, wanted: Type, *, allowed: bool) -> None:
    assert castable(given, wanted) is allowed
