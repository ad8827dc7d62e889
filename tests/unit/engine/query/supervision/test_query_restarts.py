"""A query restarts after its broker or its JVM was unavailable; Spark is simulated: no JVM, no broker."""

from pathlib import Path
from typing import Any, Final
from unittest.mock import MagicMock

import pytest

from duolog.engine.errors import (
    BrokerUnreachable,
    CheckpointInUse,
    ExecutorsMissing,
    FailureKind,
    JvmNotStarted,
    QueryFailed,
    SourceTopicMissing,
)
from duolog.engine.query.supervision import restarts
from duolog.engine.settings import EngineConfig
from unit.engine.query.fake_spark import FakeLauncher, FakeTopics, start
from waiting import wait_until

AWAY: Final = type("TimeoutException", (ConnectionError,), {})("a batch has expired")
NO_MEMORY: Final = type("OutOfMemoryError", (ConnectionError,), {})("Java heap space")
WAIT_S = 60


@pytest.fixture(autouse=True)
def _pauses_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restarts, "PAUSE_FIRST_S", 0.01)


def test_a_query_restarts_when_its_broker_is_back() -> None:
    """After 67 s without its broker a query had ended, and nothing started it again."""
    launcher, topics = FakeLauncher(), FakeTopics()
    query = start(launcher, "micro-batch", topics)
    topics.away = 3
    launcher.live.clear()
    launcher.queries[-1].failure = AWAY
    launcher.queries[-1].stop()

    assert launcher.live.wait(WAIT_S)
    query.stop()

    assert launcher.started == ["micro-batch", "micro-batch"]
    assert (query.state, query.exception()) == ("stopped", None)


def test_a_query_that_found_a_record_in_a_wrong_partition_shuffles_from_its_next_start_on() -> None:
    launcher = FakeLauncher()
    query = start(launcher, "micro-batch", FakeTopics())
    launcher.live.clear()
    misplaced = FailureKind(misplaced=True)
    launcher.queries[-1].failure = QueryFailed("misplaced", query_id="flights", kind=misplaced)
    launcher.queries[-1].stop()

    assert launcher.live.wait(WAIT_S)
    query.stop()

    assert launcher.shuffles
    assert launcher.started == ["micro-batch", "micro-batch"]
    assert query.exception() is None


def test_a_query_starts_again_when_spark_has_released_its_name() -> None:
    launcher, topics = FakeLauncher(), FakeTopics()
    query = start(launcher, "micro-batch", topics)
    failed = launcher.queries[-1]
    launcher.live.clear()
    failed.failure = AWAY
    failed.ended.set()

    assert launcher.live.wait(WAIT_S)
    stops_before_the_next = failed.stops
    query.stop()

    assert stops_before_the_next == 1


def test_a_failure_keeps_what_the_function_of_the_user_raised_as_its_cause() -> None:
    launcher = FakeLauncher()
    query = start(launcher, "micro-batch", FakeTopics())
    failure, raised = QueryFailed("refused", query_id="flights"), ValueError("b is refused")
    failure.__cause__ = raised
    launcher.queries[-1].failure = failure
    launcher.queries[-1].stop()

    with pytest.raises(QueryFailed) as failed:
        query.wait(WAIT_S)

    assert failed.value is failure
    assert failure.__cause__ is raised


def test_a_query_that_waits_for_its_broker_reports_it_and_can_be_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # It waits until it is stopped: a second start would fail for another reason, and say that.
    monkeypatch.setattr(restarts, "PAUSE_FIRST_S", 300.0)
    launcher, topics = FakeLauncher(), FakeTopics(away=0)
    query = start(launcher, "micro-batch", topics)
    topics.away = 1_000_000
    launcher.queries[-1].failure = AWAY
    launcher.queries[-1].stop()
    wait_until(lambda: query.progress().trouble, "the query waits for its broker")
    waiting = query.progress()

    query.stop()

    assert waiting.state == "restarting"
    assert waiting.lag_records == {}
    assert waiting.trouble == 'application "flights" failed: TimeoutException: a batch has expired'
    assert query.state == "stopped"


