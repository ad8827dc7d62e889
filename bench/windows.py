"""Windows: throughput against Kafka Streams, a million keys that close at once, disk over ten retentions.

    throughput   events (written before) ─▶ one broker ─▶ Duolog, micro-batches │ Kafka Streams, in turns
    expiry       one window of so many keys, then one record behind it: how long that takes, and how much memory
    disk         other keys in each window, one window after the other: the state on the disk behind each

Rates count as in `bench/throughput.py`. Records are JSON in and out; counted and summed by key and window, with
the default record cache on both sides. Results on close leave Kafka Streams once in a second at most.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from results_file import write_result
from throughput import HERE, libs

from duolog import Topology, count, hopping, session, sum_, tumbling
from duolog.dsl.streams import Grouped
from duolog.runtime.application import Application
from duolog.runtime.supervisor import BrokerProcess

PARTITIONS: Final = 2
BEGIN_MS: Final = 1_700_000_000_000 // 3_600_000 * 3_600_000
MINUTE_MS: Final = 60_000
CAUGHT_UP_S: Final = 900


@dataclass(frozen=True)
class Kind:
    """A kind of window, and what comes for it."""

    keys: int
    size_ms: int
    advance_ms: int = 0
    is_session: bool = False
    on_close: bool = False

    @property
    def topic(self) -> str:
        return f"events-{self.keys}"

    def apply(self, grouped: Grouped) -> Grouped:
        size, advance = (f"{ms} ms" for ms in (self.size_ms, self.advance_ms))
        grace = "1 s"
        if self.is_session:
            windows: Any = session(size, grace=grace)
        elif self.advance_ms == self.size_ms:
            windows = tumbling(size, grace=grace)
        else:
            windows = hopping(size, advance, grace=grace)
        return grouped.windowed_by(windows, emit="on close" if self.on_close else "on update")


KINDS: Final = {
    "tumbling": Kind(1_000, MINUTE_MS, MINUTE_MS),
    "hopping": Kind(1_000, 5 * MINUTE_MS, MINUTE_MS),
    "session": Kind(10_000, 10_000, is_session=True),
    "tumbling-on-close": Kind(1_000, MINUTE_MS, MINUTE_MS, on_close=True),
    "session-on-close": Kind(10_000, 10_000, is_session=True, on_close=True),
}


def topology_of(kind: Kind, name: str) -> Topology:
    topology = Topology(name)
    events = topology.stream(kind.topic, key="id STRING", value="n BIGINT")
    counted = kind.apply(events.group_by_key()).aggregate(records=count(), total=sum_("n"))
    counted.to(f"{name}-results", partitions=PARTITIONS)
    return topology


class Cluster:
    """A broker, and what is written to it."""

    def __init__(self, servers: str) -> None:
        self.servers = servers
        self._admin = AdminClient({"bootstrap.servers": servers})
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "partitioner": "murmur2_random",
                "linger.ms": 20,
                "queue.buffering.max.messages": 1_000_000,
            }
        )

    def create(self, *topics: str) -> None:
        """Make topics whose records are older than any retention by time."""
        wanted = [NewTopic(topic, PARTITIONS, config={"retention.ms": "-1"}) for topic in topics]
        for future in self._admin.create_topics(wanted).values():
            future.result(30)

    def write(self, topic: str, records: Iterator[tuple[str, int]]) -> None:
        """Write records of these keys and times."""
        for number, (key, time_ms) in enumerate(records):
            value = json.dumps({"n": number % 100})
            while True:
                try:
                    self._producer.produce(topic, value, key, timestamp=time_ms)
                    break
                except BufferError:
                    self._producer.poll(0.1)
        if self._producer.flush(120):
            raise SystemExit(f'topic "{topic}" was not written in two minutes')


def events_of(keys: int, events: int) -> Iterator[tuple[str, int]]:
    """Yield events of random keys, one each millisecond."""
    rng = random.Random(keys)  # noqa: S311 - nothing secret
    for number in range(events):
        yield f"key-{rng.randrange(keys):07}", BEGIN_MS + number


def run_duolog(
    servers: str, data_dir: Path, kind: Kind, settings: dict[str, str]
) -> dict[str, object]:
    """Run from the beginning to the end of the topic, in micro-batches."""
    with Application(
        topology_of(kind, data_dir.name),
        bootstrap_servers=servers,
        data_dir=data_dir,
        mode="micro-batch",
        settings=settings,
    ) as application:
        query = application.start()
        if not query.wait_until_caught_up(CAUGHT_UP_S):
            raise SystemExit("the query did not catch up in 15 minutes")
        time.sleep(1)  # the last report comes just after the last commit
        reports = [report for report in query.reports() if report.records_in]
    measured = reports[1:] or reports
    events = sum(report.records_in for report in measured)
    last = measured[-1]
    took_ms = last.started_at_ms + last.duration_ms - measured[0].started_at_ms
    return {
        "events_measured": events,
        "micro_batches": len(reports),
        "events_per_second": round(events / took_ms * 1000),
    }


def run_streams(
    servers: str, kind: Kind, events: int, warm_up: int, classes: Path
) -> dict[str, object]:
    """Run bench/kafka_streams/Windows.java over the same topic."""
    command = ["java", "-Xmx2g", "-cp", f"{libs()}/*:{classes}", "Windows"]
    command += [servers, kind.topic, str(events), str(warm_up), "2"]
    command += ["session" if kind.is_session else "time", str(kind.on_close).lower()]
    command += [str(kind.size_ms), str(kind.advance_ms or kind.size_ms), "1000"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=1000)
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def throughput(servers: str, work: Path, options: argparse.Namespace) -> dict[str, object]:
    """Return the rates of both for each kind of window, in turns."""
    classes = work / "classes"
    source = HERE / "kafka_streams" / "Windows.java"
    compiler = ["javac", "-proc:none", "-cp", f"{libs()}/*", "-d", str(classes), str(source)]
    subprocess.run(compiler, check=True)
    cluster = Cluster(servers)
    kinds = {name: KINDS[name] for name in options.kinds.split(",")}
    for keys in sorted({kind.keys for kind in kinds.values()}):
        cluster.create(f"events-{keys}", f"streams-events-{keys}")
        cluster.write(f"events-{keys}", events_of(keys, options.events))
    settings = {"max.offsets.per.trigger": str(options.micro_batch)}
    found: dict[str, object] = {}
    for name, kind in kinds.items():
        ours, theirs = [], []
        for number in range(options.rounds):
            ours.append(run_duolog(servers, work / f"{name}-{number}", kind, settings))
            theirs.append(run_streams(servers, kind, options.events, options.micro_batch, classes))
            print(name, json.dumps({"duolog": ours[-1], "kafka_streams": theirs[-1]}), flush=True)
        ratios = [
            float(str(one["events_per_second"])) / float(str(other["events_per_second"]))
            for one, other in zip(ours, theirs, strict=True)
        ]
        found[name] = {
            "duolog": ours,
            "kafka_streams": theirs,
            "ratio_median": round(statistics.median(ratios), 2),
            "ratio_min_max": [round(min(ratios), 2), round(max(ratios), 2)],
        }
    return found


def expiry(servers: str, work: Path, keys: int) -> dict[str, object]:
    """Return how long it takes that a window of so many keys closes, and how much memory."""
    cluster = Cluster(servers)
    found: dict[str, object] = {"keys": keys}
    for on_close in (False, True):
        kind = Kind(keys, MINUTE_MS, MINUTE_MS, on_close=on_close)
        name = f"expiry-{'on-close' if on_close else 'on-update'}"
        topology = Topology(name)
        events = topology.stream(name, key="id STRING", value="n BIGINT")
        kind.apply(events.group_by_key()).count().to(f"{name}-results", partitions=PARTITIONS)
        cluster.create(name)
        cluster.write(name, ((f"key-{key:08}", BEGIN_MS) for key in range(keys)))
        with Application(
            topology, bootstrap_servers=servers, data_dir=work / name, mode="micro-batch"
        ) as application:
            query = application.start()
            _catch_up(query)
            before = len(query.reports())
            # Each partition's task closes its window with a record of its own.
            cluster.write(name, ((f"late-{key}", BEGIN_MS + 10 * MINUTE_MS) for key in range(20)))
            _catch_up(query)
            closing = [report for report in query.reports()[before:] if report.records_in]
            found[name] = {
                "micro_batch_ms": max(report.duration_ms for report in closing),
                "jvm_peak_mib": _peak_mib_of_jvms(),
                "state_bytes": _bytes_below(work / name),
            }
            print(name, found[name], flush=True)
    return found


def disk(servers: str, work: Path, windows: int, keys: int) -> dict[str, object]:
    """Return the bytes on the disk behind each of so many windows, all with keys of their own."""
    cluster = Cluster(servers)
    cluster.create("churn")
    topology = Topology("churn")
    events = topology.stream("churn", key="id STRING", value="n BIGINT")
    windowed = events.group_by_key().windowed_by(tumbling("1 minute", grace="0 s"))
    windowed.count().to("churn-results", partitions=PARTITIONS)
    sizes = []
    with Application(
        topology, bootstrap_servers=servers, data_dir=work / "churn", mode="micro-batch"
    ) as application:
        query = application.start()
        for number in range(windows):
            at = BEGIN_MS + number * MINUTE_MS
            cluster.write("churn", ((f"key-{number}-{key:07}", at) for key in range(keys)))
            _catch_up(query)
            sizes.append(_bytes_below(work / "churn"))
            print(f"window {number}: {sizes[-1]} bytes", flush=True)
    return {"keys_in_each_window": keys, "bytes_behind_each_window": sizes}


def _catch_up(query: Any) -> None:
    if not query.wait_until_caught_up(CAUGHT_UP_S):
        raise SystemExit("the query did not catch up in 15 minutes")
    time.sleep(2)  # the last report, and what a commit writes behind it


def _bytes_below(directory: Path) -> int:
    total = 0
    for path in directory.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:  # Spark removes old versions meanwhile.
            continue
    return total


def _peak_mib_of_jvms() -> int:
    """Return the largest resident size that a JVM of this process has had, in all parts so far."""
    peak = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = dict(
                line.split(":", 1) for line in status.read_text().splitlines() if ":" in line
            )
        except OSError:
            continue
        own = int(lines.get("PPid", "0")) == os.getpid()
        if own and lines["Name"].strip() == "java" and "VmHWM" in lines:
            peak = max(peak, int(lines["VmHWM"].split()[0]) // 1024)
    return peak


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--parts", default="throughput,expiry,disk", help="which of the three")
    parser.add_argument("--kinds", default=",".join(KINDS), help="of windows, for throughput")
    parser.add_argument("--events", type=int, default=3_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--micro-batch", type=int, default=500_000, help="events in a micro-batch")
    parser.add_argument("--expiring-keys", type=int, default=1_000_000)
    parser.add_argument("--windows", type=int, default=30, help="whose disk is looked at")
    parser.add_argument("--keys", type=int, default=50_000, help="in each of these windows")
    options = parser.parse_args()
    parts = options.parts.split(",")
    figures: dict[str, object] = {"events": options.events}
    with tempfile.TemporaryDirectory(prefix="duolog-bench-") as directory:
        work = Path(directory)
        with BrokerProcess(work / "broker") as broker:
            servers = broker.bootstrap_servers
            if "throughput" in parts:
                figures["throughput"] = throughput(servers, work, options)
            if "expiry" in parts:
                figures["expiry"] = expiry(servers, work, options.expiring_keys)
            if "disk" in parts:
                figures["disk"] = disk(servers, work, options.windows, options.keys)
    write_result("windows", figures)


if __name__ == "__main__":
    main()
