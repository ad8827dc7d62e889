"""Records that a query has not read yet, with fake samples, without a broker."""

from unittest.mock import MagicMock

import pytest

from duolog.engine.topics.record_checks import SeenRecord
from duolog.engine.topics.record_sampler import Position, Sample
from duolog.engine.topics.unread_records import UnreadRecords

A, B, IDLE = ("in", 0), ("in", 1), ("in", 2)
POSITIONS = {"in": {0: 2, 1: 3, 2: 9}}
ENDS = {"in": {0: 4, 1: 8, 2: 9}}


def event_time_left(
    ahead: dict[Position, Sample], last_ms: dict[Position, int]
) -> tuple[int | None, MagicMock]:
    """Return the number of records between POSITIONS and ENDS, and the calls that query a broker."""
    asked = MagicMock()
    asked.sampler.sample.return_value = ahead
    lasts = {at: SeenRecord(1, 0, "", ms) for at, ms in last_ms.items()}
    asked.looks.last_before.return_value = lasts
    unread = UnreadRecords(asked.sampler, asked.looks)
    return unread.event_time_left_ms(POSITIONS, ENDS), asked


def test_event_time_is_left_from_the_earliest_record_to_the_latest() -> None:
    """Partitions without new records are old, or of the future: they do not count."""
    ahead = {A: Sample(1, 10, 300), B: Sample(1, 10, 100)}

    left_ms, asked = event_time_left(ahead, {A: 900, B: 700})

    assert left_ms == 800
    asked.sampler.sample.assert_called_once_with({A: 2, B: 3}, records_max=1)
    asked.looks.last_before.assert_called_once_with({A: 4, B: 8})


@pytest.mark.parametrize(
    ("ahead", "left_ms"),
    [
        ({A: Sample(reached_end=True), B: Sample(reached_end=True)}, 0),
        ({A: Sample(reached_end=True), B: Sample()}, None),
        ({A: Sample(1, 10, 300), B: Sample()}, None),
        ({}, None),
    ],
)
def test_event_time_without_a_sample_is_unknown(
    ahead: dict[Position, Sample], left_ms: int | None
) -> None:
    """Markers of transactions alone leave none."""
    assert event_time_left(ahead, {})[0] == left_ms


def test_a_partition_without_records_left_counts_as_read_once_its_position_stays() -> None:
    """Offsets of transaction markers and of compacted records were lag for ever."""
    asked = MagicMock()
    asked.sampler.sample.side_effect = lambda wanted, **_: dict.fromkeys(
        wanted, Sample(0, 0, None, reached_end=True)
    )
    unread = UnreadRecords(asked.sampler, asked.looks)
    positions, ends = {"in": {0: 2, 1: 5}}, {"in": {0: 4, 1: 5}}

    found = [unread.skip_non_records(positions, ends) for _ in range(3)]

    assert found == [positions, {"in": {0: 4, 1: 5}}, {"in": {0: 4, 1: 5}}]
    sampled = [call.args[0] for call in asked.sampler.sample.call_args_list]
    assert sampled == [{}, {("in", 0): 2}, {}], "the answer is kept"
