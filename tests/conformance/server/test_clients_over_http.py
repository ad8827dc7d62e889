"""Real clients, as a SQL server reports them to an administrator."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from confluent_kafka import Consumer, Producer

from conformance.server.processes import SqlServerProcess, ask
from duolog.server.access.console_token import FILE
from duolog.testing import Client, EmbeddedCluster
from waiting import wait_until


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as running:
        yield running


@pytest.fixture(scope="module")
def server(
    cluster: EmbeddedCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SqlServerProcess]:
    path = tmp_path_factory.mktemp("server")
    with SqlServerProcess(cluster.bootstrap_servers, path) as running:
        yield running


def get(server: SqlServerProcess, path: str) -> Any:
    token = (server.log_path.parent / "sql" / FILE).read_text().strip()
    status, body, _ = ask(server, path, f"Bearer {token}")
    assert status == 200, body
    return body


def test_a_producer_and_a_consumer_are_seen_with_software_topics_and_rates(
    cluster: EmbeddedCluster, server: SqlServerProcess
) -> None:
    servers = cluster.bootstrap_servers
    Client(servers).create_topic("orders")
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "client.id": "shop-1",
            "enable.idempotence": True,
            "log_level": 0,
        }
    )
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "client.id": "billing-1",
            "group.id": "billing",
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    consumer.subscribe(["orders"])

    def seen(client_id: str) -> Any:
        """Write, read, and return the connection of a client that moves records."""
        producer.produce("orders", b"v" * 100)
        producer.flush()
        consumer.poll(0)
        found = get(server, f"/v1/clients?search={quote(client_id)}")["clients"]
        return next((one for one in found if one["written"] or one["read"]), None)

    wrote = wait_until(
        lambda: (one := seen("shop-1")) and one["bytesInPerSecond"] and one, "a rate"
    )
    read = wait_until(lambda: seen("billing-1"), "a consumer")

    assert (wrote["written"], wrote["roles"], wrote["user"]) == (
        *(["orders"], ["producer"], "User:ANONYMOUS"),
    )
    assert (wrote["software"], read["software"]) == ("confluent-kafka-python",) * 2
    assert wrote["softwareVersion"]
    assert int(wrote["bytesIn"]) > 100
    assert wrote["connectedMs"] <= wrote["lastRequestMs"]
    assert (read["read"], read["groups"], read["roles"]) == (
        *(["orders"], ["billing"], ["consumer"]),
    )
    producers = get(server, "/v1/clients")["producers"]
    assert [(one["topics"], one["openTransactions"]) for one in producers] == [(["orders"], 0)]
    consumer.close()

    def gone() -> Any:
        rows = get(server, "/v1/clients?closed=true&search=billing-1")["clients"]
        return rows and all(one["closedMs"] for one in rows)

    wait_until(gone, "the consumer has gone")
    assert get(server, "/v1/clients?search=billing-1")["clients"] == []
