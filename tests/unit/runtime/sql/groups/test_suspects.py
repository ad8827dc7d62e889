import itertools

import pytest

from duolog.runtime.sql.groups.suspects import WINDOW_S, Suspects

SHARED, QUARANTINE = "default", "quarantine"


class Service:
    """Queries that run where `Suspects` says, one of which ends its JVM."""

    def __init__(self, count: int, cause: str) -> None:
        self.queries = [f"q{number}" for number in range(count)]
        self.cause = cause
        self.suspects = Suspects()
        self.now_s = 0.0

    def in_group(self, group: str) -> list[str]:
        return [one for one in self.queries if self.suspects.group_of(one) == group]

    def end_jvm_of_cause(self) -> None:
        self.now_s += 20
        group = self.suspects.group_of(self.cause)
        self.suspects.note_end(group, self.in_group(group), self.now_s)


@pytest.mark.parametrize(("count", "number"), [(1, 0), (2, 0), (2, 1), (5, 2), (8, 0), (100, 63)])
def test_the_cause_is_found_and_alone_while_the_others_share(count: int, number: int) -> None:
    service = Service(count, f"q{number}")
    ends = 0
    while not service.suspects.found:
        service.end_jvm_of_cause()
        ends += 1

    assert service.suspects.found == {f"q{number}": "quarantine-1"}
    assert len(service.in_group(SHARED)) == count - 1
    assert ends <= 2 + (count - 1).bit_length()


def test_one_end_moves_no_query() -> None:
    suspects = Suspects()

    assert not suspects.note_end(SHARED, ["a", "b"], 0)
    assert [suspects.group_of(one) for one in "ab"] == [SHARED, SHARED]


def test_two_ends_far_apart_move_no_query() -> None:
    suspects = Suspects()
    suspects.note_end(SHARED, ["a", "b"], 0)

    assert not suspects.note_end(SHARED, ["a", "b"], WINDOW_S + 1)


def test_the_newer_half_is_suspected_first() -> None:
    suspects = Suspects()
    suspects.note_end(SHARED, ["a", "b", "c", "d"], 0)

    assert suspects.note_end(SHARED, ["a", "b", "c", "d"], 10)
    assert [suspects.group_of(one) for one in "abcd"] == [SHARED, SHARED, QUARANTINE, QUARANTINE]


def test_a_query_that_ran_only_once_is_no_suspect() -> None:
    suspects = Suspects()
    suspects.note_end(SHARED, ["a", "b"], 0)
    suspects.note_end(SHARED, ["b", "c"], 10)

    assert suspects.found == {"b": "quarantine-1"}
    assert [suspects.group_of(one) for one in "ac"] == [SHARED, SHARED]


def test_ends_of_queries_without_anything_in_common_start_no_search() -> None:
    suspects = Suspects()
    suspects.note_end(SHARED, ["a"], 0)

    assert not suspects.note_end(SHARED, ["b"], 10)


def test_a_calm_time_ends_the_search() -> None:
    suspects = Suspects()
    suspects.note_end(SHARED, ["a", "b"], 0)
    suspects.note_end(SHARED, ["a", "b"], 10)
    assert not suspects.look(WINDOW_S)

    assert suspects.look(WINDOW_S + 11)
    assert suspects.group_of("b") == SHARED
    assert not suspects.look(WINDOW_S + 12)


def test_two_causes_get_a_group_each() -> None:
    suspects, clock = Suspects(), itertools.count(0, 10)
    for cause in "ab":
        while cause not in suspects.found:
            group = suspects.group_of(cause)
            ran = [one for one in "abcd" if suspects.group_of(one) == group]
            suspects.note_end(group, ran, next(clock))

    assert suspects.found == {"a": "quarantine-1", "b": "quarantine-2"}


def test_a_query_that_was_replaced_is_trusted_again() -> None:
    suspects = Suspects()
    suspects.note_end(SHARED, ["a"], 0)
    suspects.note_end(SHARED, ["a"], 10)
    assert suspects.group_of("a") == "quarantine-1"

    suspects.forget("a")

    assert suspects.group_of("a") == SHARED
