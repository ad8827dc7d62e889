"""Kafka Streams' own system tests: SmokeTest and EosTest, with instances that are killed.

A driver writes records, instances process them, and the driver, or a verifier, compares every
result with what it computed itself. Drivers and verifiers connect without security: their programs
take no settings for it. Instances may log in.
"""

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from lib.java import JavaProgram, run_java
from lib.outcomes import Outcome

SMOKE = "org.apache.kafka.streams.tests.StreamsSmokeTest"
EOS = "org.apache.kafka.streams.tests.StreamsEosTest"
SMOKE_TOPICS = (
    "data echo max min min-suppressed min-raw dif sum sws-raw sws-suppressed cnt avg tagg fk"
)
EOS_TOPICS = "data echo min sum repartition max cnt"
DELIVERED = "ALL-RECORDS-DELIVERED"
DRIVER_S = 300
EOS_RUN_S = 45
SETTINGS = {
    "auto.create.topics.enable": "false",
    # The EOS programs make their inner topics with three replicas, whatever they are told.
    "replication.factor.clamp": "true",
}
"""The settings of the broker."""


class Run:
    """One check: its folder, its topics, its programs."""

    def __init__(
        self,
        bootstrap_servers: str,
        cache: Path,
        folder: Path,
        guarantee: str,
        of_instances: Mapping[str, str],
    ) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._of_instances = of_instances
        self._jars = cache / "libs"
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self._guarantee = guarantee

    def _properties(self, name: str, more: Mapping[str, str]) -> str:
        """Write the properties of a program, which has its state to itself."""
        path = self.folder / f"{name}.properties"
        properties = {
            "bootstrap.servers": self._bootstrap_servers,
            "processing.guarantee": self._guarantee,
            "state.dir": str(self.folder / "state" / name),
            **more,
        }
        path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        return str(path)

    def create_topics(self, names: str) -> None:
        """Create the topics, and delete those of an earlier check."""
        admin = AdminClient({"bootstrap.servers": self._bootstrap_servers, "log_level": 0})
        old = [name for name in admin.list_topics(timeout=20).topics if not name.startswith("__")]
        for done in admin.delete_topics(old).values() if old else ():
            done.result(20)
        time.sleep(1)
        for done in admin.create_topics([NewTopic(name, 5) for name in names.split()]).values():
            done.result(20)

    def program(self, main_class: str, command: str, name: str) -> JavaProgram:
        more = self._of_instances if command.startswith("process") else {}
        arguments = (self._properties(name, more), command)
        log = self.folder / f"{name}.txt"
        return JavaProgram(log, main_class, *arguments, more_jars=self._jars)

    def wait_until_processed(self, group: str, topics: Sequence[str]) -> None:
        """Wait until the group has committed the end of each partition, but for a marker."""
        config = {"bootstrap.servers": self._bootstrap_servers, "group.id": group, "log_level": 0}
        consumer = Consumer(config)
        partitions = [TopicPartition(topic, index) for topic in topics for index in range(5)]
        deadline = time.monotonic() + DRIVER_S

        def lag() -> int:
            committed = consumer.committed(partitions, timeout=20)
            ends = [consumer.get_watermark_offsets(one, timeout=20)[1] for one in partitions]
            return max(end - found.offset for found, end in zip(committed, ends, strict=True))

        while lag() > 1 and time.monotonic() < deadline:
            time.sleep(1)
        consumer.close()

    def verify(self, command: str) -> str:
        log = self.folder / f"{command}.txt"
        arguments = (self._properties(command, {}), command)
        return run_java(log, EOS, *arguments, timeout_s=DRIVER_S, more_jars=self._jars)[1]


def smoke(run: Run) -> bool:
    """One instance is killed in the middle; a second one takes over."""
    run.create_topics(SMOKE_TOPICS)
    with ExitStack() as stack:
        driver = stack.enter_context(run.program(SMOKE, "run", "driver"))
        first = stack.enter_context(run.program(SMOKE, "process", "first"))
        first.wait_for("processed", 60)
        first.kill()
        stack.enter_context(run.program(SMOKE, "process", "second"))
        driver.wait(DRIVER_S)
        return DELIVERED in driver.output and "FAILURE" not in driver.output


def exactly_once(run: Run, kind: str) -> bool:
    """Two instances; one is killed and comes back, the other stops and comes back."""
    run.create_topics(EOS_TOPICS)
    with ExitStack() as stack:
        driver = stack.enter_context(run.program(EOS, "run", "driver"))
        first = stack.enter_context(run.program(EOS, f"process{kind}", "first"))
        second = stack.enter_context(run.program(EOS, f"process{kind}", "second"))
        time.sleep(EOS_RUN_S / 3)
        first.kill()
        time.sleep(EOS_RUN_S / 3)
        first = stack.enter_context(run.program(EOS, f"process{kind}", "first"))
        second.terminate()
        second.wait(60)
        second = stack.enter_context(run.program(EOS, f"process{kind}", "second"))
        time.sleep(EOS_RUN_S / 3)
        driver.terminate()
        driver.wait(60)
        run.wait_until_processed("EosTest", ["data", "repartition"] if kind else ["data"])
        for instance in (first, second):
            instance.terminate()
            instance.wait(120)
    return DELIVERED in run.verify(f"verify{kind}")


CHECKS: Mapping[str, tuple[str, Callable[[Run], bool]]] = MappingProxyType(
    {
        "smoke test, at least once": ("at_least_once", smoke),
        "smoke test, exactly once": ("exactly_once_v2", smoke),
        "EOS test": ("exactly_once_v2", lambda run: exactly_once(run, "")),
        "EOS test, complex": ("exactly_once_v2", lambda run: exactly_once(run, "-complex")),
    }
)


def run_checks(
    bootstrap_servers: str,
    cache: Path,
    selection: Sequence[str],
    of_instances: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Outcome]:
    """Run checks, by default all; `of_instances` are further properties of the applications."""
    outcomes = {}
    for number, (name, (guarantee, check)) in enumerate(CHECKS.items()):
        if selection and name not in selection:
            continue
        folder = cache / f"check-{number}"
        good = check(Run(bootstrap_servers, cache, folder, guarantee, of_instances))
        outcomes[name] = Outcome.PASSED if good else Outcome.FAILED
    return outcomes
