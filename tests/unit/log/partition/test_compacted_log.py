"""A compacted log with gaps: every kind of offset lookup, and reads during a swap of segments."""

import pytest

from duolog.log.checkpoints.leader_epochs import EpochEnd
from duolog.log.compaction.policy import Cleanable
from duolog.log.compaction_run import CompactionRun
from duolog.log.segments.segment_swap import Swap, is_left_over, promise_swap, recall_swap
from duolog.log.segments.segments import Slice
from duolog.record import decode_records
from property.cleaned_log import DELETE_RETENTION_MS, CleanedLog, Step, in_small_parts


def one(key: bytes, value: bytes | None = b"1") -> Step:
    return Step(((key, value),))


def with_holes() -> CleanedLog:
    """Return a log of offsets 0 to 7 that keeps 2, 5 and 7; 6 and 7 are in a new segment."""
    log = CleanedLog()
    log.write([one(b"a"), one(b"b"), one(b"c"), one(b"a"), one(b"b")])
    log.write([one(b"a")])
    log.write([one(b"b"), one(b"b")])
    log.compact()
    return log


def batch_at(log: CleanedLog, offset: int) -> list[int]:
    data = log.log.read_bytes(offset, 1, up_to_offset=log.log.high_watermark)
    return [record.offset for record in decode_records(data)] if data else []


def test_a_read_at_a_hole_gives_what_follows() -> None:
    log = with_holes()

    assert list(log.records()) == [2, 5, 7]
    assert [batch_at(log, offset) for offset in range(8)] == [
        [2], [2], [2], [5], [5], [5], [7], [7],
    ]  # fmt: skip


def test_a_read_in_a_hole_up_to_the_bound_gives_nothing() -> None:
    log = with_holes()

    assert log.log.read(3, 100, up_to_offset=5) == Slice(None, 0, 0, 3)
    assert log.log.read(6, 100, up_to_offset=7) == Slice(None, 0, 0, 6)


def test_a_hole_at_the_end_of_the_log_gives_nothing_and_is_no_error() -> None:
    log = CleanedLog()
    log.write([one(b"a"), one(b"a", None)])
    log.compact()
    log.clock.advance(ms=1000)
    log.write([one(b"b"), one(b"b", None)])
    log.compact()
    log.clock.advance(ms=1000)
    log.write([one(b"c")])
    log.compact()

    assert list(log.records()) == [4]
    assert log.log.log_end_offset == 5
    assert log.log.read(5, 100, up_to_offset=5).file is None


def test_times_and_epochs_are_found_across_holes() -> None:
    log = CleanedLog()
    start_ms = log.clock.now_ms()
    for key in (b"a", b"b", b"a"):
        log.write([one(key)])
        log.clock.advance(ms=10)
    log.compact()

    found = log.log.offset_for_timestamp(start_ms)
    assert found is not None
    assert (found.offset, found.timestamp_ms) == (1, start_ms + 10)
    newest = log.log.max_timestamp()
    assert newest is not None
    assert newest.offset == 2
    assert log.log.offset_for_leader_epoch(0) == EpochEnd(0, 3)


def test_the_largest_time_is_that_of_a_record_even_where_an_empty_batch_has_a_later_one() -> None:
    log = CleanedLog()
    before_ms = log.clock.now_ms()
    later_ms = before_ms + 500
    log.clock.set_wall_ms(later_ms)
    log.write([Step(((b"a", b"1"),), producer=4)])
    log.clock.set_wall_ms(before_ms)
    log.write([Step((), producer=4, end="commit"), one(b"a")])
    log.compact()
    headers = [header for header, _ in log.batches()]
    assert headers[0].records_count == 0
    assert headers[0].max_timestamp == later_ms

    newest = log.log.max_timestamp()

    assert newest is not None
    assert newest.timestamp_ms == before_ms


def test_a_slice_of_an_old_segment_stays_as_it_was() -> None:
    log = CleanedLog()
    log.write([one(b"a", b"old"), one(b"b")])
    log.write([one(b"a", b"new")])
    held = log.log.read(0, 10_000, up_to_offset=3)
    assert held.file is not None
    before = held.file.pread(held.position, held.size_bytes)

    log.compact()

    assert held.file.pread(held.position, held.size_bytes) == before
    assert list(log.records()) == [1, 2]


def test_a_place_that_was_remembered_is_forgotten_with_its_segment() -> None:
    log = CleanedLog()
    log.write([one(b"a"), one(b"b"), one(b"c")])
    log.write([one(b"a"), one(b"b")])
    first = log.log.read(0, 1, up_to_offset=5)
    assert batch_at(log, 1) == [1], "the reader continues after the first batch"

    log.compact()

    assert first.size_bytes
    assert batch_at(log, 1) == [2]


