"""After a crash, and after the start that recovers from it, the doctor finds nothing."""

import pytest

from property.doctor_crashes import findings_after_crashes

SEEDS = 10_000
SAMPLE = 90
PART = 500


def found_with(seeds: range) -> list[tuple[int, str, list[str]]]:
    return [
        (seed, when, found)
        for seed in seeds
        for when, found in findings_after_crashes(seed)
        if found
    ]


def test_the_doctor_finds_nothing_after_a_crash_and_its_recovery() -> None:
    assert found_with(range(SAMPLE)) == []


@pytest.mark.deep
@pytest.mark.parametrize("first", range(0, SEEDS, PART))
def test_the_doctor_finds_nothing_after_ten_thousand_crashes(first: int) -> None:
    assert found_with(range(first, first + PART)) == []
