"""Streams over several topics, and over topics that match a pattern."""

import json

import pytest

from duolog.cli.sql.lineage import as_text, relations_of
from duolog.ksql.errors import SqlError
from duolog.ksql.session import Done, SqlSession
from duolog.testing.reference import ReferenceEvaluator, SourceRecord

BEGIN = """
    CREATE STREAM both (id STRING KEY, n INT) WITH (kafka_topic='eu, us', value_format='JSON', partitions=2);
    CREATE STREAM all (id STRING KEY, n INT) WITH (topic_pattern='orders-.*', value_format='JSON');
    CREATE STREAM one (id STRING KEY, n INT) WITH (kafka_topic='one', value_format='JSON');
    CREATE STREAM own (id STRING KEY, ROWTOPIC INT) WITH (kafka_topic='own', value_format='JSON');
"""
STRICT = {"ksql.compatibility": "strict"}


def done(statement: str, given: dict[str, str] | None = None) -> Done:
    *_, last = SqlSession(given=given).run(f"{BEGIN}{statement};")
    return last


def run(statement: str, *topics: str) -> list[object]:
    """Return the values that a query writes for a record of each topic."""
    query = done(statement).query
    assert query is not None
    evaluator = ReferenceEvaluator(query.planned.plan)
    records = [
        SourceRecord(topic, 0, 0, at, b"k", b'{"N":1,"ROWTOPIC":2}', ())
        for at, topic in enumerate(topics)
    ]
    return [json.loads(out.value or b"") for one in records for out in evaluator.run([one])]


def test_the_records_of_several_topics_are_one_stream() -> None:
    query = "CREATE STREAM out AS SELECT id, n, ROWTOPIC AS topic FROM both"

    assert run(query, "us", "eu", "us") == [{"N": 1, "TOPIC": one} for one in ("us", "eu", "us")]


def test_the_topics_that_match_a_pattern_are_one_stream() -> None:
    query = "CREATE STREAM out AS SELECT id, n, ROWTOPIC AS topic FROM all"

    found = run(query, "orders-eu", "orders-", "orders-us")

    assert found == [{"N": 1, "TOPIC": one} for one in ("orders-eu", "orders-", "orders-us")]


def test_the_topic_is_a_column_of_joins_and_groups() -> None:
    joined = done(
        "CREATE STREAM out AS SELECT b.id, b.ROWTOPIC AS topic, o.n FROM both b JOIN one o WITHIN 1 HOUR ON b.id = o.id"
    )
    grouped = (
        "CREATE TABLE out AS SELECT ROWTOPIC AS topic, COUNT(*) AS n FROM both GROUP BY ROWTOPIC"
    )

    assert joined.query is not None
    assert str(joined.query.planned.columns[1]) == "`TOPIC` STRING"
    assert run(grouped, "us", "eu", "us") == [{"N": 1}, {"N": 1}, {"N": 2}]


def test_a_declared_column_of_that_name_wins() -> None:
    assert run("CREATE STREAM out AS SELECT id, ROWTOPIC FROM own", "own") == [{"ROWTOPIC": 2}]
    assert run("CREATE STREAM out AS SELECT * FROM own", "own") == [{"ROWTOPIC": 2}]


def test_a_star_does_not_include_the_topic() -> None:
    assert run("CREATE STREAM out AS SELECT * FROM both WHERE ROWTOPIC IS NOT NULL", "us") == [
        {"N": 1}
    ]


def test_topics_are_shown_as_they_were_named() -> None:
    listed = done("SHOW STREAMS").rows[0].rows
    _, facts, _ = done("DESCRIBE all EXTENDED").rows
    topics = done("SHOW ALL TOPICS").rows[0].rows

    assert [row[:2] for row in listed] == [
        ("ALL", "orders-.*"),
        ("BOTH", "eu,us"),
        ("ONE", "one"),
        ("OWN", "own"),
    ]
    assert ("Topics that match", "orders-.*") in facts.rows
    assert topics == (("eu", 2), ("one", None), ("own", None), ("us", 2))
    assert "BOTH (stream over topic eu,us)" in list(as_text(relations_of(BEGIN)))


def test_columns_are_traced_to_a_stream_over_several_topics() -> None:
    select = "CREATE STREAM out AS SELECT id, n AS m FROM both;"

    assert "  M   ◀ BOTH.N" in list(as_text(relations_of(BEGIN + select)))


@pytest.mark.parametrize(
    ("statement", "expected_message"),
    [
        ("CREATE TABLE t (id INT PRIMARY KEY, n INT) WITH (kafka_topic='a,b', format='JSON')", "Table T must read a single topic"),
        ("CREATE TABLE t (id INT PRIMARY KEY, n INT) WITH (topic_pattern='a.*', format='JSON')", "Table T must read a single topic"),
        ("CREATE STREAM s (n INT) WITH (kafka_topic='a,,b', format='JSON')", "KAFKA_TOPIC contains an empty name"),
        ("CREATE STREAM s (n INT) WITH (kafka_topic='a', topic_pattern='b', format='JSON')", "Cannot supply both"),
        ("CREATE STREAM s (n INT) WITH (topic_pattern='(', format='JSON')", "TOPIC_PATTERN is not a valid regular expression"),
        ("CREATE STREAM s WITH (kafka_topic='a,b') AS SELECT * FROM one", "writes a single topic, not several"),
        ("CREATE STREAM s WITH (topic_pattern='a') AS SELECT * FROM one", "Invalid config variable(s) in the WITH clause"),
        ("INSERT INTO both SELECT * FROM one", "Cannot insert into BOTH: it reads several topics, eu,us."),
        ("INSERT INTO all (id) VALUES ('a')", "Cannot insert values into ALL: it reads several topics"),
        ("DROP STREAM both DELETE TOPIC", "Cannot delete the topic of BOTH"),
        ("CREATE OR REPLACE STREAM both (id STRING KEY, n INT) WITH (kafka_topic='eu', value_format='JSON')", "kafkaTopicName='eu,us'"),
        ("CREATE STREAM s AS SELECT ROWTOPIC FROM both", "Reserved column name in select: `ROWTOPIC`"),
    ],
)  # fmt: skip
def test_statements_that_need_one_topic_are_refused(statement: str, expected_message: str) -> None:
    with pytest.raises(SqlError) as caught:
        done(statement)

    assert expected_message in caught.value.message


def test_strict_mode_reads_one_topic_of_that_name() -> None:
    create = "CREATE STREAM s (id STRING KEY, n INT) WITH ({}, value_format='JSON');"
    session = SqlSession(given=STRICT)
    list(session.run(create.format("kafka_topic='a'")))

    for statement, expected_message in (
        (
            create.replace(" s ", " p ").format("kafka_topic='a,b'"),
            "topic name 'a,b' has a character",
        ),
        (create.format("topic_pattern='a.*'"), "Invalid config variable"),
        (
            "CREATE STREAM o AS SELECT n, ROWTOPIC AS t FROM s;",
            "column 'ROWTOPIC' cannot be resolved",
        ),
    ):
        with pytest.raises(SqlError) as caught:
            list(session.run(statement))
        assert expected_message in caught.value.message
