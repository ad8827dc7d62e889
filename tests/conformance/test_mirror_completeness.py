"""`duolog mirror` never succeeds with a copy that lacks records or has those of others."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest
from confluent_kafka import KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from conformance.kafka.wire_client import WireClient
from conformance.mirror_runs import TOPIC, admin, mirror, values, with_actions, write
from conformance.mirrored import TIMEOUT_S, empty, run_here
from duolog.cli.kafka.cluster import Cluster
from duolog.cli.mirror import committed_records, copier, open_transactions
from duolog.cli.mirror.committed_records import read_committed
from duolog.core.errors import KafkaError
from duolog.record.batch import seal_batch
from duolog.record.records import Record, encode_batch
from duolog.testing import Client, EmbeddedCluster
from duolog.testing.local_broker.local_broker import SETTINGS

pytestmark = pytest.mark.timeout(300)

LEAVING_OPEN = """
import os, signal, sys
from confluent_kafka import Producer

producer = Producer({"bootstrap.servers": sys.argv[1], "transactional.id": "killed",
                     "transaction.timeout.ms": 1000})
producer.init_transactions(60)
producer.begin_transaction()
producer.produce("orders", "open", partition=0)
assert producer.flush(60) == 0
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def brokers() -> Iterator[tuple[EmbeddedCluster, EmbeddedCluster]]:
    with EmbeddedCluster(settings=SETTINGS) as here, EmbeddedCluster(settings=SETTINGS) as there:
        yield here, there


@pytest.fixture
def here(brokers: tuple[EmbeddedCluster, EmbeddedCluster]) -> str:
    """The address of an empty source."""
    return empty(brokers[0]).bootstrap_servers


@pytest.fixture
def there(brokers: tuple[EmbeddedCluster, EmbeddedCluster]) -> str:
    """The address of an empty target."""
    return empty(brokers[1]).bootstrap_servers


def delete_before(servers: str, offset: int) -> None:
    client = admin(servers)
    for deleted in client.delete_records([TopicPartition(TOPIC, 0, offset)]).values():
        deleted.result(TIMEOUT_S)


@pytest.fixture
def open_producer(here: str) -> Producer:
    """A producer with an open transaction that has written one record, before one of another."""
    Client(here).create_topic(TOPIC, configs={"retention.ms": "4000000000000"})
    write(here, "first")
    producer = Producer({"bootstrap.servers": here, "transactional.id": "open", "log_level": 0})
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce(TOPIC, "open", partition=0)
    assert producer.flush(TIMEOUT_S) == 0
    write(here, "after")
    return producer


def test_an_open_transaction_is_reported_and_its_records_are_copied_later(
    here: str, there: str, open_producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_transactions, "WAIT_S", 0)

    plan = mirror(here, there, "--dry-run")
    refused = mirror(here, there)
    copied = values(there)
    open_producer.commit_transaction(TIMEOUT_S)
    done = mirror(here, there)

    assert 'partition 0 of topic "orders": 2 offsets in or after an open' in plan.stderr
    assert refused.returncode == 1
    assert "2 offsets in 1 partition of the source not copied" in refused.stderr
    assert "orders-0 from offset 1 (2)" in refused.stderr
    assert copied == ["first"]
    assert done.returncode == 0, done.stderr
    assert values(there) == ["first", "open", "after"]
    described = run_here("topics", "describe", TOPIC, "-o", "json", "-b", there)
    assert json.loads(described.stdout)[0]["configs"] == {"retention.ms": "4000000000000"}


def test_a_transaction_that_ends_in_time_is_waited_for(
    here: str, there: str, open_producer: Producer
) -> None:
    running = with_actions(here, there, waiting=lambda: open_producer.commit_transaction(TIMEOUT_S))

    result = running.run(Event())

    assert result.records == 3
    assert values(there) == ["first", "open", "after"]


