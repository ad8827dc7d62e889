"""Entries of a changelog are counted or ignored by generation and epoch: in Java, without Spark."""

import pytest

from unit.kernel.java_program import run_java

pytestmark = pytest.mark.timeout(120)

MENDED = -1
"""The epoch of what a restore writes."""


Entry = tuple[int, int] | None
"""Generation and epoch; None: the entry has no header that names them."""


def committed_words(generations: dict[int, int], *entries: Entry) -> list[str]:
    lasts = ",".join(f"{number}:{last}" for number, last in generations.items())
    named = ("none" if entry is None else f"{entry[0]}:{entry[1]}" for entry in entries)
    return run_java("CommittedEntries", lasts, *named)


def committed(generations: dict[int, int], *entries: Entry) -> list[bool]:
    return [word == "true" for word in committed_words(generations, *entries)]


def test_entries_count_up_to_the_last_epoch_of_their_generation() -> None:
    assert committed({1: 5, 3: 0}, (1, 5), (1, 6), (2, 0), (3, 0), (3, 1)) == [
        *(True, False, False, True, False)
    ]


def test_an_entry_without_an_epoch_is_neither_committed_nor_beyond() -> None:
    """Another program may have written to the topic: no commit says that its record counts."""
    assert committed_words({1: 5}, None, (1, 5), None, (1, 6)) == [
        "false",
        "true",
        "false",
        "false",
    ]


def test_a_restore_that_was_interrupted_still_counts() -> None:
    of_one_cut_off = {1: 5, 2: -1, 3: -1}

    assert committed(of_one_cut_off, (1, 5), (1, 6), (2, MENDED), (3, MENDED)) == [
        *(True, False, True, True)
    ]


def test_a_delayed_restore_does_not_count_after_a_later_start() -> None:
    """A paused restore used to write its old values after those of the next owner, and they were counted."""
    entries = [(1, 5), (2, MENDED), (3, 0), (2, MENDED), (3, 1), (2, MENDED)]

    assert committed({1: 5, 2: -1, 3: 7}, *entries) == [True, True, True, False, True, False]


def test_entries_that_no_commit_can_have_allowed_tell_that_commits_were_lost() -> None:
    """A topic of commits that had lost its last records brought older state back, without a word."""
    entries = [(1, 9), (2, 5), (2, 6), (2, MENDED), (2, 7), (3, 0), (3, MENDED)]

    assert committed_words({1: 3, 2: 5}, *entries) == [
        *("false", "true", "false", "true", "beyond", "beyond", "false")
    ]


def test_a_generation_without_a_commit_may_have_started_one_epoch() -> None:
    """The epoch can have any number: Spark's log continues its count over starts."""
    assert committed_words({1: 17, 2: -1}, (1, 17), (2, 18), (2, 18), (2, 19)) == [
        *("true", "false", "false", "beyond")
    ]


def test_a_commit_that_was_not_reported_is_reported_by_the_next_start() -> None:
    """Spark had committed epoch 6 of generation 1 when the query ended, but epoch 5 was the last one reported."""
    entries = [(1, 5), (1, 6), (2, 7), (2, 8)]

    assert committed_words({1: 5}, *entries) == ["true", "false", "beyond", "beyond"]
    assert committed_words({1: 6, 2: -1}, *entries) == ["true", "true", "false", "beyond"]
    assert committed_words({1: 6, 2: 7}, *entries, (1, 7)) == [
        "true",
        "true",
        "true",
        "false",
        "false",
    ]
