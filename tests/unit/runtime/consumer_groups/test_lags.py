from duolog.runtime.consumer_groups.lags import GroupLag, measure
from unit.runtime.consumer_groups.cluster import FakeGroups, FakePositions, listed

NOW_MS = 100_000
A, B, C = ("orders", 0), ("orders", 1), ("paid", 0)


def lag_of(positions: FakePositions, committed: dict[tuple[str, int], int]) -> GroupLag:
    groups = FakeGroups([listed("g")], {"g": committed})
    return measure([listed("g")], groups, positions, NOW_MS)["g"]


def test_a_lag_is_the_sum_of_records_and_the_largest_age() -> None:
    lag = lag_of(FakePositions({A: 50, B: 70, C: 9}), {A: 40, B: 67, C: 9})

    assert (lag.records, lag.ms, lag.complete) == (13, NOW_MS - 40_000, True)
    assert {place: one.ms for place, one in lag.partitions.items()} == {
        A: NOW_MS - 40_000,
        B: NOW_MS - 67_000,
        C: 0,
    }


def test_a_partition_that_was_not_read_in_time_leaves_the_age_incomplete() -> None:
    positions = FakePositions({A: 50, B: 70})
    positions.unread.add(A)

    lag = lag_of(positions, {A: 40, B: 67})

    assert (lag.records, lag.ms, lag.complete) == (13, NOW_MS - 67_000, False)


def test_markers_of_transactions_are_no_delay() -> None:
    positions = FakePositions({A: 50})
    positions.only_markers.add(A)

    lag = lag_of(positions, {A: 49})

    assert (lag.records, lag.ms, lag.complete) == (1, 0, True)


def test_a_deleted_topic_has_no_lag_and_an_offset_past_the_end_none_below_zero() -> None:
    lag = lag_of(FakePositions({A: 50}), {A: 51, C: 3})

    assert (lag.partitions[A].records, lag.partitions[C].records) == (0, None)
    assert lag.records == 0


def test_a_group_of_which_nothing_is_known_has_an_unknown_lag() -> None:
    lag = lag_of(FakePositions({}), {C: 3})

    assert (lag.records, lag.ms) == (None, None)
