"""Cost of a Python function per record.

First measures the processor time of a worker alone, with rows as sent by the kernel. Then measures
the elapsed time of a topology on the in-memory kernel with and without the function: records of 60
bytes, 1,000 of them waiting at a time; warm, on a quiet machine.

Finally measures real queries from topic to topic in micro-batches, with and without the function in
turns: the processor time of the JVM and its workers after the first fifth of the records, which is
meaningful even on a busy machine.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from bench.common.processor_time import family_cpu_s
from bench.common.results_file import write_result
from bench.engine.metrics_cost import run
from bench.engine.operators import events_of
from bench.engine.streams_comparison import Cluster

from duolog import Topology, call, col
from duolog.functions.called import Called
from duolog.plan.expressions.python_functions import PythonFunction
from duolog.plan.types import BIGINT, DOUBLE
from duolog.runtime.broker_process import BrokerProcess
from duolog.testing.kernel_evaluator import KernelEvaluator
from duolog.testing.reference import SourceRecord

ROWS = 1_000
ROUNDS = 200
RECORDS = 100_000
KEYS = 1_000
MICRO_BATCH = 300_000


def scalar(n: int) -> float:
    return n * 1.5


def vector(n: pa.Array) -> Annotated[pa.Array, float]:
    return pc.multiply(n, 1.5)


def worker(function: PythonFunction) -> float:
    """Return records per second of one process."""
    called = Called(function)
    rows = json.dumps([{"a0": n} for n in range(ROWS)], separators=(",", ":")).encode()
    began = time.process_time()
    for _ in range(ROUNDS):
        called.lines(rows, lambda _count: None)
    return ROWS * ROUNDS / (time.process_time() - began)


def kernel(step: Callable[[Any], Any]) -> float:
    """Return records per second of a topology with one step, on the in-memory kernel."""
    topology = Topology("bench")
    numbers = topology.stream("numbers", key="id STRING", value="n BIGINT, text STRING")
    numbers.map_values(r=step(col("n"))).to("out")
    evaluator = KernelEvaluator(topology.build(), tasks=1, cache_bytes_max=0)
    records = [
        SourceRecord("numbers", 0, n, n, b"key", b'{"n":%d,"text":"some text of a record"}' % n)
        for n in range(RECORDS)
    ]
    return best_rate(evaluator, records)


def best_rate(evaluator: KernelEvaluator, records: list[SourceRecord]) -> float:
    """Return records per second, the best of three passes; close the evaluator."""
    best = 0.0
    for _ in range(3):
        began = time.perf_counter()
        assert len(evaluator.run(records)) == len(records)
        best = max(best, len(records) / (time.perf_counter() - began))
    evaluator.close()
    return best


def query(
    name: str, step: Callable[[Any], Any], servers: str, events: int, work: Path
) -> dict[str, Any]:
    """Return the figures of a real query with one step."""
    topology = Topology(name)
    numbers = topology.stream("events", key="id STRING", value="n BIGINT")
    numbers.map_values(r=step(col("n"))).to("out")
    figures = run(topology, servers, MICRO_BATCH, events, work / name, spent_s=family_cpu_s)
    return figures | {"records_per_core": round(1e6 / figures["cpu_us_per_event"])}


def queries(events: int, rounds: int) -> dict[str, Any]:
    found: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory(prefix="duolog-bench-") as directory:
        work = Path(directory)
        with BrokerProcess(work / "broker") as broker:
            servers = broker.bootstrap_servers
            cluster = Cluster(servers)
            cluster.create("events", "out")
            written = cluster.write("events", events_of(KEYS, events))
            for number in range(rounds):
                for name, step in STEPS.items():
                    figures = query(f"{name}-{number}", step, servers, written, work)
                    found.setdefault(name, []).append(figures)
                    print(f"a query, {name:<15}", json.dumps(figures), flush=True)
    median = {
        name: statistics.median(one["cpu_us_per_event"] for one in of) for name, of in found.items()
    }
    return {
        **found,
        # Cost of the function alone: records per second of a core that does nothing else.
        "of_the_function_alone": {
            name: round(1e6 / max(0.001, cost - median["none"]))
            for name, cost in median.items()
            if name != "none"
        },
    }


STEPS: Final[dict[str, Callable[[Any], Any]]] = {
    "none": lambda n: n * 1.5,
    "scalar": lambda n: call(scalar, n),
    "vectors": lambda n: call(vector, n),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--events", type=int, default=3_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    workers = {
        "scalar": worker(PythonFunction(scalar, (BIGINT,), DOUBLE)),
        "vectors": worker(PythonFunction(vector, (BIGINT,), DOUBLE, "arrow")),
    }
    for name, rate in workers.items():
        print(f"a worker, {name:<13} {rate:12,.0f} records/s")
    kernels = {name: kernel(step) for name, step in STEPS.items()}
    for name, rate in kernels.items():
        print(f"kernel in memory, {name:<5} {rate:12,.0f} records/s")
    write_result(
        "python_functions",
        {
            "worker_records_per_core": {name: round(rate) for name, rate in workers.items()},
            "kernel_in_memory_records_per_second": {
                name: round(rate) for name, rate in kernels.items()
            },
            "events": options.events,
            "queries": queries(options.events, options.rounds),
        },
    )


if __name__ == "__main__":
    main()
