"""Cost of the pytest plugin: start, isolation, imports, memory; compared with pytest-kafka-broker.

    import       pytest over a suite without Kafka, with the plugin and with `-p no:duolog`
    broker       `LocalBroker.start`, until it accepts connections
    start        a suite of one test that writes and reads a record, less the same without a broker
    isolation    a suite of 1,000 tests, each with a topic of its own that is deleted after it
    round trips  a suite of 1,000 tests that write and read a record in a group of their own
    memory       resident set of the broker when it has loaded all schemas, and after those tests
    peer         one test, and 20, with pytest-kafka-broker, which starts a broker for each test;
                 install it first. It needs Java, and downloads Kafka when it is first used

A suite runs in a pytest of its own; the time is that of the whole process. Containers are not
measured here: PUBLISHED contains figures that others have published. Nor is the peer, unless
`--peer` is given: machines without a way to Kafka's download site cannot run it.

Run: scripts/bench pytest_plugin [--tests 1000] [--rounds 5] [--peer]
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from textwrap import dedent
from typing import Final

from bench.common.results_file import write_result

from duolog.testing import LocalBroker

PEER: Final = "pytest-kafka-broker"
PEER_TESTS: Final = 20
PUBLISHED: Final = (
    {
        "source": "KIP-974, Docker Image for GraalVM based Native Kafka Broker",
        "what": "start of Apache Kafka's broker alone, without a container",
        "jvm": {"seconds": "1.15 to 1.2", "memory": "1 GB"},
        "native": {"seconds": "0.11 to 0.14", "memory": "230 to 540 MB"},
    },
    {
        "source": "testcontainers-java, pull request 2078 (2019)",
        "what": "testcontainers' own test of one record, with the start of the container",
        "seconds": "9, before 12",
    },
)
"""Figures of others, on their machines."""

NOTHING: Final = """
    def test_nothing():
        pass
"""
ISOLATED: Final = """
    import pytest

    @pytest.mark.parametrize("number", range({tests}))
    def test_isolated(number, topic):
        pass
"""
ROUND_TRIPS: Final = """
    import pytest

    @pytest.mark.parametrize("number", range({tests}))
    def test_round_trip(number, topic, producer, consumer):
        producer.produce(topic, b"1")
        producer.flush()
        assert consumer.poll(60).value() == b"1"
"""
MEMORY: Final = """

    def test_memory(duolog_broker):
        from pathlib import Path
        status = Path(f"/proc/{{duolog_broker.pid}}/status").read_text()
        fields = dict(line.split(":", 1) for line in status.splitlines())
        Path("memory.txt").write_text(fields["VmRSS"].split()[0])
"""
PEER_ROUND_TRIPS: Final = """
    import pytest
    from confluent_kafka import Consumer, Producer

    @pytest.mark.asyncio
    @pytest.mark.parametrize("number", range({tests}))
    async def test_round_trip(number, kafka_broker):
        servers = {{"bootstrap.servers": kafka_broker.bootstrap_server}}
        producer = Producer(servers)
        producer.produce("topic", b"1")
        producer.flush()
        group = {{"group.id": "group", "auto.offset.reset": "earliest"}}
        consumer = Consumer(servers | group)
        consumer.subscribe(["topic"])
        assert consumer.poll(60).value() == b"1"
        consumer.close()
"""


class Runs:
    """Runs of pytest in a temporary folder."""

    def __init__(self, folder: Path, rounds: int) -> None:
        self.folder = folder
        self._rounds = rounds

    def seconds(self, suite: str, *options: str, rounds: int | None = None) -> dict[str, float]:
        """Return median and extremes of the seconds that pytest takes for a suite."""
        (self.folder / "test_suite.py").write_text(dedent(suite))
        taken = [self._run(options) for _ in range(rounds or self._rounds)]
        return spread(taken)

    def _run(self, options: tuple[str, ...]) -> float:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        began = time.perf_counter()
        done = subprocess.run(
            [*command, "-p", "no:randomly", *options],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        took = time.perf_counter() - began
        if done.returncode:
            raise SystemExit(f"error: {' '.join(done.args)} failed\n{done.stdout}{done.stderr}")
        return took


def spread(seconds: list[float]) -> dict[str, float]:
    """Return median and extremes."""
    return {
        "median": round(statistics.median(seconds), 3),
        "min": round(min(seconds), 3),
        "max": round(max(seconds), 3),
    }


def resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    fields = dict(line.split(":", 1) for line in status.splitlines())
    return round(int(fields["VmRSS"].split()[0]) / 1000, 1)


def plugin_figures(runs: Runs, tests: int) -> dict[str, object]:
    """Measure Duolog's plugin."""
    without = runs.seconds(NOTHING, "-p", "no:duolog")
    unused = runs.seconds(NOTHING)
    one = runs.seconds(ROUND_TRIPS.format(tests=1))
    many = runs.seconds(ROUND_TRIPS.format(tests=tests) + MEMORY.format(), rounds=1)
    isolated = runs.seconds(ISOLATED.format(tests=tests), rounds=1)
    return {
        "pytest_without_plugin_s": without,
        "pytest_with_unused_plugin_s": unused,
        "import_s": round(unused["median"] - without["median"], 3),
        "one_test_s": one,
        "start_s": round(one["median"] - unused["median"], 3),
        "tests": tests,
        "isolated_tests_s": isolated["median"],
        "isolation_ms": round((isolated["median"] - unused["median"]) / tests * 1000, 2),
        "round_trips_s": many["median"],
        "round_trip_ms": round((many["median"] - one["median"]) / max(1, tests - 1) * 1000, 2),
        "broker_resident_mb": round(int((runs.folder / "memory.txt").read_text()) / 1000, 1),
    }


def broker_figures(rounds: int) -> dict[str, object]:
    """Measure the start of a broker and its memory before it is used."""
    started, resident = [], []
    for _ in range(rounds):
        broker = LocalBroker({"logging.level": "debug"})
        began = time.perf_counter()
        broker.start()
        started.append(time.perf_counter() - began)
        while "loaded schemas" not in broker.log:
            time.sleep(0.01)
        resident.append(resident_mb(broker.pid))
        broker.stop()
    return {"broker_start_s": spread(started), "idle_broker_resident_mb": max(resident)}


def peer_figures(runs: Runs) -> dict[str, object]:
    """Measure pytest-kafka-broker; it downloads Kafka in its first run."""
    runs.seconds(PEER_ROUND_TRIPS.format(tests=1), "--kafka", rounds=1)
    one = runs.seconds(PEER_ROUND_TRIPS.format(tests=1), "--kafka")
    many = runs.seconds(PEER_ROUND_TRIPS.format(tests=PEER_TESTS), "--kafka", rounds=1)
    return {
        "one_test_s": one,
        "tests": PEER_TESTS,
        "per_test_ms": round((many["median"] - one["median"]) / (PEER_TESTS - 1) * 1000, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peer", action="store_true", help=f"measure {PEER}, too")
    parser.add_argument("--dry", action="store_true", help="print only, store nothing")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        runs = Runs(Path(directory), given.rounds)
        ours = broker_figures(given.rounds) | plugin_figures(runs, given.tests)
        figures: dict[str, object] = {"duolog": ours}
        figures[PEER] = peer_figures(runs) if given.peer else "not measured, see --peer"
    figures["published"] = PUBLISHED
    if given.dry:
        print(figures)
    else:
        write_result("pytest_plugin", figures)


if __name__ == "__main__":
    main()