def test_a_query_that_waits_for_its_broker_aborts_what_it_has_not_committed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Consumers that read only committed records would wait as long as the query does."""
    monkeypatch.setattr(restarts, "PAUSE_FIRST_S", 300.0)
    launcher, topics = FakeLauncher(), FakeTopics()
    query = start(launcher, "micro-batch", topics)
    assert launcher.transactions.closed == 0

    launcher.queries[-1].failure = AWAY
    launcher.queries[-1].stop()

    wait_until(lambda: launcher.transactions.closed, "the query has aborted its transactions")
    query.stop()
    assert launcher.started == ["micro-batch"]


def test_a_query_out_of_memory_reads_smaller_micro_batches_on_a_new_jvm() -> None:
    launcher, second = FakeLauncher(), FakeLauncher()
    query = start(launcher, "micro-batch", FakeTopics(end=10**6, mean_bytes=3500.0), lambda: second)
    launcher.jvm_has_ended = True
    launcher.queries[-1].failure = ConnectionRefusedError("no JVM")
    launcher.queries[-1].stop()

    assert second.live.wait(WAIT_S)
    query.stop()

    [before], [after] = launcher.bounds, second.bounds
    assert before["flights"] == EngineConfig("", Path()).bytes_per_trigger_max // 3500
    assert after["flights"] == before["flights"] // 2
    assert (launcher.forgotten, second.forgotten) == (0, 1)


@pytest.mark.parametrize(
    "stumbled_over",
    [
        ConnectionRefusedError("no JVM"),
        # While another query starts the next JVM, PySpark has none: the query failed for good.
        AttributeError("'NoneType' has no attribute 'java'"),
    ],
)
def test_a_jvm_that_ends_between_two_spark_queries_is_replaced_too(
    stumbled_over: Exception,
) -> None:
    launcher, second = FakeLauncher(), FakeLauncher()
    topics = FakeTopics(in_the_way=[None, stumbled_over])
    launcher.jvm_has_ended = True

    query = start(launcher, "auto", topics, lambda: second)
    assert second.live.wait(WAIT_S)
    query.stop()

    assert query.state == "stopped"


@pytest.mark.parametrize(
    "stumbled_over",
    [
        JvmNotStarted("the JVM ended while Spark started in it"),
        ExecutorsMissing("the cluster gives no executor"),
        BrokerUnreachable("no broker answers"),
        ConnectionRefusedError("no JVM"),
        AttributeError("'NoneType' has no attribute 'java'"),
    ],
)
def test_a_jvm_that_is_killed_while_it_is_started_again_is_started_once_more(
    stumbled_over: Exception,
) -> None:
    """The query failed for good, 12 s into the 300 s of task.timeout.ms."""
    launcher, second = FakeLauncher(), FakeLauncher()
    made: list[Any] = [stumbled_over, stumbled_over, second]
    topics = FakeTopics(end=10**6, mean_bytes=3500.0)
    query = start(launcher, "micro-batch", topics, MagicMock(side_effect=made))
    launcher.jvm_has_ended = True
    launcher.queries[-1].failure = ConnectionRefusedError("no JVM")
    launcher.queries[-1].stop()

    assert second.live.wait(WAIT_S)
    query.stop()

    assert query.state == "stopped"
    [before], [after] = launcher.bounds, second.bounds
    assert after["flights"] == before["flights"] // 2, "it was out of memory, perhaps"


def test_a_restart_waits_for_an_unreachable_broker() -> None:
    launcher = FakeLauncher()
    query = start(launcher, "micro-batch")
    launcher.refuses_once = [BrokerUnreachable('topic "t" cannot be read or written')]
    launcher.queries[-1].failure = QueryFailed("away", kind=FailureKind(may_pass=True))
    launcher.live.clear()
    launcher.queries[-1].stop()

    assert launcher.live.wait(WAIT_S)
    query.stop()

    assert query.state == "stopped"


def test_an_unreachable_broker_does_not_hide_an_out_of_memory_failure() -> None:
    """The next start had forgotten it, and read as much as the last one."""
    launcher, second = FakeLauncher(), FakeLauncher()
    topics = FakeTopics(end=10**6, mean_bytes=3500.0)
    query = start(launcher, "micro-batch", topics, lambda: second)
    topics.away = 4
    launcher.jvm_has_ended, launcher.refuses = True, BrokerUnreachable("no broker answers")
    launcher.queries[-1].failure = ConnectionRefusedError("no JVM")
    launcher.queries[-1].stop()

    assert second.live.wait(WAIT_S)
    query.stop()

    assert second.bounds[0]["flights"] == launcher.bounds[0]["flights"] // 2
    assert (launcher.forgotten, second.forgotten) == (0, 1)


def test_a_query_without_memory_reads_less_though_no_broker_answered_a_moment_ago() -> None:
    launcher, topics = FakeLauncher(), FakeTopics(end=10**6, mean_bytes=3500.0)
    query = start(launcher, "micro-batch", topics)
    topics.away = 1
    launcher.live.clear()
    launcher.queries[-1].failure = NO_MEMORY
    launcher.queries[-1].stop()

    assert launcher.live.wait(WAIT_S)
    query.stop()

    assert launcher.bounds[-1]["flights"] == launcher.bounds[0]["flights"] // 2
    assert launcher.forgotten == 1


def test_a_source_topic_that_a_starting_broker_does_not_know_yet_is_waited_for() -> None:
    missing = SourceTopicMissing('source topic "flights" does not exist')
    launcher, topics = FakeLauncher(), FakeTopics()
    query = start(launcher, "micro-batch", topics)
    topics.in_the_way = [missing, missing]
    launcher.live.clear()
    launcher.queries[-1].failure = AWAY
    launcher.queries[-1].stop()

    assert launcher.live.wait(WAIT_S)
    query.stop()

    assert (query.state, query.exception()) == ("stopped", None)


def test_a_source_topic_that_stays_missing_ends_the_query_with_a_hint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(restarts, "MISSING_S", 0.0)
    missing = SourceTopicMissing('source topic "flights" does not exist', hint="Create it.")
    launcher, topics = FakeLauncher(), FakeTopics()
    query = start(launcher, "micro-batch", topics)
    topics.in_the_way = [missing]
    launcher.queries[-1].failure = AWAY
    launcher.queries[-1].stop()

    with pytest.raises(QueryFailed, match='source topic "flights" does not exist') as failed:
        query.wait(WAIT_S)

    assert failed.value.hint == "Create it."


def test_a_source_topic_that_no_start_finds_is_not_waited_for_for_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A failed start used to count as a start, and restarted the time limit for the topic."""
    monkeypatch.setattr(restarts, "MISSING_S", 0.1)
    missing = SourceTopicMissing('source topic "flights" does not exist')
    launcher, topics = FakeLauncher(), FakeTopics()
    query = start(launcher, "micro-batch", topics)
    topics.in_the_way = [missing] * 100_000
    launcher.queries[-1].failure = AWAY
    launcher.queries[-1].stop()

    with pytest.raises(QueryFailed, match="does not exist"):
        query.wait(WAIT_S)


