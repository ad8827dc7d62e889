import pytest

from duolog.core.errors import StatementError
from duolog.plan.expressions import (
    Aggregate,
    Call,
    Cast,
    ColumnRef,
    Expression,
    Scope,
    column_names,
    literal,
    type_of,
)
from duolog.plan.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    Array,
    Decimal,
    Type,
    parse_columns,
)

SCOPE = Scope(
    parse_columns(
        "i INT, b BIGINT, d DOUBLE, s STRING, flag BOOLEAN, day DATE, "
        "price DECIMAL(10,2), list ARRAY<INT>"
    )
)
N, B, D, S = (ColumnRef(name) for name in "ibds")
FLAG, DAY, PRICE = ColumnRef("flag"), ColumnRef("day"), ColumnRef("price")


def call(function: str, *args: Expression) -> Call:
    return Call(function, args)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (call("+", N, N), INT),
        (call("+", N, B), BIGINT),
        (call("*", B, D), DOUBLE),
        (call("/", N, N), DOUBLE),
        (call("%", B, N), BIGINT),
        (call("+", PRICE, PRICE), Decimal(11, 2)),
        (call("*", PRICE, PRICE), Decimal(21, 4)),
        (call("/", PRICE, PRICE), Decimal(23, 13)),
        (call("*", PRICE, B), Decimal(31, 2)),
        (call("-", N), INT),
        (call("+", N, literal(None)), INT),
        (call("=", N, D), BOOLEAN),
        (call("IN", S, literal("a"), literal(None)), BOOLEAN),
        (call("CASE", FLAG, N, FLAG, B), BIGINT),
        (call("IF", FLAG, literal(None), S), STRING),
        (call("COALESCE", literal(None), N, D), DOUBLE),
        (call("GREATEST", N, PRICE), Decimal(12, 2)),
        (call("FLOOR", D), BIGINT),
        (call("ROUND", PRICE, literal(1)), Decimal(10, 2)),
        (call("LENGTH", S), INT),
        (Cast(S, DATE), DATE),
        (ColumnRef("list"), Array(INT)),
    ],
    ids=str,
)
def test_an_expression_has_the_same_type_as_in_spark(
    expression: Expression, expected: Type
) -> None:
    assert type_of(expression, SCOPE) == expected


@pytest.mark.parametrize(
    "expression",
    [
        call("+", S, N),
        call("=", S, N),
        call("AND", N, FLAG),
        call("UPPER", N),
        call("CASE", N, S),
        call("IF", FLAG, S, N),
        Cast(DAY, INT),
        Aggregate("sum", N),
    ],
    ids=str,
)
def test_mismatched_types_are_refused(expression: Expression) -> None:
    with pytest.raises(StatementError):
        type_of(expression, SCOPE)


def test_an_unknown_column_names_the_nearest() -> None:
    with pytest.raises(StatementError) as caught:
        type_of(call("+", ColumnRef("prise"), N), SCOPE)

    assert caught.value.message == 'unknown column "prise"'
    assert caught.value.hint == 'Did you mean "price"?'


def test_an_unknown_function_names_the_nearest() -> None:
    with pytest.raises(StatementError) as caught:
        call("UPER", S)

    assert caught.value.hint == 'Did you mean "UPPER"?'


def test_a_wrong_number_of_arguments_is_refused() -> None:
    with pytest.raises(StatementError, match="does not take 1 argument"):
        type_of(call("BETWEEN", N), SCOPE)


def test_an_integer_of_more_than_64_bits_has_no_type() -> None:
    with pytest.raises(StatementError, match="cannot use a literal of this type"):
        literal(2**63)


def test_equal_expressions_are_equal() -> None:
    assert call("+", N, literal(1)) == call("+", ColumnRef("i"), literal(1))
    assert len({call("+", N, literal(1)), call("+", N, literal(1))}) == 1


def test_column_names_are_found_in_all_parts_of_an_expression() -> None:
    expression = Cast(call("IF", FLAG, call("+", N, B), literal(1)), STRING)

    assert column_names(expression) == {"flag", "i", "b"}
