"""Processes of groups with fake queries, and desired queries of any id."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import waiting
from duolog.ksql.session import SqlSession
from duolog.ksql.statements.state import PersistentQuery
from duolog.runtime.sql.command_log.desired_query import DesiredQuery
from duolog.runtime.sql.groups.group_process import GroupProcess
from duolog.runtime.sql.groups.limits import GroupLimits
from duolog.runtime.sql.groups.messages import Setup
from duolog.runtime.sql.persistent.spark_queries import SparkQuerySettings
from duolog.security.clients.brokers import Brokers

FAKE = (sys.executable, "-P", str(Path(__file__).with_name("fake_worker.py")))
TEXT = """
CREATE STREAM s (a INT) WITH (kafka_topic='t', value_format='json', partitions=1);
CREATE STREAM one AS SELECT * FROM s;
"""


def _query() -> PersistentQuery:
    session = SqlSession()
    list(session.run(TEXT))
    return session.state.queries["CSAS_ONE_0"]


QUERY = _query()


def wanted(query_id: str, group: str = "heavy", statement: str = "") -> DesiredQuery:
    """Return a desired query of a group."""
    return DesiredQuery(replace(QUERY, id=query_id, jvm_group=group, statement=statement))


def setup_of(group: str, data: Path, brokers: Brokers | None = None) -> Setup:
    """Return what a fake process needs."""
    return Setup(group, "service", brokers or Brokers("127.0.0.1:9"), SparkQuerySettings(data=data))


@dataclass
class Launches:
    """Launches fake processes, and keeps them."""

    directory: Path
    processes: list[GroupProcess] = field(default_factory=list)
    limits: list[GroupLimits] = field(default_factory=list)

    def __call__(self, group: str, limits: GroupLimits) -> GroupProcess:
        process = GroupProcess(
            setup_of(group, self.directory), self.directory / f"{group}.log", FAKE
        )
        self.processes.append(process)
        self.limits.append(limits)
        return process


def wait_for(done: Callable[[], object], what: str) -> None:
    waiting.wait_until(done, what)
