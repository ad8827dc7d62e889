"""Cost of changelogs, and speed of restoring stores from them.

    records (written before) ─▶ one broker ─▶ aggregate and windows, changelogs off │ on, in turns
                                              then the checkpoint is deleted and the stores are
                                              restored

A rate is the number of records divided by the duration of their micro-batches, without the first
one and without JVM starts.
"""

import argparse
import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any

from bench.common.results_file import write_result
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from duolog import Topology, count, sum_, tumbling
from duolog.engine import Engine, EngineConfig
from duolog.engine.upgrades.restore import Restored
from duolog.plan.nodes import Plan
from duolog.runtime.broker_process import BrokerProcess

PARTITIONS = 2
WAIT_S = 600


def plan(name: str, kind: str) -> Plan:
    made = Topology(name)
    read = made.stream("sales", key="shop STRING", value="amount BIGINT").group_by_key()
    if kind == "windows":
        windowed = read.windowed_by(tumbling("1 minute", grace="1 hour"))
        windowed.aggregate(n=count(), total=sum_("amount")).to(f"{name}-results")
    else:
        read.aggregate(n=count(), total=sum_("amount")).to(f"{name}-results")
    return made.build()


def write(servers: str, records: int, keys: int) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    topic = NewTopic("sales", PARTITIONS, config={"retention.ms": "-1"})
    admin.create_topics([topic])["sales"].result(30)
    producer = Producer(
        {"bootstrap.servers": servers, "partitioner": "murmur2_random", "linger.ms": 50}
    )
    for n in range(records):
        while True:
            try:
                producer.produce(
                    "sales", f'{{"amount": {n % 997}}}', f"shop-{n * 7919 % keys}", timestamp=n + 1
                )
                break
            except BufferError:
                producer.poll(0.1)
    if producer.flush(120):
        raise SystemExit("the records were not written in 120 s")


def run(config: EngineConfig, name: str, kind: str) -> tuple[float, list[Restored]]:
    """Return records per second, and the progress reports of a restore."""
    reported: list[Restored] = []
    engine = Engine(config)
    engine.on_restore = reported.append
    query = engine.start(plan(name, kind), name, "micro-batch")
    if not query.wait_until_caught_up(WAIT_S):
        raise SystemExit(f"not done in {WAIT_S} s")
    reports = [report for report in query.reports() if report.records_in][1:]
    query.stop()
    seconds = sum(report.duration_ms for report in reports) / 1000
    return sum(report.records_in for report in reports) / seconds if seconds else 0.0, reported


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--records", type=int, default=4_000_000)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kinds", nargs="+", default=["aggregate", "windows"])
    parser.add_argument("--note", default="", help="what else the machine did")
    options = parser.parse_args()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="duolog-bench-") as directory:
        work = Path(directory)
        with BrokerProcess(work / "broker") as broker:
            servers = broker.bootstrap_servers
            write(servers, options.records, options.keys)
            log = work / "engine.log"
            held = Engine(EngineConfig(servers, work / "held", log_path=log))
            held.warm_up()
            for kind in options.kinds:
                rates: dict[str, list[float]] = {"off": [], "on": []}
                for number in range(options.rounds):
                    for changelog, of in rates.items():
                        name = f"{kind}-{changelog}-{number}"
                        config = EngineConfig(
                            servers, work / "state", changelog=changelog, log_path=log
                        )
                        of.append(run(config, name, kind)[0])
                medians = {changelog: statistics.median(of) for changelog, of in rates.items()}
                shutil.rmtree(work / "state" / f"{kind}-on-0")
                _, reported = run(config, f"{kind}-on-0", kind)
                found[kind] = {
                    "records_per_second": {
                        name: [round(r) for r in of] for name, of in rates.items()
                    },
                    "cost": round(1 - medians["on"] / medians["off"], 3),
                    "restored_entries": reported[-1].records,
                    "restore_seconds": round(reported[-1].seconds, 1),
                    "restored_per_second": round(reported[-1].records_per_second),
                }
                print(kind, found[kind], flush=True)
            held.close()
    write_result(
        "restore", {"records": options.records, "keys": options.keys, "note": options.note, **found}
    )


if __name__ == "__main__":
    main()
