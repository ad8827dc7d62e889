"""Which entries of a changelog count, by generation and epoch: in Java, without Spark."""

import pytest

from unit.kernel.java_program import run_java

pytestmark = pytest.mark.timeout(120)

MENDED = -1
"""The epoch of what a restore writes."""


def committed(generations: dict[int, int], *entries: tuple[int, int]) -> list[bool]:
    told = ",".join(f"{number}:{last}" for number, last in generations.items())
    found = run_java("CommittedEntries", told, *(f"{of}:{epoch}" for of, epoch in entries))
    return [word == "true" for word in found]


def test_entries_count_up_to_the_last_epoch_of_their_generation() -> None:
    assert committed({1: 5, 3: 0}, (1, 5), (1, 6), (2, 0), (3, 0), (3, 1)) == [
        *(True, False, False, True, False)
    ]


def test_what_a_restore_has_mended_counts_also_where_that_was_cut_off() -> None:
    of_one_cut_off = {1: 5, 2: -1, 3: -1}

    assert committed(of_one_cut_off, (1, 5), (1, 6), (2, MENDED), (3, MENDED)) == [
        *(True, False, True, True)
    ]


def test_what_a_restore_mends_that_was_held_up_does_not_count_behind_a_later_start() -> None:
    """A restore that was paused wrote its old values behind those of the owner after it, and they counted."""
    entries = [(1, 5), (2, MENDED), (3, 0), (2, MENDED), (3, 1), (2, MENDED)]

    assert committed({1: 5, 2: -1, 3: 7}, *entries) == [True, True, True, False, True, False]
