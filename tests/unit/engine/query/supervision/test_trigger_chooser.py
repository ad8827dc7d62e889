"""The trigger of each Spark query of an application, from fake topics."""

from pathlib import Path

from duolog.engine.modes import choose_mode
from duolog.engine.query.positions import Positions
from duolog.engine.query.supervision.trigger_chooser import TriggerChooser
from duolog.engine.settings import EngineConfig
from unit.engine.query.fake_spark import FakeLauncher, FakeTopics, run_of, sources_of

CONFIG = EngineConfig("", Path())
REAL_TIME = choose_mode("real-time", needed=5, free=62, slots_total=64)
MICRO_BATCH = choose_mode("micro-batch", needed=5, free=62, slots_total=64)


def positions_of(topics: FakeTopics) -> Positions:
    return Positions(run_of(FakeLauncher()), sources_of(topics))


def test_micro_batches_need_no_passes() -> None:
    assert TriggerChooser(MICRO_BATCH).first(CONFIG) == "micro-batch"
    assert TriggerChooser(REAL_TIME).first(CONFIG) == "available-now"


def test_without_slots_for_real_time_a_query_stays_with_micro_batches_until_there_are_some() -> (
    None
):
    slots = iter([False, False, True])
    chooser = TriggerChooser(REAL_TIME, lambda: next(slots))
    chooser.first(CONFIG)

    after = chooser.after_a_pass(positions_of(FakeTopics()))
    may_leave = [chooser.may_leave_micro_batches("micro-batch") for _ in range(2)]

    assert (after, may_leave) == ("micro-batch", [False, True])


def test_a_query_that_never_wanted_real_time_does_not_look_for_slots() -> None:
    def has_room() -> bool:
        raise AssertionError("slots were requested")

    assert not TriggerChooser(MICRO_BATCH, has_room).may_leave_micro_batches("micro-batch")
    assert not TriggerChooser(REAL_TIME, has_room).may_leave_micro_batches("available-now")


def test_each_start_compares_its_passes_with_its_own_only() -> None:
    topics = FakeTopics(left_ms=[60_000, 60_000, 60_000])
    chooser, positions = TriggerChooser(REAL_TIME), positions_of(topics)
    found = []
    for _ in range(2):
        chooser.first(CONFIG)
        found.append(chooser.after_a_pass(positions))

    assert found == ["available-now", "available-now"]
    assert chooser.after_a_pass(positions) == "real-time"
