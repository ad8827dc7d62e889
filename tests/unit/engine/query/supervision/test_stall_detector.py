"""A query in real time that commits nothing while records wait is reported; other queries are not."""

import logging
from pathlib import Path

import pytest

from duolog.engine.query.reports.progress import Counters
from duolog.engine.query.supervision import stall_detector
from duolog.engine.query.supervision.stall_detector import StallDetector
from duolog.engine.settings import EngineConfig
from duolog.testing.clock import FakeClock
from unit.engine.query.fake_spark import FakeLauncher, FakeTopics, start
from waiting import wait_until


class Watched:
    """A query whose positions and waiting records a test sets."""

    def __init__(self, patience_s: float = 30.0) -> None:
        self.clock = FakeClock()
        self.standstill = StallDetector("flights", patience_s, self.clock.monotonic)
        self.committed = 7
        self.waiting: int | None = 0
        self.asked = 0

    def pass_s(self, seconds: int) -> None:
        """Advance the clock, with a check every two seconds."""
        for _ in range(0, seconds, 2):
            self.clock.advance(2)
            self.standstill.look({"in": {0: self.committed}}, self._count)

    def _count(self) -> int | None:
        self.asked += 1
        return self.waiting


class Reading(FakeLauncher):
    """A query that reads on and commits nothing."""

    def counters(self) -> Counters:
        self.position += 1
        return super().counters()


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]


def test_a_query_that_commits_nothing_while_records_wait_is_warned_about(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A query that started alongside many others reported "running" and committed nothing until it was restarted."""
    watched = Watched()
    watched.pass_s(100)
    watched.waiting = 1200
    watched.pass_s(30)
    assert warnings(caplog) == []

    watched.pass_s(10)
    [reported] = warnings(caplog)
    assert reported.startswith('application "flights" has committed nothing for 3')
    assert "1,200 records wait" in reported
    assert "epoch.ms" in reported

    watched.pass_s(20)
    assert len(warnings(caplog)) == 1
    watched.pass_s(20)
    assert len(warnings(caplog)) == 2, "once more after twice the time"


def test_a_query_that_commits_again_is_warned_about_again(caplog: pytest.LogCaptureFixture) -> None:
    watched = Watched()
    watched.waiting = 1
    watched.pass_s(60)
    watched.committed = 8
    watched.pass_s(30)
    assert len(warnings(caplog)) == 1
    assert "1 record wait" in warnings(caplog)[0]

    watched.pass_s(30)
    assert len(warnings(caplog)) == 2


def test_an_unreachable_broker_does_not_count_as_a_commit(caplog: pytest.LogCaptureFixture) -> None:
    """It used to be reported as "has committed again"."""
    caplog.set_level(logging.INFO)
    watched = Watched()
    watched.waiting = 1
    watched.pass_s(60)
    watched.waiting = None
    watched.pass_s(10)
    watched.waiting = 1
    watched.pass_s(30)

    assert len(warnings(caplog)) == 2
    assert "committed again" not in caplog.text


@pytest.mark.parametrize("moves", [True, False])
def test_a_busy_or_idle_query_is_not_warned_about(
    caplog: pytest.LogCaptureFixture, *, moves: bool
) -> None:
    watched = Watched()
    watched.waiting = 5 if moves else 0
    for _ in range(50):
        watched.committed += moves
        watched.pass_s(20)

    assert warnings(caplog) == []


def test_a_record_after_a_long_silence_is_given_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    watched = Watched()
    watched.pass_s(3600)
    watched.waiting = 1
    watched.pass_s(20)
    watched.waiting = 0
    watched.pass_s(20)
    watched.waiting = 1
    watched.pass_s(20)

    assert warnings(caplog) == []


@pytest.mark.parametrize(("epoch_ms", "patience_s"), [(1000, 30), (60_000, 180)])
def test_a_query_is_given_three_epochs(epoch_ms: int, patience_s: float) -> None:
    config = EngineConfig("", Path(), epoch_ms=epoch_ms)

    assert StallDetector.of("flights", config).patience_s == patience_s


def test_a_running_query_checks_its_committed_positions(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(stall_detector, "LOOKS_EVERY_S", 0.0)
    monkeypatch.setattr(stall_detector, "_PATIENCE_S", 0.0)
    config = EngineConfig("", Path(), epoch_ms=0)
    launcher = Reading(config=config)
    query = start(launcher, "real-time", FakeTopics(end=60_000))
    assert launcher.live.wait(60)
    launcher.queries[-1].report(1, 59_000)

    wait_until(lambda: warnings(caplog), "a warning")
    query.stop()

    assert "1,000 records wait" in warnings(caplog)[-1]
