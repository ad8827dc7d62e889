"""The servers of a service in the answer to /clusterStatus."""

import asyncio
import json
from unittest.mock import MagicMock

import pytest

from duolog.core.errors import KafkaError
from duolog.runtime.sql.persistent.members import Member
from duolog.runtime.sql.persistent.query_supervisor import LiveQuery
from duolog.server.messages import Request, Response
from duolog.server.operations import information
from duolog.server.operations.context import Operation
from unit.server.memory import context

ONE, TWO = "one:8088", "two:8088"
QUERY: dict[str, list[object]] = {
    "activeStores": [],
    "activePartitions": [],
    "standByStores": [],
    "standByPartitions": [],
}


def cluster_status(service: MagicMock) -> dict[str, dict[str, object]]:
    """Return the queries of each host in the answer of the server at `ONE`."""
    server = context()
    server.sql, server.ksql, server.address = service, MagicMock(), ONE
    answer = asyncio.run(information.cluster_status(Request(MagicMock()), server))
    assert isinstance(answer, Response)
    found = json.loads(answer.body)["clusterStatus"]
    assert all(of["hostAlive"] for of in found.values())
    return {host: of["activeStandbyPerQuery"] for host, of in found.items()}


def test_each_server_is_shown_with_its_queries() -> None:
    service = MagicMock()
    service.members.return_value = [
        Member.named("h", 1, 1, shares=True, address=ONE),
        Member.named("h", 2, 2, shares=True, address=TWO),
        Member.named("h", 3, 3, shares=False),
    ]
    service.queries.return_value = [
        LiveQuery("A", "RUNNING", host=ONE),
        LiveQuery("B", "ERROR", host=TWO),
        LiveQuery("C", "STARTING"),
    ]

    assert cluster_status(service) == {ONE: {"A": QUERY}, TWO: {"B": QUERY}}


@pytest.mark.parametrize("queries", [[], [LiveQuery("A", "RUNNING", host=ONE)]])
def test_without_a_broker_this_server_is_the_only_one(queries: list[LiveQuery]) -> None:
    service = MagicMock()
    service.members.side_effect = KafkaError("cannot ask for the group", code=7)
    service.queries.return_value = queries

    assert cluster_status(service) == {ONE: {one.id: QUERY for one in queries}}


@pytest.mark.parametrize("operation", [information.heartbeat, information.lag])
def test_reports_of_other_servers_are_acknowledged(operation: Operation) -> None:
    async def ask() -> object:
        return await operation(Request(MagicMock()), context())

    answer = asyncio.run(ask())

    assert isinstance(answer, Response)
    assert json.loads(answer.body) == {"isOk": True}