def test_retention_unlinks_in_background_and_a_start_finishes_it() -> None:
    log = CleanedLog()
    log.manager.topics.alter("kept", {"segment.bytes": "1048576", "retention.bytes": "0"})
    log.write([one(b"a")])
    log.write([one(b"b")], roll=False)
    waiting: list[object] = []
    log.manager.logs.use_beside(waiting.append)

    assert log.log.delete_old_segments(log.clock.now_ms()) == 1

    names = log.disk.list(log.log.directory)
    assert [name for name in names if name.endswith(".log.deleted")]
    directory = log.log.directory
    log.disk = log.disk.kill()
    log.start()
    assert not [name for name in log.disk.list(directory) if name.endswith(".deleted")]
    assert list(log.records()) == [1]


def test_segments_that_were_emptied_do_not_stop_retention() -> None:
    log = CleanedLog()
    log.write([one(b"a")])
    log.write([one(b"a"), one(b"b")])
    log.write([one(b"c")], roll=False)
    log.compact()
    log.manager.topics.alter(
        "kept",
        {"cleanup.policy": "compact,delete", "retention.bytes": "0", "segment.bytes": "4096"},
    )

    assert log.log.delete_old_segments(log.clock.now_ms()) > 0

    assert log.log.log_start_offset == 3


def test_a_duplicate_is_detected_after_compaction_and_recovery() -> None:
    log = CleanedLog()
    sent = Step(((b"a", b"1"), (b"b", b"1")), producer=4)
    log.write([sent, Step((), producer=4, end="commit"), one(b"a"), one(b"b")])
    log.compact()
    header, _ = next(iter(log.batches()))
    assert header.records_count == 0
    log.disk.remove(f"{log.log.directory}/recovery-point")
    log.disk = log.disk.kill()
    log.start()

    again = log.sequenced(sent, sequence=0)

    assert again.duplicate
    assert again.base_offset == 0


@pytest.mark.parametrize("roll", [True, False], ids=["segment by segment", "in one segment"])
def test_a_deleted_key_stays_deleted_when_a_run_does_not_get_to_the_end(*, roll: bool) -> None:
    """A run that claimed more than its map held used to delete the tombstone before the older record.

    In one segment, the tombstone gets its horizon from a run that does not reach it.
    """
    log = CleanedLog()
    for key in (b"a", b"b", b"c", b"d", b"e", b"f", b"g", b"h", b"i"):
        log.write([one(key)], roll=roll)
    log.write([one(b"a", None)])

    ends = []
    for number in range(8):
        log.write([one(b"x%d" % number)])
        log.compact(change=in_small_parts(keys_max=4))
        ends.append(log.log.checkpoint.clean_offset)
        log.clock.advance(ms=10 * DELETE_RETENTION_MS)

    assert ends[0] <= 4, "the first run got to the end: the case is not the one in question"
    assert b"a" not in {record.key for record in log.records().values()}


def test_the_index_of_aborted_transactions_goes_with_the_last_of_them() -> None:
    """An index that a swap left in place would belong to deleted records."""
    log = CleanedLog()
    log.write([Step(((b"a", b"1"),), producer=4), Step((), producer=4, end="abort")])
    log.write([Step(((b"b", b"1"),), producer=4), Step((), producer=4, end="commit")])
    index = f"{log.log.directory}/{0:020d}.txnindex"
    for _ in range(3):
        log.write([one(b"a")])
        log.compact()
        log.clock.advance(ms=10 * DELETE_RETENTION_MS)
    assert log.log.aborted_transactions(0, 10) == []

    log.disk = log.disk.kill()
    log.start()

    assert not log.disk.exists(index)
    assert log.log.aborted_transactions(0, 10) == []


def test_a_run_over_less_of_the_log_keeps_the_bound_of_the_holes_before_it() -> None:
    """With a lower bound, a start would take the holes above it for lost records."""
    log = with_holes()
    before = log.log.checkpoint
    found = Cleanable(before.clean_offset, 2, 1.0)

    checkpoint = CompactionRun(log.log, found).prepare()

    assert checkpoint.holes_below == before.holes_below > 2


def test_a_swap_that_is_recalled_leaves_no_file() -> None:
    log = with_holes()
    directory = log.log.directory
    cleaned = f"{directory}/{0:020d}.log.cleaned"
    log.disk.open(cleaned, create=True).close()
    promise_swap(log.disk, directory, Swap((0,), aborted=False))

    recall_swap(log.disk, directory)

    assert not [name for name in log.disk.list(directory) if is_left_over(name)]
