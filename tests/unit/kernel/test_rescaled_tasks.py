"""Tests of a change of the number of tasks, for rows and for state that belongs to a task: in Java, without Spark."""

from itertools import permutations

import pytest

from unit.kernel.java_program import run_java

pytestmark = pytest.mark.timeout(120)


@pytest.mark.parametrize(
    "of_first",
    list(permutations(['0:schedules:5:[["stream",10,30]]', "0:turn:a"])),
    ids=["before", "behind"],
)
def test_schedules_of_a_processor_survive_rescaling_with_other_entries(
    of_first: tuple[str, ...],
) -> None:
    """The last entry of a task used to be read as its schedules, even if it was its `turn` entry."""
    of_second = ['1:schedules:9:[["stream",10,20]]', "1:turn:b"]

    made = run_java("MergedSchedules", *of_first, *of_second)

    assert made == ["schedules", "9", '[["stream",10,20]]']
    assert run_java("MergedSchedules", *of_second[::-1], *of_first) == made


def test_a_row_of_a_record_without_a_key_is_in_no_task_of_a_key() -> None:
    """The command failed with an error of Java's own, and named no store."""
    assert run_java("KeyTasks", "ann", "-", "bob") == ["1", "0", "1"]


def test_windows_that_a_grown_grace_period_has_opened_stay_open_over_the_next_start() -> None:
    """Their results used to be lost: the next start took its later stream time as the end up to which rows had been emitted."""
    assert run_java("ReopenedWindows", 100, 40, 80) == ["40", "40"]
    assert run_java("ReopenedWindows", 100, 120, 140) == ["100", "100"]