def test_a_transaction_left_open_in_a_data_directory_is_waited_for(
    tmp_path: Path, there: str
) -> None:
    with EmbeddedCluster(tmp_path / "data", SETTINGS) as source:
        Client(source.bootstrap_servers).create_topic(TOPIC)
        command = [sys.executable, "-c", LEAVING_OPEN, source.bootstrap_servers]
        subprocess.run(command, timeout=120, check=False)
        write(source.bootstrap_servers, "committed")
        source.kill()

    done = run_here("mirror", "--data", str(tmp_path / "data"), "--to", there)

    assert done.returncode == 0, done.stderr
    assert values(there) == ["committed"]
    assert "settings of the source broker's own properties" in done.stderr


def test_offsets_that_the_source_has_deleted_are_an_error_in_each_later_run(
    here: str, there: str
) -> None:
    Client(here).create_topic(TOPIC)
    write(here, "a")
    assert mirror(here, there).returncode == 0
    write(here, "b", "c", "d")
    delete_before(here, 3)

    done = [mirror(here, there), mirror(here, there)]

    assert [one.returncode for one in done] == [1, 1]
    assert "the source deleted offsets 1 to 2 before they were copied" in done[0].stderr
    assert "orders-0 from 1 to 2" in done[1].stderr
    assert values(there) == ["a", "d"]


def test_deleted_markers_are_not_deleted_records(here: str, there: str) -> None:
    Client(here).create_topic(TOPIC)
    producer = Producer({"bootstrap.servers": here, "transactional.id": "marking"})
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce(TOPIC, "a")
    producer.commit_transaction(TIMEOUT_S)
    assert mirror(here, there).returncode == 0
    delete_before(here, 2)
    write(here, "b")

    done = mirror(here, there)

    assert done.returncode == 0, done.stderr
    assert values(there) == ["a", "b"]


def test_a_source_that_was_truncated_and_written_to_again_is_a_conflict(
    tmp_path: Path, there: str
) -> None:
    """An operating system that crashes loses the last records of a broker."""
    data = tmp_path / "data"
    with EmbeddedCluster(data, SETTINGS) as source:
        servers = source.bootstrap_servers
        Client(servers).create_topic(TOPIC)
        write(servers, "a")
        source.stop()
        shutil.copytree(data, tmp_path / "before")
        source.restart()
        write(servers, "lost")
        first = mirror(servers, there)
        source.stop()
        shutil.rmtree(data)
        shutil.copytree(tmp_path / "before", data)
        source.restart()
        write(servers, "new", "newer")

        refused = mirror(servers, there)

    assert first.returncode == 0, first.stderr
    assert refused.returncode == 6
    assert "of the source has lost records that were copied" in refused.stderr


def test_a_range_whose_head_was_deleted_is_not_read_from_another_offset(here: str) -> None:
    Client(here).create_topic(TOPIC)
    write(here, "a", "b", "c")
    delete_before(here, 2)

    with pytest.raises(KafkaError, match="lost records while they were read"):
        list(read_committed(Cluster(here, {}), {(TOPIC, 0): (0, 3)}))


def test_a_range_that_ends_after_the_log_does_not_wait_for_ever(
    here: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committed_records, "_CHECK_S", 0)
    Client(here).create_topic(TOPIC)
    write(here, "a")

    with pytest.raises(KafkaError, match="lost records while they were read"):
        list(read_committed(Cluster(here, {}), {(TOPIC, 0): (0, 3)}))


def test_a_topic_that_is_deleted_while_it_is_read_is_an_error(
    here: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committed_records, "_CHECK_S", 0)
    monkeypatch.setattr(committed_records, "_NEW_PARTITION_S", 0)
    Client(here).create_topic(TOPIC)
    write(here, "a")
    reading = read_committed(Cluster(here, {}), {(TOPIC, 0): (0, 3)})
    assert any(next(reading) for _ in range(1000))
    Client(here).delete_topics(TOPIC)

    with pytest.raises((KafkaError, KafkaException)):
        list(reading)


