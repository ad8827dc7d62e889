"""Time until the queries of a server write again on another one, after a kill or an orderly stop.

Two servers, each with a data directory of its own, share tables that count the rows of a stream. A
producer writes rows all the time. One server is killed (SIGKILL) or stopped (SIGTERM). The time is
that from the signal until each of its queries has written on the other server; the state comes from
changelogs. The stopped server then starts again and gets a part of the queries back, unmeasured.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from bench.common.results_file import write_result
from confluent_kafka import Consumer, Producer

from duolog.testing.cluster import EmbeddedCluster

_WAIT_S: Final = 180.0
_ROW_S: Final = 0.05
_SILENT_S: Final = 1.0
_CREATED: Final = (
    "CREATE STREAM rides (id STRING KEY, n INT) "
    "WITH (kafka_topic='rides', partitions=1, value_format='JSON');"
)
_TABLE: Final = (
    "CREATE TABLE t{0} WITH (kafka_topic='t{0}') AS "
    "SELECT id, COUNT(*) AS n FROM rides GROUP BY id;"
)


class Server:
    """A `duolog server`, which starts again after it has ended."""

    def __init__(self, brokers: str, data: Path) -> None:
        self._command = [
            sys.executable, "-m", "duolog", "server", "-b", brokers, "--data", str(data),
            "--listen", "127.0.0.1:0", "--query-properties", str(data.with_suffix(".properties")),
        ]  # fmt: skip
        data.with_suffix(".properties").write_text("commit.interval.ms=100\n")
        self._log = data.with_suffix(".log")
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command, stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().split()[-1]

    def run(self, statement: str) -> list[dict[str, Any]]:
        body = json.dumps({"ksql": statement}).encode()
        with urllib.request.urlopen(  # noqa: S310 - the address of a server that this program runs
            f"{self.address}/ksql", body, timeout=60
        ) as answer:
            found: list[dict[str, Any]] = json.load(answer)
            return found

    def hosts(self) -> dict[str, str]:
        """Return the address of the server of each query that runs."""
        (answer,) = self.run("SHOW QUERIES EXTENDED;")
        found = {}
        for query in answer["queryDescriptions"]:
            ((host, state),) = query["ksqlHostQueryStatus"].items()
            if state == "RUNNING":
                found[query["id"]] = f"http://{host}"
        return found

    def end(self, number: int) -> None:
        self.process.send_signal(number)
        self.process.wait()


class Results:
    """The times at which results of each table arrive."""

    def __init__(self, brokers: str, tables: int) -> None:
        self.seen: dict[str, list[float]] = {f"t{at}": [] for at in range(tables)}
        self._consumer = Consumer(
            {"bootstrap.servers": brokers, "group.id": "bench", "auto.offset.reset": "earliest"}
        )
        self._consumer.subscribe(list(self.seen))
        self.ended = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while not self.ended.is_set():
            record = self._consumer.poll(0.2)
            if record is not None and record.error() is None:
                self.seen[str(record.topic())].append(time.monotonic())
        self._consumer.close()

    def gap_s(self, table: str, since: float) -> float:
        """Wait for the first result after a silence; return the seconds from `since` to it."""
        deadline = since + _WAIT_S
        while time.monotonic() < deadline:
            seen = [at for at in self.seen[table] if at >= since - _SILENT_S]
            for before, after in zip([since, *seen], seen, strict=False):
                if after - max(before, since) >= _SILENT_S:
                    return after - since
            time.sleep(0.02)
        raise SystemExit(f"no result of {table} within {_WAIT_S:.0f} s")


@contextmanager
def rows(brokers: str) -> Iterator[None]:
    """Write a row of each of ten keys, one after the other, until the block ends."""
    ended, producer = threading.Event(), Producer({"bootstrap.servers": brokers, "linger.ms": 0})

    def write() -> None:
        number = 0
        while not ended.wait(_ROW_S):
            number += 1
            producer.produce("rides", json.dumps({"N": number}), f"k{number % 10}")
            producer.poll(0)

    threading.Thread(target=write, daemon=True).start()
    yield
    ended.set()
    producer.flush(10)


def wait_shared(server: Server, other: Server, tables: int) -> dict[str, str]:
    """Wait until both servers run about half of the queries; return the server of each."""
    deadline = time.monotonic() + _WAIT_S
    while time.monotonic() < deadline:
        found = server.hosts()
        of_other = sum(host == other.address for host in found.values())
        if len(found) == tables and abs(2 * of_other - tables) <= 1 + tables // 10:
            return found
        time.sleep(0.2)
    raise SystemExit(f"the servers do not share: {server.hosts()}")


def measure(results: Results, servers: list[Server], tables: int, number: int) -> float:
    """End the first server, and return the seconds until all its queries write again."""
    ended, other = servers
    hosts = wait_shared(other, ended, tables)
    moved = [name for name, host in hosts.items() if host == ended.address]
    since = time.monotonic()
    ended.end(number)
    names = [name.split("_")[1].lower() for name in moved]
    took_s = max(results.gap_s(name, since) for name in names)
    ended.start()
    servers.reverse()
    return took_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=4)
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    found: dict[str, list[float]] = {}
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="duolog-moves-")))
        cluster = EmbeddedCluster(directory / "broker", {"durability": "os"})
        brokers = stack.enter_context(cluster).bootstrap_servers
        servers: list[Server] = []
        for name in ("one", "two"):
            servers.append(Server(brokers, directory / name))
            stack.callback(servers[-1].end, signal.SIGKILL)
        servers[0].run(_CREATED)
        for number in range(options.tables):
            servers[0].run(_TABLE.format(number))
        results = Results(brokers, options.tables)
        stack.callback(results.ended.set)
        stack.enter_context(rows(brokers))
        for way, number in (("killed", signal.SIGKILL), ("stopped", signal.SIGTERM)):
            found[way] = [
                round(measure(results, servers, options.tables, number), 2)
                for _ in range(options.times)
            ]
    write_result(
        "moves",
        {
            "tables": options.tables,
            "load_of_the_machine": round(os.getloadavg()[0], 1),
            "seconds": found,
            "medians": {way: statistics.median(of) for way, of in found.items()},
        },
    )


if __name__ == "__main__":
    main()
