"""The checker of histories finds each kind of bad history, and nothing in a good one."""

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

import pytest

from fault.campaign import Tally
from fault.history import (
    Anomaly,
    Counted,
    Epoch,
    Event,
    Kind,
    Passed,
    check_agreement,
    check_counted,
    check_epochs,
    check_last,
    check_passed,
)

EVENTS = [
    Event(number, f"a{number % 3}", 10 * number, number % 2, number // 2) for number in range(12)
]


class Good(NamedTuple):
    """Results of `EVENTS`, as a run without a fault writes them."""

    passed: list[Passed]
    counted: list[Counted]


def good() -> Good:
    passed, counted = [], []
    counts: dict[str, tuple[int, int]] = {}
    for offset, event in enumerate(EVENTS):
        passed.append(Passed(event.number, event.account, event.amount, event.number % 2, offset))
        count, total = counts.get(event.account, (0, 0))
        counts[event.account] = count + 1, total + event.amount
        counted.append(
            Counted(event.account, *counts[event.account], int(event.account[1:]), offset)
        )
    return Good(passed, counted)


def anomalies_in(found: Good, *, every_update: bool = True) -> list[Anomaly]:
    return [
        *check_passed(EVENTS, found.passed),
        *check_counted(EVENTS, found.counted, every_update=every_update),
        *check_agreement(found.passed, found.counted),
    ]


def test_a_good_history_has_no_anomaly() -> None:
    assert anomalies_in(good()) == []


def test_a_cache_may_pass_counts_over_but_not_the_last() -> None:
    found = good()
    kept = [row for row in found.counted if row.events % 2 == 0]

    assert anomalies_in(found._replace(counted=kept), every_update=False) == []
    assert anomalies_in(found._replace(counted=kept))[0].kind == "missing"


def lost(found: Good) -> None:
    del found.passed[5]


def twice(found: Good) -> None:
    found.passed.append(found.passed[-1]._replace(offset=99))


def twice_elsewhere(found: Good) -> None:
    found.passed.append(found.passed[-1]._replace(partition=0, offset=99))


def made_up(found: Good) -> None:
    found.passed.append(Passed(77, "a1", 5, 0, 99))


def changed(found: Good) -> None:
    found.passed[3] = found.passed[3]._replace(amount=31)


def later_first(found: Good) -> None:
    found.passed[2], found.passed[4] = found.passed[4], found.passed[2]


def counted_twice(found: Good) -> None:
    """An epoch that was replayed over state that had it already."""
    last = found.counted[-1]
    found.counted.append(last._replace(events=last.events + 1, total=last.total + 1, offset=99))


def written_again(found: Good) -> None:
    found.counted.append(found.counted[-1]._replace(offset=99))


def count_left_out(found: Good) -> None:
    del found.counted[4]


def not_counted(found: Good) -> None:
    """State that is older than its results: the last events of an account are not in it."""
    found.counted[:] = [row for row in found.counted if (row.account, row.events) != ("a2", 4)]


def no_account(found: Good) -> None:
    found.counted[:] = [row for row in found.counted if row.account != "a2"]


def another_sum(found: Good) -> None:
    found.counted[-1] = found.counted[-1]._replace(total=1)


def one_event_for_another(found: Good) -> None:
    """The count is right, one event was added twice and another one not at all."""
    found.counted[6] = found.counted[6]._replace(total=found.counted[6].total + 1)


def count_of_unknown_account(found: Good) -> None:
    found.counted.append(Counted("zz", 1, 1, 0, 99))


def older_behind_newer(found: Good) -> None:
    rows = found.counted
    rows[6], rows[9] = rows[9], rows[6]


def another_partition(found: Good) -> None:
    found.counted[-1] = found.counted[-1]._replace(partition=7)


def one_sink_ahead(found: Good) -> None:
    """A transaction that had one of two sinks."""
    del found.passed[9:]


BAD: Sequence[tuple[Callable[[Good], None], Kind, str]] = [
    (lost, "missing", 'event 5 of account "a2" (input 1, offset 2) has no result'),
    (twice, "duplicate", "is there 2 times, at 1:11 and 1:99"),
    (twice_elsewhere, "split", "results of event 11 are in several partitions, at 1:11 and 0:99"),
    (made_up, "invented", "event 77 at 0:99 was never sent"),
    (changed, "wrong", 'event 3 of account "a0" (input 1, offset 1) came out as a0, 31 at 1:3'),
    (later_first, "out of order", "comes after event 4"),
    (counted_twice, "invented", 'count 5 of account "a2" at 2:99, but it has 4 events'),
    (written_again, "duplicate", 'count 4 of account "a2" at 2:99 was there already, at 2:11'),
    (count_left_out, "missing", 'count 2 of account "a1" is not there, but 4 is'),
    (not_counted, "missing", 'account "a2" ends at 3 at 2:8, but it has 4 events'),
    (no_account, "missing", 'account "a2" of 4 events has no row'),
    (another_sum, "wrong", 'the sum of account "a2" is 1 at 2:11, not 260'),
    (one_event_for_another, "wrong", "adds 61, which no event of it has left"),
    (count_of_unknown_account, "invented", 'account "zz" at 0:99 has no events'),
    (older_behind_newer, "out of order", 'count 3 of account "a0" at 0:6 comes after count 4'),
    (another_partition, "split", 'account "a2" is in several partitions'),
    (one_sink_ahead, "disagreement", '3 events of account "a0" have passed, 4 are counted'),
]


@pytest.mark.parametrize(("spoil", "kind", "text"), BAD, ids=[bad[0].__name__ for bad in BAD])
def test_a_bad_history_is_reported_as_text(
    spoil: Callable[[Good], None], kind: Kind, text: str
) -> None:
    found = good()
    spoil(found)

    reported = [anomaly for anomaly in anomalies_in(found) if anomaly.kind == kind]

    assert any(text in anomaly.text for anomaly in reported), anomalies_in(found)


def test_each_random_corruption_of_a_history_is_found() -> None:
    random = Random(1)  # noqa: S311 - a seed that can be run again
    for _ in range(300):
        found = good()
        rows: list[Any] = random.choice(found)
        at, to = random.randrange(len(rows)), random.randrange(len(rows))
        match random.randrange(3):
            case 0:
                del rows[at]
            case 1:
                rows.insert(to, rows[at])
            case _:
                rows[at] = rows[to]._replace(partition=rows[at].partition, offset=rows[at].offset)

        assert anomalies_in(found) or found == good(), found


def test_last_rows_are_compared_with_those_of_a_replay() -> None:
    expected = {"north": (2, 30), "south": (1, 5)}

    assert list(check_last(expected, dict(expected), "branches")) == []
    found = {"north": (2, 31), "east": (1, 1)}
    assert [str(anomaly) for anomaly in check_last(expected, found, "branches")] == [
        'wrong in "branches": the last row of "north" is (2, 31); a replay gives (2, 30)',
        'missing in "branches": "south" has no row; a replay gives (1, 5)',
        'invented in "branches": "east" has the row (1, 1); a replay gives none',
    ]


def test_each_epoch_ends_before_the_next_one_is_marked() -> None:
    assert list(check_epochs([Epoch(-1, -1), Epoch(3, 2), Epoch(3, 3), Epoch(5, 9)])) == []
    back = check_epochs([Epoch(3, 3), Epoch(2, 2)])
    assert [anomaly.kind for anomaly in back] == ["went back", "went back"]
    assert [str(anomaly) for anomaly in check_epochs([Epoch(4, 2)])] == [
        'disagreement in "epochs": results of epoch 4 are there, and Spark has committed 2'
    ]


def test_findings_of_a_campaign_can_be_saved() -> None:
    tally = Tally(7)
    tally.kills["both at sink.open"] += 2
    tally.find("each", [Anomaly("missing", "passed", f"event {number}") for number in range(30)])

    kept = json.loads(json.dumps(tally.kept()))

    assert (kept["seed"], kept["kills"]) == (7, {"both at sink.open": 2})
    assert kept["kinds"] == {"missing": 30}
    assert kept["anomalies"][0] == 'each: missing in "passed": event 0'
    assert len(kept["anomalies"]) < 30