def test_a_jvm_that_does_not_start_again_is_waited_for_once() -> None:
    """With a window of its own for each failure the query would be restarting for ever."""
    launcher = FakeLauncher(config=EngineConfig("", Path(), task_timeout_ms=100))
    renewed = MagicMock(side_effect=JvmNotStarted("the JVM ended while Spark started in it"))
    query = start(launcher, "micro-batch", renewed=renewed)
    launcher.jvm_has_ended = True
    launcher.queries[-1].failure = ConnectionRefusedError("no JVM")
    launcher.queries[-1].stop()

    with pytest.raises(QueryFailed):
        query.wait(WAIT_S)

    assert query.state == "failed"


def test_trouble_is_borne_for_as_long_as_the_setting_says(monkeypatch: pytest.MonkeyPatch) -> None:
    made = MagicMock(side_effect=restarts.Restarts)
    monkeypatch.setattr("duolog.engine.query.supervision.supervisor.Restarts", made)

    start(FakeLauncher(), "micro-batch").stop()

    made.assert_called_once_with(300.0)


def test_a_query_whose_jvm_was_killed_reports_the_signal() -> None:
    launcher = FakeLauncher(config=EngineConfig("", Path(), task_timeout_ms=0))
    query = start(launcher, "micro-batch")
    launcher.jvm_has_ended = True
    launcher.queries[-1].failure = ConnectionRefusedError("no JVM")
    launcher.queries[-1].stop()

    with pytest.raises(QueryFailed) as caught:
        query.wait(WAIT_S)

    assert "The JVM was killed by SIGKILL." in (caught.value.detail or "")


def test_counts_continue_when_the_jvm_is_replaced() -> None:
    launcher, second = FakeLauncher(), FakeLauncher()
    query = start(launcher, "micro-batch", renewed=lambda: second)
    launcher.position = 1000
    assert query.progress().records_in == 1000
    launcher.jvm_has_ended = True
    launcher.queries[-1].failure = ConnectionRefusedError("no JVM")
    launcher.queries[-1].stop()
    assert second.live.wait(WAIT_S)

    second.position = 500
    progress = query.progress()
    query.stop()

    assert progress.records_in == 1500
    assert progress.lag_records == {"flights": 149_500}


def test_a_checkpoint_that_another_process_has_taken_over_is_left_alone() -> None:
    launcher = FakeLauncher()
    taken = CheckpointInUse("runs in another process", detail="It does.", hint="Stop it.")
    query = start(launcher, "micro-batch", renewed=MagicMock(side_effect=taken))
    launcher.jvm_has_ended = True
    launcher.queries[-1].failure = ConnectionRefusedError("no JVM")
    launcher.queries[-1].stop()

    with pytest.raises(QueryFailed) as failed:
        query.wait(WAIT_S)

    reported = failed.value
    assert (reported.message, reported.detail, reported.hint) == (
        taken.message,
        taken.detail,
        taken.hint,
    )
    assert launcher.forgotten == 0


def test_a_takeover_of_the_checkpoint_is_reported_whatever_error_spark_raises() -> None:
    launcher = FakeLauncher(taken_over_by="process 7 on host other")
    query = start(launcher, "auto", FakeTopics(in_the_way=[None, ZeroDivisionError("oops")]))

    with pytest.raises(QueryFailed, match="another process writes to its checkpoint") as failed:
        query.wait(WAIT_S)

    assert "process 7 on host other" in failed.value.detail
    assert "oops" in failed.value.detail
