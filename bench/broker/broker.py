"""Duolog's broker compared with Apache Kafka 4.1.2: produce, fetch, latency and fsync.

    row: Duolog, Kafka, Duolog, Kafka ...    one pair per round, after a warm-up pair

Both brokers run in turns on this machine with default settings, and nothing else runs. A ratio is
Duolog / Kafka within one round; the table has its median, minimum and maximum. `--rows` measures
some rows again and keeps the figures of the others. docs/reference/figures.md and README.md take
their figures from bench/results/broker.json.

Run: scripts/bench broker --rounds 5 [--rows java_none,raw_4x64]
"""

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.broker.table.clients import Figures
from bench.broker.table.measured_brokers import (
    MeasuredBroker,
    cpu_seconds,
    create_topic,
    delete_topic,
    duolog,
    flushing,
    kafka,
    resident_mb,
    running,
)
from bench.broker.table.results import keep_rows, ratios, spread
from bench.broker.table.rows import ROWS, Row


def run_once(row: Row, measured: MeasuredBroker, topic: str) -> Figures:
    """Run a row on one broker, and add the broker's CPU time and memory to its figures."""
    pid = measured.broker.pid
    if row.prepare is None:
        create_topic(measured, topic, row.partitions)
    cpu = cpu_seconds(pid)
    figures = row.run(measured, topic)
    cpu = cpu_seconds(pid) - cpu
    figures["broker_cpu_us_per_record"] = cpu / max(1.0, figures["records"]) * 1e6
    figures["broker_resident_mb"] = resident_mb(pid)
    if row.prepare is None:
        delete_topic(measured, topic)
        # Write dirty pages now, so that they are not written during the next run.
        os.sync()
    return figures


def measure(row: Row, measured_brokers: dict[str, MeasuredBroker], rounds: int, warm: int) -> Any:
    """Run a row on both brokers in turns; return its figures for the table."""
    pair = [measured_brokers[name] for name in row.pair]
    if row.prepare is not None:
        for measured in pair:
            row.prepare(measured, row.name)
    found: list[tuple[Figures, Figures]] = []
    for number in range(rounds + warm):
        topic = row.name if row.prepare else f"{row.name}-{number}"
        ours, theirs = (run_once(row, measured, topic) for measured in pair)
        if number >= warm:
            found.append((ours, theirs))
    if row.prepare is not None:
        for measured in pair:
            delete_topic(measured, row.name)
    return {
        "work": row.work,
        "load": row.load,
        "durability": [measured.durability for measured in pair],
        "goals": [
            {"figure": goal.figure, "ratio": goal.ratio, "less": goal.less} for goal in row.goals
        ],
        "ratios": ratios(found),
        "duolog": spread([ours for ours, _ in found]),
        "kafka": spread([theirs for _, theirs in found]),
        "rounds": rounds,
    }


def print_row(name: str, found: Any, took_s: float) -> None:
    goals = [goal["figure"] for goal in found["goals"]] or ["p99_ms", "requests_per_s"]
    parts = [
        f"{figure} {found['duolog'][figure]['median']:,.4g} / "
        f"{found['kafka'][figure]['median']:,.4g}"
        f" = {found['ratios'][figure]['median']:.3g}"
        f" [{found['ratios'][figure]['min']:.3g}-{found['ratios'][figure]['max']:.3g}]"
        for figure in goals
    ]
    print(f"{name:24} {took_s:5.0f} s  {'; '.join(parts)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--warm-rounds", type=int, default=1, help="rounds that are not counted")
    parser.add_argument("--rows", default=",".join(ROWS), help="of: " + ", ".join(ROWS))
    parser.add_argument("--directory", type=Path, default=None, help="directory for the data")
    options = parser.parse_args()
    names = options.rows.split(",")
    unknown = [name for name in names if name not in ROWS]
    if unknown:
        parser.error(f"unknown row {unknown[0]}; the rows are {', '.join(ROWS)}")
    with tempfile.TemporaryDirectory(prefix="duolog-bench-", dir=options.directory) as directory:
        work = Path(directory)
        theirs = kafka(work)
        measured_brokers = {
            "duolog": duolog(work, "os"),
            "duolog_fsync": duolog(work, "fsync"),
            "kafka": theirs,
            "kafka_fsync": flushing(theirs),
        }
        needed = {side: measured_brokers[side] for name in names for side in ROWS[name].pair}
        with running(*needed.values()):
            for name in names:
                started = time.monotonic()
                found = measure(ROWS[name], measured_brokers, options.rounds, options.warm_rounds)
                keep_rows("broker", {name: found})
                print_row(name, found, time.monotonic() - started)


if __name__ == "__main__":
    main()
