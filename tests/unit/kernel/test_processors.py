"""Processors in the kernel: what a process does not survive costs its record, and what it had written is taken back."""

import contextlib
import datetime as dt
import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

import waiting
from duolog import Processor, Record, Topology, key_value_store
from duolog.core.errors import StatementError
from duolog.engine.in_memory import MemoryChain
from duolog.engine.lowering.expressions.python_functions import python_of
from duolog.engine.lowering.lower import lower
from duolog.plan.cutting.levels import find_levels
from duolog.testing.packed_records import pack, unpack
from duolog.testing.reference import SourceRecord
from unit.kernel.driver import In, KernelDriver, Out, kernel_package

pytestmark = [pytest.mark.spark, pytest.mark.timeout(200)]

TIMEOUT_MS = 1_500


class Mortal(Processor):
    """Counts records; a certain word ends its process or blocks it, after a write was already sent."""

    def init(self, context: Any) -> None:
        self.context, self.counts = context, context.store("counts")
        context.schedule(dt.timedelta(seconds=10), "stream time", self.punctuate)

    def punctuate(self, now: int) -> None:
        if now == 20_000:
            os._exit(4)
        self.context.forward(Record("time", {"n": now}, now))

    def process(self, record: Record) -> None:
        n = (self.counts.get(record.key) or 0) + 1
        self.counts.put(record.key, n)
        assert (record.key, n) in list(self.counts.all()), "what is put is there at once"
        if record.value["said"] == "exit":
            os._exit(3)
        if record.value["said"] == "hang":
            time.sleep(600)
        self.context.forward(record.with_value({"n": n}))


def test_a_record_that_kills_its_process_is_skipped_and_leaves_the_store_unchanged() -> None:
    topology = Topology("mortal")
    counts = key_value_store("counts", key="id STRING", value="n BIGINT")
    came = topology.stream("in", key="id STRING", value="said STRING")
    came.process(Mortal, stores=[counts], value="n BIGINT").to("out")
    spec = lower(find_levels(topology.build(), 1), "mortal", cache_bytes_max=0)
    errors = {"errors": {"processing": "log_and_continue"}}
    chain = MemoryChain(spec | python_of(TIMEOUT_MS, 1 << 30) | errors)

    def run(*given: tuple[str, str, int]) -> list[tuple[bytes | None, bytes | None]]:
        records = [
            SourceRecord("in", 0, number, at, key.encode(), f'{{"said":"{word}"}}'.encode())
            for number, (key, word, at) in enumerate(given)
        ]
        return [(one.key, one.value) for one in unpack(chain.run(pack(records), 0))]

    try:
        reported = run(("a", "", 0), ("a", "exit", 1), ("a", "", 2), ("a", "hang", 3), ("b", "", 4))
        assert reported == [
            (b"a", b'{"n":1}'),
            (b"time", b'{"n":0}'),
            (b"a", b'{"n":2}'),
            (b"b", b'{"n":1}'),
        ]
        assert chain.skipped("processing") == 2

        reported = run(("a", "", 20_000), ("a", "", 20_001), ("a", "", 30_000))
        assert reported == [
            (b"a", b'{"n":3}'),
            (b"a", b'{"n":4}'),
            (b"a", b'{"n":5}'),
            (b"time", b'{"n":30000}'),
        ]
        assert chain.skipped("processing") == 3, "the call by time was lost, and is not made again"
    finally:
        chain.close()


def test_a_thread_of_a_processor_asks_no_store(tmp_path: Path) -> None:
    """Its request could be sent at any time, and the answer to the next call used to be read as its answer."""
    reported = tmp_path / "told"

    class Asking(Processor):
        def init(self, context: Any) -> None:
            self.context, self.counts = context, context.store("counts")

        def process(self, record: Record) -> None:
            self.counts.put("seen", 1)
            if record.value["said"] == "thread":
                thread = threading.Thread(target=self.ask)
                thread.start()
                thread.join()
            self.context.forward(record.with_value({"n": self.counts.get("other") or 0}))

        def ask(self) -> None:
            try:
                self.counts.get("a")
            except StatementError as error:
                reported.write_text(str(error))

    topology = Topology("asking")
    counts = key_value_store("counts", key="id STRING", value="n BIGINT")
    came = topology.stream("in", key="id STRING", value="said STRING")
    came.process(Asking, stores=[counts], value="n BIGINT").to("out")
    spec = lower(find_levels(topology.build(), 1), "asking", cache_bytes_max=0)
    chain = MemoryChain(spec | python_of(20_000, 1 << 30))
    try:
        for number, word in enumerate(("thread", "", "thread", "")):
            record = SourceRecord("in", 0, number, number, b"k", f'{{"said":"{word}"}}'.encode())
            out = unpack(chain.run(pack([record]), 0))
            assert [one.value for one in out] == [b'{"n":0}']
    finally:
        chain.close()

    assert reported.read_text().startswith("a store is accessed in a thread of the processor")


