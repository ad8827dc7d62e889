"""Positions of a query in its topics, from fake reports and counts."""

from duolog.engine.errors import SourceTopicMissing
from duolog.engine.query.positions import Positions
from duolog.engine.topics.topic_client import GLANCE_S, TIMEOUT_S
from unit.engine.query.fake_spark import FakeLauncher, FakeTopics, run_of, sources_of


def positions_of(launcher: FakeLauncher, topics: FakeTopics | None = None) -> Positions:
    run = run_of(launcher)
    run.committed = {"flights": {0: 100}}
    run.start("micro-batch", {}, None)
    return Positions(run, sources_of(topics))


def test_micro_batches_have_written_what_is_committed() -> None:
    launcher = FakeLauncher()
    positions = positions_of(launcher)
    launcher.position = 700
    launcher.queries[-1].report(epoch_id=1, records=500)

    assert positions.committed() == {"flights": {0: 500}}
    assert positions.written() == {"flights": {0: 500}}


def test_real_time_has_written_what_the_kernel_has_read() -> None:
    launcher = FakeLauncher()
    positions = positions_of(launcher)
    launcher.position = 700
    positions.run.trigger = "real-time"

    assert positions.written_and_committed() == ({"flights": {0: 700}}, {"flights": {0: 100}})


def test_records_beyond_the_last_committed_epoch_are_uncommitted() -> None:
    positions = positions_of(FakeLauncher(), FakeTopics(end=130))

    assert positions.uncommitted() == 30


def test_ends_are_unknown_while_a_topic_is_missing_or_no_broker_answers() -> None:
    topics = FakeTopics(in_the_way=[SourceTopicMissing("flights does not exist")])
    positions = positions_of(FakeLauncher(position=120), topics)
    while_missing = positions.reach(TIMEOUT_S)
    topics.away = 1

    assert while_missing == ({"flights": {0: 120}}, {})
    assert positions.reach(GLANCE_S) == ({"flights": {0: 120}}, {})
    assert positions.uncommitted() is None


def test_everything_is_written_once_the_results_of_the_last_record_are() -> None:
    launcher = FakeLauncher()
    positions = positions_of(launcher)
    ends = {"flights": {0: 500}}
    before = positions.all_written(ends)
    launcher.queries[-1].report(epoch_id=1, records=500)

    assert (before, positions.all_written(ends)) == (False, True)
