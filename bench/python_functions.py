"""What a function in Python costs a record: `scripts/bench python_functions`.

A worker alone, with rows as the kernel sends them, by its own processor time; then a topology on the kernel in memory
with and without the function, by the clock: records of 60 bytes, 1,000 of them waiting at a time. Warm, on a quiet machine.
"""

import json
import time
from collections.abc import Callable
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.compute as pc

from duolog import Topology, call, col
from duolog.functions.called import Called
from duolog.plan.python_functions import PythonFunction
from duolog.plan.types import BIGINT, DOUBLE
from duolog.testing.kernel_evaluator import KernelEvaluator
from duolog.testing.reference import SourceRecord

ROWS = 1_000
ROUNDS = 200
RECORDS = 100_000


def scalar(n: int) -> float:
    return n * 1.5


def vector(n: pa.Array) -> Annotated[pa.Array, float]:
    return pc.multiply(n, 1.5)


def worker(function: PythonFunction) -> float:
    """Return records a second of one process."""
    called = Called(function)
    rows = json.dumps([{"a0": n} for n in range(ROWS)], separators=(",", ":")).encode()
    began = time.process_time()
    for _ in range(ROUNDS):
        called.lines(rows, lambda _count: None)
    return ROWS * ROUNDS / (time.process_time() - began)


def kernel(step: Callable[[Any], Any]) -> float:
    """Return records a second of a topology with one step, on the kernel in memory."""
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
    """Return records a second, of three passes the best; each record gives one. Closes the evaluator."""
    best = 0.0
    for _ in range(3):
        began = time.perf_counter()
        assert len(evaluator.run(records)) == len(records)
        best = max(best, len(records) / (time.perf_counter() - began))
    evaluator.close()
    return best


def main() -> None:
    print(
        f"a worker, scalar        {worker(PythonFunction(scalar, (BIGINT,), DOUBLE)):12,.0f} records/s"
    )
    of_many = PythonFunction(vector, (BIGINT,), DOUBLE, "arrow")
    print(f"a worker, vectors       {worker(of_many):12,.0f} records/s")
    print(f"kernel, no function     {kernel(lambda n: n * 1.5):12,.0f} records/s")
    print(f"kernel, scalar          {kernel(lambda n: call(scalar, n)):12,.0f} records/s")
    print(f"kernel, vectors         {kernel(lambda n: call(vector, n)):12,.0f} records/s")


if __name__ == "__main__":
    main()
