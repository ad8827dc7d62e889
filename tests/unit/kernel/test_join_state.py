"""Stream-stream joins store records, expire them and emit unmatched ones: in Java, without Spark."""

import pytest

from unit.kernel.java_program import run_java

pytestmark = pytest.mark.timeout(120)

HOUR = 3_600_000
MODES = pytest.mark.parametrize("mode", ["micro-batch", "real-time"])


def steps(mode: str, store: str, *given: tuple[int, int, int], window: int = HOUR) -> list[str]:
    """Return what is printed for each step (time, keys, rows of each)."""
    arguments = [part for step in given for part in step]
    return run_java("JoinState", mode == "real-time", window, 0, store, *arguments)


def entries(words: list[str]) -> list[int]:
    return [int(word) for word in words[::2]]


@MODES
def test_state_does_not_grow_with_what_has_expired(mode: str) -> None:
    found = entries(steps(mode, "rows", *((hour * HOUR, 100, 2) for hour in range(30))))

    assert max(found) <= 300 + 2


@MODES
def test_a_record_is_found_until_the_last_millisecond_in_which_it_can_be_joined(mode: str) -> None:
    """It is the last one of its bucket, which is deleted a millisecond later."""
    at = HOUR - 1

    found = steps(
        mode, "rows", (at, 1, 1), (at + HOUR - 1, 1, 1), (at + HOUR - 1, 0, 0), (at + HOUR, 1, 1)
    )

    assert found[1::2] == ["1", "2", "2", "2"]
    assert entries(found)[-1] == 1 + 2


@MODES
def test_a_hot_key_has_its_rows_in_chunks_and_loses_none(mode: str) -> None:
    found = steps(mode, "rows", (0, 1, 1000), (1, 1, 1), (HOUR - 1, 1, 1), (3 * HOUR, 1, 1))

    assert found[1::2] == ["1000", "1001", "1002", "1"]
    assert 1000 // 170 < entries(found)[0] - 2 < 1000 // 50


@MODES
def test_unmatched_records_are_emitted_by_time_and_key_and_removed(mode: str) -> None:
    found = steps(mode, "unmatched", (5000, 2, 1), (2000, 3, 2), (HOUR + 5001, 0, 0))

    reported = "2000:0,2000:0,2000:1,2000:1,2000:2,2000:2,5000:0,5000:1"
    assert found[1::2] == ["nothing", "nothing", reported]
    assert entries(found)[-1] <= 2
