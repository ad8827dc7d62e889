from typing import Final

from duolog.log.compaction.policy import (
    GROUP_SEGMENTS_MAX,
    Cleanable,
    LogOffsets,
    SegmentView,
    cleanable,
    group_segments,
)
from duolog.log.config import LogConfig

NOW_MS: Final = 1_000_000
CONFIG: Final = LogConfig(compacted=True)


def view(base_offset: int, *, first: int = NOW_MS, newest: int = NOW_MS) -> SegmentView:
    return SegmentView(base_offset, 100, first, newest)


def found(
    segments: list[SegmentView],
    config: LogConfig = CONFIG,
    *,
    clean: int = 0,
    start: int = 0,
    stable: int = 1000,
) -> Cleanable | None:
    return cleanable(
        segments,
        config,
        LogOffsets(log_start=start, last_stable=stable, log_end=1000),
        clean_offset=clean,
        now_ms=NOW_MS,
    )


def test_the_active_segment_is_never_cleaned() -> None:
    assert found([view(0)]) is None
    assert found([view(0), view(10)]) == Cleanable(0, 10, 1.0)


def test_a_log_is_worth_a_run_above_the_dirty_ratio_only() -> None:
    segments = [view(0), view(10), view(20), view(30)]

    assert found(segments, clean=20) is None
    assert found(segments, clean=10) == Cleanable(10, 30, 2 / 3)


def test_a_record_older_than_the_longest_lag_makes_it_worth_a_run_at_any_ratio() -> None:
    config = LogConfig(compacted=True, min_cleanable_ratio=1.0, max_compaction_lag_ms=500)

    assert found([view(0), view(10)], config) is None
    assert found([view(0, first=NOW_MS - 501), view(10)], config) is not None


def test_records_newer_than_the_minimum_lag_are_not_compacted() -> None:
    config = LogConfig(compacted=True, min_compaction_lag_ms=500)
    segments = [view(0, newest=NOW_MS - 500), view(10, newest=NOW_MS - 499), view(20)]

    assert found(segments, config) == Cleanable(0, 10, 1.0)


def test_a_segment_that_is_clean_already_does_not_wait_for_the_lag() -> None:
    config = LogConfig(compacted=True, min_compaction_lag_ms=500)
    segments = [view(0), view(10, newest=0), view(20)]

    found_ = found(segments, config, clean=10)

    assert found_ is None  # Half of it is dirty, and that is not more than half.
    assert found([*segments[:2], view(20, newest=0), view(30)], config, clean=10) == Cleanable(
        10, 30, 2 / 3
    )


def test_an_open_transaction_holds_its_segment_back() -> None:
    assert found([view(0), view(10), view(20)], stable=19) == Cleanable(0, 10, 1.0)


def test_a_checkpoint_outside_the_log_begins_at_the_log_start() -> None:
    segments = [view(50), view(60)]

    assert found(segments, clean=10, start=50) == Cleanable(50, 60, 1.0)
    assert found(segments, clean=2000, start=50) == Cleanable(50, 60, 1.0)


def test_small_segments_are_grouped_up_to_the_size_of_one() -> None:
    assert group_segments([(0, 60), (5, 50), (9, 40)], 100, 20) == [[(0, 60)], [(5, 50), (9, 40)]]


def test_a_group_spans_no_more_offsets_than_an_index_can_hold() -> None:
    far = 2**31

    assert group_segments([(0, 1), (5, 1)], 100, far) == [[(0, 1), (5, 1)]]
    assert group_segments([(0, 1), (5, 1)], 100, far + 1) == [[(0, 1)], [(5, 1)]]


def test_a_group_is_swapped_in_few_steps() -> None:
    groups = group_segments([(i, 0) for i in range(GROUP_SEGMENTS_MAX + 1)], 100, 50)

    assert [len(group) for group in groups] == [GROUP_SEGMENTS_MAX, 1]
