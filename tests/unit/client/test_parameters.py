"""Values as literals: what SQL reads back is the value that was given."""

import datetime as dt
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.client.errors import DataError, ProgrammingError
from duolog.client.parameters import bound, literal
from duolog.ksql.syntax.script import parse


@given(st.text())
def test_any_text_is_read_back(text: str) -> None:
    (node,) = parse(f"SELECT {literal(text)} AS x FROM s;")  # noqa: S608 - that is the point

    assert node.expressions[0].this.name == text


@given(st.lists(st.sampled_from(["?", "'?'", '"?"', "`?`", "-- ?\n", "/* ? */", "'it''s ?'", "a"])))
def test_only_question_marks_outside_of_texts_names_and_comments_are_parameters(
    pieces: list[str],
) -> None:
    places = pieces.count("?")

    text = bound(" ".join(pieces), [7] * places)

    assert text == " ".join("7" if piece == "?" else piece for piece in pieces)


def test_a_value_is_not_searched_for_further_parameters() -> None:
    assert bound("a = ? AND b = ?", ["?", "'; DROP TABLE t; --"]) == (
        "a = '?' AND b = '''; DROP TABLE t; --'"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        (True, "true"),
        (-3, "-3"),
        (2**40, "1099511627776"),
        (1.0, "1.0E0"),
        (1e300, "1e+300"),
        (Decimal("12.30"), "12.30"),
        (Decimal("1E+2"), "CAST(100 AS DECIMAL(3, 0))"),
        (b"\x00\xff", "TO_BYTES('00ff', 'hex')"),
        (dt.date(2026, 1, 31), "'2026-01-31'"),
        (dt.time(10, 15), "'10:15:00'"),
        (dt.datetime.fromisoformat("2026-01-02T03:04:05.678"), "'2026-01-02T03:04:05.678'"),
        (
            dt.datetime(2026, 1, 2, 3, tzinfo=dt.timezone(dt.timedelta(hours=2))),
            "'2026-01-02T01:00:00.000'",
        ),
        ([1, None], "ARRAY[1, NULL]"),
        ({"k": "v"}, "MAP('k' := 'v')"),
    ],
)
def test_literals(value: object, text: str) -> None:
    assert literal(value) == text


@pytest.mark.parametrize("value", [float("nan"), float("inf"), Decimal("NaN"), object(), {1, 2}])
def test_a_value_without_a_literal_is_an_error(value: object) -> None:
    with pytest.raises(DataError, match="has no literal"):
        literal(value)


@pytest.mark.parametrize(("statement", "values"), [("a = ?", []), ("a = ?", [1, 2]), ("a", [1])])
def test_the_number_of_values_must_fit(statement: str, values: list[int]) -> None:
    with pytest.raises(ProgrammingError, match="question mark"):
        bound(statement, values)
