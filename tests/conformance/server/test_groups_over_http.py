"""Groups of real clients, as a SQL server lists, shows and resets them."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from conformance.server.processes import SqlServerProcess, ask
from duolog.server.access.console_token import FILE
from duolog.testing import Client, EmbeddedCluster
from waiting import wait_until

RECORDS = 10


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


def topic_with_records(servers: str, name: str) -> str:
    Client(servers).create_topic(name, 2)
    producer = Producer({"bootstrap.servers": servers, "log_level": 0})
    for number in range(RECORDS):
        producer.produce(name, b"x", partition=number % 2, timestamp=1_700_000_000_000 + number)
    producer.flush()
    return name


def commit(servers: str, group: str, topic: str, *offsets: int) -> None:
    """Commit offsets for a group without members."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group, "log_level": 0})
    places = [TopicPartition(topic, number, offset) for number, offset in enumerate(offsets)]
    consumer.commit(offsets=places, asynchronous=False)
    consumer.close()


def call(server: SqlServerProcess, method: str, path: str, **body: object) -> tuple[int, Any]:
    data = json.dumps(body).encode() if body else None
    token = (server.log_path.parent / "sql" / FILE).read_text().strip()
    return ask(server, path, f"Bearer {token}", method=method, body=data)[:2]


def get(server: SqlServerProcess, path: str) -> Any:
    status, body = call(server, "GET", path)
    assert status == 200, body
    return body


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_is_listed_with_its_member_and_lag(
    cluster: EmbeddedCluster, server: SqlServerProcess, protocol: str
) -> None:
    servers = cluster.bootstrap_servers
    topic, name = topic_with_records(servers, f"of-{protocol}"), f"readers of {protocol}"
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": name,
            "client.id": "app-7",
            "group.protocol": protocol,
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    consumer.subscribe([topic])
    wait_until(lambda: consumer.poll(0) is None and consumer.assignment(), "an assignment")
    consumer.commit(offsets=[TopicPartition(topic, 0, 3)], asynchronous=False)

    listed = get(server, f"/v1/groups?search={quote(name)}")["groups"]
    one = get(server, f"/v1/groups/{quote(name)}")

    assert [(row["group"], row["state"], row["protocol"], row["members"]) for row in listed] == [
        (name, "Stable", protocol, 1)
    ]
    lag = listed[0]["lag"]
    assert (lag["records"], lag["complete"], listed[0]["topics"]) == ("2", True, [topic])
    assert lag["ms"] > 24 * 3_600_000
    assert [(row["clientId"], row["assigned"]) for row in one["memberList"]] == [
        ("app-7", [[topic, 0], [topic, 1]])
    ]
    assert [(row["committed"], row["end"], row["lag"]) for row in one["partitions"]] == [
        ("3", "5", "2"),
        (None, None, None),
    ]
    status, refused = call(server, "POST", f"/v1/groups/{quote(name)}/reset", to="earliest")
    assert (status, "app-7 on 127.0.0.1" in refused["message"]) == (409, True)
    consumer.close()


def test_a_reset_is_previewed_and_then_made(
    cluster: EmbeddedCluster, server: SqlServerProcess
) -> None:
    servers = cluster.bootstrap_servers
    topic = topic_with_records(servers, "moved")
    commit(servers, "billing", topic, 4, 4)
    path = "/v1/groups/billing/reset"
    at_ms = 1_700_000_000_000 + 4

    _, preview = call(server, "POST", path, preview=True, to="time", timeMs=at_ms)
    assert [(row["old"], row["new"]) for row in preview["partitions"]] == [("4", "2"), ("4", "2")]
    unchanged = get(server, "/v1/groups/billing")["partitions"]
    assert [row["committed"] for row in unchanged] == ["4", "4"]

    topics = [{"topic": topic, "partitions": [1]}]
    status, done = call(server, "POST", path, to="shift", by=-3, topics=topics)

    assert (status, done["partitions"][0]["new"]) == (200, "1")
    after = get(server, "/v1/groups/billing")
    assert [(row["committed"], row["lag"]) for row in after["partitions"]] == [
        ("4", "1"),
        ("1", "4"),
    ]


def test_offsets_and_groups_are_deleted(cluster: EmbeddedCluster, server: SqlServerProcess) -> None:
    servers = cluster.bootstrap_servers
    kept, gone = topic_with_records(servers, "kept"), topic_with_records(servers, "gone")
    commit(servers, "team/audit", kept, 1, 1)
    commit(servers, "team/audit", gone, 1)
    path = f"/v1/groups/{quote('team/audit', safe='')}"

    status, found = call(server, "DELETE", f"{path}/offsets", topics=[{"topic": gone}])
    assert (status, found["deleted"]) == (200, [[gone, 0]])
    assert {row["topic"] for row in get(server, path)["partitions"]} == {kept}

    assert call(server, "DELETE", path)[0] == 200
    assert call(server, "GET", path)[0] == 404
    assert call(server, "DELETE", path)[0] == 404


def test_a_deleted_topic_leaves_the_rest_of_its_group(
    cluster: EmbeddedCluster, server: SqlServerProcess
) -> None:
    servers = cluster.bootstrap_servers
    stays, goes = topic_with_records(servers, "stays"), topic_with_records(servers, "goes")
    commit(servers, "both", stays, 1)
    commit(servers, "both", goes, 1)
    Client(servers).delete_topics(goes)

    rows = get(server, "/v1/groups/both")["partitions"]

    assert [row["lag"] for row in rows if row["topic"] == stays] == ["4"]
