"""The life of a query, with a fake Spark: no JVM, no broker."""

from pathlib import Path
from typing import Final

import pytest
from pyspark.errors import PySparkException

from duolog.engine.errors import (
    BrokerUnreachable,
    QueryFailed,
    SourceTopicMissing,
)
from duolog.engine.query.query import RunningQuery
from duolog.engine.query.supervision import restarts
from duolog.engine.query.supervision.check_interval import CHECK_S, next_check_s
from duolog.engine.query.supervision.trigger_chooser import TriggerChooser
from duolog.engine.settings import EngineConfig
from duolog.engine.topics.batch_bounds import UNKNOWN_RECORD_BYTES
from duolog.engine.upgrades.rebuild import BESIDE
from unit.engine.query.fake_spark import FakeLauncher, FakeTopics, run_of, sources_of, start
from waiting import wait_until

WAIT_S = 60


@pytest.fixture(autouse=True)
def _pauses_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restarts, "PAUSE_FIRST_S", 0.01)


def test_auto_catches_up_until_the_lag_is_small_and_then_goes_live() -> None:
    launcher = FakeLauncher()

    query = start(launcher, "auto")
    assert launcher.live.wait(WAIT_S)
    query.stop()

    assert launcher.started == ["available-now"] * 3 + ["real-time"]
    assert (query.state, query.mode, query.exception()) == ("stopped", "real-time", None)


def test_a_query_stops_for_another_process_that_takes_its_place() -> None:
    launcher = FakeLauncher()
    query = start(launcher, "micro-batch")
    assert launcher.live.wait(WAIT_S)

    launcher.handover_is_wanted = True

    assert query.wait(WAIT_S)
    assert (query.state, launcher.started) == ("stopped", ["micro-batch"])


def test_a_bounded_query_reads_in_passes_until_it_is_done() -> None:
    launcher = FakeLauncher()
    passes = iter([False, False, True])
    triggers = TriggerChooser(BESIDE, is_done=lambda: next(passes))
    query = RunningQuery(run_of(launcher), sources_of(), triggers)
    query.start()

    assert query.wait(WAIT_S)
    assert launcher.started == ["available-now"] * 3


@pytest.mark.parametrize(
    ("left_ms", "passes"),
    [
        ([], 1),
        ([60_000, 20_000, 900], 3),
        ([60_000, 7_000, 3_000, 2_800], 4),
        ([60_000, 60_000], 2),
    ],
)
def test_real_time_reads_in_passes_while_they_get_closer_in_event_time(
    left_ms: list[int], passes: int
) -> None:
    """Read in real time, flights of an epoch cut off overtook the table rows that they join.

    What has come during the pass was then read unevenly, and windows closed before all of it was
    there.
    """
    launcher = FakeLauncher()

    query = start(launcher, "real-time", FakeTopics(10**6, left_ms=left_ms))
    assert launcher.live.wait(WAIT_S)
    query.stop()

    assert launcher.started == [*["available-now"] * passes, "real-time"]


def test_few_records_of_many_minutes_are_not_read_in_real_time() -> None:
    """At 30 records a second 10,000 of them are five minutes: windows of these were missing or too small."""
    launcher = FakeLauncher()

    query = start(launcher, "auto", FakeTopics(60_000 + 9_000, left_ms=[300_000, 200]))
    assert launcher.live.wait(WAIT_S)
    query.stop()

    assert launcher.started == ["available-now", "available-now", "real-time"]


def test_auto_does_not_go_live_on_an_unknown_lag() -> None:
    launcher = FakeLauncher()

    query = start(
        launcher,
        "auto",
        FakeTopics(60_000, [None, BrokerUnreachable("away"), None, BrokerUnreachable("away")]),
    )
    assert launcher.live.wait(WAIT_S)
    query.stop()

    assert launcher.started == ["available-now"] * 3 + ["real-time"]


def test_a_defect_while_modes_change_fails_the_query_and_is_not_swallowed() -> None:
    launcher = FakeLauncher()

    query = start(launcher, "auto", FakeTopics(in_the_way=[None, ZeroDivisionError("oops")]))

    with pytest.raises(QueryFailed, match="ZeroDivisionError: oops"):
        query.wait(WAIT_S)
    assert query.state == "failed"


