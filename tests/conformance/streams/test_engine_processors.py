"""Processors on Spark: micro-batches, real time, restarts and exactly once."""

import datetime as dt
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import waiting
from duolog import (
    Application,
    FixedKeyProcessor,
    Processor,
    Record,
    Topology,
    key_value_store,
    session_store,
    versioned_store,
    window_store,
)
from duolog.engine.settings import Mode
from duolog.plan.partitioner import partition_of
from duolog.testing import Client, EmbeddedCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

PARTITIONS = 3
MINUTE_MS = 60_000


class Counting(Processor):
    """Counts by key and minute; emits all counts every minute and by the wall clock."""

    def init(self, context: Any) -> None:
        self.context = context
        self.counts, self.minutes = context.store("counts"), context.store("minutes")
        self.latest, self.recent = context.store("latest"), context.store("recent")
        self.visits = context.store("visits")
        context.schedule(dt.timedelta(minutes=1), "stream time", self.minute)
        context.schedule(dt.timedelta(milliseconds=300), "wall clock", self.beat)

    def process(self, record: Record) -> None:
        n = record.value["n"]
        if n == 13:
            raise ValueError("thirteen is right out")
        counted = (self.counts.get(record.key) or 0) + 1
        self.counts.put(record.key, counted)
        self.latest.put(record.key, n, record.timestamp_ms)
        start = record.timestamp_ms // MINUTE_MS * MINUTE_MS
        self.minutes.put(record.key, (self.minutes.fetch(record.key, start) or 0) + 1, start)
        self.recent.put(record.key, n, start)
        self.visits.put(record.key, record.timestamp_ms, record.timestamp_ms + 1, n)
        self.context.forward(Record(f"{n % 5}", {"n": n}, record.timestamp_ms), "numbers")

    def minute(self, now: int) -> None:
        for key, counted in self.counts.all():
            self.context.forward(Record(key, {"count": counted}, now), "counted")

    def beat(self, now: int) -> None:
        self.context.forward(Record(self.context.task_id, {"count": -1}, now), "beats")


class Numbering(FixedKeyProcessor):
    """Numbers the records of a key in a store shared with an earlier step with other keys."""

    def init(self, context: Any) -> None:
        self.context, self.seen = context, context.store("seen")

    def process(self, record: Any) -> None:
        number = (self.seen.get(record.key) or 0) + 1
        self.seen.put(record.key, number)
        self.context.forward(record.with_value({"n": record.value["n"], "number": number}))


def topology() -> Topology:
    topology = Topology("processors")
    counts = key_value_store("counts", key="id STRING", value="count BIGINT")
    minutes = window_store(
        "minutes", key="id STRING", value="count BIGINT", size="1 minute", retention="1 day"
    )
    latest = versioned_store("latest", key="id STRING", value="n BIGINT", history="1 day")
    recent = window_store(
        "recent", key="id STRING", value="n BIGINT", size="1 minute", retention="2 minutes"
    )
    visits = session_store("visits", key="id STRING", value="n BIGINT", retention="1 minute")
    seen = key_value_store("seen", key="id STRING", value="number BIGINT")
    numbers = topology.stream("numbers", key="id STRING", value="n BIGINT")
    children = numbers.process_to(
        Counting,
        stores=[counts, minutes, latest, recent, visits],
        children={"numbers": "n BIGINT", "counted": "count BIGINT", "beats": "count BIGINT"},
        name="counting",
    )
    children["counted"].to("counted")
    children["beats"].to("beats")
    numbered = children["numbers"].process_values(
        Numbering, stores=[seen], value="n BIGINT, number BIGINT", name="numbering"
    )
    numbered.to("numbered")
    return topology


def _settings(mode: Mode, **more: str) -> dict[str, Any]:
    settings = {"processing.exception.handler": "log_and_continue", "epoch.ms": "1000"}
    return {
        "mode": mode,
        "settings": settings | {name.replace("_", "."): v for name, v in more.items()},
    }


def _produce(client: Client, numbers: range) -> None:
    for n in numbers:
        client.produce(
            "numbers",
            f"k{n % 4}",
            json.dumps({"n": n}),
            timestamp_ms=_time(n),
        )


def _time(n: int) -> int:
    return 1_700_000_000_000 + n * 20_000


