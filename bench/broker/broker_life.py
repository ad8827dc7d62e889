"""Start time, memory and recovery of Duolog's broker compared with Apache Kafka.

    start      process start ─▶ first acknowledged produce, data directory empty or 1,000 partitions
    memory     resident set, idle with 1,000 partitions and after load;
               Kafka also with 256 MB of heap
    recovery   kill -9 ─▶ start ─▶ first acknowledged produce:
               one partition of 10 GB, 1,000 of 10 MB

Recovery is measured twice: with the data in the page cache, and after evicting it.

Run: scripts/bench broker_life [--parts start,memory,recovery] [--rounds 5]
"""

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from bench.broker.table.clients import Figures
from bench.broker.table.generator import Frame, produce_frame, run_load
from bench.broker.table.measured_brokers import (
    MeasuredBroker,
    cpu_seconds,
    create_topic,
    duolog,
    end_offsets,
    first_produce,
    kafka,
    resident_mb,
    running,
)
from bench.broker.table.results import keep_rows, spread

PARTITIONS: Final = 1000
IDLE_S: Final = 10
RECOVERED_BYTES: Final = 10 * 10**9
LARGE_BATCH_RECORDS: Final = 2000
TOPIC: Final = "life"

Make = Callable[[Path], MeasuredBroker]
BOTH: Final[tuple[Make, ...]] = (lambda work: duolog(work, "fsync"), kafka)


def seconds_to_first_produce(measured: MeasuredBroker, frame: Frame) -> float:
    """Start the broker; return the seconds until its first acknowledgement."""
    started = time.perf_counter()
    measured.broker.start()
    first_produce(measured, frame)
    return time.perf_counter() - started


def start_empty(make: Make, directory: Path) -> Figures:
    """Start with an empty directory; the first client also creates the topic."""
    measured = make(directory)
    if measured.name == "kafka":
        # Kafka formats the directory in a separate step before the first start.
        measured.broker.start()
        measured.broker.stop()
    started = time.perf_counter()
    measured.broker.start()
    create_topic(measured, TOPIC)
    first_produce(measured, produce_frame(TOPIC))
    took = time.perf_counter() - started
    measured.broker.stop()
    return {"seconds": took}


def start_full(make: Make, directory: Path) -> Figures:
    """Start with 1,000 partitions of one record each, after a clean stop."""
    measured = make(directory)
    frame = produce_frame(TOPIC)
    with running(measured):
        create_topic(measured, TOPIC, PARTITIONS)
        load(measured, frame, seconds=1.0)
        measured.broker.stop()
        return {"seconds": seconds_to_first_produce(measured, frame)}


def load(measured: MeasuredBroker, frame: Frame, **options: object) -> Any:
    given = {"connections": 4, "in_flight": 64, "partitions": PARTITIONS, "warm_up": 0, **options}
    return run_load("produce", measured.address, TOPIC, frame, **given)


def memory(make: Make, directory: Path) -> Figures:
    """Return the broker's memory, idle and after two loads."""
    measured = make(directory)
    frame = produce_frame(TOPIC)
    with running(measured):
        create_topic(measured, TOPIC, PARTITIONS)
        load(measured, frame, seconds=1.0)
    with running(measured):
        pid = measured.broker.pid
        time.sleep(3)
        cpu = cpu_seconds(pid)
        time.sleep(IDLE_S)
        found = {
            "idle_mb": resident_mb(pid),
            "idle_percent_of_core": (cpu_seconds(pid) - cpu) / IDLE_S * 100,
        }
        load(measured, frame, seconds=5.0)
        found["after_one_record_batches_mb"] = resident_mb(pid)
        large = produce_frame(TOPIC, records=LARGE_BATCH_RECORDS)
        load(measured, large, in_flight=5, seconds=5.0)
        found["after_large_batches_mb"] = resident_mb(pid)
    return found


def recovery(make: Make, directory: Path, partitions: int) -> Figures:
    """Fill partitions with 10 GB, kill the broker, and start it twice."""
    measured = make(directory)
    frame = produce_frame(TOPIC, records=LARGE_BATCH_RECORDS)
    one = produce_frame(TOPIC)
    with running(measured):
        create_topic(measured, TOPIC, partitions)
        wanted = RECOVERED_BYTES // partitions // frame.batch_bytes * LARGE_BATCH_RECORDS
        while min(end_offsets(measured, TOPIC, partitions)) < wanted:
            load(measured, frame, partitions=partitions, in_flight=8, seconds=2.0)
        measured.broker.kill()
        warm = seconds_to_first_produce(measured, one)
        measured.broker.kill()
        os.sync()
        forget_pages(directory)
        cold = seconds_to_first_produce(measured, one)
    return {"warm_seconds": warm, "cold_seconds": cold}


def forget_pages(directory: Path) -> None:
    """Evict the files of a directory from the page cache."""
    for path in directory.rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)


def in_turns(
    work: Path, rounds: int, makes: tuple[Make, ...], run: Callable[[Make, Path], Figures]
) -> Any:
    """Run each broker once per round, in a separate directory; return the spread."""
    found: dict[str, list[Figures]] = {}
    durability = {}
    for number in range(rounds):
        for make in makes:
            directory = work / str(number)
            directory.mkdir()
            measured = make(directory)
            figures = run(make, directory)
            shutil.rmtree(directory)
            os.sync()
            found.setdefault(measured.name, []).append(figures)
            durability[measured.name] = measured.durability
    rows = {name: spread(figures) for name, figures in found.items()}
    return {"durability": list(durability.values()), **rows, "rounds": rounds}


def small_heap(work: Path) -> MeasuredBroker:
    return kafka(work, heap="256m")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--parts", default="start,memory,recovery")
    parser.add_argument("--rounds", type=int, default=5, help="recovery has one")
    parser.add_argument("--directory", type=Path, default=None, help="where the data goes")
    options = parser.parse_args()
    parts = options.parts.split(",")
    with tempfile.TemporaryDirectory(prefix="duolog-bench-", dir=options.directory) as directory:
        work = Path(directory)
        if "start" in parts:
            report("start_empty", in_turns(work, options.rounds, BOTH, start_empty))
            report("start_1000", in_turns(work, options.rounds, BOTH, start_full))
        if "memory" in parts:
            report("memory", in_turns(work, 1, BOTH, memory))
            report("memory_256", in_turns(work, 1, (small_heap,), memory))
        if "recovery" in parts:
            for partitions in (1, PARTITIONS):
                report(
                    f"recovery_{partitions}",
                    in_turns(
                        work,
                        1,
                        (lambda path: duolog(path, "os"), kafka),
                        lambda make, path, count=partitions: recovery(make, path, count),  # type: ignore[misc]
                    ),
                )


def report(name: str, found: Any) -> None:
    keep_rows("broker_life", {name: found})
    print(name, {side: found[side] for side in ("duolog", "kafka") if side in found}, flush=True)


if __name__ == "__main__":
    main()