def test_records_read_by_an_earlier_run_do_not_count_as_lag() -> None:
    """Real time reports nothing of an epoch until it ends: all records looked unread till then."""
    launcher = FakeLauncher(committed={"flights": {0: 149_990}})
    query = start(launcher, "real-time")
    assert launcher.live.wait(WAIT_S)
    launcher.position = 0

    lag = query.progress().lag_records
    query.stop()

    assert lag == {"flights": 10}


def test_the_records_of_a_partition_that_was_added_are_lag() -> None:
    topics = FakeTopics()
    query = start(FakeLauncher(committed={"flights": {0: 149_990}}), "micro-batch", topics)
    topics.partitions = 3

    lag = query.progress().lag_records
    query.stop()

    assert lag == {"flights": 10 + 2 * 5}


def test_progress_reports_lag_and_what_was_read() -> None:
    launcher = FakeLauncher()
    query = start(launcher, "micro-batch")
    launcher.position = 149_000

    progress = query.progress()
    query.stop()

    assert (progress.mode, progress.state) == ("micro-batch", "running")
    assert (progress.records_in, progress.lag_records) == (149_000, {"flights": 1000})
    assert query.progress().state == "stopped"


def test_a_failure_of_spark_is_kept_and_raised_to_waiting_callers() -> None:
    launcher = FakeLauncher()
    query = start(launcher, "real-time")
    assert launcher.live.wait(WAIT_S)
    launcher.queries[-1].failure = PySparkException("boom")
    launcher.queries[-1].stop()

    with pytest.raises(QueryFailed, match="boom"):
        query.wait(WAIT_S)

    assert query.state == "failed"
    assert isinstance(query.exception(), QueryFailed)


def test_the_end_of_the_jvm_is_reported_as_a_failure() -> None:
    launcher = FakeLauncher(config=EngineConfig("", Path(), task_timeout_ms=0))
    query = start(launcher, "real-time")
    assert launcher.live.wait(WAIT_S)
    launcher.queries[-1].failure = ConnectionRefusedError("no JVM")
    launcher.queries[-1].stop()

    with pytest.raises(QueryFailed) as caught:
        query.wait(WAIT_S)

    assert caught.value.hint.startswith("The JVM has ended.")
    assert query.state == "failed"


# As a client of Kafka says it; `to_query_failed` takes the name of the class.
AWAY: Final = type("TimeoutException", (ConnectionError,), {})("a batch has expired")


def test_a_query_whose_records_grow_restarts_with_smaller_micro_batches() -> None:
    launcher, topics = FakeLauncher(), FakeTopics(end=10**6)
    query = start(launcher, "micro-batch", topics)
    launcher.live.clear()
    topics.mean_bytes = 4000.0
    launcher.position, launcher.bytes_in = 250_000, 10**9
    launcher.queries[-1].report(epoch_id=1, records=250_000)

    assert launcher.live.wait(WAIT_S)
    query.stop()

    first, second = launcher.bounds
    assert second["flights"] < first["flights"] / 4


