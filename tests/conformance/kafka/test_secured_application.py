"""An exactly-once application on a secured cluster: restarts, ACLs, and no secret anywhere.

`duolog run` runs as a process of its own, with a planted password and exactly the rights that
`--print-acls` lists. The cluster is a broker of Duolog or of Apache Kafka.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import (
    AclOperation,
    NewTopic,
    ResourceType,
)

import waiting
from conformance.kafka.secured_servers import SecuredServers
from conformance.secured_broker import SecuredBroker

pytestmark = [pytest.mark.spark, pytest.mark.timeout(540)]

PASSWORD: Final = "planted-7f3Qz9-password"  # noqa: S105 - planted, to be looked for
USER: Final = "runner"
PRINCIPAL: Final = f"User:{USER}"
WAIT_S: Final = 400.0
TOPOLOGY: Final = """
from duolog import Topology, col, count, sum_

topology = Topology("secured")
shops = topology.table("shops", key="shop STRING", value="region STRING")
sales = topology.stream("sales", key="shop STRING", value="amount BIGINT")
joined = sales.join(shops)
by_region = joined.group_by("region").aggregate(sales=count(), total=sum_("amount"))
by_region.to("totals")
"""
SETTINGS: Final = (
    "processing.guarantee=exactly_once_v2",
    "state.changelog=on",
    "statestore.cache.max.bytes=0",
    "spark.eventLog.enabled=true",
    "spark.eventLog.rolling.enabled=false",
    "spark.eventLog.compress=false",
    "spark.logConf=true",
)


@pytest.fixture(scope="module", params=["Duolog", "Apache Kafka"])
def peer(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SecuredServers]:
    if request.param == "Duolog":
        with SecuredBroker(tmp_path_factory.mktemp("secured")) as broker:
            prepare(broker)
            yield broker
    else:
        kafka: SecuredServers = request.getfixturevalue("secured_peer")
        prepare(kafka)
        yield kafka


def prepare(peer: SecuredServers) -> None:
    # The timestamps of records are in 1970.
    kept = {"retention.ms": "-1"}
    wanted = [NewTopic("shops", 2, config={"cleanup.policy": "compact"})]
    wanted.append(NewTopic("sales", 2, config=kept))
    admin = peer.admin()
    for future in admin.create_topics(wanted).values():
        future.result(60)
    peer.add_user(USER, PASSWORD)


class Application:
    """The topology in a directory, run by `duolog run`."""

    def __init__(self, peer: SecuredServers, directory: Path) -> None:
        self.peer = peer
        self.directory = directory
        self.file = directory / "secured.py"
        self.file.write_text(TOPOLOGY)
        self.properties = peer.write_properties(directory / "client.properties", USER, PASSWORD)
        self.events = directory / "events"
        self.events.mkdir()
        self.outputs: list[Path] = []
        self.command_lines: set[str] = set()

    def command(self, *more: str) -> list[str]:
        words = [sys.executable, "-m", "duolog", "run", str(self.file)]
        words += ["-b", self.peer.bootstrap_servers, "--client-properties", str(self.properties)]
        words += ["--data", str(self.directory / "data"), "--mode", "micro-batch"]
        for setting in (*SETTINGS, f"spark.eventLog.dir={self.events.as_uri()}"):
            words += ["--set", setting]
        return [*words, *more]

    def allow(self) -> None:
        """Allow what `--print-acls` prints, and nothing else."""
        words = self.command("--print-acls", PRINCIPAL)
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
        self.peer.allow_printed(done.stdout)

    def start(self) -> subprocess.Popen[bytes]:
        output = self.directory / f"output-{len(self.outputs)}"
        self.outputs.append(output)
        with output.open("wb") as file:
            return subprocess.Popen(self.command(), stdout=file, stderr=file)

    def watch(self, process: subprocess.Popen[bytes]) -> None:
        """Note the command lines of the process and its children."""
        for pid in _family(process.pid):
            try:
                line = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            self.command_lines.add(line.replace(b"\0", b" ").decode(errors="replace"))

    def await_totals(self, process: subprocess.Popen[bytes], wanted: dict[str, int]) -> None:
        def arrived() -> bool:
            assert process.poll() is None, self.outputs[-1].read_text()
            self.watch(process)
            return self.totals() == wanted

        waiting.wait_until(arrived, lambda: self.outputs[-1].read_text()[-3000:], WAIT_S)

    def totals(self) -> dict[str, int]:
        """Return the committed totals by region."""
        found: dict[str, int] = {}
        for key, value in read(self.peer, "totals"):
            found[key] = json.loads(value)["total"]
        return found

    def leaks(self, secret: str) -> list[str]:
        """Return where a secret is found in all that the runs have left."""
        texts = [str(line) for line in self.command_lines if secret in line]
        ours = {self.properties, self.file}
        files = [path for path in self.directory.rglob("*") if path.is_file() and path not in ours]
        return texts + [str(path) for path in files if secret.encode() in path.read_bytes()]


def read(peer: SecuredServers, topic: str) -> list[tuple[str, bytes]]:
    """Return the committed records of a topic, as the administrator."""
    consumer = Consumer(
        {**peer.librdkafka(), "group.id": "test", "isolation.level": "read_committed"}
        | {"enable.partition.eof": True, "auto.offset.reset": "earliest"}
    )
    found: list[tuple[str, bytes]] = []
    try:
        topics = consumer.list_topics(topic, timeout=30).topics
        partitions = topics[topic].partitions
        if not partitions:
            return found
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        ended = 0
        while ended < len(partitions):
            record = consumer.poll(30)
            assert record is not None
            if record.error() is not None:
                ended += 1
            else:
                found.append(((record.key() or b"").decode(), record.value() or b""))
    finally:
        consumer.close()
    return found


def sell(peer: SecuredServers, amounts: range) -> None:
    producer = Producer({**peer.librdkafka(), "partitioner": "murmur2_random"})
    for number, region in enumerate(("north", "south")):
        producer.produce("shops", json.dumps({"region": region}), f"shop-{number}", timestamp=1)
    producer.flush(60)
    for amount in amounts:
        value = json.dumps({"amount": amount})
        producer.produce("sales", value, f"shop-{amount % 2}", timestamp=1000 + amount)
    assert producer.flush(60) == 0


def totals_of(amounts: range) -> dict[str, int]:
    return {
        "north": sum(amount for amount in amounts if amount % 2 == 0),
        "south": sum(amount for amount in amounts if amount % 2 == 1),
    }


def _family(pid: int) -> list[int]:
    found = [pid]
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            for child in children.read_text().split():
                found += _family(int(child))
        except OSError:
            continue
    return found


def stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    process.wait(120)


@pytest.fixture
def application(peer: SecuredServers, tmp_path: Path) -> Application:
    return Application(peer, tmp_path)


def test_results_count_once_over_restarts_and_no_secret_is_left(application: Application) -> None:
    application.allow()
    peer = application.peer

    sell(peer, range(20))
    process = application.start()
    try:
        application.await_totals(process, totals_of(range(20)))
        os.kill(process.pid, signal.SIGKILL)
        process.wait(60)
        sell(peer, range(20, 40))
        process = application.start()
        application.await_totals(process, totals_of(range(40)))
        stop(process)
    finally:
        process.kill()
        process.wait(60)

    assert any("java" in line for line in application.command_lines)
    assert any(application.events.iterdir())
    assert application.leaks(PASSWORD) == []
    if isinstance(peer, SecuredBroker):
        assert PASSWORD not in peer.log_path.read_text()
    # The file that has the password is found, so that the search would find a leak.
    assert PASSWORD in application.properties.read_text()


@pytest.mark.deep
def test_a_missing_right_ends_the_application_with_a_hint(
    peer: SecuredServers, tmp_path: Path
) -> None:
    application = Application(peer, tmp_path)
    peer.add_user("stranger", PASSWORD)
    peer.write_properties(application.properties, "stranger", PASSWORD)
    for kind in (ResourceType.TOPIC, ResourceType.GROUP):
        peer.allow("User:stranger", kind, "*", AclOperation.ALL)

    process = application.start()
    process.wait(WAIT_S)

    output = application.outputs[-1].read_text()
    assert process.returncode != 0
    assert "TransactionalIdAuthorization" in output
    assert "--print-acls" in output
    assert PASSWORD not in output
