"""Members of consumer groups as processes of their own, for tests that kill them."""

import json
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from confluent_kafka import Consumer, Producer, TopicPartition

import waiting
from duolog.testing.cluster import EmbeddedCluster

PARTITIONS = 4
TIMEOUT_S = 60.0
MEMBER = Path(__file__).with_name("group_member.py")


class Member:
    """A running member: what it owns, and what it has read."""

    def __init__(self, cluster: EmbeddedCluster, client: str, group: str, *options: str) -> None:
        command = [sys.executable, str(MEMBER), client, cluster.bootstrap_servers, group, "t"]
        self.process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True)
        self.partitions: list[int] = []
        self.records: list[dict[str, Any]] = []
        self.lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end(signal.SIGKILL)

    def owns(self, count: int) -> bool:
        self.catch_up()
        return len(self.partitions) == count

    def values(self) -> set[str]:
        self.catch_up()
        return {record["value"] for record in self.records}

    def catch_up(self) -> None:
        while not self.lines.empty():
            fields = json.loads(self.lines.get())
            if "partitions" in fields:
                self.partitions = fields["partitions"]
            else:
                self.records.append(fields)

    def end(self, number: int) -> None:
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.process.wait(TIMEOUT_S)
        self.reader.join(TIMEOUT_S)

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self.lines.put(line)


def wait_until(holds: Callable[[], bool], timeout_s: float = TIMEOUT_S) -> None:
    waiting.wait_until(holds, "it did not happen in time", timeout_s)


def produce(cluster: EmbeddedCluster, values: range) -> set[str]:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "linger.ms": 0})
    for value in values:
        producer.produce("t", str(value), partition=value % PARTITIONS)
    assert producer.flush(TIMEOUT_S) == 0
    return {str(value) for value in values}


def committed(cluster: EmbeddedCluster, group: str) -> int:
    """Return the sum of the offsets that the group has committed in topic `t`."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": group})
    asked = [TopicPartition("t", partition) for partition in range(PARTITIONS)]
    offsets = [max(part.offset, 0) for part in consumer.committed(asked, TIMEOUT_S)]
    consumer.close()
    return sum(offsets)
