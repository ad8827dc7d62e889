"""Cost of a group of queries: memory, time to the first row, and throughput.

    first_row   CREATE STREAM … AS SELECT ─▶ first row in its topic: in the running JVM of the
                server, in a group that starts for it, and in the running group
    memory      resident MB of the group's process, of its JVM, and of the JVM of the server, with
                one idle query in each JVM
    throughput  `--records` records of a topic through the same query, in the JVM of the server and
                in a group, in turns: records/s from its start to its last row

The broker and the client are in the same machine's other processes.
"""

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

from bench.common.results_file import write_result
from bench.engine.start import resident_mb
from confluent_kafka import Consumer, Producer, TopicPartition

from duolog.core.units import GIB
from duolog.runtime.sql.service import SqlService
from duolog.runtime.sql.statement_runner import StatementRunner
from duolog.testing import EmbeddedCluster

WAIT_S = 300.0
SETTLE_S = 10.0
GROUPS = {"default": "default", "group": "heavy"}


class Server:
    """A service that runs queries, and its client."""

    def __init__(self, bootstrap: str, data: Path) -> None:
        self.bootstrap = bootstrap
        self.service = SqlService(
            bootstrap,
            data=data,
            properties={
                "auto.offset.reset": "earliest",
                "duolog.query.jvm.group.memory.bytes": str(2 * GIB),
            },
        )
        self.runner = StatementRunner(self.service, self.service.session())
        self.number = 0
        self.service.start_jvm()
        self.service.stand_by()

    def run(self, text: str) -> None:
        for answer in self.runner.execute(text):
            if not hasattr(answer, "text"):
                list(answer)

    def begin(self, group: str, name: str, source: str) -> None:
        select = f"SELECT k, a * 2 AS b, UCASE(t) AS t FROM {source} WHERE a >= 0"  # noqa: S608 - no input
        self.run(f"SET 'duolog.query.jvm.group'='{group}'; CREATE STREAM {name} AS {select};")

    def query(self, group: str, source: str, rows: int) -> float:
        """Run a query until its topic has `rows`, and end it; return the seconds."""
        self.number += 1
        name = f"OUT_{self.number}"
        began = time.perf_counter()
        self.begin(group, name, source)
        self.wait_for_rows(name, rows)
        took = time.perf_counter() - began
        (query_id,) = (one.id for one in self.service.queries() if f"_{name}_" in one.id)
        self.run(f"TERMINATE {query_id};")
        return took

    def wait_for_rows(self, topic: str, rows: int) -> None:
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "bench"})
        deadline = time.monotonic() + WAIT_S
        try:
            while time.monotonic() < deadline:
                _, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)
                if end >= rows:
                    return
                time.sleep(0.02)
        finally:
            consumer.close()
        raise SystemExit(f"{topic} has fewer than {rows} rows")


def memory(server: Server) -> dict[str, object]:
    """Return the resident memory of the group's process with its JVM, and of the server's."""
    for name, group in GROUPS.items():
        server.begin(group, f"IDLE_{name}", "one")
    pid = server.service.pid_of_group("heavy")
    assert pid is not None
    time.sleep(SETTLE_S)
    return {
        "group_process_mb": round(resident_mb(pid)),
        "group_jvm_mb": round(sum(map(resident_mb, jvms_of(pid)))),
        "server_jvm_mb": round(sum(map(resident_mb, jvms_of(os.getpid())))),
    }


def jvms_of(parent: int) -> list[int]:
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            text = status.read_text()
        except OSError:
            continue
        if f"\nPPid:\t{parent}\n" in text and text.startswith("Name:\tjava\n"):
            found.append(int(status.parent.name))
    return found


def first_row(server: Server, rounds: int) -> dict[str, object]:
    cold = server.query("heavy", "one", 1)
    found: dict[str, object] = {"group_that_starts_s": round(cold, 2)}
    for name, group in GROUPS.items():
        server.query(group, "one", 1)
        took = [server.query(group, "one", 1) for _ in range(rounds)]
        found[f"{name}_running_median_s"] = round(statistics.median(took), 2)
    return found


def throughput(server: Server, records: int, rounds: int) -> dict[str, object]:
    rates: dict[str, list[float]] = {name: [] for name in GROUPS}
    for _ in range(rounds):
        for name, group in GROUPS.items():
            rates[name].append(records / server.query(group, "many", records))
    ratios = [one / other for one, other in zip(rates["group"], rates["default"], strict=True)]
    return {
        "records": records,
        **{f"{name}_records_per_s": [round(rate) for rate in of] for name, of in rates.items()},
        "ratio_median": round(statistics.median(ratios), 2),
    }


def produce(bootstrap: str, topic: str, records: int) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20})
    for number in range(records):
        producer.produce(topic, f'{{"A":{number},"T":"text {number}"}}', f"k{number % 1000}")
        if number % 20_000 == 0:
            producer.flush()
    producer.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as directory,
        EmbeddedCluster(Path(directory, "broker"), settings={"durability": "os"}) as cluster,
    ):
        server = Server(cluster.bootstrap_servers, Path(directory, "sql"))
        try:
            for source, records in (("one", 1), ("many", options.records)):
                server.run(
                    f"CREATE STREAM {source} (k STRING KEY, a BIGINT, t STRING) "
                    f"WITH (kafka_topic='{source}', partitions=1, value_format='JSON');"
                )
                produce(cluster.bootstrap_servers, source, records)
            server.query("default", "one", 1)
            figures: dict[str, object] = {
                "first_row": first_row(server, options.rounds),
                "throughput": throughput(server, options.records, options.rounds),
                "memory": memory(server),
            }
        finally:
            server.service.close()
    write_result("query_groups", figures)


if __name__ == "__main__":
    main()
