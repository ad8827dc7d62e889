"""Invalid definitions are refused when a statement is executed, not when its query runs."""

import pytest

from duolog.ksql.session import SqlSession
from unit.ksql.compatibility.test_refusals import refused


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE STREAM s (a INT) WITH (kafka_topic='{}', value_format='JSON', partitions=1)",
        "CREATE TABLE s (a INT PRIMARY KEY, b INT) WITH (kafka_topic='{}', value_format='JSON', partitions=1)",
        "CREATE STREAM s WITH (kafka_topic='{}') AS SELECT id, km FROM rides",
        "CREATE TABLE s WITH (kafka_topic='{}') AS SELECT id, COUNT(*) AS n FROM rides GROUP BY id",
        "CREATE STREAM `{}` AS SELECT id, km FROM rides",
    ],
)
@pytest.mark.parametrize(
    ("name", "expected_message"),
    [
        ("a b", "topic name 'a b' has a character other than letters, digits, '.', '_', '-'"),
        ("a/b", "topic name 'a/b' has a character other than letters, digits, '.', '_', '-'"),
        ("..", 'topic name cannot be ".."'),
        ("x" * 250, "topic name is longer than 249 characters"),
    ],
)
def test_invalid_topic_names_are_refused(statement: str, name: str, expected_message: str) -> None:
    assert (
        refused(statement.format(name)).message == f"KAFKA_TOPIC is not legal: {expected_message}"
    )


def test_the_value_of_an_undefined_variable_is_not_refused() -> None:
    """`duolog sql lineage`, `lint` and `test` read files whose variables are given when they run."""
    declared = "kafka_topic='${env}-rides', value_format='JSON', partitions=1, timestamp='at', timestamp_format='${form}'"
    session = SqlSession()

    list(session.run(f"CREATE STREAM rides (id INT KEY, at STRING) WITH ({declared});"))
    list(session.run("CREATE STREAM far WITH (kafka_topic='${env}-far') AS SELECT * FROM rides;"))

    assert [source.topic for source in session.catalog.sources.values()] == [
        "${env}-rides",
        "${env}-far",
    ]


@pytest.mark.parametrize(
    ("item", "expected_message"),
    [
        ("extra[ARRAY['a']]", "MAP<STRING, INTEGER> has no item ARRAY['a'] (ARRAY<STRING>)"),
        ("extra[tags]", "MAP<STRING, INTEGER> has no item TAGS (ARRAY<STRING>)"),
        ("extra[at]", "MAP<STRING, INTEGER> has no item AT (STRUCT<`X` INTEGER>)"),
        ("tags[extra]", "ARRAY<STRING> has no item EXTRA (MAP<STRING, INTEGER>)"),
    ],
)
def test_invalid_select_items_are_refused(item: str, expected_message: str) -> None:
    statement = f"CREATE STREAM s AS SELECT id, {item} AS i FROM rides"  # noqa: S608 - our own items

    assert refused(statement).message == expected_message


@pytest.mark.parametrize(
    ("query", "expected_message"),
    [
        ("SELECT * FROM rides EMIT CHANGES LIMIT -1", "Push queries don't support negative integers in the LIMIT clause."),
        ("SELECT id, COUNT(*) FROM hourly WINDOW TUMBLING (SIZE 1 DAY) GROUP BY id EMIT FINAL LIMIT -2",
         "Push queries don't support negative integers in the LIMIT clause."),
        ("SELECT * FROM totals LIMIT -1", ("Pull queries don't support negative integers in the LIMIT clause. "
                                          "See https://cnfl.io/queries for more info.")),
    ],
)  # fmt: skip
def test_a_limit_is_not_negative(query: str, expected_message: str) -> None:
    message = refused(query).message

    assert message.startswith(expected_message)
    assert ("Add EMIT CHANGES" in message) == ("EMIT" not in query)
