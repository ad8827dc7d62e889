# ruff: noqa: S608 - the statements are ours
"""Texts that have no tokens, or numbers that no type keeps, are errors that say where, and nothing else ends."""

import pytest

from duolog.ksql.errors import SqlError
from duolog.ksql.script import parse

LONG = "9" * 5000


@pytest.mark.parametrize(
    ("text", "line", "column", "told"),
    [
        ("SELECT 'abc FROM s;", 1, 8, "Expecting ' to close the text, found the end"),
        ("SHOW STREAMS;\n  SELECT 'it''s FROM s;", 2, 10, "Expecting ' to close the text"),
        (r"SELECT 'a\'b' FROM s;", 1, 13, "Expecting ' to close the text"),
        ('SELECT "a FROM s;', 1, 8, 'Expecting " to close the name'),
        ("SELECT `a FROM s;", 1, 8, "Expecting ` to close the name"),
        ("SELECT 'a' /* b FROM s;", 1, 12, "Expecting */ to close the comment"),
    ],
)
def test_what_is_not_closed_is_told_with_its_place(
    text: str, line: int, column: int, told: str
) -> None:
    with pytest.raises(SqlError) as caught:
        parse(text)

    assert told in caught.value.message
    assert caught.value.at is not None
    assert (caught.value.at.line, caught.value.at.column) == (line, column)


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
