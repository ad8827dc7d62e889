"""Servers of one service: one runs the queries, and another one takes over when it ends."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import waiting
from duolog.runtime.sql.service import SqlService
from duolog.runtime.sql.statement_runner import StatementRunner
from duolog.testing import EmbeddedCluster
from unit.runtime.sql.fake_queries import FakeStarter

Opened = Callable[[str, FakeStarter], SqlService]


@pytest.fixture
def opened(cluster: EmbeddedCluster, service: str, tmp_path: Path) -> Iterator[Opened]:
    """Opens servers of one service, each with a data directory of its own."""
    services: list[SqlService] = []

    def open_one(directory: str, starter: FakeStarter) -> SqlService:
        one = SqlService(
            cluster.bootstrap_servers,
            data=tmp_path / directory,
            service_id=service,
            starter=starter,
        )
        services.append(one)
        return one

    yield open_one
    for one in services:
        one.close()


def run(service: SqlService, text: str) -> None:
    for _ in StatementRunner(service, service.session()).execute(text):
        pass


def created(service: str) -> str:
    return (
        f"CREATE STREAM s (k STRING KEY, a BIGINT) WITH (kafka_topic='{service}s', partitions=1, value_format='json');"
        f"CREATE STREAM late WITH (kafka_topic='{service}late') AS SELECT * FROM s WHERE a > 3;"
    )


def test_a_server_waits_for_its_turn_and_takes_over_the_queries(
    opened: Opened, service: str
) -> None:
    first_starter, second_starter = FakeStarter(), FakeStarter()
    first, second = opened("first", first_starter), opened("second", second_starter)
    first.stand_by()
    waiting.wait_until(lambda: first.runs_queries, "the first server does not get its turn")
    second.stand_by()

    run(second, created(service))
    waiting.wait_until(
        lambda: "CSAS_LATE_0" in first_starter.running, "the owner does not follow the second one"
    )
    assert second_starter.starts == []
    first.close()

    waiting.wait_until(
        lambda: "CSAS_LATE_0" in second_starter.running, "the second server does not take over"
    )
    assert first_starter.running["CSAS_LATE_0"].has_ended


def test_a_server_runs_the_first_query_of_its_service(opened: Opened, service: str) -> None:
    """It owns the service before there is a query, and needs no JVM for that."""
    starter = FakeStarter()
    server = opened("data", starter)
    server.stand_by()
    waiting.wait_until(lambda: server.runs_queries, "the server does not get its turn")
    assert starter.starts == []

    run(server, created(service))

    waiting.wait_until(lambda: "CSAS_LATE_0" in starter.running, "the query does not start")


def test_a_statement_may_come_before_the_turn(opened: Opened, service: str) -> None:
    starter = FakeStarter()
    server = opened("data", starter)

    server.stand_by()
    run(server, created(service))

    waiting.wait_until(lambda: starter.starts == ["CSAS_LATE_0"], "the query does not start")


def test_a_server_that_closes_while_it_waits_never_runs_queries(
    opened: Opened, service: str
) -> None:
    first, second = opened("first", FakeStarter()), opened("second", FakeStarter())
    first.stand_by()
    waiting.wait_until(lambda: first.runs_queries, "the first server does not get its turn")
    second.stand_by()

    second.close()
    first.close()

    assert not second.runs_queries
