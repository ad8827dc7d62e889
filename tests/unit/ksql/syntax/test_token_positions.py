"""Tokens have their position in the text, also if blanks before them are skipped."""

import pytest
from sqlglot import Token
from sqlglot.dialects.dialect import Dialect

from duolog.ksql.syntax.dialect import Ksql
from duolog.ksql.syntax.script import is_blank, pieces, placed_pieces

TEXTS = [
    "",
    "  ",
    "\n \n\n",
    "SELECT 1;",
    "  SELECT 1;",
    "\n\n  SELECT\n a;",
    "   \n   -- c\n  SELECT 'a\nb' FROM x;",
    " \r\n\t SELECT 1",
    " /* x */ SELECT 1",
]


def facts(tokens: list[Token]) -> list[tuple[object, ...]]:
    return [
        (one.token_type, one.text, one.line, one.col, one.start, one.end, one.comments)
        for one in tokens
    ]


@pytest.mark.parametrize("text", TEXTS)
def test_tokens_have_the_places_that_sqlglot_gives_them(text: str) -> None:
    assert facts(Ksql().tokenize(text)) == facts(Dialect.tokenize(Ksql(), text))


@pytest.mark.parametrize("text", ["a; b;c", "\n a;\nb; c;\n\n  d", "'x;y';;", " -- a;\n b"])
def test_a_piece_begins_where_its_blanks_end(text: str) -> None:
    padded = [(piece.lstrip("\n "), piece.count("\n")) for piece in pieces(text)]
    placed = [
        (one.text.lstrip("\n "), one.lines + one.text.count("\n")) for one in placed_pieces(text)
    ]

    assert placed == padded
    for one in placed_pieces(text):
        start = sum(len(line) + 1 for line in text.split("\n")[: one.lines]) + one.columns
        assert text.startswith(one.text, start)


def test_blanks_alone_are_blank() -> None:
    assert is_blank(" \n\t ;")
    assert not is_blank(" a ")
