"""The doctor on directories of real broker processes: after kills, and after damage."""

import os
import signal
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from duolog.cli.doctor.decoders import DECODERS
from duolog.log.doctor import examine, salvage
from duolog.log.doctor.overlay import ReadOnlyDisk
from duolog.log.files.disk import RealDisk
from duolog.runtime.broker_process import BrokerProcess
from duolog.testing import Client, EmbeddedCluster

TIMEOUT_S = 60
KILLS = 3
RECORDS = 200
BATCH = 20


def write_transactions(servers: str) -> None:
    """Commit and abort transactions in twelve partitions, and leave one open."""
    producer = Producer({"bootstrap.servers": servers, "transactional.id": "shop"})
    producer.init_transactions(TIMEOUT_S)
    for number in range(5):
        producer.begin_transaction()
        for key in range(400):
            producer.produce("orders", os.urandom(300), str(key))
        if number % 2:
            producer.commit_transaction(TIMEOUT_S)
        elif number < 4:
            producer.abort_transaction(TIMEOUT_S)
    producer.flush(TIMEOUT_S)


def test_nothing_is_found_after_kills_of_a_busy_broker(tmp_path: Path) -> None:
    data = tmp_path / "data"
    for kill in range(KILLS):
        with BrokerProcess(data, settings={"log.segment.bytes": "1048576"}) as process:
            if not kill:
                admin = AdminClient({"bootstrap.servers": process.bootstrap_servers})
                admin.create_topics([NewTopic("orders", 12, 1)])["orders"].result(TIMEOUT_S)
            write_transactions(process.bootstrap_servers)
            os.kill(process.pid, signal.SIGKILL)

        report = examine(ReadOnlyDisk(), str(data), DECODERS)

        assert [(one.place.path, one.problem) for one in report.findings] == []
        assert report.topics == 2  # Also __transaction_state, whose records are decoded.


def test_a_broker_serves_a_salvaged_directory(tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    with EmbeddedCluster(data) as cluster:
        client = Client(cluster.bootstrap_servers)
        client.create_topic("orders", partitions=1)
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "linger.ms": 1000})
        for number in range(RECORDS):
            producer.produce("orders", f"value {number}", str(number))
            if number % BATCH == BATCH - 1:
                producer.flush(TIMEOUT_S)
        cluster.stop()
    (segment,) = data.glob("topics/*/0/*.log")
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 8
    segment.write_bytes(content)

    result = salvage(ReadOnlyDisk(), str(data), RealDisk(), str(out))

    (lost,) = result.lost
    assert lost.next_offset is not None
    missing = set(range(lost.first_offset, lost.next_offset))
    assert 0 < len(missing) <= BATCH
    with EmbeddedCluster(data_dir=out) as cluster:
        client = Client(cluster.bootstrap_servers)
        kept = [record.key_text for record in client.read("orders")]
        client.produce("orders", "new", "after the salvage")
        again = [record.key_text for record in client.read("orders")]
    assert kept == [str(number) for number in range(RECORDS) if number not in missing]
    assert again == [*kept, "new"]
