"""Counts of a query over several JVMs."""

from duolog.engine.query.reports.jvm_counts import JvmCounts
from duolog.engine.query.reports.progress import Counters


def test_the_counts_of_all_ended_jvms_are_kept() -> None:
    counts = JvmCounts()

    for records in (100, 20, 3):
        counts.start_jvm()
        counts.current = Counters(records_in=records, positions={"in": {0: records}})

    assert counts.total.records_in == 123
    assert counts.total.positions == {"in": {0: 3}}, "positions are those of the current JVM"
