"""State of windows is deleted with them: in Java, without Spark."""

import pytest

from unit.kernel.java_program import run_java

pytestmark = pytest.mark.timeout(120)

OF_THE_TASK = 2
HOUR = 3_600_000


def kept(mode: str, *steps: tuple[int, int], size: int = HOUR) -> list[int]:
    """Return how many rows are left after each step (time, keys)."""
    arguments = [part for step in steps for part in step]
    found = run_java("WindowState", mode == "real-time", size, 0, *arguments)
    return [int(word) - OF_THE_TASK for word in found]


@pytest.mark.parametrize("mode", ["micro-batch", "real-time"])
def test_state_does_not_grow_with_windows_that_have_closed(mode: str) -> None:
    found = kept(mode, *((hour * HOUR, 100) for hour in range(30)))

    assert max(found) <= 200
    assert found[-1] == 100


def test_a_clock_jump_by_decades_skips_empty_windows() -> None:
    at = 1_700_000_000_000
    found = kept("micro-batch", (0, 10), (at, 10), (at + 1, 5), (2**62, 1), size=1)

    assert found == [10, 10, 5, 1]


def test_in_real_time_each_record_lets_go_of_a_few_rows_only() -> None:
    """A million windows that close at once would hold a record up for seconds."""
    many = 10_000
    found = kept("real-time", (0, many), (HOUR, 1), (HOUR, 1), (HOUR, many // 10))

    assert many - 100 < found[1] < many + 1
    assert found[2] < found[1] + 1
    assert found[-1] == many // 10


def test_records_of_a_closed_window_are_not_stored() -> None:
    assert kept("micro-batch", (HOUR, 1), (0, 5), (2 * HOUR, 1)) == [1, 1, 1]
