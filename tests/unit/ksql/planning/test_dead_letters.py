"""Dead letter topics of queries."""

import pytest

from duolog.ksql.errors import SqlError
from duolog.ksql.session import SqlSession
from duolog.ksql.settings import DEAD_LETTERS

BEGIN = """
    CREATE STREAM s (id STRING KEY, n INT) WITH (kafka_topic='s', value_format='JSON');
    CREATE STREAM dest (id STRING KEY, n INT) WITH (kafka_topic='dest', value_format='JSON');
"""
SET = f"SET '{DEAD_LETTERS}' = 'wrong';"
INSERT = "INSERT INTO dest SELECT * FROM s;"
OUT = "CREATE STREAM out {} AS SELECT * FROM s;"


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        (OUT.format(""), ""),
        (OUT.format("WITH (dead_letter_topic = 'letters')"), "letters"),
        (SET + OUT.format(""), "wrong"),
        (SET + OUT.format("WITH (dead_letter_topic = 'letters')"), "letters"),
        (SET + OUT.format("WITH (dead_letter_topic = '')"), ""),
        (SET + f"UNSET '{DEAD_LETTERS}';" + OUT.format(""), ""),
        ("INSERT INTO dest WITH (dead_letter_topic = 'letters') SELECT * FROM s;", "letters"),
        (SET + INSERT, "wrong"),
    ],
)
def test_a_query_has_its_own_topic_or_that_of_the_session(text: str, topic: str) -> None:
    *_, done = SqlSession().run(BEGIN + text)

    assert done.query is not None
    assert done.query.dead_letters == topic


def test_another_definition_may_have_another_topic() -> None:
    again = "CREATE OR REPLACE STREAM out WITH (dead_letter_topic = 'b') AS SELECT * FROM s WHERE n > 1;"
    *_, done = SqlSession().run(
        BEGIN + OUT.format("WITH (dead_letter_topic = 'a')") + again + "EXPLAIN csas_out_0;"
    )

    assert ("Dead letters", "b") in done.rows[0].rows


@pytest.mark.parametrize(
    ("text", "expected_message"),
    [
        (OUT.format("WITH (dead_letter_topic = 's')"), "Dead letters cannot be written to 's', which the query reads."),
        (OUT.format("WITH (dead_letter_topic = 'OUT')"), "Dead letters cannot be written to 'OUT', which the query writes."),
        ("CREATE STREAM x (n INT) WITH (kafka_topic='x', format='JSON', dead_letter_topic = 'd');", "Invalid config variable"),
    ],
)  # fmt: skip
def test_a_topic_of_the_query_itself_is_refused(text: str, expected_message: str) -> None:
    with pytest.raises(SqlError) as caught:
        list(SqlSession().run(BEGIN + text))

    assert expected_message in caught.value.message


def test_strict_mode_has_no_dead_letters() -> None:
    session = SqlSession(given={"ksql.compatibility": "strict"})
    list(session.run(BEGIN))

    for text, expected_message in (
        (
            SET,
            f"Not recognizable as ksql, streams, consumer, or producer property: '{DEAD_LETTERS}'",
        ),
        (
            OUT.format("WITH (dead_letter_topic = 'a')"),
            "Invalid config variable(s) in the WITH clause: DEAD_LETTER_TOPIC",
        ),
    ):
        with pytest.raises(SqlError) as caught:
            list(session.run(text))
        assert expected_message in caught.value.message
