"""The checks of a soak run find planted faults, and accept what is documented."""

from collections import Counter
from typing import Any

import pytest
from bench.soak.events import Event, Produced, click, event, partition
from bench.soak.memory import is_flat
from bench.soak.outages import Outage, unexplained
from bench.soak.pull_load import Lookup, PullChecks, TrueCounts
from bench.soak.push_clients import REPEATED_S, SHAPES, OrderedRows, UnorderedRows
from bench.soak.queries import QUERIES, Query, sessions, windowed
from bench.soak.soak import moments
from bench.soak.verdicts import verdict

ALL = SHAPES[0]
BIG = SHAPES[-1]
TOTAL = 200


def rows_of(checker: OrderedRows | UnorderedRows, numbers: list[int], now: float = 0.0) -> None:
    for seq in numbers:
        checker.came(seq, now)


def one_partition() -> list[int]:
    return ALL.numbers(TOTAL)[0]


def test_rows_of_two_partitions_in_any_mixture_are_right() -> None:
    rows = OrderedRows(ALL)
    for numbers in reversed(ALL.numbers(TOTAL)):
        rows_of(rows, numbers)

    assert (rows.violations, rows.missing(TOTAL), rows.repeated) == ([], 0, 0)


def test_a_gap_is_found() -> None:
    rows = OrderedRows(ALL)
    numbers = one_partition()

    rows_of(rows, [*numbers[:5], *numbers[6:]])

    assert rows.violations[0] == f"row {numbers[6]} came instead of {numbers[5]}"


def test_rows_that_have_not_come_are_counted() -> None:
    rows = OrderedRows(ALL)
    first, second = ALL.numbers(TOTAL)

    rows_of(rows, [*first, *second[:-3]])

    assert (rows.missing(TOTAL), rows.violations) == (3, [])


def test_rows_of_the_last_seconds_may_come_again_and_older_ones_may_not() -> None:
    numbers = one_partition()
    good, bad = OrderedRows(ALL), OrderedRows(ALL)
    for rows, later in ((good, REPEATED_S - 1), (bad, REPEATED_S + 1)):
        rows_of(rows, numbers[:5])
        rows_of(rows, numbers[5:8], later)
        rows_of(rows, numbers[4:10], later)

    assert (good.violations, good.repeated, good.steps_back) == ([], 4, 1)
    assert bad.violations == [f"row {numbers[4]} came again after {REPEATED_S + 1:.1f} s"]


def test_a_gap_among_repeated_rows_is_found() -> None:
    rows = OrderedRows(ALL)
    numbers = one_partition()

    rows_of(rows, [*numbers[:8], numbers[4], numbers[5], numbers[8]])

    assert len(rows.violations) == 1


def test_unordered_rows_are_complete_selected_and_counted() -> None:
    rows = UnorderedRows(BIG)
    numbers = sorted(BIG.numbers(TOTAL)[0] + BIG.numbers(TOTAL)[1], key=lambda seq: -seq)

    rows_of(rows, [*numbers[1:], numbers[5]])

    assert (rows.missing(TOTAL), rows.repeated, rows.steps_back) == (1, 1, 1)
    rows_of(rows, [next(seq for seq in range(TOTAL) if event(seq).amount < BIG.least)])
    assert "is not selected" in rows.violations[0]


def test_a_count_never_decreases_and_never_exceeds_what_was_sent() -> None:
    checks = PullChecks()
    lookup = Lookup("by_user", event(0).usr)
    sent = sum(event(seq).usr == lookup.key for seq in range(100))
    assert sent > 1

    checks.answered(lookup, checks.floor(lookup), sent, 100)
    early = 0
    checks.answered(lookup, early, sent - 1, 100)  # Asked before the answer above.
    assert checks.violations == []

    checks.answered(lookup, checks.floor(lookup), sent - 1, 100)
    checks.answered(lookup, checks.floor(lookup), sent + 1, 100)

    assert [one.partition(": ")[2] for one in checks.violations] == [
        f"{sent - 1} after {sent}",
        f"{sent + 1}, but only {sent} were sent",
    ]


def test_true_counts_of_large_events_exclude_the_others() -> None:
    usr = event(0).usr
    events = [event(seq) for seq in range(1000)]

    most = TrueCounts().most(Lookup("big_by_user", usr), 1000)

    assert most == sum(one.usr == usr and one.amount >= BIG.least for one in events)
    assert 0 < most < sum(one.usr == usr for one in events)


def test_a_failure_is_explained_by_a_kill_around_it_only() -> None:
    outages = [Outage("server", 10.0, 12.0), Outage("broker", 50.0, 60.0)]
    failures = [(9.5, 13.0), (30.0, 31.0), (50.1, 74.0), (50.1, 76.0)]

    assert unexplained(failures, outages) == [(30.0, 31.0), (50.1, 76.0)]


@pytest.mark.parametrize(
    ("sizes", "flat"),
    [
        ([10, 50, 100, 100, 100, 100, 104, 101, 103], True),
        ([100, 100, 100, 200, 200, 200, 221, 221, 221], False),
        ([10, 10, 10, 20, 20, 20, 35, 35, 35], True),
    ],
    ids=["grows at its start", "a tenth more", "a few MiB more"],
)
def test_memory_is_flat_or_grows(sizes: list[float], *, flat: bool) -> None:
    assert is_flat(sizes) == flat


def made(count: int = 400) -> Produced:
    at = [1_000_000 + 40 * seq for seq in range(count)]
    return Produced(
        [event(seq, at[seq]) for seq in range(count)],
        [click(seq, at[seq]) for seq in range(0, count, 5)],
    )


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.statement.split()[2])
def test_each_truth_is_accepted_and_one_wrong_row_is_not(query: Query) -> None:
    truth = query.truth(made())
    assert len(truth) > 2

    assert verdict(query, truth, truth)["wrong"] == 0
    for wrong in _wrong(query, truth):
        assert verdict(query, wrong, truth)["wrong"] == 1


def _wrong(query: Query, truth: Any) -> list[Any]:
    """Return the truth without a row, and with a row that is different, or twice."""
    first = next(iter(truth))
    less = truth.copy()
    del less[first]
    if query.keys:
        return [less, {**truth, first: (-1,)}]
    return [less, truth + Counter([first])] if query.once else [less]


def test_a_stream_that_is_written_at_least_once_may_repeat_rows_only_of_the_truth() -> None:
    query = next(one for one in QUERIES if not one.once)
    truth = query.truth(made())
    first = next(iter(truth))

    row = verdict(query, truth + Counter([first]), truth)

    assert (row["wrong"], row["repeated"]) == (0, 1)
    assert verdict(query, truth + Counter([("x", 1, "y")]), truth)["wrong"] == 1


def test_sessions_end_after_a_gap_and_windows_contain_their_start() -> None:
    records = [Event(n, "a", "i", 1, at) for n, at in enumerate([1000, 2000, 3001, 3002])]

    assert sessions(records) == {("a", 1000, 2000): (2,), ("a", 3001, 3002): (2,)}
    assert windowed(records, 2000, 1000) == {
        ("i", 0): (1, 1),
        ("i", 1000): (2, 2),
        ("i", 2000): (3, 3),
        ("i", 3000): (2, 2),
    }


def test_the_last_half_of_a_run_has_no_kill() -> None:
    found = list(moments(1800, 2, 1))

    assert found == [(300.0, "server"), (600.0, "broker"), (900.0, "server")]


def test_all_users_are_in_both_partitions() -> None:
    assert {partition(f"u{number}") for number in range(50)} == {0, 1}
