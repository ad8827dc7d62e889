"""A query that moves between servers continues from its changelogs, each with a data directory of its own."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from duolog.runtime.sql.service import SqlService
from duolog.runtime.sql.statement_runner import StatementRunner
from duolog.testing import Client, EmbeddedCluster
from waiting import wait_until

WAIT_S = 240
INSERT = "INSERT INTO s VALUES ('k', {});"
CREATED = """
CREATE STREAM s (k STRING KEY, a INT)
  WITH (kafka_topic='{topic}s', partitions=1, value_format='json');
CREATE TABLE totals WITH (kafka_topic='{topic}totals') AS
  SELECT k, COUNT(*) AS n, SUM(a) AS total FROM s GROUP BY k;
"""
REPLACED = """
CREATE OR REPLACE TABLE totals WITH (kafka_topic='{topic}totals') AS
  SELECT k, COUNT(*) AS n, SUM(a) AS total, MAX(a) AS highest FROM s GROUP BY k;
"""
GUARANTEES = ("at_least_once", "exactly_once_v2")


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        yield cluster


class Servers:
    """Servers of one service in this process, and a table that counts the rows of a stream by key."""

    def __init__(
        self, cluster: EmbeddedCluster, directory: Path, guarantee: str, name: str = "moved"
    ) -> None:
        self.service_id = f"{name}_{guarantee}_"
        self._cluster, self._directory = cluster, directory
        self._given = {"processing.guarantee": guarantee, "commit.interval.ms": "100"}
        self._made = ExitStack()
        self._written = 0

    def open(self, name: str) -> SqlService:
        """Return a server that runs no queries yet."""
        server = SqlService(
            self._cluster.bootstrap_servers,
            data=self._directory / name,
            service_id=self.service_id,
            properties=self._given,
            engine_settings={"class.archive": "false"},
            shares=True,
        )
        self._made.callback(server.close)
        return server

    def start(self, name: str) -> SqlService:
        server = self.open(name)
        server.stand_by(f"{name}:8088")
        wait_until(lambda: server.runs_queries, "the server gets no places")
        return server

    def run(self, server: SqlService, text: str) -> None:
        for _ in StatementRunner(server, server.session(self._given)).execute(text):
            pass

    def write(self, server: SqlService, rows: int) -> None:
        for _ in range(rows):
            self._written += 1
            self.run(server, INSERT.format(self._written))

    def results(self) -> list[tuple[int, int]]:
        """Return count and sum of each result, in order."""
        records = Client(self._cluster.bootstrap_servers).read(f"{self.service_id}totals")
        values = [json.loads(record.value) for record in records if record.value]
        return [(value["N"], value["TOTAL"]) for value in values]

    def wait_counted(self) -> None:
        """Wait until the table has all rows that were written."""
        expected = (self._written, self._written * (self._written + 1) // 2)
        wait_until(
            lambda: self.results()[-1:] == [expected],
            lambda: f"{self.results()[-3:]}, expected {expected}",
            WAIT_S,
        )

    def host(self, server: SqlService) -> str:
        (query,) = server.queries()
        return query.host if query.state == "RUNNING" else ""

    def close(self) -> None:
        self._made.close()


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_table_goes_on_wherever_its_query_moves(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path, guarantee: str
) -> None:
    """A server to which a query came back used to continue from its own old checkpoint."""
    servers = Servers(cluster, tmp_path, guarantee)
    with ExitStack() as stack:
        stack.callback(servers.close)
        one = servers.start("one")
        servers.run(one, CREATED.format(topic=servers.service_id))
        servers.write(one, 3)
        servers.wait_counted()

        two = servers.start("two")
        wait_until(lambda: servers.host(one) == "two:8088", "the query does not move", WAIT_S)
        servers.write(one, 3)
        servers.wait_counted()
        two.close()
        wait_until(lambda: servers.host(one) == "one:8088", "it does not come back", WAIT_S)
        servers.write(one, 3)
        servers.wait_counted()

        counts = [count for count, _ in servers.results()]
        assert counts == sorted(counts), "no result is written again after a later one"
        if guarantee == "exactly_once_v2":
            assert len(counts) == len(set(counts))


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_query_that_is_replaced_while_no_server_runs_it_is_upgraded_by_the_next_one(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path, guarantee: str
) -> None:
    """It used to end in state ERROR: the changelogs belong to the topology before."""
    servers = Servers(cluster, tmp_path, guarantee, "replaced")
    with ExitStack() as stack:
        stack.callback(servers.close)
        one = servers.start("one")
        servers.run(one, CREATED.format(topic=servers.service_id))
        servers.write(one, 3)
        servers.wait_counted()
        one.close()

        two = servers.open("two")
        servers.run(two, REPLACED.format(topic=servers.service_id))
        two.stand_by("two:8088")
        wait_until(lambda: servers.host(two) == "two:8088", two.queries, WAIT_S)
        servers.write(two, 2)
        servers.wait_counted()

        records = Client(cluster.bootstrap_servers).read(f"{servers.service_id}totals")
        assert json.loads(records[-1].value or b"null")["HIGHEST"] == 5
