"""A call of an SQL function selects the best overload, which determines the types of lambdas."""

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


def test_a_lambda_parameter_has_the_type_of_its_argument() -> None:
    assert types_in(REDUCE, 0, Array(STRING), INT, NULL) == ["INT", "STRING"]
    given = parse_type("MAP<STRING, ARRAY<INT>>")
    assert types_in(REDUCE, 1, given, BIGINT, NULL) == ["BIGINT", "STRING", "ARRAY<INT>"]


def test_arguments_that_do_not_fit_give_a_lambda_no_types() -> None:
    assert types_in(REDUCE, 1, Array(STRING), INT, NULL) is None


def test_a_lambda_with_a_wrong_number_of_parameters_does_not_fit() -> None:
    with pytest.raises(TypeMismatch):
        REDUCE.resolve((Array(INT), INT, LambdaOf("LAMBDA", (INT,), INT)))


def test_a_unit_of_time_fits_only_a_parameter_for_units() -> None:
    found = function("DATEADD", "DATE", "", "DATE (unit UNIT, interval INT, date DATE)")

    assert (found.takes(UNIT, 0), found.takes(UNIT, 1), found.takes(UNIT, 3)) == (
        True,
        False,
        False,
    )


def test_an_integer_becomes_a_decimal_wide_enough_for_it() -> None:
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
def test_implicit_casts_are_those_of_ksqldb(given: Type, wanted: Type, *, allowed: bool) -> None:
    assert castable(given, wanted) is allowed
