import pytest

from duolog.cli.sql.error_report import lines_of
from duolog.ksql.errors import Place, SqlError
from duolog.ksql.syntax.script import parse

TEXT = "SELECT a\n\tFROM fligths;"


def test_the_caret_is_below_the_error() -> None:
    error = SqlError("FLIGTHS does not exist.", at=Place(2, 7, 0, 0), statement=TEXT)

    assert lines_of(error, TEXT, names=["FLIGHTS"]) == [
        "line 2:7: FLIGTHS does not exist.",
        "  \tFROM fligths;",
        "  \t     ^",
        "hint: Did you mean FLIGHTS?",
    ]


def test_without_a_terminal_the_place_is_a_number() -> None:
    error = SqlError("FLIGTHS does not exist.", at=Place(2, 7, 0, 0), hint="Create it.")

    assert lines_of(error, TEXT, file="a.sql", caret=False) == [
        "a.sql:2:7: FLIGTHS does not exist.",
        "hint: Create it.",
    ]


def test_a_position_is_reported_once() -> None:
    message = "Line: 2, Col: 7: SELECT column 'A' cannot be resolved."
    error = SqlError(message, at=Place(2, 7, 0, 0))

    assert (
        lines_of(error, TEXT, caret=False)[0] == "line 2:7: SELECT column 'A' cannot be resolved."
    )


def test_a_statement_that_was_just_typed_is_not_repeated() -> None:
    with pytest.raises(SqlError) as caught:
        parse("SHOW STREAMS;\nSELCT 1;")

    assert lines_of(caught.value, "SHOW STREAMS;\nSELCT 1;") == [
        "line 2:1: Syntax Error",
        "Unknown statement 'SELCT'",
        "  SELCT 1;",
        "  ^",
        "hint: Did you mean SELECT?",
    ]
