"""Cost of a processor per record, with one get and one put of a store.

First measures the processor time of a worker alone, with records as sent by the kernel and a store
that answers at once; each key occurs once in 1,000 records. Then measures the elapsed time of a
topology on the in-memory kernel, with records of 60 bytes and 10,000 keys: once with batched
records, as in micro-batches without state after the processor, and once record by record, as in all
other cases and in real time.
"""

import json
import struct
import time
from typing import Any

from bench.common.results_file import write_result
from bench.functions.python_functions import best_rate

from duolog import Processor, Record, Topology, count, key_value_store
from duolog.functions.processors.serving import Processors
from duolog.functions.processors.wire import put
from duolog.plan.processors import Definition, Output
from duolog.plan.schema import parse_schema
from duolog.testing.kernel_evaluator import KernelEvaluator
from duolog.testing.reference import SourceRecord

ROWS = 1_000
ROUNDS = 50
KEYS = 10_000
RECORDS = 50_000


class Counting(Processor):
    """Gets and puts once for each record."""

    def init(self, context: Any) -> None:
        self.context, self.counts = context, context.store("counts")

    def process(self, record: Record) -> None:
        n = (self.counts.get(record.key) or 0) + 1
        self.counts.put(record.key, n)
        self.context.forward(record.with_value({"n": n}))


def worker() -> float:
    """Return records per second of processor time of one process."""
    columns = parse_schema("id STRING", "n BIGINT, text STRING")
    counts = key_value_store("counts", key="id STRING", value="n BIGINT")
    output = Output("", parse_schema("id STRING", "n BIGINT"))
    processors = Processors(lambda _question: struct.pack(">qi", 0, -1))
    processors.define(0, Definition(Counting, columns, (output,), (counts,), fixed_key=False))
    begun = {"session": "", "application": "a", "task": "0_0", "node": "n", "lost": {}}
    begun |= {"wall_clock": None, "stream_time": -1, "schedules": None}
    items = b"".join(
        struct.pack(">bqqiq", 0, n, n, 0, n)
        + put(b"numbers")
        + put(None)
        + b"\0"
        + put(b'{"a0":"%d","a1":%d,"a2":"some text of a record"}' % (n, n))
        for n in range(ROWS)
    )
    began = time.process_time()
    for _ in range(ROUNDS):
        processors.begin(0, json.dumps(begun).encode())
        processors.run(0, struct.pack(">i", ROWS) + items, lambda _count: None)
    return ROWS * ROUNDS / (time.process_time() - began)


def rate(*, waits: bool) -> float:
    """Return records per second of one task."""
    topology = Topology("bench")
    counts = key_value_store("counts", key="id STRING", value="n BIGINT")
    numbers = topology.stream("numbers", key="id STRING", value="n BIGINT, text STRING")
    counted = numbers.process(Counting, stores=[counts], value="n BIGINT")
    counted.to("out")
    if not waits:
        second = key_value_store("seconds", key="id STRING", value="n BIGINT")
        idle = topology.stream("idle", key="id STRING", value="n BIGINT")
        idle.process(Counting, stores=[second, counts]).to("idle-out")
    evaluator = KernelEvaluator(topology.build(), tasks=1, cache_bytes_max=0)
    records = [
        SourceRecord(
            "numbers",
            0,
            n,
            n,
            b"%d" % (n * 7919 % KEYS),
            b'{"n":%d,"text":"some text of a record"}' % n,
        )
        for n in range(RECORDS)
    ]
    return best_rate(evaluator, records)


def counted() -> float:
    """Return records per second of a count in the kernel."""
    topology = Topology("bench")
    numbers = topology.stream("numbers", key="id STRING", value="n BIGINT, text STRING")
    numbers.group_by_key().aggregate(n=count()).to("out")
    evaluator = KernelEvaluator(topology.build(), tasks=1, cache_bytes_max=0)
    records = [
        SourceRecord("numbers", 0, n, n, b"%d" % (n * 7919 % KEYS), b'{"n":1,"text":"some text"}')
        for n in range(RECORDS)
    ]
    return best_rate(evaluator, records)


def main() -> None:
    found = {
        "worker_records_per_core": worker(),
        "count_in_the_kernel_records_per_second": counted(),
        "waiting_together_records_per_second": rate(waits=True),
        "one_by_one_records_per_second": rate(waits=False),
    }
    for name, of in found.items():
        print(f"{name:<40} {of:10,.0f}")
    write_result("processors", {name: round(of) for name, of in found.items()})


if __name__ == "__main__":
    main()
