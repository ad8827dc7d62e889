"""Checkpoints on a real HDFS: drivers are killed, moved and duplicated, and the file system becomes unavailable.

Each test writes orders, and looks at all results at the end: what a reader of committed records
sees of a count is 1, 2, 3 … for each key.
"""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Self

import pytest
from click.testing import CliRunner
from confluent_kafka import Consumer, KafkaError

import waiting
from conformance.hdfs.peer import HdfsPeer
from duolog.cli.main import cli
from duolog.engine.checkpoint.remote import RemotePath, directory_at
from duolog.testing import Client, EmbeddedCluster, SparkCluster

PROGRAM: Final = Path(__file__).with_name("hdfs_program.py")
NAME: Final = "orders-by-all"
TESTS: Final = PROGRAM.parents[1]
START_S: Final = 400.0
RESULTS_S: Final = 400.0
CUSTOMERS: Final = "abcdef"
EACH: Final = 5
"""Orders of each customer that one call writes."""
ONCE: Final = {"processing.guarantee": "exactly_once_v2"}
LOCAL: Final = {"master": "local[24]", "driver.memory.bytes": "700000000"}
# Each update of a count is a result.
SETTINGS: Final = {"statestore.cache.max.bytes": "0", "epoch.ms": "2000"}
ON_CLUSTER: Final = {
    "spark.executor.memory": "600m",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}
READ: Final = {
    "group.id": "reader",
    "auto.offset.reset": "earliest",
    "enable.partition.eof": True,
    # Each look is one at all there is.
    "enable.auto.commit": False,
    "isolation.level": "read_committed",
}

pytestmark = [pytest.mark.spark, pytest.mark.deep, pytest.mark.timeout(3600)]


