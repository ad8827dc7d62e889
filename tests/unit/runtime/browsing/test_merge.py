"""Merging partitions: orders, gaps, cursors and limits."""

from collections.abc import Mapping, Sequence

import pytest

from duolog.runtime.browsing.budget import Budget, Limits
from duolog.runtime.browsing.errors import SlowPredicate
from duolog.runtime.browsing.log import Chunk, Range
from duolog.runtime.browsing.merge import Merge
from duolog.runtime.browsing.pages import page
from duolog.runtime.browsing.record import BrowsedRecord, Part

Times = Mapping[int, int]
"""The time of each offset that has a record."""


def record(partition: int, offset: int, time: int, size: int = 1) -> BrowsedRecord:
    part = Part(b"v", size)
    return BrowsedRecord(partition, offset, time, "create", None, part, (), size)


class Log:
    """Partitions in memory; a read stops when the budget is spent."""

    def __init__(self, partitions: Mapping[int, Times], size: int = 1) -> None:
        self._partitions = partitions
        self._size = size
        self.reads = 0

    def read(
        self, ranges: Mapping[int, Range], budget: Budget, *, completely: bool = False
    ) -> dict[int, Chunk]:
        self.reads += 1
        found = {number: Chunk(start) for number, (start, _) in ranges.items()}
        for whole, (number, (start, end)) in enumerate(ranges.items()):
            chunk = found[number]
            for offset in range(start, end):
                if budget.spent and (whole or not completely):
                    return found
                if offset in self._partitions[number]:
                    time = self._partitions[number][offset]
                    chunk.records.append(record(number, offset, time, self._size))
                    budget.note(self._size)
                chunk.reached = offset + 1
        return found


def merge(
    log: Log,
    spans: Mapping[int, Range],
    positions: Mapping[int, int] | None = None,
    *,
    newest: bool = False,
    limits: Limits | None = None,
) -> tuple[Merge, Budget]:
    budget = Budget(limits or Limits())
    return Merge(log, spans, positions or {}, budget, newest=newest), budget


TWO = {0: {at: 10 * at for at in range(50)}, 1: {at: 10 * at + 5 for at in range(50)}}
SPANS = {0: (0, 50), 1: (0, 50)}


@pytest.mark.parametrize("newest", [False, True])
@pytest.mark.parametrize("limit", [1, 7, 100])
def test_pages_give_all_records_once_in_the_order_of_their_times(
    *, newest: bool, limit: int
) -> None:
    times: list[int] = []
    positions: Mapping[int, int] = {}
    while True:
        merged, budget = merge(Log(TWO), SPANS, positions, newest=newest)
        found = page(merged, limit, None, budget)
        times += [one.timestamp_ms for one in found.records]
        positions = found.positions
        if not found.stopped:
            break
        assert (found.stopped, len(found.records)) == ("limit", limit)

    assert times == sorted(times, reverse=newest)
    assert len(times) == len(set(times)) == 100


@pytest.mark.parametrize("newest", [False, True])
def test_gaps_of_a_million_offsets_take_few_reads(*, newest: bool) -> None:
    log = Log({0: {5: 1, 1_000_000: 2}})
    merged, budget = merge(log, {0: (0, 1_000_002)}, newest=newest)

    found = page(merged, 10, None, budget)

    assert [one.offset for one in found.records] == ([1_000_000, 5] if newest else [5, 1_000_000])
    assert (found.stopped, merged.is_done) == ("", True)
    assert log.reads < 25


def test_a_page_in_which_nothing_is_selected_continues_after_what_was_read() -> None:
    class Nothing:
        def selected(self, records: list[BrowsedRecord], budget: Budget) -> list[bool]:
            del budget
            return [False] * len(records)

    merged, budget = merge(Log(TWO), SPANS, limits=Limits(records=20))
    first = page(merged, 5, Nothing(), budget)  # type: ignore[arg-type]
    assert (first.records, first.stopped) == ([], "records")
    assert first.read >= 20

    again, more = merge(Log(TWO), SPANS, first.positions)
    rest = page(again, 1_000, None, more)
    assert len(rest.records) == 100 - first.read


def test_a_page_with_a_limit_of_selected_records_continues_after_the_last_of_them() -> None:
    class Even:
        def selected(self, records: list[BrowsedRecord], budget: Budget) -> list[bool]:
            del budget
            return [one.offset % 2 == 0 for one in records]

    merged, budget = merge(Log(TWO), SPANS)
    first = page(merged, 3, Even(), budget)  # type: ignore[arg-type]
    assert [(one.partition, one.offset) for one in first.records] == [(0, 0), (1, 0), (0, 2)]
    again, more = merge(Log(TWO), SPANS, first.positions)

    second = page(again, 3, Even(), more)  # type: ignore[arg-type]

    assert [(one.partition, one.offset) for one in second.records] == [(1, 2), (0, 4), (1, 4)]


