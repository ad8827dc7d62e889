"""Windows at their limits: a million keys closing at once, and disk usage over time.

    expiry       one window of many keys, then one record that closes it: duration and memory
    disk         windows in succession, each with other keys: state on disk after each

Throughput against Kafka Streams is measured by `bench/engine/operators.py`.
"""

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from bench.common.footprint import bytes_below, peak_mib_of_jvms
from bench.common.results_file import write_result
from bench.engine.operators import BEGIN_MS, MINUTE_MS
from bench.engine.streams_comparison import PARTITIONS, Cluster, Record, catch_up

from duolog import Topology, tumbling
from duolog.runtime.application import Application
from duolog.runtime.broker_process import BrokerProcess


def records_of(prefix: str, keys: int, at_ms: int) -> Iterator[Record]:
    """Yield a record of each key, all at one time."""
    for key in range(keys):
        yield f"{prefix}-{key:08}", '{"n": 1}', at_ms


def expiry(servers: str, work: Path, keys: int) -> dict[str, object]:
    """Return the time to close a window of `keys` keys, and the memory used."""
    cluster = Cluster(servers)
    found: dict[str, object] = {"keys": keys}
    for on_close in (False, True):
        emit: Literal["on close", "on update"] = "on close" if on_close else "on update"
        name = f"expiry-{'on-close' if on_close else 'on-update'}"
        topology = Topology(name)
        events = topology.stream(name, key="id STRING", value="n BIGINT")
        windowed = events.group_by_key().windowed_by(tumbling("1 minute", grace="1 s"), emit=emit)
        windowed.count().to(f"{name}-results", partitions=PARTITIONS)
        cluster.create(name)
        cluster.write(name, records_of("key", keys, BEGIN_MS))
        with Application(
            topology, bootstrap_servers=servers, data_dir=work / name, mode="micro-batch"
        ) as application:
            query = application.start()
            catch_up(query)
            before = len(query.reports())
            # Each partition needs a record that closes the window of its task.
            cluster.write(name, records_of("late", 20, BEGIN_MS + 10 * MINUTE_MS))
            catch_up(query)
            closing = [report for report in query.reports()[before:] if report.records_in]
            found[name] = {
                "micro_batch_ms": max(report.duration_ms for report in closing),
                "jvm_peak_mib": peak_mib_of_jvms(),
                "state_bytes": bytes_below(work / name),
            }
            print(name, found[name], flush=True)
    return found


def disk(servers: str, work: Path, windows: int, keys: int) -> dict[str, object]:
    """Return the bytes on disk after each of `windows` windows, all with different keys."""
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
            cluster.write("churn", records_of(f"key-{number}", keys, at))
            catch_up(query)
            sizes.append(bytes_below(work / "churn"))
            print(f"window {number}: {sizes[-1]} bytes", flush=True)
    return {"keys_in_each_window": keys, "bytes_behind_each_window": sizes}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--parts", default="expiry,disk", help="which of the two")
    parser.add_argument("--expiring-keys", type=int, default=1_000_000)
    parser.add_argument("--windows", type=int, default=30, help="whose disk is looked at")
    parser.add_argument("--keys", type=int, default=50_000, help="in each of these windows")
    options = parser.parse_args()
    parts = options.parts.split(",")
    figures: dict[str, object] = {}
    with tempfile.TemporaryDirectory(prefix="duolog-bench-") as directory:
        work = Path(directory)
        with BrokerProcess(work / "broker") as broker:
            servers = broker.bootstrap_servers
            if "expiry" in parts:
                figures["expiry"] = expiry(servers, work, options.expiring_keys)
            if "disk" in parts:
                figures["disk"] = disk(servers, work, options.windows, options.keys)
    write_result("windows", figures)


if __name__ == "__main__":
    main()