def test_an_interrupted_copy_moves_no_group(
    here: str, there: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Client(here).create_topic(TOPIC)
    write(here, "a", "b", "c")
    reset = "groups", "reset", "billing", "--topic", TOPIC, "--to-latest", "-b", here
    assert run_here(*reset).returncode == 0
    monkeypatch.setattr(committed_records, "READ_SIZE", 1)
    stopping = Event()
    add = copier.Copier._add  # noqa: SLF001 - to stop in the middle of a copy

    def add_and_stop(*arguments: object) -> None:
        add(*arguments)  # type: ignore[arg-type] # passed on as they are
        stopping.set()

    monkeypatch.setattr(copier.Copier, "_add", add_and_stop)
    with_actions(here, there).follow(stopping)

    assert values(there) == ["a"]
    assert json.loads(run_here("groups", "list", "-o", "json", "-b", there).stdout) == []


def produce_raw(servers: str, batch: bytearray) -> None:
    with WireClient(servers) as client:
        answer = client.ask(
            0,
            7,
            transactional_id=None,
            acks=-1,
            timeout=10_000,
            topic_data=[{"name": TOPIC, "partition_data": [{"index": 0, "records": bytes(batch)}]}],
        )
    assert answer.responses[0].partition_responses[0].error_code == 0


def test_a_header_name_that_is_not_utf_8_is_an_error_that_names_the_record(
    here: str, there: str
) -> None:
    Client(here).create_topic(TOPIC)
    # CPython specializes a call that is repeated, which then does not check the client's result.
    write(here, *(f"v{number}" for number in range(30)))
    batch = encode_batch([Record(0, 5, b"k", b"v", (("~~", b"x"),))])
    at = batch.index(b"~~")
    batch[at : at + 2] = b"\xff\xfe"
    seal_batch(batch)
    produce_raw(here, batch)

    refused = mirror(here, there)

    assert refused.returncode == 1
    assert 'record at offset 30 of partition 0 of topic "orders" has a header' in refused.stderr


def test_a_record_without_a_timestamp_is_copied(here: str, there: str) -> None:
    Client(here).create_topic(TOPIC)
    produce_raw(here, encode_batch([Record(0, -1, b"k", b"v")]))

    done = mirror(here, there)

    assert done.returncode == 0, done.stderr
    assert values(there) == ["v"]
    assert [record.timestamp_ms for record in Client(there).read(TOPIC)] == [
        record.timestamp_ms for record in Client(here).read(TOPIC)
    ]
    assert "copied with timestamp 1" not in done.stderr


def test_more_than_a_thousand_partitions_are_copied(here: str, there: str) -> None:
    Client(here).create_topic(TOPIC, 1100)
    write(here, *(f"v{number}" for number in range(20)))
    producer = Producer({"bootstrap.servers": here, "linger.ms": 5})
    for number in (0, 999, 1000, 1099):
        producer.produce(TOPIC, f"in {number}", partition=number)
    assert producer.flush(TIMEOUT_S) == 0

    done = mirror(here, there, "-o", "json")

    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert len(rows) == 1100
    assert sum(row["records"] for row in rows) == 24
    assert [rows[number]["records"] >= 1 for number in (0, 999, 1000, 1099)] == [True] * 4


def test_settings_of_the_sources_broker_are_moved_to_the_topics(here: str, there: str) -> None:
    client, kept_ms = admin(here), "4000000000000"
    (number,) = map(str, client.list_topics(timeout=TIMEOUT_S).brokers)

    def set_default(operation: AlterConfigOpType) -> None:
        entry = ConfigEntry("log.retention.ms", kept_ms, incremental_operation=operation)
        broker = ConfigResource(ResourceType.BROKER, number, incremental_configs=[entry])
        for changed in client.incremental_alter_configs([broker]).values():
            changed.result(TIMEOUT_S)

    Client(here).create_topic(TOPIC, configs={"cleanup.policy": "compact"})
    set_default(AlterConfigOpType.SET)
    try:
        done = mirror(here, there)
    finally:
        set_default(AlterConfigOpType.DELETE)

    assert done.returncode == 0, done.stderr
    described = run_here("topics", "describe", TOPIC, "-o", "json", "-b", there)
    assert json.loads(described.stdout)[0]["configs"] == {
        "cleanup.policy": "compact",
        "retention.ms": kept_ms,
    }
