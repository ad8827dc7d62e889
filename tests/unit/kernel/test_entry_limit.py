"""The processing log gets a limited number of entries for failed calls: in Java, without Spark."""

from unit.kernel.java_program import run_java


def test_a_burst_has_entries_and_then_ten_per_second() -> None:
    answers = run_java(
        "EntryLimitSteps", "-5*100", "-5", "94", "95", "96", "195", "1195*10", "1195"
    )

    assert answers == ["0", "-1", "-1", "2", "-1", "1", "0", "-1"]


def test_credit_grows_no_larger_than_a_burst() -> None:
    answers = run_java("EntryLimitSteps", "0*150", "3600000", "3600000*99", "3600000")

    assert answers == ["-1", "50", "0", "-1"]
