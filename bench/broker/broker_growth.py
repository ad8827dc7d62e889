"""Scaling of Duolog's broker and Apache Kafka with partitions, connections and record size.

    partitions     1 … 10,000   4 connections x 64 in flight, one 100-byte record a batch, spread
    connections    1 … 1,000    one request in flight on each, one 100-byte record a batch
    record size    10 B … 1 MB  4 connections x 5 in flight, one record a batch

Neither side uses fsync. There is one pair of runs for each point and round.

Run: scripts/bench broker_growth [--curves partitions,connections,record_bytes] [--rounds 3]
"""

import argparse
import os
import tempfile
from pathlib import Path
from typing import Any, Final

from bench.broker.table.clients import Figures
from bench.broker.table.measured_brokers import (
    MeasuredBroker,
    create_topic,
    delete_topic,
    duolog,
    kafka,
    running,
)
from bench.broker.table.results import keep_rows, ratios, spread
from bench.broker.table.rows import raw

CURVES: Final[dict[str, tuple[int, ...]]] = {
    "connections": (1, 10, 100, 500, 1000),
    "record_bytes": (10, 100, 1000, 10_000, 100_000, 1_000_000),
    "partitions": (1, 10, 100, 1000, 10_000),
}
RECORD_BYTES_MAX: Final = 2_000_000


def point(curve: str, size: int, measured: MeasuredBroker, topic: str) -> Figures:
    """Measure one point of a curve on one broker."""
    connections, in_flight, partitions, record_bytes = {
        "connections": (size, 1, 1, 100),
        "record_bytes": (4, 5, 1, size),
        "partitions": (4, 64, size, 100),
    }[curve]
    configs = {"max.message.bytes": str(RECORD_BYTES_MAX)} if record_bytes > 100_000 else {}
    create_topic(measured, topic, partitions, **configs)
    run = raw(
        record_bytes=record_bytes,
        connections=connections,
        in_flight=in_flight,
        partitions=partitions,
        warm_up=_warm_up_s(partitions),
        seconds=3,
    )
    figures = run(measured, topic)
    delete_topic(measured, topic)
    os.sync()
    return figures


def _warm_up_s(partitions: int) -> float:
    """Return the warm-up time, in which the first record of each partition creates its file."""
    return 1 + partitions / 1000


def measure(curve: str, size: int, pair: tuple[MeasuredBroker, MeasuredBroker], rounds: int) -> Any:
    """Return the spread of both brokers at one point, and of their ratio."""
    found: list[tuple[Figures, Figures]] = []
    for number in range(rounds):
        topic = f"{curve}-{size}-{number}"
        ours, theirs = (point(curve, size, measured, topic) for measured in pair)
        found.append((ours, theirs))
    return {
        "curve": curve,
        "size": size,
        "durability": [measured.durability for measured in pair],
        "ratios": ratios(found),
        "duolog": spread([ours for ours, _ in found]),
        "kafka": spread([theirs for _, theirs in found]),
        "rounds": rounds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--curves", default=",".join(CURVES))
    parser.add_argument("--sizes", default=None, help="only these points, with one curve")
    parser.add_argument("--directory", type=Path, default=None, help="where the data goes")
    options = parser.parse_args()
    chosen = {int(size) for size in options.sizes.split(",")} if options.sizes else None
    with tempfile.TemporaryDirectory(prefix="duolog-bench-", dir=options.directory) as directory:
        pair = (duolog(Path(directory), "os"), kafka(Path(directory)))
        with running(*pair):
            point("connections", 10, pair[0], "warm")
            for number in range(2):  # Otherwise the first point would measure a cold JVM.
                point("connections", 10, pair[1], f"warm-{number}")
            for curve in options.curves.split(","):
                for size in CURVES[curve]:
                    if chosen and size not in chosen:
                        continue
                    found = measure(curve, size, pair, options.rounds)
                    keep_rows("broker_growth", {f"{curve}_{size}": found})
                    rate = found["ratios"]["requests_per_s"]["median"]
                    rates = [
                        found[side]["requests_per_s"]["median"] for side in ("duolog", "kafka")
                    ]
                    print(curve, size, rates, f"{rate:.3g}", flush=True)


if __name__ == "__main__":
    main()
