"""The Spark queries of an application, one at a time, with a fake Spark."""

from unittest.mock import MagicMock

from py4j.protocol import Py4JNetworkError

from unit.engine.query.fake_spark import FakeLauncher, run_of


def test_no_spark_query_starts_once_the_application_is_to_stop() -> None:
    launcher = FakeLauncher()
    run = run_of(launcher)
    run.lifecycle.stopping.set()

    started = run.start("micro-batch", {}, None)

    assert (started, launcher.started, run.spark_query) == (False, [], None)


def test_a_spark_query_whose_jvm_has_ended_counts_as_stopped() -> None:
    launcher = FakeLauncher()
    run = run_of(launcher)
    run.start("micro-batch", {}, None)
    launcher.queries[-1].stop = MagicMock(side_effect=Py4JNetworkError("no JVM"))  # type: ignore[method-assign]

    run.stop()

    launcher.queries[-1].stop.assert_called_once_with()


def test_a_jvm_is_replaced_only_after_it_has_ended() -> None:
    first, second = FakeLauncher(), FakeLauncher()
    run = run_of(first, lambda: second)

    run.renew()
    while_it_runs: object = run.launcher
    first.jvm_has_ended = True
    run.renew()

    then: object = run.launcher
    assert (while_it_runs, then) == (first, second)


def test_counts_of_ended_jvms_are_kept() -> None:
    first, second = FakeLauncher(position=1000), FakeLauncher(position=500)
    run = run_of(first, lambda: second)
    run.count()
    first.jvm_has_ended = True

    run.renew()
    before = run.counts.total.records_in
    run.count()

    assert (before, run.counts.total.records_in) == (1000, 1500)
    assert run.counts.current.records_in == 500
