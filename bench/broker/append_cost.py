"""Cost of one produce request in the log: check, assign, stage, and its share of the write.

A round is the broker's work for a receive buffer with 64 one-record requests to one partition: 64
calls of `append`, then one of `write_staged`. It does not sync, because requests share a sync.

Run: scripts/bench append_cost
"""

import argparse
import sys
import tempfile
import time

from bench.common.results_file import write_result

from duolog.core.clock import SystemClock
from duolog.log import LogManager, PartitionLog, RealDisk
from duolog.record import Record, encode_batch
from duolog.record.records import BatchProducer

ROUND = 64
ROUNDS = 2000
REPEATS = 7


def measure(log: PartitionLog, value_bytes: int, *, idempotent: bool) -> dict[str, float]:
    """Return microseconds per request, best and median of several repeats."""
    append_us, write_us = [], []
    sequence = 0
    for _ in range(REPEATS):
        append_s = write_s = 0.0
        for _ in range(ROUNDS):
            batches = []
            for _ in range(ROUND):
                record = Record(0, 1_000_000, b"key", bytes(value_bytes))
                sent_by = BatchProducer(7, 0, sequence) if idempotent else BatchProducer()
                batch = encode_batch([record], producer=sent_by)
                batches.append(memoryview(batch))
                sequence += 1
            append = log.append
            started = time.perf_counter()
            for view in batches:
                append(view)
            staged = time.perf_counter()
            log.write_staged()
            write_s += time.perf_counter() - staged
            append_s += staged - started
        append_us.append(append_s / ROUNDS / ROUND * 1e6)
        write_us.append(write_s / ROUNDS / ROUND * 1e6)
    middle = REPEATS // 2
    return {
        "append_us_best": round(min(append_us), 3),
        "append_us_median": round(sorted(append_us)[middle], 3),
        "write_us_best": round(min(write_us), 3),
        "write_us_median": round(sorted(write_us)[middle], 3),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="what one produce request costs in the log")
    parser.parse_args()

    rows = []
    for idempotent in (False, True):
        with tempfile.TemporaryDirectory() as directory:
            manager = LogManager(RealDisk(), directory, SystemClock(), {})
            manager.topics.create("appended", 1)
            log = manager.log("appended", 0)
            row = {"idempotent": idempotent, **measure(log, 100, idempotent=idempotent)}
            manager.close()
        rows.append(row)
        print(row)
    write_result("append_cost", {"requests_per_round": ROUND, "rows": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
