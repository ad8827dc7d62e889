import pytest

from duolog.ksql.session import SqlSession
from duolog.runtime.sql.command_log.desired_query import DesiredQuery

CREATED = """
CREATE STREAM s (a INT) WITH (kafka_topic='t', value_format='json', partitions=1);
CREATE STREAM one AS SELECT * FROM s;
"""


@pytest.mark.parametrize(
    ("start", "replaces"),
    [
        ("create or  replace", True),
        ("-- with b, at last\nCREATE OR REPLACE", True),
        ("/* with b */ CREATE /* it */ OR -- is\n REPLACE", True),
        ("-- CREATE OR REPLACE\nCREATE", False),
        ("/* CREATE OR REPLACE */ CREATE", False),
        ("CREATE", False),
    ],
)
def test_a_replacement_is_known_whatever_comments_its_statement_has(
    start: str, *, replaces: bool
) -> None:
    """Its state was not upgraded: the query failed, because its state belonged to another topology."""
    session = SqlSession()
    name = "one" if replaces else "two"
    list(session.run(f"{CREATED}{start} STREAM {name} AS SELECT a, a + 1 AS b FROM s;"))
    query = list(session.state.queries.values())[-1]

    assert query.statement.startswith(start)
    assert DesiredQuery(query).replaces == replaces
