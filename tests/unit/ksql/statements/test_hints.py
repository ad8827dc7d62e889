"""Hints of errors that beginners in ksqlDB's SQL make."""

import pytest

from duolog.ksql.errors import SqlError
from duolog.ksql.session import SqlSession

BEGIN = """
    CREATE STREAM orders (id STRING KEY, customer STRING, amount INT)
      WITH (kafka_topic='orders', value_format='JSON');
"""


def refused(statement: str) -> SqlError:
    session = SqlSession()
    list(session.run(BEGIN))
    with pytest.raises(SqlError) as caught:
        list(session.run(statement))
    return caught.value


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("NUMBER", "Did you mean INT, BIGINT, DOUBLE or DECIMAL?"),
        ("TEXT", "Did you mean STRING?"),
        ("float", "Did you mean DOUBLE?"),
        ("long", "Did you mean BIGINT?"),
        ("datetime", "Did you mean TIMESTAMP?"),
        ("STRNG", "Did you mean STRING?"),
        ("colour", "Did you mean COLOURS?"),
        ("xyz", "Use one of BOOLEAN, INT, BIGINT, DOUBLE"),
    ],
)
def test_an_unknown_type_suggests_ours(written: str, meant: str) -> None:
    error = refused(
        "CREATE TYPE colours AS STRUCT<r INT>; "
        f"CREATE STREAM s (a {written}) WITH (kafka_topic='s', value_format='JSON');"
    )

    assert error.message == f"Cannot resolve unknown type: {written.upper()}"
    assert error.hint.startswith(meant)


@pytest.mark.parametrize("name", ["orderz", "ordr"])
def test_an_unknown_source_suggests_the_most_similar_one(name: str) -> None:
    error = refused(f"CREATE STREAM t AS SELECT * FROM {name};")  # noqa: S608 - nothing is run

    assert error.message == f"{name.upper()} does not exist."
    assert error.hint == "Did you mean ORDERS?"


def test_a_source_like_no_other_tells_to_declare_a_stream_over_the_topic() -> None:
    error = refused("CREATE STREAM t AS SELECT * FROM payments;")

    assert "To read a topic, declare a stream over it: CREATE STREAM" in error.hint


def test_a_source_in_another_case_has_one_suggestion_only() -> None:
    error = refused('CREATE STREAM t AS SELECT * FROM "orders";')

    assert "Did you mean ORDERS?" in error.message
    assert error.hint == ""


@pytest.mark.parametrize("written", ['"alice"', "`alice`"])
def test_a_text_in_the_quotes_of_names_suggests_single_quotes(written: str) -> None:
    error = refused(f"CREATE STREAM t AS SELECT * FROM orders WHERE customer = {written};")  # noqa: S608 - as above

    assert error.message.endswith("WHERE column 'alice' cannot be resolved.")
    assert error.hint == "Write a text in single quotes: 'alice'. Other quotes are for names."


def test_a_quoted_name_similar_to_a_column_suggests_the_column() -> None:
    error = refused("CREATE STREAM t AS SELECT * FROM orders WHERE `Amount` = 1;")

    assert error.hint == "Did you mean AMOUNT?"


def test_an_unquoted_unknown_column_is_not_taken_for_a_text() -> None:
    assert refused("CREATE STREAM t AS SELECT xyz FROM orders;").hint == ""


@pytest.mark.parametrize("sign", ["==", "= ="])
def test_two_equals_signs_say_that_one_compares(sign: str) -> None:
    error = refused(f"CREATE STREAM t AS SELECT * FROM orders WHERE amount {sign} 1;")  # noqa: S608 - as above

    assert error.kind == "syntax"
    assert "Expecting an expression, found '='. Write one '=' to compare" in error.message


@pytest.mark.parametrize(
    ("statement", "hint"),
    [
        (
            "CREATE STREAM orders (a INT)",
            "Run DROP STREAM ORDERS; first, or write CREATE OR REPLACE.",
        ),
        (
            "CREATE TABLE orders (a INT PRIMARY KEY)",
            "Run DROP STREAM ORDERS; first, or choose another",
        ),
    ],
)
def test_a_name_that_is_taken_says_how_to_get_rid_of_it(statement: str, hint: str) -> None:
    error = refused(f"{statement} WITH (kafka_topic='orders', format='JSON');")

    assert error.hint.startswith(hint)
