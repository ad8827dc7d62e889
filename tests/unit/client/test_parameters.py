"""Values as literals: what SQL reads back is the value that was given."""

import datetime as dt
from decimal import Decimal
from enum import IntEnum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.client.errors import DataError, ProgrammingError
from duolog.client.parameters import bound, literal
from duolog.ksql.syntax.script import parse


class Count(IntEnum):
    MANY = 1000


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
        (np.float64(1.5), "1.5E0"),
        (np.float32(1.5), "1.5E0"),
        (np.int64(-3), "-3"),
        (Count.MANY, "1000"),
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


def test_a_negative_number_after_a_minus_is_not_a_comment() -> None:
    assert bound("SELECT n -? FROM s", [-3]) == "SELECT n - -3 FROM s"


@pytest.mark.parametrize(
    ("statement", "text"),
    [("LIMIT?", "LIMIT 3"), ("a=?AND b", "a=3 AND b"), ("'x'?", "'x' 3"), ("(?,?)", "(3,3)")],
)
def test_a_value_is_not_joined_to_the_words_next_to_it(statement: str, text: str) -> None:
    assert bound(statement, [3] * statement.count("?")) == text


@pytest.mark.parametrize("begin", ["'it''s", '"a""b', "`a``b", "/* a"])
def test_a_question_mark_in_a_text_without_end_is_not_a_parameter(begin: str) -> None:
    with pytest.raises(ProgrammingError, match="0 question marks"):
        bound(f"SELECT {begin} AND name = ?", [" OR true --"])


@pytest.mark.parametrize("values", [{"id": 1}, "a", b"a", 1])
def test_values_that_are_not_a_sequence_of_values_are_refused(values: object) -> None:
    with pytest.raises(ProgrammingError, match="a list or a tuple"):
        bound("a = ?", values)  # type: ignore[arg-type]
