# ruff: noqa: S608 - the statements are ours
"""Invalid tokens and out-of-range numbers are errors with a position, without side effects."""

import pytest

from duolog.ksql.errors import SqlError
from duolog.ksql.session import SqlSession
from duolog.ksql.syntax.script import parse

LONG = "9" * 5000


@pytest.mark.parametrize(
    ("text", "line", "column", "expected_message"),
    [
        ("SELECT 'abc FROM s;", 1, 8, "Expecting ' to close the text, found the end"),
        ("SHOW STREAMS;\n  SELECT 'it''s FROM s;", 2, 10, "Expecting ' to close the text"),
        (r"SELECT 'a\'b' FROM s;", 1, 13, "Expecting ' to close the text"),
        ('SELECT "a FROM s;', 1, 8, 'Expecting " to close the name'),
        ("SELECT `a FROM s;", 1, 8, "Expecting ` to close the name"),
        ("SELECT 'a' /* b FROM s;", 1, 12, "Expecting */ to close the comment"),
    ],
)
def test_an_unclosed_token_is_reported_with_its_position(
    text: str, line: int, column: int, expected_message: str
) -> None:
    with pytest.raises(SqlError) as caught:
        parse(text)

    assert expected_message in caught.value.message
    assert caught.value.at is not None
    assert (caught.value.at.line, caught.value.at.column) == (line, column)


def test_a_multi_line_string_is_reported_at_its_start() -> None:
    with pytest.raises(
        SqlError, match=r"^line 2:10: Syntax Error\nExpecting FROM, found"
    ) as caught:
        parse("SHOW STREAMS;\n  SELECT 'a\nbc\n';")

    assert caught.value.at is not None
    assert (caught.value.at.line, caught.value.at.column) == (2, 10)


def test_a_multi_line_name_is_reported_with_its_first_line() -> None:
    with pytest.raises(SqlError, match="Metastore") as caught:
        list(SqlSession().run("SHOW TYPES;\nDESCRIBE `a\nb\nc`;"))

    assert caught.value.at is not None
    assert (caught.value.at.line, caught.value.at.column) == (2, 1)


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT {LONG} FROM s;",
        f"SELECT -{LONG} FROM s;",
        f"SELECT * FROM s LIMIT {LONG};",
        f"SELECT COUNT(*) FROM s WINDOW TUMBLING (SIZE {LONG} SECONDS) GROUP BY k;",
        f"CREATE STREAM s (v DECIMAL({LONG}, 1)) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');",
        f"CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS={LONG});",
    ],
)
def test_a_number_of_thousands_of_digits_is_refused(text: str) -> None:
    with pytest.raises(SqlError, match=r"Invalid numeric literal: -?9999"):
        parse(text)
