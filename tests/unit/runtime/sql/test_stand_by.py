"""Servers of one service: each runs a part of the queries, and takes over the rest when others end."""

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


def hosts_of(service: SqlService) -> dict[str, str]:
    """Return the server of each query that runs."""
    service.follow()
    return {one.id: one.host for one in service.queries() if one.state == "RUNNING"}


def created(service: str) -> str:
    return (
        f"CREATE STREAM s (k STRING KEY, a BIGINT) WITH (kafka_topic='{service}s', partitions=1, value_format='json');"
        f"CREATE STREAM late WITH (kafka_topic='{service}late') AS SELECT * FROM s WHERE a > 3;"
    )


def test_a_server_runs_its_part_and_takes_over_the_rest(opened: Opened, service: str) -> None:
    first_starter, second_starter = FakeStarter(), FakeStarter()
    first, second = opened("first", first_starter), opened("second", second_starter)
    first.stand_by("first:8088")
    waiting.wait_until(lambda: first.runs_queries, "the first server does not get places")
    second.stand_by("second:8088")
    waiting.wait_until(lambda: second.runs_queries, "the second server does not get places")

    run(second, created(service) + "CREATE STREAM early AS SELECT * FROM s WHERE a < 3;")

    def shared() -> dict[str, str]:
        found = hosts_of(first)
        return found if len(found) == 2 and found == hosts_of(second) else {}

    hosts = waiting.wait_until(shared, "the servers do not run one query each")
    assert set(hosts.values()) == {"first:8088", "second:8088"}
    first.close()

    waiting.wait_until(
        lambda: second_starter.running.keys() == hosts.keys(), "the second does not take over"
    )
    assert all(query.has_ended for query in first_starter.running.values())
    assert first_starter.forgotten == [], "the state stays"
    assert set(hosts_of(second).values()) == {"second:8088"}


def test_a_terminated_query_ends_on_the_server_that_runs_it(opened: Opened, service: str) -> None:
    starters = {"first:8088": FakeStarter(), "second:8088": FakeStarter()}
    first, second = (opened(name[:5], starter) for name, starter in starters.items())
    for name, one in (("first:8088", first), ("second:8088", second)):
        one.stand_by(name)
        waiting.wait_until(lambda one=one: one.runs_queries, "a server does not get places")  # type: ignore[misc]
    run(first, created(service))
    host = waiting.wait_until(lambda: hosts_of(first).get("CSAS_LATE_0", ""), "it does not run")

    run(first if host == "second:8088" else second, "TERMINATE CSAS_LATE_0;")

    runner = starters[host]
    assert runner.running["CSAS_LATE_0"].has_ended, "the statement does not wait for it"
    assert runner.forgotten == ["CSAS_LATE_0"]
    (other,) = (starter for name, starter in starters.items() if name != host)
    assert other.starts == []
    assert first.queries() == second.queries() == []


def test_a_server_waits_until_a_shell_has_ended(opened: Opened, service: str) -> None:
    shell_starter, starter = FakeStarter(), FakeStarter()
    shell, server = opened("shell", shell_starter), opened("server", starter)
    run(shell, created(service))
    waiting.wait_until(lambda: "CSAS_LATE_0" in shell_starter.running, "it does not start")

    server.stand_by("server:8088")
    waiting.wait_until(lambda: list(hosts_of(server).values()) == [""], "its state is not shown")
    assert [(one.state, one.host) for one in shell.queries()] == [("RUNNING", "")]
    assert not server.runs_queries
    shell.close()

    waiting.wait_until(lambda: "CSAS_LATE_0" in starter.running, "the server does not take over")


def test_a_shell_leaves_the_first_query_to_a_server(opened: Opened, service: str) -> None:
    starter, shell_starter = FakeStarter(), FakeStarter()
    server, shell = opened("server", starter), opened("shell", shell_starter)
    server.stand_by("server:8088")
    waiting.wait_until(lambda: server.runs_queries, "the server does not get places")

    run(shell, created(service))

    waiting.wait_until(lambda: "CSAS_LATE_0" in starter.running, "the server does not run it")
    assert shell_starter.starts == []
    assert not shell.runs_queries


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
    shell, server = opened("shell", FakeStarter()), opened("server", FakeStarter())
    run(shell, created(service))
    assert shell.runs_queries
    server.stand_by()

    server.close()
    shell.close()

    assert not server.runs_queries
