import pytest

from duolog.ksql.editor.statement_ends import ends_of, is_whole, whole_statements


@pytest.mark.parametrize(
    "text", ["SELECT ';", "SELECT 1 -- ;", "/* ; */", 'SELECT "a;', "SELECT `a;b`", "/* ;"]
)
def test_a_semicolon_in_a_text_a_name_or_a_comment_ends_nothing(text: str) -> None:
    assert ends_of(text) == []
    assert not is_whole(text) or text == "/* ; */"


def test_a_quote_that_is_doubled_does_not_end_a_text() -> None:
    assert ends_of("SELECT 'it''s; so';") == [19]


def test_a_statement_is_taken_as_soon_as_its_end_has_come() -> None:
    lines = iter(["SHOW\n", "STREAMS;\n", "\\timing\n", "SHOW TABLES"])
    texts = whole_statements(lines)

    assert next(texts) == "SHOW\nSTREAMS;\n"
    assert list(texts) == ["\\timing\n", "SHOW TABLES"]


def test_comments_alone_are_no_statement() -> None:
    assert list(whole_statements(["-- nothing\n", "\n"])) == []