def test_large_records_stop_a_page_with_at_least_one_record() -> None:
    log = Log({0: {at: at for at in range(20)}}, size=10_000_000)
    found: list[int] = []
    positions: Mapping[int, int] = {}
    for _ in range(20):
        limits = Limits(bytes=25_000_000)
        merged, budget = merge(log, {0: (0, 20)}, positions, newest=True, limits=limits)
        one = page(merged, 50, None, budget)
        assert one.records
        found += [record.offset for record in one.records]
        positions = one.positions
        if not one.stopped:
            break

    assert found == list(range(19, -1, -1))


def test_positions_outside_the_retained_part_are_moved_into_it() -> None:
    merged, budget = merge(Log({0: {5: 1, 6: 2}}), {0: (5, 7)}, {0: 1})

    assert [one.offset for one in page(merged, 9, None, budget).records] == [5, 6]
    beyond, more = merge(Log({0: {5: 1}}), {0: (5, 6)}, {0: 99}, newest=True)
    assert [one.offset for one in page(beyond, 9, None, more).records] == [5]


def test_a_request_that_is_stopped_says_so() -> None:
    budget = Budget(Limits(), stopped=lambda: True)
    merged = Merge(Log(TWO), SPANS, {}, budget, newest=False)

    found = page(merged, 5, None, budget)

    assert (found.records, found.stopped) == ([], "stopped")


def test_a_part_that_was_not_read_to_its_end_is_read_again() -> None:
    seen: list[tuple[int, int]] = []
    positions: Mapping[int, int] = {}
    for _ in range(100):
        merged, budget = merge(Log(TWO), SPANS, positions, newest=True, limits=Limits(records=20))
        found = page(merged, 1_000, None, budget)
        seen += [(one.partition, one.offset) for one in found.records]
        positions = found.positions
        if not found.stopped:
            break

    for number in TWO:
        mine = [offset for partition, offset in seen if partition == number]
        assert mine == list(range(49, -1, -1))


def test_few_large_records_are_taken_at_once() -> None:
    large = 3 * 1024 * 1024
    merged, _ = merge(Log(TWO, large), {0: (0, 50), 1: (0, 50)}, limits=Limits(bytes=10**12))

    taken = []
    while some := merged.take(500):
        assert len(some) == 2, "the second one reaches the limit of 4 MiB"
        taken += some

    assert [one.timestamp_ms for one in taken] == list(range(0, 500, 5))


class Slow:
    """A predicate that has no time left from some part on."""

    def __init__(self, parts: int) -> None:
        self.parts = parts
        self.seen: list[tuple[int, int]] = []

    def selected(self, records: Sequence[BrowsedRecord], budget: Budget) -> list[bool]:
        del budget
        if self.parts == 0:
            raise SlowPredicate("the predicate takes too long")
        self.parts -= 1
        self.seen += [(one.partition, one.offset) for one in records]
        return [False] * len(records)


@pytest.mark.parametrize("newest", [True, False])
def test_a_page_ends_where_the_time_of_a_predicate_ends(*, newest: bool) -> None:
    many = {number: {at: at for at in range(600)} for number in (0, 1)}
    spans = {0: (0, 600), 1: (0, 600)}
    merged, budget = merge(Log(many), spans, newest=newest)
    slow = Slow(2)

    first = page(merged, 50, slow, budget)

    assert (first.read, first.records, first.stopped) == (1_000, [], "time")
    merged, budget = merge(Log(many), spans, first.positions, newest=newest)
    slow.parts = 10
    second = page(merged, 50, slow, budget)
    # Nothing is left out, also not what was read when the time ended.
    assert (second.read, second.stopped) == (200, "")
    assert sorted(slow.seen) == [(number, at) for number in (0, 1) for at in range(600)]


def test_a_predicate_without_time_for_one_part_is_refused() -> None:
    merged, budget = merge(Log(TWO), {0: (0, 50), 1: (0, 50)})

    with pytest.raises(SlowPredicate):
        page(merged, 50, Slow(0), budget)


def test_a_search_reads_many_records_at_once() -> None:
    many = {0: {at: at for at in range(20_000)}}
    some, ahead = Log(many), Log(many)
    for log, number in ((some, 0), (ahead, 20_000)):
        budget = Budget(Limits(records=30_000))
        merged = Merge(log, {0: (0, 20_000)}, {}, budget, newest=True, ahead=number)
        assert page(merged, 50, Slow(100), budget).read == 20_000

    assert ahead.reads * 4 < some.reads
