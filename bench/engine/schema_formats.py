"""Throughput with values in JSON, AVRO, PROTOBUF and JSON_SR, and of AVRO in Kafka Streams.

The same orders go through the same topology in each format, in turns: JSON, AVRO, PROTOBUF,
JSON_SR, then Kafka Streams in AVRO. Topologies and results are described in `orders.py`; rates are
measured as in `streams_comparison.py`. A ratio is of two rates of one round. The results of every
run are decoded and compared with those that plain Python computes.

Confluent's serializers are not available: Kafka Streams uses a serde of ours on Apache Avro, see
`kafka_streams/AvroRecords.java`. It reads the schemas from the same registry.
"""

import argparse
import json
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.common.results_file import write_result
from bench.engine.orders import FORMATS, ROWS, Expected, records, topology
from bench.engine.streams_comparison import (
    Cluster,
    Figures,
    compile_streams,
    run_duolog,
    run_streams,
)

from duolog.runtime.broker_process import BrokerProcess
from duolog.runtime.registry_process import RegistryProcess

GOALS: Final = {"AVRO": 1.3, "PROTOBUF": 1.2}
"""Times the rate of JSON."""
STREAMS_GOAL: Final = 1.2
"""Times the rate of Kafka Streams, in Avro."""
STREAMS: Final = "AVRO in Kafka Streams"


class Comparison:
    """Measures rows on one broker; the orders of a format are written once."""

    def __init__(
        self, servers: str, registry: str, work: Path, options: argparse.Namespace
    ) -> None:
        self._cluster = Cluster(servers)
        self._registry = registry
        self._work = work
        self._options = options
        self._expected = Expected.of(options.orders)
        self._formats: Sequence[str] = options.formats.split(",")
        self._classes = work / "classes"
        compile_streams(self._classes)
        for form in self._formats:
            self._cluster.create(f"orders-{form}")
            orders = records(form, f"orders-{form}", registry, options.orders)
            self._cluster.write(f"orders-{form}", orders)

    def run(self, row: str) -> Figures:
        """Return the figures of a row."""
        runs: dict[str, list[Figures]] = {}
        for number in range(self._options.rounds):
            for form in self._formats:
                runs.setdefault(form, []).append(self._duolog(row, form, number))
                print(row, form, json.dumps(runs[form][-1]), flush=True)
            runs.setdefault(STREAMS, []).append(self._streams(row, number))
            print(row, STREAMS, json.dumps(runs[STREAMS][-1]), flush=True)
        return {
            "orders": self._options.orders,
            "goals_beside_json": GOALS,
            "goal_beside_kafka_streams": STREAMS_GOAL,
            "beside_json": {
                form: _ratios(runs[form], runs["JSON"])
                for form in self._formats
                if form != "JSON" and "JSON" in runs
            },
            "avro_beside_kafka_streams": _ratios(runs.get("AVRO", []), runs[STREAMS]),
            "bytes_per_order": {form: self._bytes(form) for form in self._formats},
            "runs": runs,
        }

    def _duolog(self, row: str, form: str, number: int) -> Figures:
        name = f"{row}-{form}-{number}"
        settings = {
            "max.offsets.per.trigger": str(self._options.micro_batch),
            "schema.registry.url": self._registry,
        }
        built = topology(row, form, name, f"orders-{form}", f"{name}-results")
        found = run_duolog(built, self._cluster.servers, self._work / name, settings)
        return found | {"results": self._checked(row, form, f"{name}-results")}

    def _streams(self, row: str, number: int) -> Figures:
        result = f"{row}-streams-{number}-results"
        self._cluster.create(result)
        found = run_streams(
            self._classes,
            "Orders",
            row,
            bootstrap=self._cluster.servers,
            registry=self._registry,
            work=self._work,
            events=self._options.orders,
            warm_up=min(self._options.micro_batch, self._options.orders // 2),
            source="orders-AVRO",
            result=result,
        )
        return found | {"results": self._checked(row, "AVRO", result)}

    def _checked(self, row: str, form: str, result: str) -> int:
        found = self._cluster.read(result)
        return self._expected.ensure(row, form, self._registry, found)

    def _bytes(self, form: str) -> int:
        sizes = [len(value) for _, value in self._cluster.read(f"orders-{form}")]
        return round(statistics.mean(sizes))


def _ratios(ones: Sequence[Figures], others: Sequence[Figures]) -> Figures | None:
    """Return the ratios of the rates in each round; None if one side has not run."""
    ratios = [
        one["events_per_second"] / other["events_per_second"]
        for one, other in zip(ones, others, strict=False)
    ]
    if not ratios:
        return None
    return {
        "ratio_median": round(statistics.median(ratios), 2),
        "ratio_min_max": [round(min(ratios), 2), round(max(ratios), 2)],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", default=",".join(ROWS), help="which ones, with commas")
    parser.add_argument("--formats", default=",".join(FORMATS), help="with AVRO, with commas")
    parser.add_argument("--orders", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--micro-batch", type=int, default=500_000, help="orders in a micro-batch")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="duolog-bench-") as directory:
        work = Path(directory)
        with (
            # Orders are of 2023: the first look for old segments, after five minutes, deletes them.
            BrokerProcess(work / "broker", settings={"log.retention.ms": "-1"}) as broker,
            RegistryProcess(broker.bootstrap_servers, log_path=work / "registry.log") as registry,
        ):
            comparison = Comparison(broker.bootstrap_servers, registry.url, work, options)
            for row in options.rows.split(","):
                write_result(f"schema_formats_{row}", comparison.run(row))


if __name__ == "__main__":
    main()
