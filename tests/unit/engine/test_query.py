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
    committed: dict[str, dict[int, int]] = field(default_factory=dict)
    directory: Path = Path("/checkpoints/flights")

    @property
    def checkpoint(self) -> "PlayedLauncher":
        return self

    def committed_positions(self) -> dict[str, dict[int, int]]:
        return self.committed

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
    """Tells where the topic ends, once what is in the way has been raised."""

    end: int = 150_000
    in_the_way: list[Exception] = field(default_factory=list)

    def end_offsets(self, _counts: Mapping[str, int]) -> dict[str, dict[int, int]]:
        if self.in_the_way:
            raise self.in_the_way.pop()
        return {"flights": {0: self.end}}


def start(launcher: PlayedLauncher, mode: Mode, topics: PlayedTopics | None = None) -> RunningQuery:
    query = RunningQuery(
        cast("Launcher", cast("Any", launcher)),
        cast("TopicReader", cast("Any", topics or PlayedTopics())),
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


def test_real_time_reads_once_what_the_start_found_and_goes_live_however_much_has_come() -> None:
    """Read in real time, flights of an epoch cut off overtook the table rows that they join."""
    launcher = PlayedLauncher()

    query = start(launcher, "real-time")
    assert launcher.live.wait(WAIT_S)
    query.stop()

    assert launcher.started == ["available-now", "real-time"]


def test_auto_does_not_go_live_on_a_lag_that_nobody_told() -> None:
    launcher = PlayedLauncher()

    query = start(launcher, "auto", PlayedTopics(60_000, [TimeoutError(), TimeoutError()]))
    assert launcher.live.wait(WAIT_S)
    query.stop()

    assert launcher.started == ["available-now"] * 3 + ["real-time"]


def test_a_defect_while_modes_change_fails_the_query_and_is_not_swallowed() -> None:
    launcher = PlayedLauncher()

    query = start(launcher, "auto", PlayedTopics(in_the_way=[ZeroDivisionError("oops")]))

    with pytest.raises(QueryFailed, match="ZeroDivisionError: oops"):
        query.wait(WAIT_S)
    assert query.state == "failed"


def test_what_an_earlier_run_has_read_is_no_lag() -> None:
    """Real time reports nothing of an epoch until it ends: all records looked unread till then."""
    launcher = PlayedLauncher(committed={"flights": {0: 149_990}})
    query = start(launcher, "real-time")
    assert launcher.live.wait(WAIT_S)
    launcher.position = 0

    lag = query.progress().lag_records
    query.stop()

    assert lag == {"flights": 10}


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
    assert launcher.live.wait(WAIT_S)
    launcher.queries[-1].failure = PySparkException("boom")
    launcher.queries[-1].stop()

    with pytest.raises(QueryFailed, match="boom"):
        query.wait(WAIT_S)

    assert query.state == "failed"
    assert isinstance(query.exception(), QueryFailed)


def test_a_jvm_that_went_away_is_a_failure_and_not_a_silence() -> None:
    launcher = PlayedLauncher()
    query = start(launcher, "real-time")
    assert launcher.live.wait(WAIT_S)
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
