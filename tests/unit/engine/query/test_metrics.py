"""Metrics read from snapshots of the kernel, of one JVM and of several."""

import json

from duolog.engine.query.metrics import (
    EpochMetrics,
    Metrics,
    NodeMetrics,
    StoreMetrics,
    read_epochs,
    read_sinks,
    read_sources,
    read_tasks,
)
from duolog.engine.query.reports.metrics_merge import merge_snapshots
from duolog.engine.query.reports.progress import Counters
from unit.engine.query.metrics_samples import EPOCHS, ONE, STORE, TASK, full_metrics


def test_counts_of_executors_are_added_and_the_latest_time_is_used() -> None:
    other = ONE | {
        "positions": {"orders": {"0": 9, "1": 4}},
        "tasks": {"1_0": TASK | {"stream_time": 950, "lateness_max": 20}, "1_1": TASK},
        "late": {"other": 2},
    }

    found = merge_snapshots(ONE | {"epochs": EPOCHS, "executors": [other]})

    counters = Counters.of(found)
    assert (counters.records_in, counters.records_out, counters.bytes_in) == (6, 4, 60)
    assert counters.positions == {"orders": {0: 9, 1: 4}}
    assert (counters.skipped, counters.late) == ({"processing": 2}, {"fold": 1, "other": 2})
    first, second, _source = read_tasks(found)
    assert (first.stream_time_ms, first.lateness_max_ms, first.lateness_sum_ms) == (950, 200, 400)
    assert first.nodes == (NodeMetrics("fold", 6, 4, {"late": 2}),)
    assert (second.task, second.records) == ("1_1", 3)
    assert read_sinks(found)[0].e2e_latency_counts == (4, 0, 2)
    assert read_epochs(found).count == 7


def test_a_store_that_moved_to_another_executor_has_the_rows_that_were_counted_last() -> None:
    before = ONE | {"tasks": {"1_0": TASK | {"stores": {"sums": STORE | {"counted_at": 9}}}}}
    begun = ONE | {"tasks": {"1_0": TASK | {"stores": {"sums": STORE | {"counted_at": 0}}}}}

    found = merge_snapshots(ONE | {"executors": [before, begun, ONE]})

    (task,) = (one for one in read_tasks(found) if one.stores)
    assert task.stores == (StoreMetrics("sums", 4, 80, 1500),)
    assert Counters.of(found).state_rows == 4
    (known,) = read_tasks({"tasks": {"1_0": begun["tasks"]["1_0"]}})
    assert known.stores[0].counted_at_ms is None, "there are at least as many"


def test_a_reason_that_two_jvms_know_is_one() -> None:
    sample = {
        "stage": "processing", "reason": "divided 1 by 0", "at": "filter-2", "count": 2,
        "topic": "orders", "partition": 0, "offset": 5, "key": None, "value": None,
    }  # fmt: skip
    snapshot = ONE | {"samples": [sample], "executors": [ONE | {"samples": [sample]}]}

    (skipped,) = Counters.parse(json.dumps(snapshot)).skipped_because

    assert skipped.count == 4


def test_time_lag_is_the_age_of_the_last_record_read_if_more_wait() -> None:
    counted = {"tasks": {"orders-0": TASK, "orders-1": TASK}}
    read = {"orders": {0: 3, 1: 3, 2: 0}}

    sources = read_sources(counted, read, {"orders": {0: 9, 1: 3, 2: 0}})

    assert [source.lag_records for source in sources] == [6, 0, 0]
    assert [source.lag_ms(1000) for source in sources] == [300, 0, 0]


def test_without_a_broker_the_lag_is_unknown() -> None:
    sources = read_sources(ONE, {"orders": {0: 3}}, {})
    metrics = Metrics("sums", "running", "real-time", 1000, sources=sources)

    assert [(one.end, one.lag_records, one.lag_ms(1000)) for one in sources] == [(None, None, None)]
    assert (metrics.lag_records, metrics.lag_ms) == (None, None)


def test_metrics_of_one_process_can_be_read_by_another() -> None:
    metrics = full_metrics()

    found = Metrics.from_json(json.loads(json.dumps(metrics.to_json())))

    assert found == metrics
    assert (found.lag_records, found.lag_ms) == (6, 1300)
    assert found.state_bytes == 33
    assert [state.bytes for state in found.states] == [10, 20]


def test_records_that_were_dropped_are_those_that_could_not_be_taken_and_not_the_late_ones() -> (
    None
):
    assert full_metrics().dropped == 2


def test_before_the_first_record_there_is_no_time() -> None:
    never = TASK | {"records": 0, "stream_time": -1, "last_ts": -1}

    (task,) = read_tasks({"tasks": {"1_0": never}})

    assert task.stream_time_ms is None
    assert read_epochs({}) == EpochMetrics()
