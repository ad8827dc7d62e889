"""The sizes of micro-batches, from fake topics and counts: no JVM, no broker, no thread."""

import pytest

from duolog.engine.errors import FailureKind, QueryFailed
from duolog.engine.query.positions import Positions
from duolog.engine.query.supervision.batch_sizer import BatchSizer
from unit.engine.query.fake_spark import FakeLauncher, FakeTopics, run_of, sources_of

OUT_OF_MEMORY = QueryFailed("no memory", kind=FailureKind(out_of_memory=True))


def sizer_of(launcher: FakeLauncher, topics: FakeTopics) -> BatchSizer:
    run = run_of(launcher)
    sizer = BatchSizer(run, Positions(run, sources_of(topics)))
    sizer.start()
    return sizer


def test_a_micro_batch_has_as_many_records_as_fit_its_bytes() -> None:
    launcher = FakeLauncher()
    sizer = sizer_of(launcher, FakeTopics(end=10**7, mean_bytes=4000.0))

    bounds = sizer.plan()

    assert bounds == {"flights": launcher.config.bytes_per_trigger_max // 4000}


def test_each_task_holds_a_copy_of_a_global_table() -> None:
    one, four = (
        FakeLauncher(global_topics=frozenset({"flights"}), spec={"tasks": tasks, "nodes": {}})
        for tasks in (1, 4)
    )

    bounds = [
        sizer_of(launcher, FakeTopics(end=10**7, mean_bytes=4000.0)).plan()["flights"]
        for launcher in (one, four)
    ]

    assert bounds[1] == bounds[0] // 4


def test_a_start_after_an_out_of_memory_failure_reads_half_as_much() -> None:
    launcher = FakeLauncher()
    sizer = sizer_of(launcher, FakeTopics(end=10**7, mean_bytes=4096.0))
    before = sizer.plan()
    sizer.note(OUT_OF_MEMORY)

    sizer.shrink_after_out_of_memory()
    sizer.shrink_after_out_of_memory()

    assert sizer.plan() == {"flights": before["flights"] // 2}
    assert launcher.forgotten == 1


def test_an_ended_jvm_is_replaced_before_its_planned_micro_batch_is_dropped() -> None:
    """Another process may have taken the checkpoint over meanwhile."""
    launcher = FakeLauncher(jvm_has_ended=True)
    sizer = sizer_of(launcher, FakeTopics())
    sizer.note(OUT_OF_MEMORY)

    sizer.shrink_after_out_of_memory()

    assert launcher.forgotten == 0


def test_an_unreachable_broker_is_a_failure_that_may_pass() -> None:
    sizer = sizer_of(FakeLauncher(), FakeTopics(away=1))

    with pytest.raises(QueryFailed, match='application "flights" cannot read') as failed:
        sizer.plan()

    assert failed.value.kind.may_pass


def test_real_time_has_no_micro_batches_that_could_outgrow_their_bounds() -> None:
    launcher = FakeLauncher()
    sizer = sizer_of(launcher, FakeTopics(end=10**6))
    sizer.plan()
    sizer.run.start("micro-batch", {}, None)
    launcher.position, launcher.bytes_in = 250_000, 10**9
    launcher.queries[-1].report(epoch_id=1, records=250_000)

    sizer.run.trigger = "real-time"
    in_real_time = sizer.is_outgrown()
    sizer.run.trigger = "micro-batch"

    assert not in_real_time
    assert sizer.is_outgrown()
