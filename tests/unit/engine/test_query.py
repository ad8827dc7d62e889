"""The life of a query, with a Spark that is played: no JVM, no broker."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from pyspark.errors import PySparkException

from duolog.engine.errors import QueryFailed
from duolog.engine.modes import choose_mode
from duolog.engine.progress import Counters
from duolog.engine.query import RunningQuery
from duolog.engine.settings import EngineConfig, Mode

if TYPE_CHECKING:
    from duolog.engine.launch import Launcher
    from duolog.engine.topics import TopicReader

WAIT_S = 10


class PlayedQuery:
    """A Spark query that ends when it is told to."""

    lastProgress = None

    def __init__(self) -> None:
        self.ended = threading.Event()
        self.failure: Exception | None = None

    def awaitTermination(self) -> None:
        assert self.ended.wait(WAIT_S)
        if self.failure:
            raise self.failure

    def stop(self) -> None:
        self.ended.set()


@dataclass
class PlayedLauncher:
    """Starts played queries; `available-now` ends by itself, as it does in Spark."""

    application_id: str = "flights"
    config: EngineConfig = field(default_factory=lambda: EngineConfig("", Path()))
    started: list[str] = field(default_factory=list)
    queries: list[PlayedQuery] = field(default_factory=list)
    position: int = 0
    live: threading.Event = field(default_factory=threading.Event)

    def start(self, trigger: str) -> PlayedQuery:
        self.started.append(trigger)
        self.queries.append(PlayedQuery())
        if trigger == "available-now":
            self.position += 60_000
            self.queries[-1].stop()
        else:
            self.live.set()
        return self.queries[-1]

    def counters(self) -> Counters:
        return Counters(records_in=self.position, positions={"flights": {0: self.position}})

    def release(self) -> None:
        """Nothing is held."""

    def reset_counters(self) -> None:
        self.position = 0


@dataclass
class PlayedTopics:
    end: int

    def end_offsets(self, _counts: Mapping[str, int]) -> dict[str, dict[int, int]]:
        return {"flights": {0: self.end}}


def start(launcher: PlayedLauncher, mode: Mode, *, end: int = 150_000) -> RunningQuery:
    query = RunningQuery(
        cast("Launcher", cast("Any", launcher)),
        cast("TopicReader", cast("Any", PlayedTopics(end))),
        choose_mode(mode, needed=5, free=62, slots_total=64),
        {"flights": 1},
    )
    query.start()
    return query


def test_auto_catches_up_until_the_lag_is_small_and_then_goes_live() -> None:
    launcher = PlayedLauncher()

    query = start(launcher, "auto")
    assert launcher.live.wait(WAIT_S)
    query.stop()

    assert launcher.started == ["available-now"] * 3 + ["real-time"]
    assert (query.state, query.mode, query.exception()) == ("stopped", "real-time", None)


def test_progress_tells_lag_and_what_was_read() -> None:
    launcher = PlayedLauncher()
    query = start(launcher, "micro-batch")
    launcher.position = 149_000

    progress = query.progress()
    query.stop()

    assert (progress.mode, progress.state) == ("micro-batch", "running")
    assert (progress.records_in, progress.lag_records) == (149_000, {"flights": 1000})
    assert query.progress().state == "stopped"


def test_a_failure_of_spark_is_kept_and_raised_to_those_who_wait() -> None:
    launcher = PlayedLauncher()
    query = start(launcher, "real-time")
    launcher.queries[-1].failure = PySparkException("boom")
    launcher.queries[-1].stop()

    with pytest.raises(QueryFailed, match="boom"):
        query.wait(WAIT_S)

    assert query.state == "failed"
    assert isinstance(query.exception(), QueryFailed)


def test_a_jvm_that_went_away_is_a_failure_and_not_a_silence() -> None:
    launcher = PlayedLauncher()
    query = start(launcher, "real-time")
    launcher.queries[-1].failure = ConnectionRefusedError("no JVM")
    launcher.queries[-1].stop()

    with pytest.raises(QueryFailed) as caught:
        query.wait(WAIT_S)

    assert caught.value.hint.startswith("The JVM has ended.")
    assert query.state == "failed"


def test_stopping_twice_is_stopping_once() -> None:
    query = start(PlayedLauncher(), "micro-batch")

    query.stop()
    query.stop()

    assert query.state == "stopped"
    assert query.wait(0)
