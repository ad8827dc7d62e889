"""Programs by which Apache Kafka tests itself: verifiable clients, the transactional copier."""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import uuid4

from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewTopic
from lib.java import JavaProgram, run_java
from lib.outcomes import Outcome

TOOLS = "org.apache.kafka.tools"
MESSAGES = 20_000
COPIED = 5_000
PARTITIONS = 3


class Tools:
    """Runs the tools against one broker."""

    def __init__(self, bootstrap_servers: str, folder: Path) -> None:
        self.bootstrap_servers = bootstrap_servers
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def create_topic(self, partitions: int = PARTITIONS) -> str:
        topic = f"tools-{uuid4()}"
        admin = AdminClient({"bootstrap.servers": self.bootstrap_servers, "log_level": 0})
        admin.create_topics([NewTopic(topic, partitions)])[topic].result(20)
        return topic

    def run(self, tool: str, *arguments: str, timeout_s: float = 120) -> tuple[int | None, str]:
        return run_java(self._log(tool), f"{TOOLS}.{tool}", *arguments, timeout_s=timeout_s)

    def start(self, tool: str, *arguments: str) -> JavaProgram:
        return JavaProgram(self._log(tool), f"{TOOLS}.{tool}", *arguments)

    def _log(self, tool: str) -> Path:
        return self.folder / f"{tool}-{uuid4()}.txt"

    def produce(self, topic: str, messages: int) -> list[dict[str, Any]]:
        """Return the events of a VerifiableProducer."""
        arguments = ("--bootstrap-server", self.bootstrap_servers, "--topic", topic)
        _, output = self.run("VerifiableProducer", *arguments, "--max-messages", str(messages))
        return list(events(output))

    def values(self, topic: str, count: int) -> list[bytes]:
        """Return what a read_committed reader sees, up to `count` and a little longer."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap_servers,
                "group.id": str(uuid4()),
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
            }
        )
        consumer.subscribe([topic])
        found: list[bytes] = []
        end = time.monotonic() + 30
        while len(found) < count and time.monotonic() < end:
            found += [message.value() for message in consumer.consume(1000, timeout=0.5)]
        found += [message.value() for message in consumer.consume(1000, timeout=1.0)]
        consumer.close()
        return found


def events(output: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON lines of a tool."""
    for line in output.splitlines():
        if line.startswith("{"):
            yield json.loads(line)


def verifiable_clients(tools: Tools, protocol: str) -> bool:
    """Everything that was acknowledged is read, by two consumers, of which one is killed."""
    topic = tools.create_topic()
    acknowledged = sum(e["name"] == "producer_send_success" for e in tools.produce(topic, MESSAGES))
    group = str(uuid4())
    arguments = (
        *("--bootstrap-server", tools.bootstrap_servers, "--topic", topic, "--group-id", group),
        *("--group-protocol", protocol, "--reset-policy", "earliest", "--verbose"),
    )
    if protocol == "classic":
        arguments += ("--session-timeout", "6000")
    with ExitStack() as stack:
        consumers = [stack.enter_context(tools.start("VerifiableConsumer", *arguments))]
        consumers[0].wait_for("record_data", 60)
        consumers.append(stack.enter_context(tools.start("VerifiableConsumer", *arguments)))
        consumers[1].wait_for("partitions_assigned", 60)
        consumers[0].kill()
        tools.produce(topic, MESSAGES)
        end = time.monotonic() + 90
        while time.monotonic() < end:
            offsets = {
                (event["partition"], event["offset"])
                for consumer in consumers
                for event in events(consumer.output.rpartition("\n")[0])
                if event["name"] == "record_data"
            }
            if len(offsets) == 2 * MESSAGES:
                break
            time.sleep(1)
    return acknowledged == MESSAGES and len(offsets) == 2 * MESSAGES


def transactional_copy(tools: Tools, *more: str) -> bool:
    """Copiers are killed and begun again with the same id; each message arrives once."""
    source, target = tools.create_topic(1), tools.create_topic(1)
    tools.produce(source, COPIED)
    copier = (
        *("--broker-list", tools.bootstrap_servers, "--input-topic", source),
        *("--input-partition", "0", "--output-topic", target, "--consumer-group", str(uuid4())),
        *("--transactional-id", str(uuid4()), "--transaction-size", "100"),
        *("--transaction-timeout", "10000", "--enable-random-aborts", *more),
    )
    for _ in range(2):
        with tools.start("TransactionalMessageCopier", *copier) as killed:
            killed.wait_for('"consumed":', 60)
            time.sleep(0.5)
    status, output = tools.run("TransactionalMessageCopier", *copier, timeout_s=180)
    copied = tools.values(target, COPIED)
    assert len(output) > 0
    return status == 0 and sorted(copied, key=int) == [str(n).encode() for n in range(COPIED)]


def end_to_end_latency(tools: Tools) -> bool:
    """A thousand messages, each produced when the last one has come back."""
    topic = tools.create_topic(1)
    arguments = (tools.bootstrap_servers, topic, "1000", "all", "100")
    _, output = tools.run("EndToEndLatency", *arguments)
    return re.search(r"Percentiles: 50th = \d+", output) is not None


def performance_tools(tools: Tools) -> bool:
    topic = tools.create_topic()
    _, produced = tools.run(
        "ProducerPerformance",
        *("--topic", topic, "--num-records", "200000", "--record-size", "100"),
        *("--throughput", "-1", "--producer-props"),
        *(f"bootstrap.servers={tools.bootstrap_servers}", "acks=all", "compression.type=zstd"),
    )
    _, consumed = tools.run(
        "ConsumerPerformance",
        *("--bootstrap-server", tools.bootstrap_servers, "--topic", topic),
        *("--messages", "200000", "--timeout", "30000"),
    )
    return "200000 records sent" in produced and ", 200000, " in consumed


CHECKS: Mapping[str, Callable[[Tools], bool]] = MappingProxyType(
    {
        "verifiable producer and consumers, classic protocol": lambda tools: verifiable_clients(
            tools, "classic"
        ),
        "verifiable producer and consumers, consumer protocol": lambda tools: verifiable_clients(
            tools, "consumer"
        ),
        "transactional copier": transactional_copy,
        "transactional copier in a group": lambda tools: transactional_copy(tools, "--group-mode"),
        "transactional copier with group metadata": lambda tools: transactional_copy(
            tools, "--group-mode", "--use-group-metadata"
        ),
        "end to end latency": end_to_end_latency,
        "performance tools": performance_tools,
    }
)


class KafkaTools:
    """The tools of the release, as its system tests use them."""

    client = "Java clients 4.1.2"
    settings: Mapping[str, str] = MappingProxyType({})

    def run(
        self, bootstrap_servers: str, cache: Path, selection: Sequence[str]
    ) -> dict[str, Outcome]:
        tools = Tools(bootstrap_servers, cache / "logs")
        return {
            name: Outcome.PASSED if check(tools) else Outcome.FAILED
            for name, check in CHECKS.items()
            if not selection or name in selection
        }


SUITE = KafkaTools()
