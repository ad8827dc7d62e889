"""Groups of Apache Kafka, as the SQL server reads them: classic, KIP-848, share and streams."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from conformance.kafka.peer import TOOL_OPTIONS, KafkaPeer, fetch
from conftest import RequireProgram
from duolog.core.clock import SystemClock
from duolog.runtime.clients.monitor import ClientMonitor
from duolog.runtime.consumer_groups.groups import CLASSIC, CONSUMER, SHARE, Listed
from duolog.runtime.consumer_groups.monitor import GroupMonitor
from duolog.security.clients.brokers import Brokers
from duolog.testing import Client
from waiting import wait_until

SETTINGS = {
    "group.coordinator.rebalance.protocols": "classic,consumer,share,streams",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}
AGE_MS = 2 * 24 * 3_600_000
"""Of records; Kafka deletes those of a week ago."""


@pytest.fixture(scope="module")
def kafka(
    tmp_path_factory: pytest.TempPathFactory, require_program: RequireProgram
) -> Iterator[str]:
    require_program("java", package="openjdk-17-jre-headless")
    require_program("mvn", package="maven")
    with KafkaPeer(
        tmp_path_factory.mktemp("kafka") / "data",
        settings=SETTINGS,
        format_options=("--feature", "share.version=1"),
    ) as peer:
        servers = peer.bootstrap_servers
        for topic in ("orders", "shares", "idempotent"):
            Client(servers).create_topic(topic, 2)
        write(servers, "orders")
        yield servers


def write(servers: str, topic: str) -> bool:
    """Write five old records to each of two partitions."""
    at_ms = SystemClock().now_ms() - AGE_MS
    producer = Producer({"bootstrap.servers": servers, "log_level": 0})
    for number in range(10):
        producer.produce(topic, b"x", partition=number % 2, timestamp=at_ms)
    producer.flush()
    return True


def first_offsets(monitor: GroupMonitor, group: Listed) -> set[int]:
    return set(monitor.groups.committed([group])[group.name].values()) - {0}


@pytest.fixture
def monitor(kafka: str) -> Iterator[GroupMonitor]:
    found = GroupMonitor(Brokers.of(kafka))
    yield found
    found.close()


@pytest.mark.parametrize("protocol", [CLASSIC, CONSUMER])
def test_a_group_of_a_consumer_has_its_member_and_lag(
    kafka: str, monitor: GroupMonitor, protocol: str
) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": kafka,
            "group.id": f"by-{protocol}",
            "client.id": "app-7",
            "group.protocol": protocol,
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    consumer.subscribe(["orders"])
    wait_until(lambda: consumer.poll(0) is None and consumer.assignment(), "an assignment")
    consumer.commit(offsets=[TopicPartition("orders", 0, 3)], asynchronous=False)

    # A member of the new protocol confirms its assignment with its next heartbeat.
    group = wait_until(
        lambda: (
            (found := monitor.groups.listed().groups[f"by-{protocol}"]).state == "Stable" and found
        ),
        "the group is stable",
    )
    assert group
    described = monitor.groups.described([group])[group.name]
    lag = monitor.watch.look([group])[group.name]

    assert (group.state, group.protocol) == ("Stable", protocol)
    assert [(one.client_id, one.assigned) for one in described.members] == [
        ("app-7", (("orders", 0), ("orders", 1)))
    ]
    assert (lag.records, lag.complete) == (2, True)
    assert (lag.ms or 0) >= AGE_MS
    consumer.close()


def test_offsets_are_committed_deleted_and_the_group_with_them(
    kafka: str, monitor: GroupMonitor
) -> None:
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": "idle", "log_level": 0})
    places = [TopicPartition("orders", 0, 3), TopicPartition("orders", 1, 4)]
    consumer.commit(offsets=places, asynchronous=False)
    consumer.close()
    group = monitor.groups.listed().groups["idle"]

    monitor.groups.commit(group, {("orders", 0): 1})
    monitor.groups.delete_offsets(group, [("orders", 1)])
    assert monitor.groups.committed([group]) == {"idle": {("orders", 0): 1}}

    monitor.groups.delete(group)
    assert "idle" not in monitor.groups.listed().groups


def test_a_share_group_has_its_member_and_the_first_offset_not_acknowledged(
    kafka: str, monitor: GroupMonitor, tmp_path: Path
) -> None:
    jars = fetch()
    output = (tmp_path / "share.log").open("wb")
    command = ["java", *TOOL_OPTIONS, "-cp", f"{jars}/*"]
    command += ["org.apache.kafka.tools.consumer.ConsoleShareConsumer", "--bootstrap-server", kafka]
    with (
        output,
        subprocess.Popen(
            [*command, "--topic", "shares", "--group", "shared"], stdout=output, stderr=output
        ) as process,
    ):
        try:
            wait_until(
                lambda: (
                    (found := monitor.groups.listed().groups.get("shared"))
                    and found.state == "Stable"
                ),
                "a member",
            )
            group = monitor.groups.listed().groups["shared"]
            # A share group starts at the end; it has an offset once it has read records.
            wait_until(lambda: write(kafka, "shares") and first_offsets(monitor, group), "offsets")
            described = monitor.groups.described([group])["shared"]
        finally:
            process.terminate()

    assert group.protocol == SHARE
    assert [one.assigned for one in described.members] == [(("shares", 0), ("shares", 1))]
    assert monitor.watch.look([group])["shared"].records is not None


def test_producers_and_members_are_all_that_kafka_reports_of_clients(
    kafka: str, monitor: GroupMonitor
) -> None:
    clients = ClientMonitor(monitor.connections)
    write(kafka, "idempotent")
    producer = Producer({"bootstrap.servers": kafka, "transactional.id": "tx", "log_level": 0})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce("idempotent", b"x", partition=0)
    producer.flush()

    reported = clients.reported()
    found = clients.producers([("idempotent", 0), ("idempotent", 1), ("gone", 0)])

    assert (reported.clients, len(reported.silent)) == ([], 1)
    open_ones = [one for one in found.found if one.transaction_start >= 0]
    assert [(one.place, one.transaction_start) for one in open_ones] == [(("idempotent", 0), 5)]
    producer.abort_transaction()