class Minutes(Processor):
    """Forwards its process id, and the stream time of its scheduled calls; fails for a certain word."""

    def init(self, context: Any) -> None:
        self.context = context
        context.schedule(dt.timedelta(seconds=5), "stream time", self.punctuate)

    def punctuate(self, now: int) -> None:
        self.context.forward(Record("time", {"n": now}, now))

    def process(self, record: Record) -> None:
        if record.value["said"] == "fail":
            raise ValueError("unlucky")
        self.context.forward(record.with_value({"n": os.getpid()}))


def minutes_spec(launch: str, application: str) -> dict[str, Any]:
    topology = Topology("minutes")
    came = topology.stream("in", key="id STRING", value="said STRING")
    came.process(Minutes, value="n BIGINT").to("out")
    spec = lower(find_levels(topology.build(), 1), application, cache_bytes_max=0)
    return spec | python_of(TIMEOUT_MS, 1 << 30) | {"run": "r", "launch": launch}


def command_record(word: str, at: int) -> In:
    return In("in", "k", f'{{"said":"{word}"}}', at, 0, at)


def pid_and_times(out: list[Out]) -> tuple[int, list[int]]:
    reported = [(one.key, json.loads(one.value or "")["n"]) for one in out]
    (pid,) = {n for key, n in reported if key == "k"}
    return pid, [n for key, n in reported if key == "time"]


def test_a_first_micro_batch_that_comes_again_finds_no_schedules_of_the_one_before(
    spark: SparkSession,
) -> None:
    """The sink had failed: the state had no schedule, but the process of the earlier attempt had already called it."""
    application = f"minutes-{time.monotonic_ns()}"
    records = [command_record("", 5000), command_record("", 10_000)]
    try:
        first = KernelDriver(spark, minutes_spec("first", application)).batch(records)
        again = KernelDriver(spark, minutes_spec("second", application)).batch(records)
    finally:
        kernel_package(spark).ProcessorWorkers.end(application)

    assert pid_and_times(first)[1] == [5000, 10_000]
    assert pid_and_times(again)[1] == [5000, 10_000]


def test_a_task_that_returns_to_a_process_gets_a_new_processor(
    spark: SparkSession,
) -> None:
    """On a cluster it was elsewhere meanwhile: what this process had last is not what the state says."""
    application = f"minutes-{time.monotonic_ns()}"
    records = [command_record("", 5000), command_record("", 10_000)]
    try:
        here = KernelDriver(spark, minutes_spec("one", application))
        first = pid_and_times(here.batch(records))
        # Of the same run of the application, and with the state that the task had before.
        back = KernelDriver(spark, minutes_spec("one", application))
        again = pid_and_times(back.batch(records))
        goes_on = pid_and_times(
            back.batch([command_record("", 14_000), command_record("", 15_000)])
        )
    finally:
        kernel_package(spark).ProcessorWorkers.end(application)

    assert again == first == (first[0], [5000, 10_000])
    assert goes_on == (first[0], [15_000])


@contextlib.contextmanager
def task_of_spark(spark: SparkSession) -> Iterator[Any]:
    """Make the kernel see this thread as a task of Spark, which fails with the exception raised within."""
    jvm: Any = spark._jvm  # noqa: SLF001 - as in the driver
    contexts = getattr(getattr(jvm.org.apache.spark, "TaskContext$"), "MODULE$")
    context = contexts.empty()
    contexts.setTaskContext(context)
    failure = jvm.scala.Option.apply(None)
    try:
        yield context
    except Py4JJavaError as error:
        context.markTaskFailed(error.java_exception)
        failure = jvm.scala.Option.apply(error.java_exception)
        raise
    finally:
        context.markTaskCompleted(failure)
        contexts.unset()


def test_a_task_that_fails_leaves_no_process_and_the_next_attempt_has_a_new_one(
    spark: SparkSession,
) -> None:
    """Spark closes nothing of a task that fails: each failure left a process with all its libraries."""
    application = f"minutes-{time.monotonic_ns()}"
    driver = KernelDriver(spark, minutes_spec("one", application))
    try:
        with task_of_spark(spark):
            committed, _ = pid_and_times(driver.batch([command_record("", 1000)]))
        assert is_alive(committed)

        with pytest.raises(Py4JJavaError, match="unlucky"), task_of_spark(spark):
            driver.batch([command_record("", 2000), command_record("fail", 3000)])
        wait_for_end(committed)

        with task_of_spark(spark):
            behind, _ = pid_and_times(driver.batch([command_record("", 2000)]))
        with task_of_spark(spark):
            kept, _ = pid_and_times(driver.batch([command_record("", 3000)]))
        assert kept == behind != committed
    finally:
        kernel_package(spark).ProcessorWorkers.end(application)


def is_alive(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and " Z " not in stat.read_text()


def wait_for_end(pid: int) -> None:
    waiting.wait_until(lambda: not is_alive(pid), "it is not kept")
