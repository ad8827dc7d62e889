import json
from typing import Any

from duolog.engine.checkpoint.checkpoint_positions import positions_in
from duolog.engine.lowering.spec.ticks import TICKS
from duolog.engine.query.reports.progress import Counters, Report, lag_of, merge_positions

REPORT: dict[str, Any] = {
    "batchId": 7,
    "timestamp": "2013-01-01T00:00:00.500Z",
    "numInputRows": 100,
    "processedRowsPerSecond": 50.0,
    "durationMs": {"triggerExecution": 2000, "addBatch": 1500},
    "sources": [
        {"endOffset": {"flights": {"0": 90, "1": 10}}},
        {"endOffset": json.dumps({"airlines": {"0": 16}})},
        {"endOffset": None},
    ],
    "stateOperators": [{"commitTimeMs": 40}, {"commitTimeMs": 2}, {}],
}


def test_a_report_of_spark_is_read_whether_its_offsets_are_json_or_text() -> None:
    report = Report.parse(json.dumps(REPORT))

    assert (report.epoch_id, report.started_at_ms) == (7, 1_356_998_400_500)
    assert (report.records_in, report.records_per_second, report.duration_ms) == (100, 50.0, 2000)
    assert report.positions == {"flights": {0: 90, 1: 10}, "airlines": {0: 16}}
    assert report.state_commit_ms == 42


def test_the_source_of_ticks_is_not_a_topic() -> None:
    """A broker was asked for the end of its log, did not know it, and so no log of the application was watched."""
    of_ticks = {"endOffset": json.dumps({TICKS: {"0": 1_700_000_000_000}})}
    report = Report.parse(json.dumps(REPORT | {"sources": [*REPORT["sources"], of_ticks]}))
    entry = 'v1\n{"batchWatermarkMs":0}\n{"flights":{"0":90}}\n{"__ticks":{"0":1700000000000}}'

    assert report.positions == {"flights": {0: 90, 1: 10}, "airlines": {0: 16}}
    assert positions_in(entry, {}) == {"flights": {0: 90}}


def test_a_report_without_numbers_reads_as_zeros() -> None:
    report = Report.parse('{"batchId": 0, "processedRowsPerSecond": null}')

    assert (report.records_in, report.records_per_second, report.positions) == (0, 0.0, {})


def test_counters_are_read_from_the_kernel() -> None:
    text = (
        '{"records_in": 3, "bytes_in": 70, "records_out": 2, "skipped": {"processing": 1}, '
        '"positions": {"t": {"0": 4}}}'
    )

    assert Counters.parse(text) == Counters(3, 2, {"processing": 1}, 70, {"t": {0: 4}})


SAMPLE = {
    "stage": "deserialization",
    "reason": "its value is not JSON of (n INT)",
    "at": "",
    "count": 1200,
    "topic": "orders",
    "partition": 0,
    "offset": 17,
    "key": "ann",
    "value": '{"n":',
}


def test_a_skipped_record_is_reported_with_position_bytes_and_reason() -> None:
    (skipped,) = Counters.parse(json.dumps({"samples": [SAMPLE]})).skipped_because

    assert str(skipped) == (
        'cannot read 1,200 records of topic "orders": its value is not JSON of (n INT); the first: '
        'partition 0, offset 17, key ann, value {"n":'
    )


def test_reasons_of_two_jvms_are_merged_if_only_their_numbers_differ() -> None:
    old = SAMPLE | {"reason": "its timestamp is -5", "count": 2}
    new = SAMPLE | {"reason": "its timestamp is -17", "count": 3, "offset": 40}
    before, now = (Counters.parse(json.dumps({"samples": [one]})) for one in (old, new))

    (skipped,) = now.added_to(before).skipped_because

    assert (skipped.count, skipped.offset, skipped.reason) == (5, 17, "its timestamp is -5")


def test_lag_counts_what_no_position_has_passed() -> None:
    positions = merge_positions({"t": {0: 5, 1: 2}}, {"t": {0: 3, 1: 4}}, {"u": {0: 1}})

    assert positions == {"t": {0: 5, 1: 4}, "u": {0: 1}}
    assert lag_of(positions, {"t": {0: 7, 1: 4, 2: 3}, "u": {0: 0}}) == {"t": 5, "u": 0}
