"""Three real Apache Kafka brokers, each also a controller, for replicas and leader changes."""

import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from confluent_kafka import ElectionType, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from conformance.kafka.peer import KafkaPeer, free_ports

COUNT: Final = 3
TIMEOUT_S: Final = 120.0
_JVM_OPTIONS: Final = ("-Xms128m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_SETTINGS: Final = {
    "num.partitions": "2",
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    # This test moves leaders itself.
    "auto.leader.rebalance.enable": "false",
    # Detect a stopped broker after 3 s instead of 9 s.
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
}


class KafkaPeers:
    """A cluster of three brokers in `data_dir`, as a context manager."""

    def __init__(self, data_dir: Path) -> None:
        ports = free_ports(2 * COUNT)
        voters = ",".join(
            f"{number + 1}@127.0.0.1:{port}" for number, port in enumerate(ports[COUNT:])
        )
        self.brokers = [
            KafkaPeer(
                data_dir / f"broker-{number + 1}",
                jvm_options=_JVM_OPTIONS,
                settings=_SETTINGS
                | {"node.id": str(number + 1), "controller.quorum.voters": voters},
                ports=(ports[number], ports[COUNT + number]),
            )
            for number in range(COUNT)
        ]

    def __enter__(self) -> Self:
        for broker in self.brokers:
            broker.begin()
        for broker in self.brokers:
            broker.await_connection()
        self._wait(lambda: len(self._admin().list_topics(timeout=60).brokers) == COUNT)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for broker in self.brokers:
            broker.stop()

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(broker.bootstrap_servers for broker in self.brokers)

    def leader(self, topic: str, partition: int) -> int:
        """Return the index of the broker that leads a partition; -1 if there is no leader."""
        reported = self._admin().list_topics(topic, timeout=60).topics[topic].partitions[partition]
        return int(reported.leader) - 1

    def kill_leader(self, topic: str, partition: int) -> int:
        """Kill the leader of a partition with SIGKILL; return its index."""
        number = self.leader(topic, partition)
        self.brokers[number].kill()
        return number

    def start(self, number: int) -> None:
        """Restart a broker and wait until it is in sync for all partitions."""
        self.brokers[number].start()
        self._wait(self._is_whole)

    def move_leaders(self) -> None:
        """Elect the preferred leader of each partition."""
        admin = self._admin()  # A stopping broker fails the requests in progress.
        try:
            admin.elect_leaders(ElectionType.PREFERRED, None).result(TIMEOUT_S)
        except KafkaException as error:
            # Some partitions already have their preferred leader.
            if "ELECTION_NOT_NEEDED" not in str(error):
                raise

    def partitions_led_by(self, number: int) -> list[TopicPartition]:
        topics = self._admin().list_topics(timeout=60).topics
        return [
            TopicPartition(name, partition.id)
            for name, topic in topics.items()
            for partition in topic.partitions.values()
            if partition.leader == number + 1
        ]

    def _is_whole(self) -> bool:
        topics = self._admin().list_topics(timeout=60).topics.values()
        return all(
            len(partition.isrs) == len(partition.replicas)
            for topic in topics
            for partition in topic.partitions.values()
        )

    def _admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap_servers, "log_level": 0})

    def _wait(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            try:
                if holds():
                    return
            except KafkaException:
                pass  # An election is in progress.
            assert time.monotonic() < deadline, "the brokers did not come together in time"
            time.sleep(0.2)
