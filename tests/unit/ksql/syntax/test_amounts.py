"""Texts that are short, or allowed as a body, and would take all time or memory of a process."""

import pytest
from sqlglot import exp

from duolog.ksql.errors import SqlError
from duolog.ksql.session import SqlSession
from duolog.ksql.syntax import amounts
from duolog.ksql.syntax.amounts import Amount
from duolog.ksql.syntax.script import parse, pieces, substituted


def run(text: str, *, limited: bool = False) -> SqlSession:
    session = SqlSession()
    for node, written in session.read(text, Amount() if limited else None):
        if not isinstance(node, exp.Query):
            session.execute(node, written)
    return session


def test_variables_that_repeat_each_other_do_not_grow_without_end() -> None:
    grown = "".join(
        f"DEFINE b{n} = '{'${a}' * 10}'; DEFINE a = '${{b{n}}}';" for n in range(9)
    )  # 100 x 10^9 characters

    with pytest.raises(SqlError, match=r"values of variables have more than 1048576 characters"):
        run(f"DEFINE a = '{'x' * 100}'; {grown}")


def test_all_variables_are_small_together() -> None:
    text = "".join(f"DEFINE a{n} = '{'x' * (amounts.VARIABLES_MAX // 4)}';" for n in range(4))

    assert len(run(text).state.variables) == 4
    with pytest.raises(SqlError, match="UNDEFINE"):
        run(text + "DEFINE more = 'x';")


def test_a_text_with_its_variables_is_limited_before_it_is_made() -> None:
    values = {"A": "x" * amounts.VARIABLES_MAX}

    assert len(substituted("${a}" * 4, values)) == amounts.SUBSTITUTED_MAX
    with pytest.raises(SqlError, match="longer than 4194304 characters"):
        substituted("${a}" * 1_000_000, values)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SHOW STREAMS;" * 1001, "more than 1000 statements"),
        ("SELECT * FROM t WHERE k IN (" + "1," * 10_000 + "1);", "more than 20000 tokens"),
        ("SELECT CASE " + "WHEN a=1 THEN 2 " * 4000 + "END FROM t;", "more than 20000 tokens"),
        (("SELECT " + "a," * 9000 + "a FROM t;") * 6, "more than 100000 tokens"),
        ("DEFINE a = '" + "1," * 9000 + "';" + "SELECT ${a}${a}1 FROM t;", "20000 tokens"),
        ("DEFINE a = '" + "1," * 9000 + "';" + "SELECT ${a}1 FROM t;" * 6, "100000 tokens"),
        ("DEFINE a = '" + "SHOW STREAMS;" * 999 + "';" + "${a}${a}", "1000 statements"),
    ],
)
def test_texts_of_others_are_limited_before_they_are_parsed(text: str, message: str) -> None:
    with pytest.raises(SqlError, match=message) as refused:
        run(text, limited=True)

    assert "several requests" in refused.value.hint


def test_a_comment_ends_with_a_carriage_return() -> None:
    """The parser ends it there: what follows counts."""
    with pytest.raises(SqlError, match=r"more than 1000 statements"):
        run("-- all of it\r" + "SHOW TYPES;" * (amounts.STATEMENTS_MAX + 1), limited=True)


def test_a_text_of_the_own_user_may_be_long() -> None:
    assert len(list(SqlSession().read("SHOW STREAMS;" * 1001))) == 1001


def test_a_long_text_in_a_statement_is_one_token() -> None:
    literal = "it''s; " * 100_000
    text = f"DEFINE a = '{literal}'; -- {'a ' * 100_000}\nSHOW STREAMS;"

    assert len(list(SqlSession().read(text, Amount()))) == 2


@pytest.mark.parametrize("start", ["/*", "/**", "'", "`", '"', "--", "${", "''", "/*/"])
def test_unclosed_parts_take_linear_time(start: str) -> None:
    """A quadratic search takes hours here, and no other thread of the process runs meanwhile."""
    text = f"{start} " * 500_000

    assert list(pieces(text))
    Amount.take(Amount(), "/* " * 500_000)


def test_an_unclosed_comment_is_reported_at_its_start() -> None:
    for comment in ("/* a; b", "/*", "/*/", "/* * /"):
        with pytest.raises(SqlError, match=r"line 1:7: .*\n?Expecting \*/ to close the comment"):
            parse(f"SHOW; {comment}")


def test_each_statement_has_its_own_source() -> None:
    texts = [text for _, text in SqlSession().read("SHOW STREAMS;\n SHOW TABLES ;" * 1000)]

    assert texts == ["SHOW STREAMS;", "SHOW TABLES ;"] * 1000


def test_types_that_name_each_other_do_not_grow_without_end() -> None:
    types = "".join(
        f"CREATE TYPE r{n + 1} AS STRUCT<{', '.join(f'f{k} r{n}' for k in range(10))}>;"
        for n in range(4)
    )

    with pytest.raises(SqlError, match="Type 'R4' has more than 20000 fields"):
        run(f"CREATE TYPE r0 AS STRUCT<a INT>; {types}")


def test_columns_of_large_types_are_limited_together() -> None:
    types = "CREATE TYPE r AS STRUCT<" + ", ".join(f"f{k} INT" for k in range(5000)) + ">;"
    columns = ", ".join(f"c{k} MAP<STRING, ARRAY<r>>" for k in range(4))

    with pytest.raises(SqlError, match="The schema has more than 20000 fields"):
        run(f"{types} CREATE STREAM s ({columns}) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');")
