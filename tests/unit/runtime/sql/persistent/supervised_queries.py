"""Two queries to supervise, and the wait for what becomes of them."""

from collections.abc import Callable
from typing import Final

from duolog.ksql.session import PersistentQuery, SqlSession
from duolog.runtime.sql.persistent.query_supervisor import QuerySupervisor

WAIT_S: Final = 60.0
TEXT: Final = """
CREATE STREAM s (a INT) WITH (kafka_topic='t', value_format='json', partitions=1);
CREATE STREAM one AS SELECT * FROM s;
CREATE STREAM two AS SELECT * FROM s;
"""
ONE, TWO = "CSAS_ONE_0", "CSAS_TWO_1"


def queries() -> dict[str, PersistentQuery]:
    session = SqlSession()
    list(session.run(TEXT))
    return session.state.queries


def wait_for(supervisor: QuerySupervisor, done: Callable[[], bool]) -> None:
    assert supervisor.wait_until(done, WAIT_S)
