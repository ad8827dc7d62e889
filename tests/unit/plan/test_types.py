import pytest

from duolog.core.errors import StatementError
from duolog.plan.types import (
    BIGINT,
    STRING,
    Array,
    Column,
    Decimal,
    Map,
    Struct,
    parse_columns,
    parse_type,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bigint", BIGINT),
        ("varchar", STRING),
        ("DECIMAL(10)", Decimal(10, 0)),
        ("array<map<string, bigint>>", Array(Map(STRING, BIGINT))),
        (
            "STRUCT<`a b` BIGINT, c DECIMAL(4,2)>",
            Struct((Column("a b", BIGINT), Column("c", Decimal(4, 2)))),
        ),
    ],
)
def test_a_type_is_parsed_and_formatted_back(text: str, expected: object) -> None:
    found = parse_type(text)

    assert found == expected
    assert parse_type(str(found)) == found


def test_an_unknown_type_names_the_nearest() -> None:
    with pytest.raises(StatementError) as caught:
        parse_columns("carrier STRNG")

    assert caught.value.message == 'unknown type "STRNG"'
    assert caught.value.hint == 'Did you mean "STRING"?'


@pytest.mark.parametrize(("word", "meant"), [("dict", "MAP"), ("LIST", "ARRAY")])
def test_type_names_of_other_systems_are_refused_with_the_right_name(word: str, meant: str) -> None:
    with pytest.raises(StatementError) as caught:
        parse_type(word)

    assert caught.value.hint == f'Did you mean "{meant}"?'


@pytest.mark.parametrize("text", ["carrier", "STRING,", "a BIGINT b", "a ARRAY<BIGINT", "1a INT"])
def test_columns_that_cannot_be_parsed_are_refused(text: str) -> None:
    with pytest.raises(StatementError):
        parse_columns(text)


def test_a_column_declared_twice_is_refused() -> None:
    with pytest.raises(StatementError, match='column "a" is declared twice'):
        parse_columns("a INT, b INT, a STRING")


def test_an_empty_list_of_columns_is_valid() -> None:
    assert parse_columns(" ") == ()


def test_a_decimal_has_at_most_38_digits() -> None:
    with pytest.raises(StatementError, match=r"no type DECIMAL\(39,0\)"):
        parse_type("DECIMAL(39)")


def test_a_time_of_day_is_refused_in_declared_columns() -> None:
    with pytest.raises(StatementError, match="no type TIME") as caught:
        parse_type("ARRAY<TIME>")

    assert "STRING" in caught.value.hint
