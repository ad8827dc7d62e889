"""Kill the broker with SIGKILL repeatedly while librdkafka commits transactions.

Each transaction writes its number to every partition. Afterwards a read_committed consumer finds a
number everywhere or nowhere, each that was committed, none that was aborted, and no partition is
blocked by a transaction that never ends.

The machine decides at which point of its work the broker is killed.
"""

import threading
import time
from collections import Counter
from typing import Final

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

import waiting
from duolog.testing import EmbeddedCluster

TOPIC: Final = "t"
PARTITIONS: Final = 4
WORKERS: Final = 2
KILLS: Final = 4
COMMITS: Final = 2
"""Of each worker before each kill."""
TIMEOUT_S: Final = 60.0


class Worker:
    """Commits and aborts in turns, and restarts on request."""

    def __init__(self, servers: str, name: str, stopped: threading.Event) -> None:
        self.servers = servers
        self.name = name
        self.stopped = stopped
        self.committed: list[str] = []
        self.aborted: list[str] = []
        self.unknown: list[str] = []
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        number = 0
        while not self.stopped.is_set():
            producer = Producer(
                {
                    "bootstrap.servers": self.servers,
                    "transactional.id": self.name,
                    "transaction.timeout.ms": 10_000,
                    "reconnect.backoff.max.ms": 200,
                    "log_level": 0,
                }
            )
            try:
                producer.init_transactions(TIMEOUT_S)
                while not self.stopped.is_set():
                    number += 1
                    self._transact(producer, f"{self.name}-{number}", commit=number % 4 != 0)
            except KafkaException:
                producer.purge()

    def _transact(self, producer: Producer, name: str, *, commit: bool) -> None:
        # The outcome is unknown until the commit or abort has returned.
        outcome = self.unknown
        try:
            producer.begin_transaction()
            for partition in range(PARTITIONS):
                producer.produce(TOPIC, name, partition=partition)
            if commit:
                producer.commit_transaction(TIMEOUT_S)
                outcome = self.committed
            else:
                producer.abort_transaction(TIMEOUT_S)
                outcome = self.aborted
        finally:
            outcome.append(name)


def await_commits(workers: list[Worker]) -> None:
    """Wait until each worker has committed some more, however slow the machine is."""
    wanted = [len(worker.committed) + COMMITS for worker in workers]
    waiting.wait_until(
        lambda: (
            not any(
                (
                    len(worker.committed) < count
                    for worker, count in zip(workers, wanted, strict=True)
                )
            )
        ),
        "no producer commits",
        TIMEOUT_S,
    )


def read_committed(servers: str) -> list[list[str]]:
    """Return what each partition holds, up to its end."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "verifier",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in range(PARTITIONS)])
    seen: list[list[str]] = [[] for _ in range(PARTITIONS)]
    ended: set[int] = set()
    deadline = time.monotonic() + TIMEOUT_S
    while len(ended) < PARTITIONS and time.monotonic() < deadline:
        for message in consumer.consume(500, 0.5):
            partition = message.partition()
            assert partition is not None
            if message.error() is None:
                seen[partition].append((message.value() or b"").decode())
            else:
                ended.add(partition)
    consumer.close()
    assert len(ended) == PARTITIONS, "a partition has no end"
    return seen


def test_transactions_of_a_killed_broker_are_whole_or_not_there() -> None:
    with EmbeddedCluster() as cluster:
        servers = cluster.bootstrap_servers
        admin = AdminClient({"bootstrap.servers": servers})
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(60)
        stopped = threading.Event()
        workers = [Worker(servers, f"w{n}", stopped) for n in range(WORKERS)]
        for worker in workers:
            worker.thread.start()

        for kill in range(KILLS):
            await_commits(workers)
            time.sleep(kill / 7)
            cluster.kill()
            cluster.restart()
        await_commits(workers)
        stopped.set()
        for worker in workers:
            worker.thread.join(2 * TIMEOUT_S)

        end = Producer({"bootstrap.servers": servers, "transactional.id": "end"})
        end.init_transactions(TIMEOUT_S)
        end.begin_transaction()
        for partition in range(PARTITIONS):
            end.produce(TOPIC, "end", partition=partition)
        end.commit_transaction(TIMEOUT_S)
        deadline = time.monotonic() + TIMEOUT_S
        # What a producer left open ends by its timeout, and only then the end can be read.
        seen = read_committed(servers)
        while not all("end" in values for values in seen):
            assert time.monotonic() < deadline, "a transaction hangs"
            time.sleep(1.0)
            seen = read_committed(servers)

    counts = Counter(name for values in seen for name in values)
    committed = {name for worker in workers for name in worker.committed}
    aborted = {name for worker in workers for name in worker.aborted}
    assert set(counts.values()) == {PARTITIONS}
    assert all(len(values) == len(set(values)) for values in seen)
    assert committed <= counts.keys()
    assert not aborted & counts.keys()
