"""The progress of a query with a fake JVM, topics and reports: no JVM, no broker, no thread."""

from unittest.mock import MagicMock

from py4j.protocol import Py4JNetworkError

from duolog.engine.query.positions import Positions
from duolog.engine.query.progress_reporter import ProgressReporter
from unit.engine.query.fake_spark import FakeLauncher, FakeTopics, run_of, sources_of


def reporter_of(launcher: FakeLauncher, topics: FakeTopics | None = None) -> ProgressReporter:
    run = run_of(launcher)
    run.start("micro-batch", {}, None)
    run.lifecycle.state = "running"
    return ProgressReporter(run, Positions(run, sources_of(topics)))


def test_the_rate_is_that_of_the_last_micro_batch_that_read_records() -> None:
    launcher = FakeLauncher()
    reporter = reporter_of(launcher)
    launcher.queries[-1].report(epoch_id=3, records=500, per_second=250.0)
    reporter.progress()
    launcher.queries[-1].report(epoch_id=4, records=0)

    progress = reporter.progress()

    assert (progress.epoch_id, progress.records_per_second) == (4, 250.0)


def test_the_last_progress_is_reported_while_the_jvm_is_away() -> None:
    launcher = FakeLauncher()
    reporter = reporter_of(launcher)
    launcher.position = 149_000
    reporter.progress()
    launcher.counters = MagicMock(side_effect=Py4JNetworkError("no JVM"))  # type: ignore[method-assign]
    reporter.run.lifecycle.state = "restarting"
    reporter.run.lifecycle.trouble = "the JVM has ended"

    progress = reporter.progress()

    assert (progress.state, progress.trouble) == ("restarting", "the JVM has ended")
    assert (progress.records_in, progress.lag_records) == (149_000, {"flights": 1000})
    assert reporter.counters().records_in == 149_000


def test_the_final_progress_asks_neither_broker_nor_jvm() -> None:
    launcher, topics = FakeLauncher(), FakeTopics()
    reporter = reporter_of(launcher, topics)
    launcher.position = 150_000
    reporter.progress()
    reporter.run.lifecycle.ended.set()
    reporter.run.lifecycle.state = "stopped"
    topics.waited_s.clear()
    polls = launcher.polls

    progress = reporter.progress()

    assert (progress.state, progress.records_in) == ("stopped", 150_000)
    assert (topics.waited_s, launcher.polls) == ([], polls)