def test_records_of_unknown_size_are_assumed_to_be_large() -> None:
    """Without an answer to the look at the topics, a micro-batch had no bound in bytes at all.

    And a stream that began empty stayed with hundreds of records for each micro-batch: the bound
    of several partitions is rounded down, so that none was ever as large as the guess.
    """
    launcher, topics = FakeLauncher(), FakeTopics(end=10**6, mean_bytes=0)
    query = start(launcher, "micro-batch", topics)
    launcher.live.clear()
    [guess] = (bounds["flights"] for bounds in launcher.bounds)
    launcher.position, launcher.bytes_in = 2 * guess, 2 * guess * 1000
    launcher.queries[-1].report(epoch_id=1, records=guess - 2)

    assert launcher.live.wait(WAIT_S)
    query.stop()

    bytes_max = EngineConfig("", Path()).bytes_per_trigger_max
    assert guess == bytes_max // UNKNOWN_RECORD_BYTES
    assert launcher.bounds[1] == {"flights": bytes_max // 1000}


def test_a_topic_below_its_guessed_bound_causes_no_restart() -> None:
    launcher = FakeLauncher()
    query = start(launcher, "micro-batch", FakeTopics(end=0, mean_bytes=0))
    launcher.position, launcher.bytes_in = 1000, 100_000
    launcher.queries[-1].report(epoch_id=1, records=1000)

    polls = launcher.polls
    wait_until(lambda: launcher.polls > polls + 2, "the query is looked at")
    query.stop()

    assert len(launcher.bounds) == 1


def test_batches_respect_the_limits_of_their_topics() -> None:
    launcher = FakeLauncher()

    start(launcher, "real-time").stop()

    assert set(launcher.batch_bytes) == {1000}


def test_progress_waits_only_seconds_for_an_unreachable_broker() -> None:
    topics = FakeTopics()
    query = start(FakeLauncher(), "micro-batch", topics)
    topics.away = 1
    topics.waited_s.clear()

    progress = query.progress()
    query.stop()

    assert progress.lag_records == {}
    assert topics.waited_s == [], (
        "it was asked for the partitions alone, which it waits for as long"
    )


def test_waiting_callers_get_the_name_of_a_deleted_topic() -> None:
    """The caller used to get the error that no broker answers."""
    topics = FakeTopics()
    query = start(FakeLauncher(), "micro-batch", topics)
    topics.in_the_way = [SourceTopicMissing('source topic "flights" does not exist')] * 3

    assert query.progress().lag_records == {}
    with pytest.raises(SourceTopicMissing):
        query.wait_until_caught_up(WAIT_S)
    query.stop()


def test_many_small_micro_batches_between_two_checks_do_not_count_as_one_large_one() -> None:
    launcher = FakeLauncher()
    query = start(launcher, "micro-batch", FakeTopics(end=10**6))
    launcher.position, launcher.bytes_in = 10**6, 10**9
    launcher.queries[-1].report(epoch_id=7, records=1000)

    polls = launcher.polls
    wait_until(lambda: launcher.polls > polls + 2, "the query is looked at")
    query.stop()

    assert len(launcher.bounds) == 1


def test_prints_appear_while_running_and_up_to_the_last_record(
    capsys: pytest.CaptureFixture[str],
) -> None:
    launcher = FakeLauncher(spec={"nodes": {"1": {"kind": "print"}}})
    launcher.printed = [{"label": "a", "ts": 0, "key": "1", "value": None}]
    query = start(launcher, "micro-batch")
    while_running = wait_until(lambda: capsys.readouterr().out, "something is printed")

    launcher.printed = [{"label": "b", "ts": 1, "key": None, "value": '{"n":"é"}'}]
    query.stop()

    assert while_running == "[a] 1970-01-01T00:00:00.000Z 1 null\n"
    assert capsys.readouterr().out == '[b] 1970-01-01T00:00:00.001Z null {"n":"é"}\n'


def test_a_failed_query_has_released_its_name_when_its_end_is_reported() -> None:
    """Started again on a slow machine: a query with that name is already active in this SparkSession."""
    launcher = FakeLauncher()
    query = start(launcher, "micro-batch")
    launcher.queries[-1].failure = ValueError("broken")
    launcher.queries[-1].ended.set()

    with pytest.raises(QueryFailed):
        query.wait(WAIT_S)

    assert launcher.queries[-1].stops == 1


def test_stopping_twice_is_stopping_once() -> None:
    query = start(FakeLauncher(), "micro-batch")

    query.stop()
    query.stop()

    assert query.state == "stopped"
    assert query.wait(0)


def test_an_idle_query_is_checked_less_and_less_often() -> None:
    """Fifty idle ones cost a quarter of a core, a third of it for looks that saw nothing."""
    polls = [CHECK_S]
    for _ in range(4):
        polls.append(next_check_s(polls[-1], is_idle=True))

    assert polls == [2, 4, 8, 8, 8]
    assert next_check_s(8, is_idle=False) == 2


def test_a_failed_start_leaves_no_producers_open() -> None:
    """Producers of transactions and commits used to stay open, with their threads, until the JVM ended."""
    launcher = FakeLauncher(refuses=QueryFailed("refused", query_id="flights"))

    with pytest.raises(QueryFailed, match="refused"):
        start(launcher, "micro-batch")

    assert launcher.closed == 1


def test_a_stop_does_not_wait_for_a_start_that_writes_for_minutes() -> None:
    """The start held the lock that the stop needed even to say that it wants one."""
    launcher = FakeLauncher()
    query = start(launcher, "micro-batch")
    launcher.held.clear()
    launcher.queries[-1].failure = AWAY
    launcher.queries[-1].stop()
    assert launcher.hangs.wait(WAIT_S)

    query.stop()  # Else until the test's time limit.

    assert (query.state, query.exception()) == ("stopped", None)