@pytest.fixture(scope="module")
def hdfs(
    require_program: Callable[..., None], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[HdfsPeer]:
    require_program("java", package="openjdk-17-jre-headless")
    require_program("mvn", package="maven")
    with HdfsPeer(tmp_path_factory.mktemp("hdfs")) as peer:
        yield peer


class Driver:
    """The program, in a process group of its own with its JVMs."""

    def __init__(
        self, broker: str, url: str, mode: str, directory: Path, settings: dict[str, str]
    ) -> None:
        directory.mkdir(exist_ok=True)
        self._errors = directory / "said"
        given = [f"{name}={value}" for name, value in (SETTINGS | settings).items()]
        with self._errors.open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, str(PROGRAM), broker, url, mode, *given],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=directory,
                env=os.environ
                | {
                    "PYTHONPATH": str(TESTS),
                    "TMPDIR": str(directory),
                    "XDG_DATA_HOME": str(directory),
                },
                start_new_session=True,
            )
        self._lines: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._listener.join(START_S)
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    def wait_until(self, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            with contextlib.suppress(queue.Empty):
                line = self._lines.get(timeout=0.5)
                if holds(line):
                    return line
                assert "failed" not in line, line
            # What it has said last comes before its end.
            assert self._process.poll() is None or not self._lines.empty(), (
                self._errors.read_text()[-3000:]
            )
        raise AssertionError(f"it did not come so far: {self._errors.read_text()[-3000:]}")

    def wait_until_it_runs(self, mode: str = "") -> None:
        self.wait_until(
            lambda reported: (
                reported.get("state") == "running" and reported["mode"].startswith(mode)
            )
        )

    def wait_until_it_fails(self) -> dict[str, Any]:
        return self.wait_until(lambda reported: "failed" in reported)

    def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(START_S) == 0, self._errors.read_text()[-3000:]

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(START_S)

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(json.loads(line))


class Orders:
    """Writes orders, and reads the results."""

    def __init__(self, broker: str) -> None:
        self._broker = broker
        self._client = Client(broker)
        self._sent = 0
        # A whole second, lest windows be cut; of today, lest retention delete them.
        self._begins_ms = int(time.time()) * 1000
        for topic in ("names", "orders"):
            self._client.create_topic(topic, partitions=2)
        for customer in CUSTOMERS:
            self._client.produce(
                "names", customer, json.dumps({"name": customer.upper()}), timestamp_ms=1
            )

    def send(self) -> None:
        for _ in range(EACH):
            self._sent += 1
            for customer in CUSTOMERS:
                value = json.dumps({"number": self._sent})
                self._client.produce(
                    "orders", customer, value, timestamp_ms=self._begins_ms + 100 * self._sent
                )

    def wait_until_counted(self) -> None:
        waiting.wait_until(
            lambda: max_of(self.read("counted")) == dict.fromkeys(CUSTOMERS, self._sent),
            lambda: max_of(self.read("counted")),
            RESULTS_S,
        )

    def read(self, topic: str) -> list[tuple[str, dict[str, Any]]]:
        """Return all committed records of a topic; none where it is not there yet."""
        with contextlib.closing(
            Consumer({"bootstrap.servers": self._broker, "log_level": 0} | READ)
        ) as reader:
            reader.subscribe([topic])
            found: list[tuple[str, dict[str, Any]]] = []
            ended: set[int | None] = set()
            deadline = time.monotonic() + 60
            while len(ended) < 2 and time.monotonic() < deadline:
                record = reader.poll(1.0)
                error = None if record is None else record.error()
                if record is None:
                    continue
                if error is not None:
                    if error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001 - the client's name of it
                        return []
                    ended.add(record.partition())
                    continue
                key, value = record.key() or b"", record.value() or b"{}"
                found.append((key.decode(errors="replace"), json.loads(value)))
        return found

    def ensure_right(self, *, once: bool) -> None:
        """See that each result is there: of what is written once, in its order and once."""
        by_customer: dict[str, list[int]] = {}
        for customer, row in self.read("counted"):
            by_customer.setdefault(customer, []).append(row["n"])
        wanted = list(range(1, self._sent + 1))
        assert {
            customer: sorted(set(counts)) for customer, counts in by_customer.items()
        } == dict.fromkeys(CUSTOMERS, wanted)
        joined = Counter((row["number"], row["name"]) for _, row in self.read("joined"))
        assert set(joined) == {
            (number, customer.upper()) for number in wanted for customer in CUSTOMERS
        }
        windowed = Counter(row["n"] for _, row in self.read("windowed"))
        sizes = Counter(100 * number // 1000 for number in wanted)
        expected = Counter(
            n for size in sizes.values() for n in range(1, size + 1) for _ in CUSTOMERS
        )
        assert windowed >= expected
        if once:
            assert by_customer == dict.fromkeys(CUSTOMERS, wanted)
            assert set(joined.values()) == {1}
            assert windowed == expected


def max_of(read: list[tuple[str, dict[str, Any]]]) -> dict[str, int]:
    most: dict[str, int] = {}
    for customer, row in read:
        most[customer] = max(most.get(customer, 0), row["n"])
    return most


@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once_v2"])
@pytest.mark.parametrize("mode", ["micro-batch", "real-time"])
def test_results_and_state_survive_a_kill_and_a_restart(
    mode: str, guarantee: str, hdfs: HdfsPeer, tmp_path: Path
) -> None:
    url = f"{hdfs.url}/{mode}-{guarantee}"
    settings = LOCAL | {"processing.guarantee": guarantee}
    with EmbeddedCluster(tmp_path / "broker") as broker:
        orders = Orders(broker.bootstrap_servers)
        for ends in (Driver.kill, Driver.stop, Driver.stop):
            orders.send()
            with Driver(
                broker.bootstrap_servers, url, mode, tmp_path / "driver", settings
            ) as driver:
                driver.wait_until_it_runs(mode)
                orders.wait_until_counted()
                ends(driver)
        orders.ensure_right(once=guarantee == "exactly_once_v2")
    assert not list((tmp_path / "driver").rglob("checkpoints"))


@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once_v2"])
def test_state_on_a_cluster_of_two_workers_is_used_by_the_next_driver(
    guarantee: str, hdfs: HdfsPeer, tmp_path: Path
) -> None:
    url = f"{hdfs.url}/cluster-{guarantee}"
    with (
        EmbeddedCluster(tmp_path / "broker") as broker,
        SparkCluster(tmp_path / "spark", cores=8) as spark,
    ):
        settings = ON_CLUSTER | {"master": spark.master, "processing.guarantee": guarantee}
        orders = Orders(broker.bootstrap_servers)
        for number, ends in enumerate((Driver.kill, Driver.stop)):
            orders.send()
            directory = tmp_path / f"driver-{number}"  # As on another machine.
            with Driver(
                broker.bootstrap_servers, url, "micro-batch", directory, settings
            ) as driver:
                driver.wait_until_it_runs()
                orders.wait_until_counted()
                ends(driver)
        orders.ensure_right(once=guarantee == "exactly_once_v2")


def test_a_second_driver_is_refused_while_the_first_one_lives(
    hdfs: HdfsPeer, tmp_path: Path
) -> None:
    url = f"{hdfs.url}/two"
    with EmbeddedCluster(tmp_path / "broker") as broker:
        servers = broker.bootstrap_servers
        orders = Orders(servers)
        orders.send()
        with Driver(servers, url, "micro-batch", tmp_path / "one", LOCAL) as one:
            one.wait_until_it_runs()
            with Driver(servers, url, "micro-batch", tmp_path / "two", LOCAL) as two:
                reported = two.wait_until_it_fails()
            orders.wait_until_counted()
            one.stop()

    assert reported["failed"] == f'application "{NAME}" runs in another process'
    assert f"{url}/checkpoints/{NAME}" in reported["detail"]


def test_a_file_system_that_goes_away_or_takes_no_writes_is_named_and_nothing_is_lost(
    hdfs: HdfsPeer, tmp_path: Path
) -> None:
    url = f"{hdfs.url}/away"
    settings = LOCAL | ONCE | {"task.timeout.ms": "3000"}
    with EmbeddedCluster(tmp_path / "broker") as broker:
        servers = broker.bootstrap_servers
        orders = Orders(servers)
        orders.send()
        with Driver(servers, url, "micro-batch", tmp_path / "driver", settings) as driver:
            driver.wait_until_it_runs()
            orders.wait_until_counted()
            hdfs.enter_safe_mode()
            orders.send()
            reported = driver.wait_until_it_fails()
        assert "safe mode" in str(reported), reported
        with Driver(servers, url, "micro-batch", tmp_path / "driver", settings) as driver:
            reported = driver.wait_until_it_fails()
        assert "safe mode" in reported["detail"], reported
        hdfs.leave_safe_mode()
        hdfs.stop_name_node()
        with Driver(servers, url, "micro-batch", tmp_path / "driver", settings) as driver:
            reported = driver.wait_until_it_fails()
        assert reported["failed"] == f'file system "{hdfs.url}" does not answer', reported
        hdfs.start_name_node()
        with Driver(servers, url, "micro-batch", tmp_path / "driver", settings) as driver:
            driver.wait_until_it_runs()
            orders.wait_until_counted()
            driver.stop()
        orders.ensure_right(once=True)


def test_existing_state_is_listed_described_dumped_restored_and_reset(
    hdfs: HdfsPeer, tmp_path: Path
) -> None:
    url, file = f"{hdfs.url}/state", tmp_path / "orders.py"
    file.write_text("from fault.hdfs_program import topology\n\ntopology = topology()\n")
    settings = LOCAL | {"state.changelog": "on"}
    with EmbeddedCluster(tmp_path / "broker") as broker, pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(TESTS))
        servers = broker.bootstrap_servers
        orders = Orders(servers)
        orders.send()
        with Driver(servers, url, "micro-batch", tmp_path / "driver", settings) as driver:
            driver.wait_until_it_runs()
            orders.wait_until_counted()
            assert listed(url)["condition"] == "running"
            driver.stop()
        assert (listed(url)["condition"], listed(url)["directory"]) == (
            "stopped",
            f"{url}/checkpoints/{NAME}",
        )
        stores = [
            json.loads(line)["store"]
            for line in run("state", "describe", NAME, "--data", url, "-o", "jsonl")
        ]
        counts = next(store for store in stores if "aggregate" in store and "window" not in store)
        before = sorted(
            run("state", "dump", str(file), counts, "--data", url, "--set", "master=local[8]")
        )
        assert [json.loads(line)["value"]["n"] for line in before] == [EACH] * len(CUSTOMERS)
        directory = directory_at(url) / "checkpoints" / NAME
        assert isinstance(directory, RemotePath)
        (directory / "spark").remove_tree()
        run(
            "state", "restore", str(file), "--data", url, "-b", servers, "--set", "master=local[24]"
        )
        assert (
            sorted(
                run("state", "dump", str(file), counts, "--data", url, "--set", "master=local[8]")
            )
            == before
        )
        run("state", "reset", NAME, "--data", url, "-b", servers, "--yes")
        assert not directory.exists()


def listed(url: str) -> dict[str, Any]:
    (line,) = run("state", "list", "--data", url, "-o", "jsonl")
    found: dict[str, Any] = json.loads(line)
    return found


def run(*arguments: str) -> list[str]:
    reported = CliRunner().invoke(cli, list(arguments))
    assert reported.exit_code == 0, reported.output
    return reported.stdout.splitlines()
