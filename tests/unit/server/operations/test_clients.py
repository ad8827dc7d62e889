"""Clients over a connection: of brokers that report them, and of others."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest

from duolog.runtime.clients.monitor import Reported, ReportedClient
from duolog.runtime.clients.producers import ProducerAt, Producers
from duolog.runtime.clients.rates import Rates
from duolog.runtime.consumer_groups.metadata import Metadata
from duolog.security.authorization.operations import CLUSTER_NAME, Operation, ResourceType
from unit.runtime.consumer_groups.cluster import BROKER, FakeGroups, listed, member
from unit.server.memory import MemoryServer, Reply, context
from unit.server.operations.test_groups import Some
from unit.server.users import BOB, Rules, access_with_users

NOW_MS = 1_700_000_000_000
SEE, READ = Operation.DESCRIBE, Operation.READ
CLUSTER = (SEE, ResourceType.CLUSTER, CLUSTER_NAME)


def row(number: int, client_id: str, **more: Any) -> Any:
    return SimpleNamespace(
        **{
            "id": number,
            "client_id": client_id,
            "software_name": "librdkafka",
            "software_version": "2.11.0",
            "address": f"10.0.0.{number}:5000",
            "listener": "PLAINTEXT",
            "user": "User:ANONYMOUS",
            "connected_ms": NOW_MS - 60_000,
            "last_request_ms": NOW_MS - 1_000,
            "closed_ms": -1,
            "requests": 2**60,
            "bytes_in": 5,
            "bytes_out": 7,
            "written": (),
            "read": (),
            **more,
        }
    )


class Monitor:
    """The clients of a cluster in memory."""

    def __init__(self) -> None:
        self.silent: list[str] = []
        self.rows = [
            row(1, "shop", written=("orders",)),
            row(2, "app", software_name="", read=("orders", "salaries")),
            row(3, "admin-tool", closed_ms=NOW_MS - 5_000),
        ]
        self.asked: list[Any] = []

    def reported(self) -> Reported:
        if self.silent:
            return Reported(0, [], 0, self.silent, [])
        rates = Rates(3.0, 100.0, 0.0)
        clients = [ReportedClient(BROKER, one, rates if one.id == 1 else None) for one in self.rows]
        return Reported(NOW_MS, clients, 4, [], ["b2:9092 does not answer"])

    def metadata(self) -> Metadata:
        places = [("orders", 0), ("orders", 1), ("salaries", 0), ("__consumer_offsets", 0)]
        return Metadata({0: BROKER}, dict.fromkeys(places, 0))

    def producers(self, places: Any) -> Producers:
        self.asked = list(places)
        return Producers(
            [
                ProducerAt(7, 0, ("orders", 0), 5, NOW_MS - 9_000, -1),
                ProducerAt(7, 0, ("orders", 1), 6, NOW_MS - 8_000, 42),
                ProducerAt(8, 1, ("orders", 0), 1, NOW_MS, -1),
            ],
            [],
        )


@pytest.fixture
def monitor() -> Monitor:
    return Monitor()


def ask(
    monitor: Monitor, query: str = "", rules: Rules | None = None, user: str | None = None
) -> Reply:
    groups = FakeGroups([listed("billing", "Stable")], {})
    groups.members = {"billing": (member("app", ("orders", 0), host="10.0.0.2"),)}

    async def run() -> Reply:
        access = None if rules is None else access_with_users(rules)
        of_groups = SimpleNamespace(groups=groups)
        server = MemoryServer(context(access, groups=of_groups, clients=monitor))
        headers = {} if user is None else {"Authorization": user}
        return await server.client().ask("GET", f"/v1/clients{query}", b"", **headers)

    return asyncio.run(run())


def found(reply: Reply) -> Any:
    assert reply.status == 200, reply
    return json.loads(reply.body)


def names(answer: Any) -> list[str]:
    return [one["clientId"] for one in answer["clients"]]


def test_clients_have_what_their_broker_reports(monitor: Monitor) -> None:
    answer = found(ask(monitor))

    assert names(answer) == ["shop", "app"]
    shop, app = answer["clients"]
    assert (shop["software"], shop["softwareVersion"], app["software"]) == (
        *("librdkafka", "2.11.0", None),
    )
    assert (shop["requests"], shop["requestsPerSecond"], shop["bytesInPerSecond"]) == (
        *(str(2**60), 3.0, 100.0),
    )
    assert app["requestsPerSecond"] is None
    assert (shop["roles"], shop["written"]) == (["producer"], ["orders"])
    assert (app["roles"], app["groups"], app["read"]) == (
        *(["consumer"], ["billing"], ["orders", "salaries"]),
    )
    assert answer["missing"] == ["4 clients more, which requested earlier."]
    assert answer["problems"] == ["b2:9092 does not answer"]


def test_clients_that_have_gone_are_shown_on_request(monitor: Monitor) -> None:
    answer = found(ask(monitor, "?closed=true&role=other"))

    assert names(answer) == ["admin-tool"]
    assert answer["clients"][0]["closedMs"] == NOW_MS - 5_000


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?search=SHOP", ["shop"]),
        ("?search=librdkafka", ["shop"]),
        ("?search=salaries", ["app"]),
        ("?search=billing", ["app"]),
        ("?search=10.0.0.1", ["shop"]),
        ("?role=producer", ["shop"]),
        ("?max=1", ["shop"]),
        ("?max=1&skip=1", ["app"]),
        ("?search=nothing", []),
    ],
)
def test_clients_are_searched_and_paged(monitor: Monitor, query: str, expected: list[str]) -> None:
    assert names(found(ask(monitor, query))) == expected


def test_producers_are_summed_up_with_their_oldest_open_transaction(monitor: Monitor) -> None:
    answer = found(ask(monitor))

    assert answer["producers"] == [
        {
            "producerId": "8",
            "epoch": 1,
            "topics": ["orders"],
            "partitions": 1,
            "lastMs": NOW_MS,
            "openTransactions": 0,
            "oldestTransaction": None,
        },
        {
            "producerId": "7",
            "epoch": 0,
            "topics": ["orders"],
            "partitions": 2,
            "lastMs": NOW_MS - 8_000,
            "openTransactions": 1,
            "oldestTransaction": ["orders", 1, "42"],
        },
    ]
    assert ("__consumer_offsets", 0) not in monitor.asked


def test_a_cluster_that_reports_no_connections_shows_members_and_says_what_is_missing(
    monitor: Monitor,
) -> None:
    monitor.silent = [BROKER]

    answer = found(ask(monitor))

    assert [(one["clientId"], one["address"], one["groups"]) for one in answer["clients"]] == [
        ("app", "10.0.0.2", ["billing"])
    ]
    assert answer["clients"][0]["bytesInPerSecond"] is None
    assert answer["missing"][0].startswith("Apache Kafka does not report connections")


def test_who_may_not_describe_the_cluster_sees_no_clients(monitor: Monitor) -> None:
    assert ask(monitor, "", Some(), BOB).status == 403


def test_topics_groups_and_producers_need_their_own_rights(monitor: Monitor) -> None:
    rules = Some(CLUSTER, (SEE, ResourceType.TOPIC, "salaries"))

    answer = found(ask(monitor, "", rules, BOB))

    assert [(one["written"], one["read"], one["groups"]) for one in answer["clients"]] == [
        ([], [], []),
        ([], ["salaries"], []),
    ]
    assert monitor.asked == []


def test_producers_are_those_of_topics_that_a_user_may_read(monitor: Monitor) -> None:
    found(ask(monitor, "", Some(CLUSTER, (READ, ResourceType.TOPIC, "orders")), BOB))

    assert monitor.asked == [("orders", 0), ("orders", 1)]


@pytest.mark.parametrize(
    "query", ["?role=boss", "?closed=1", "?max=0", "?max=1001", "?skip=-1", "?limit=5"]
)
def test_invalid_requests_are_refused(monitor: Monitor, query: str) -> None:
    assert ask(monitor, query).status == 400


def test_clients_of_one_topic_are_found_by_its_whole_name(monitor: Monitor) -> None:
    monitor.rows.append(row(4, "other", written=("BIG_orders",)))

    assert names(found(ask(monitor, "?search=orders"))) == ["shop", "app", "other"]
    assert names(found(ask(monitor, "?topic=orders"))) == ["shop", "app"]
    assert names(found(ask(monitor, "?topic=orders&role=producer"))) == ["shop"]


def test_the_total_counts_clients_that_have_gone_only_if_they_are_wanted(monitor: Monitor) -> None:
    assert (found(ask(monitor))["total"], found(ask(monitor, "?closed=true"))["total"]) == (2, 3)
