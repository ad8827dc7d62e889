"""The two measured brokers: start and stop them, create topics, read their CPU time and memory.

    Duolog        the broker as users start it, `durability=fsync` or `os`
    Apache Kafka  KRaft, one node, the options of its start script, 1 GB of heap

They run in turns on one machine. CPU time and memory are read from /proc for both.
"""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from bench.broker.table.generator import PRODUCE, VERSION, Frame

from conformance.kafka.peer import KafkaPeer
from conformance.kafka.wire_client import ConnectionClosed, WireClient
from conformance.kafka.wire_helpers import create, new_topic
from duolog.runtime.broker_process import BrokerProcess

KAFKA_OPTIONS: Final = (
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
)
"""Options of Kafka's start script, except for the heap."""
LIST_OFFSETS, DELETE_TOPICS = 2, 20
CREATE_PARTITIONS: Final = 37
_CREATED_AT_ONCE: Final = 5000
"""Kafka's controller accepts at most 10,000 changes in one request."""
_ASK_AGAIN_S: Final = 0.01
_TOPIC_WITHIN_S: Final = 120.0


class Broker(Protocol):
    """Interface of both brokers."""

    @property
    def bootstrap_servers(self) -> str: ...

    @property
    def pid(self) -> int: ...

    def start(self) -> None: ...

    def stop(self) -> object: ...

    def kill(self) -> None: ...


class MeasuredBroker(NamedTuple):
    """A measured broker, with the name of its durability in the table."""

    name: str
    durability: str
    broker: Broker
    topic_configs: dict[str, str]

    @property
    def address(self) -> str:
        return self.broker.bootstrap_servers


def duolog(directory: Path, durability: str, **settings: str) -> MeasuredBroker:
    """Return Duolog's broker, not started."""
    given = {"durability": durability, **settings}
    broker = BrokerProcess(directory / f"duolog-{durability}", settings=given)
    said = "fsync before acknowledgement" if durability == "fsync" else "left to the system"
    return MeasuredBroker("duolog", said, broker, {})


def kafka(directory: Path, *, heap: str = "1g") -> MeasuredBroker:
    """Return Apache Kafka, not started."""
    options = (f"-Xms{heap}", f"-Xmx{heap}", *KAFKA_OPTIONS)
    broker = KafkaPeer(directory / f"kafka-{heap}", jvm_options=options)
    return MeasuredBroker("kafka", "left to the system", broker, {})


def flushing(measured: MeasuredBroker) -> MeasuredBroker:
    """Return Kafka with topics that flush every message."""
    configs = {"flush.messages": "1"}
    return measured._replace(durability="flush.messages=1", topic_configs=configs)


@contextlib.contextmanager
def running(*measured_brokers: MeasuredBroker) -> Iterator[None]:
    """Run the brokers of `measured_brokers`, each only once even if it is listed twice."""
    with contextlib.ExitStack() as stack:
        for broker in {id(one.broker): one.broker for one in measured_brokers}.values():
            broker.start()
            stack.callback(broker.stop)
        yield


def create_topic(measured: MeasuredBroker, name: str, partitions: int = 1, **configs: str) -> None:
    """Create a topic and wait until its last partition accepts requests."""
    configs = {**measured.topic_configs, **configs}
    with WireClient(measured.address) as client:
        wanted = new_topic(name, min(partitions, _CREATED_AT_ONCE), **dict(configs))
        answer = create(client, wanted, timeout=60_000)
        error = answer.topics[0].error_code
        assert not error, f"topic {name} was not made: {error!r}"
        for count in range(2 * _CREATED_AT_ONCE, partitions + 1, _CREATED_AT_ONCE):
            more = [{"name": name, "count": count, "assignments": None}]
            grown = client.ask(CREATE_PARTITIONS, 3, topics=more, timeout=60_000)
            error = grown.results[0].error_code
            assert not error, f"topic {name} did not grow to {count} partitions: {error!r}"
    await_leaders(measured, name, partitions)


def await_leaders(measured: MeasuredBroker, name: str, partitions: int) -> None:
    """Wait until every partition answers."""
    deadline = time.monotonic() + _TOPIC_WITHIN_S
    while time.monotonic() < deadline:
        if min(end_offsets(measured, name, partitions)) >= 0:
            return
        time.sleep(0.1)
    raise SystemExit(f"topic {name} of {measured.name} has no leaders")


def end_offsets(measured: MeasuredBroker, name: str, partitions: int) -> list[int]:
    """Return the end offset of every partition; -1 if it does not answer yet."""
    asked = [
        {"partition_index": index, "current_leader_epoch": -1, "timestamp": -1}
        for index in range(partitions)
    ]
    topics = [{"name": name, "partitions": asked}]
    with WireClient(measured.address) as client:
        answer = client.ask(LIST_OFFSETS, 9, replica_id=-1, isolation_level=0, topics=topics)
    return [-1 if one.error_code else one.offset for one in answer.topics[0].partitions]


def delete_topic(measured: MeasuredBroker, name: str) -> None:
    with WireClient(measured.address) as client:
        client.ask(DELETE_TOPICS, 4, topic_names=[name], timeout=30_000)


def first_produce(measured: MeasuredBroker, frame: Frame) -> None:
    """Send a produce request until it is acknowledged."""
    deadline = time.monotonic() + _TOPIC_WITHIN_S
    while time.monotonic() < deadline:
        with (
            contextlib.suppress(OSError, ConnectionClosed),
            WireClient(measured.address) as client,
        ):
            client.socket.sendall(frame.content)
            answer = client.receive(PRODUCE, VERSION)
            if answer[frame.error_at : frame.error_at + 2] == b"\0\0":
                return
        time.sleep(_ASK_AGAIN_S)
    raise SystemExit(f"{measured.name} took no record")


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process since its start."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid: int) -> float:
    """Return the resident memory of a process in MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024 / 1e6
    raise AssertionError("a process without VmRSS")
