"""When a query has its topics compared, with a fake Spark: no JVM, no broker."""

from unittest.mock import MagicMock

import pytest

from duolog.engine.errors import LogTruncated
from unit.engine.query.fake_spark import FakeLauncher, FakeTopics, start
from waiting import wait_until

LOST = LogTruncated("records are lost", query_id="flights")
WAIT_S = 60


def test_a_query_compares_what_it_has_planned_before_each_start() -> None:
    """Spark has read the topics by then, and skips what has come below its position."""
    launcher, watch = FakeLauncher(planned={"flights": {0: 7}}), MagicMock()
    watch.ensure_whole.side_effect = [None, LOST]

    query = start(launcher, "auto", FakeTopics(end=0), watch=watch)

    with pytest.raises(LogTruncated):
        query.wait(WAIT_S)
    assert [call.args for call in watch.ensure_whole.call_args_list] == [(launcher.planned,)] * 2
    assert launcher.started == ["available-now"]


def test_a_look_that_finds_records_lost_ends_the_query() -> None:
    launcher, watch = FakeLauncher(), MagicMock()
    watch.look.side_effect = LOST
    query = start(launcher, "micro-batch", watch=watch)

    with pytest.raises(LogTruncated):
        query.wait(WAIT_S)

    assert launcher.queries[-1].stops > 0
    assert query.state == "failed"


def test_a_query_that_is_stopped_notes_its_positions() -> None:
    launcher, watch = FakeLauncher(), MagicMock()
    query = start(launcher, "micro-batch", watch=watch)
    assert launcher.live.wait(WAIT_S)

    query.stop()

    wait_until(lambda: query.has_ended, "the end of the query")
    watch.note.assert_called_once()
