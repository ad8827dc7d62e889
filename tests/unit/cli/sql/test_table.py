from datetime import UTC, datetime
from decimal import Decimal

import pytest

from duolog.cli.sql.table import Table, fitted, folds
from duolog.cli.sql.values import csv_of, json_of, text_of
from duolog.cli.terminal.display_width import cells

COLUMNS = (("ID", "BIGINT"), ("NOTE", "STRING"))


def drawn(rows: list[tuple[object, ...]], width: int | None) -> list[str]:
    table = Table(COLUMNS, rows, width)
    return [*table.head(), *(line for row in rows for line in table.row(row))]


def test_a_wide_column_is_folded_at_spaces() -> None:
    assert drawn([(1, "the quick brown fox jumps")], 24) == [
        " ID | NOTE",
        "----+-------------------",
        "  1 | the quick brown",
        "    | fox jumps",
    ]


def test_without_a_terminal_nothing_is_folded() -> None:
    assert drawn([(1, "x" * 300)], None)[2] == f"  1 | {'x' * 300}"


@pytest.mark.parametrize("width", [20, 40, 79, 80])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    rows: list[tuple[object, ...]] = [(10**18, "long words " * 20), (2, "漢字" * 40), (3, None)]

    assert max(map(cells, drawn(rows, width))) <= width


def test_narrow_columns_keep_their_width() -> None:
    assert fitted([2, 100, 5], 40) == [2, 25, 5]


def test_a_row_that_is_wider_than_those_of_the_sample_takes_what_room_is_left() -> None:
    """Keys and numbers of ten thousand rows were broken in two, next to an empty half of the terminal."""
    table = Table(COLUMNS, [(1, "k1")], 24)

    assert [*table.row((9988, "k9988")), *table.row((2, "k2"))] == [" 9988 | k9988", "    2 | k2"]
    assert list(table.row((3, "a note of many words that is long"))) == [
        "    3 | a note of many",
        "      | words that is",
        "      | long",
    ]


def test_a_word_that_is_too_long_is_cut() -> None:
    assert folds("abcdefgh", 3) == ["abc", "def", "gh"]


def test_values_are_written_as_people_read_them() -> None:
    at = datetime(2024, 5, 1, 10, 0, tzinfo=UTC)

    assert text_of({"A": [1, None], "B": at}) == "{A=[1, null], B=2024-05-01T10:00:00.000}"
    assert text_of("a\x1b[2Jb\nc") == "a\\x1b[2Jb\\nc"


def test_json_keeps_digits_and_is_json() -> None:
    value = {"A": Decimal("1.10"), "B": float("nan"), "C": b"ab", "D": "a\nb"}

    assert json_of(value) == '{"A":1.10,"B":"nan","C":"YWI=","D":"a\\nb"}'
    assert csv_of([1, None]) == "[1,null]"
    assert csv_of(None) is None
