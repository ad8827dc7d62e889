"""Time-driven steps on a Spark cluster: processors are called, and windows close without a record.

Tasks run in executors, and one of these is killed. The final results are those of one JVM, or of a
walk over the records.
"""

import itertools
import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from duolog.testing import Client, EmbeddedCluster, SparkCluster
from fault.engine_process import EngineProcess, Moment, is_live, starts_micro_batches
from fault.timed_topologies import INTERVAL_MS, NO_CHOICE, NO_PARTITION, TOPICS
from waiting import settled

PROGRAM: Final = Path(__file__).with_name("timed_program.py")
PARTITIONS: Final = 3
KEYS: Final = 12
RECORDS: Final = 240
STEP_MS: Final = 500
START_S: Final = 400.0
SETTLE_S: Final = 200.0
QUIET_S: Final = 5.0
SETTINGS: Final = {
    "spark.executor.memory": "600m",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "epoch.ms": "2000",
}
ONCE: Final = {"processing.guarantee": "exactly_once_v2"}
LIVE: Final[dict[str, Moment]] = {"micro-batch": starts_micro_batches, "real-time": is_live}
Row = tuple[str, dict[str, Any]]

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1200)]


class Scenario:
    """An application on a cluster of two workers, and what was written for it."""

    def __init__(
        self, broker: EmbeddedCluster, directory: Path, name: str, settings: Mapping[str, str]
    ) -> None:
        self.client = Client(broker.bootstrap_servers)
        self.engine = EngineProcess(
            broker.bootstrap_servers,
            directory / "data",
            name,
            settings,
            program=PROGRAM,
            start_timeout_s=START_S,
        )
        self.begin_ms = int(time.time()) // 10 * 10_000 - 10 * RECORDS * STEP_MS
        self.sent = 0
        for topic in TOPICS:
            self.client.create_topic(topic, PARTITIONS)

    def send(self, count: int, pause_s: float = 0.0) -> None:
        for number in range(self.sent, self.sent + count):
            at = self.begin_ms + number * STEP_MS
            self.client.produce("in", f"k{number % KEYS}", '{"n":1}', timestamp_ms=at)
            time.sleep(pause_s)
        self.sent += count

    def read(self, topic: str) -> list[Row]:
        return [
            ((record.key or b"").decode(), json.loads(record.value or b"null"))
            for record in self.client.read(topic)
        ]

    def await_that(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + SETTLE_S
        while not holds():
            self.engine.ensure_running()
            assert time.monotonic() < deadline, self.summary()
            time.sleep(0.3)

    def summary(self) -> str:
        windows, expected = self.windows(), self.expected_windows()
        counts = {topic: len(self.client.read(topic)) for topic in TOPICS}
        return f"{counts}; windows: {windows - expected} too many, {expected - windows} missing"

    def expected_times(self) -> Counter[int]:
        """Return at which stream times tasks are called: each has the records of one partition."""
        found: Counter[int] = Counter()
        due: dict[int, int] = defaultdict(int)
        read = sorted(self.client.read("in"), key=lambda record: (record.partition, record.offset))
        for record in read:
            at, now = due[record.partition], record.timestamp_ms
            if now >= at:
                found[now] += 1
                due[record.partition] = at + ((now - at) // INTERVAL_MS + 1) * INTERVAL_MS
        return found

    def expected_windows(self) -> Counter[tuple[str, int, int]]:
        counts: Counter[tuple[str, int]] = Counter()
        for record in self.client.read("in"):
            start = record.timestamp_ms // INTERVAL_MS * INTERVAL_MS
            counts[(record.key or b"").decode(), start] += 1
        return Counter((key, start, n) for (key, start), n in counts.items())

    def windows(self) -> Counter[tuple[str, int, int]]:
        found: Counter[tuple[str, int, int]] = Counter()
        for record in self.client.read("windows"):
            key = record.key or b""
            start = int.from_bytes(key[-8:])
            found[key[:-8].decode(), start, json.loads(record.value or b"")["n"]] += 1
        return found

    def micro_batches(self) -> int:
        (spark,) = self.engine.data_dir.glob("checkpoints/*/spark")
        return max(int(path.name) for path in spark.glob("offsets/[0-9]*"))


@contextmanager
def scenario(
    directory: Path, name: str, settings: dict[str, str], cores: int = 8
) -> Iterator[tuple[Scenario, SparkCluster]]:
    with (
        EmbeddedCluster(directory / "broker") as broker,
        SparkCluster(directory / "spark", cores=cores) as spark,
    ):
        made = Scenario(broker, directory, name, SETTINGS | {"master": spark.master} | settings)
        with made.engine:
            yield made, spark


def check_counts(rows: list[Row], sent: int, *, once: bool) -> None:
    assert not [row for row in rows if row[1]["stale"]], "a processor continued after its end"
    of_key: dict[str, list[int]] = defaultdict(list)
    for key, row in rows:
        of_key[key].append(row["n"])
    each = list(range(1, sent // KEYS + 1))
    for counts in of_key.values():
        assert (counts if once else sorted(set(counts))) == each
    assert len(of_key) == KEYS


@pytest.mark.parametrize(
    ("mode", "once"),
    [
        pytest.param("micro-batch", True, marks=pytest.mark.deep),
        pytest.param("real-time", True, marks=pytest.mark.deep),
        pytest.param("micro-batch", False, marks=pytest.mark.deep),
        pytest.param("real-time", False, marks=pytest.mark.deep),
    ],
)
def test_time_driven_results_are_written_once_even_if_an_executor_is_killed(
    mode: str, *, once: bool, tmp_path: Path
) -> None:
    with scenario(tmp_path, "watched", ONCE if once else {}) as (given, spark):
        given.send(KEYS)
        given.engine.start(mode)
        given.engine.wait_for(LIVE[mode])
        given.await_that(lambda: len(given.read("counts")) >= KEYS)
        given.send(RECORDS // 2, pause_s=0.02)
        spark.kill_executor(0)
        given.send(RECORDS // 2, pause_s=0.02)
        given.await_that(lambda: len({(k, r["n"]) for k, r in given.read("counts")}) == given.sent)
        summary = len(given.read("clock"))
        # No record comes any more.
        given.await_that(lambda: len(given.read("clock")) > summary + 3 * PARTITIONS)
        given.engine.stop()

        check_counts(given.read("counts"), given.sent, once=once)
        times = Counter(row["at"] for _, row in given.read("times"))
        assert (
            times == given.expected_times() if once else set(times) == set(given.expected_times())
        )
        known = {task: row["keys"] for task, row in given.read("clock")}
        assert (sum(known.values()), len(known)) == (KEYS, PARTITIONS)


@pytest.mark.deep
def test_a_task_that_returns_to_an_executor_finds_no_old_processor(
    tmp_path: Path,
) -> None:
    """Fewer slots than tasks, and none waits for its place: each micro-batch has tasks where there is room."""
    settings = {"spark.locality.wait": "0s"}
    with scenario(tmp_path, "watched", settings, cores=1) as (given, _):
        given.engine.start("micro-batch")
        for _ in range(RECORDS // KEYS):
            given.send(KEYS)
            given.await_that(lambda: len(given.read("counts")) >= given.sent)
        given.engine.stop()

        rows = given.read("counts")
        check_counts(rows, given.sent, once=True)
        assert any(has_come_back(rows, f"k{key}") for key in range(KEYS)), "no executor came back"


def has_come_back(rows: list[Row], key: str) -> bool:
    jvms = [row["jvm"] for of, row in rows if of == key]
    moves = [jvm for last, jvm in itertools.pairwise([0, *jvms]) if jvm != last]
    return len(moves) > len(set(moves))


@pytest.mark.deep
@pytest.mark.parametrize("mode", LIVE)
def test_windows_close_idle_and_then_nothing_runs(mode: str, tmp_path: Path) -> None:
    with scenario(tmp_path, "idle", {}) as (given, spark):
        given.engine.start(mode)
        given.engine.wait_for(LIVE[mode])
        for _ in range(2):
            given.send(5 * KEYS)  # Windows that are whole.
            given.await_that(lambda: given.windows() == given.expected_windows())
            if mode == "micro-batch":
                settled(given.micro_batches, QUIET_S, "nothing is open, and nothing runs")
                # The requests of its tasks are obsolete, and requests of other executors are still
                # reported.
                spark.kill_executor(1)
        given.engine.stop()


@pytest.mark.deep
@pytest.mark.parametrize("mode", LIVE)
def test_functions_of_keys_choose_and_nothing_runs_where_nothing_comes(
    mode: str, tmp_path: Path
) -> None:
    passes_over = {"production.exception.handler": "log_and_continue"}
    with scenario(tmp_path, "plain", passes_over) as (given, _):
        given.send(KEYS)
        given.engine.start(mode)
        given.engine.wait_for(LIVE[mode])
        given.send(KEYS)
        # One update may cover two records of a key.
        twice = {f"k{key}" for key in range(KEYS)}
        given.await_that(lambda: {k for k, row in given.read("counts") if row["n"] == 2} == twice)
        given.await_that(lambda: len(given.read("chosen")) >= 2 * (KEYS - 1))
        if mode == "micro-batch":
            settled(given.micro_batches, QUIET_S, "nothing comes, and nothing runs")
        given.engine.stop()
        found = {
            (int(record.key_text[1:]), record.partition)
            for record in given.client.read("chosen")
            if record.key_text is not None
        }

    numbers = set(range(KEYS)) - {NO_CHOICE, NO_PARTITION}
    assert {one for one in found if one[0] != NO_CHOICE} == {(n, (n + 1) % 3) for n in numbers}
    assert {number for number, _ in found} == {*numbers, NO_CHOICE}