def _not_over(numbers: range) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Return the windows and sessions that have not expired in their partition."""
    there = [n for n in numbers if n != 13]
    task = {n: partition_of(f"k{n % 4}".encode(), PARTITIONS) for n in there}
    windows, sessions = {}, {}
    for n in there:
        start = _time(n) // MINUTE_MS * MINUTE_MS
        of_task = [one for one in there if task[one] == task[n]]
        if start > max(_time(one) // MINUTE_MS * MINUTE_MS for one in of_task) - 2 * MINUTE_MS:
            windows[f"k{n % 4}", start, start + MINUTE_MS] = {"n": n}
        if _time(n) > max(map(_time, of_task)) - MINUTE_MS:
            sessions[f"k{n % 4}", _time(n), _time(n) + 1] = {"n": n}
    return windows, sessions


def _values_by_key(client: Client, topic: str, column: str) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for record in client.read(topic):
        found.setdefault((record.key or b"").decode(), []).append(
            json.loads(record.value or b"{}")[column]
        )
    return found


def _wait(ready: Callable[[], bool], shown: Callable[[], object]) -> None:
    waiting.wait_until(ready, shown)


def _numbered(numbers: range) -> dict[str, list[int]]:
    """The numbers of a key's records, in any order: thirteen was never processed."""
    there = [n for n in numbers if n != 13]
    return {f"{key}": list(range(1, 1 + sum(n % 5 == key for n in there))) for key in range(5)}


@pytest.mark.parametrize("mode", [pytest.param("micro-batch", marks=pytest.mark.deep), "real-time"])
def test_processors_run_in_each_mode_and_after_a_restart(
    spark: SparkSession, tmp_path: Path, mode: Mode
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    with EmbeddedCluster() as cluster:
        client = Client(cluster.bootstrap_servers)
        client.create_topic("numbers", PARTITIONS)
        for start in range(2):
            with Application(
                topology(),
                bootstrap_servers=cluster.bootstrap_servers,
                data_dir=tmp_path,
                **_settings(mode),
            ) as application:
                query = application.start()
                _produce(client, range(start * 10, start * 10 + 10))
                assert query.wait_until_caught_up(90)
                wanted = _numbered(range(start * 10 + 10))
                _wait(
                    lambda: (
                        {
                            k: sorted(set(v))
                            for k, v in _values_by_key(client, "numbered", "number").items()
                        }
                        == wanted  # noqa: B023
                    ),
                    lambda: _values_by_key(client, "numbered", "number"),
                )
                beats = len(list(client.read("beats")))
                _wait(lambda: len(list(client.read("beats"))) > beats + 1, lambda: beats)  # noqa: B023
                there = [n for n in range(start * 10 + 10) if n != 13]
                counted = {f"k{k}": {"count": sum(n % 4 == k for n in there)} for k in range(4)}
                _wait(
                    lambda: application.store("counts").all() == counted,  # noqa: B023
                    lambda: application.store("counts").all(),
                )
                minutes = application.store("minutes").fetch("k1")
                assert sum(row["count"] for row in minutes.values()) == counted["k1"]["count"]
                windows, sessions = _not_over(range(start * 10 + 10))
                assert application.store("recent").all() == windows
                assert application.store("visits").all() == sessions
                assert application.store("latest").get("k2") == {"n": 18 if start else 6}
        values_by_key = _values_by_key(client, "counted", "count")
        assert all(counts == sorted(counts) for counts in values_by_key.values()), values_by_key


@pytest.mark.deep
@pytest.mark.parametrize("mode", ["micro-batch", "real-time"])
def test_processor_stores_are_restored_from_changelogs(
    spark: SparkSession, tmp_path: Path, mode: Mode
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    with EmbeddedCluster() as cluster:
        client = Client(cluster.bootstrap_servers)
        client.create_topic("numbers", PARTITIONS)
        for start in range(2):
            with Application(
                topology(),
                bootstrap_servers=cluster.bootstrap_servers,
                data_dir=tmp_path,
                **_settings(mode, state_changelog="on", processing_guarantee="exactly_once_v2"),
            ) as application:
                query = application.start()
                _produce(client, range(start * 10, start * 10 + 10))
                assert query.wait_until_caught_up(90)
                wanted = _numbered(range(start * 10 + 10))
                _wait(
                    lambda: (
                        {
                            k: sorted(v)
                            for k, v in _values_by_key(client, "numbered", "number").items()
                        }
                        == wanted  # noqa: B023
                    ),
                    lambda: _values_by_key(client, "numbered", "number"),
                )
            for lost in tmp_path.glob("**/state"):
                shutil.rmtree(lost)
