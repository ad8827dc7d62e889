"""Sources of statements: each is parsed to its own statement again, as the command topic requires."""

import random

import pytest

from duolog.ksql.errors import SqlError
from duolog.ksql.session import SqlSession
from duolog.ksql.syntax.script import parse, parsed

FRAGMENTS = (
    *("CREATE TYPE a AS INT", "DROP TYPE b", "SHOW TYPES", "SET 'a'='b;c'", "DEFINE x = '1'"),
    *(";", ";", ";", " ", "\n", "\r", "\x0b", "\u2028", "é", "{%", "%}", "$$", "\\", "'", "--", "/*", "*/"),
    *("-- c", "/* x ; */", "/*+ h ; */", "{# j ; #}", "'a;b'", "`q;r`", '"u;v"'),
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("SHOW TYPES; SHOW QUERIES", ["SHOW TYPES;", "SHOW QUERIES"]),
        ("SHOW TYPES;; -- no more\n;", ["SHOW TYPES;"]),
        ("-- one\nSHOW TYPES; -- two ;\nSHOW QUERIES;", ["-- one\nSHOW TYPES;", "-- two ;\nSHOW QUERIES;"]),
        ("SHOW TYPES -- a\r; SHOW QUERIES;", ["SHOW TYPES -- a\r;", "SHOW QUERIES;"]),
        ("SHOW TYPES; {# b ; #} SHOW QUERIES;", ["SHOW TYPES;", "{# b ; #} SHOW QUERIES;"]),
        ("SHOW /* ; */ TYPES; SET ';' = '''; ';", ["SHOW /* ; */ TYPES;", "SET ';' = '''; ';"]),
        (" -- nothing", []),
    ],
)  # fmt: skip
def test_each_statement_has_its_own_source(text: str, sources: list[str]) -> None:
    assert [source for _, source in parsed(text)] == sources
    assert [source for _, source in SqlSession().read(text)] == sources


def test_a_source_is_parsed_to_its_own_statement_again() -> None:
    chosen, found = random.Random(11), 0  # noqa: S311 - not a secret
    for _ in range(3_000):
        text = "".join(chosen.choice(FRAGMENTS) for _ in range(chosen.randint(1, 9)))
        try:
            statements = parsed(text)
        except SqlError:
            continue
        for node, source in statements:
            assert parse(source) == [node], (text, source)
        found += len(statements)
    assert found > 200


@pytest.mark.parametrize("value", ["a; DROP STREAM b", "a;\nSHOW TYPES", "a -- \r; DROP STREAM b"])
def test_the_value_of_a_variable_adds_no_statement(value: str) -> None:
    session = SqlSession()
    session.state.variables["NAME"] = value

    with pytest.raises(SqlError, match="the values of variables make 2 statements of one"):
        list(session.read("DROP STREAM ${name};"))


def test_a_value_in_quotes_may_have_a_semicolon() -> None:
    session = SqlSession()
    session.state.variables["NAME"] = "a; DROP STREAM b"

    ((_, source),) = session.read("SET 'x' = '${name}';")

    assert source == "SET 'x' = 'a; DROP STREAM b';"
