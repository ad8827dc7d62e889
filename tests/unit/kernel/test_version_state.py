"""Versions of a table's rows are found by time, and expire with it: in Java, without Spark."""

import pytest

from unit.kernel.java_program import run_java

pytestmark = pytest.mark.timeout(120)

OF_THE_TASK = 2
HOUR = 3_600_000
BUCKET = 1 << 20
CASES = 300


def kept(mode: str, *steps: tuple[int, int]) -> list[int]:
    """Return how many entries are left after each step (time, keys), with a history of three hours."""
    arguments = [part for step in steps for part in step]
    found = run_java("VersionState", "kept", mode == "real-time", 3 * HOUR, BUCKET, *arguments)
    return [int(word) - OF_THE_TASK for word in found]


def test_a_row_is_found_by_each_time_of_the_history_in_whatever_order_versions_came() -> None:
    assert run_java("VersionState", "found", CASES, timeout_s=60) == []


@pytest.mark.parametrize("mode", ["micro-batch", "real-time"])
def test_state_does_not_grow_with_versions_that_are_older_than_the_history(mode: str) -> None:
    found = kept(mode, *((hour * HOUR, 100) for hour in range(30)))

    assert max(found) <= 100 * (1 + 4 + 1)
    assert found[-1] <= 100 * (1 + 3 + 1)


def test_deletion_removes_all_related_state() -> None:
    found = kept("micro-batch", (0, 50), (HOUR, -50), (9 * HOUR, 1), (20 * HOUR, 1))

    assert found[1] == 50 * 2
    assert found[-1] == 1 + 1


def test_deletions_of_missing_keys_expire_too() -> None:
    """The remaining row is valid from its own time on; before it there is no row since the deletion."""
    assert kept("micro-batch", (HOUR, -50), (9 * HOUR, 1)) == [50 * 2, 1 + 1]


def test_in_real_time_each_record_lets_go_of_a_few_versions_only() -> None:
    """A million versions that are old at once would hold a record up for seconds."""
    many = 10_000
    found = kept("real-time", (0, many), (1, many), (9 * HOUR, 1), (9 * HOUR + 1, many // 10))

    assert many * 2 - 100 < found[2] < many * 2 + 2
    assert found[-1] < many + many // 10 + 2
