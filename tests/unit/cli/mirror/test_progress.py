from duolog.cli.mirror.checksum import Headers, add_record, writable_timestamp
from duolog.cli.mirror.committed_records import READ_SIZE
from duolog.cli.mirror.progress import (
    CONFIGS,
    RUNS_MAX,
    Progress,
    TopicProgress,
    checked_entry,
    copied_entry,
    group_entry,
    lost_entry,
    read_entry,
    reset_entry,
    topic_entry,
)

PLACE = ("orders", 1)
RecordFields = tuple[bytes | None, bytes | None, int, Headers]


def copied() -> Progress:
    progress = Progress()
    progress.replay_all(
        [
            topic_entry("orders", TopicProgress("id", "copy", 2)),
            copied_entry(PLACE, 0, [5, 3, 10, 1], records=4, checksum=77, last=0),
            group_entry("billing", PLACE, (-1, 3)),
        ]
    )
    return progress


def test_progress_continues_after_the_last_copied_record() -> None:
    at = copied().partition(PLACE)

    assert (at.source_next, at.target_next, at.target_end) == (11, 4, 4)
    assert (at.records, at.checksum, at.checked_to) == (4, 77, 0)
    assert [at.offsets.translate(offset) for offset in (0, 7, 8, 11)] == [0, 2, 3, None]


def test_a_verification_starts_where_the_last_one_ended() -> None:
    progress = copied()
    at = progress.partition(PLACE)

    progress.replay(checked_entry(PLACE, 5, at))
    progress.replay(copied_entry(PLACE, 5, [11, 1], records=1, checksum=9, last=0))

    assert (at.records, at.checksum, at.checked_to, at.checked) == (1, 9, 5, (4, 77))
    assert (at.source_next, at.target_end) == (12, 6)
    assert at.offsets.translate(7) == 2


def test_a_reset_removes_all_about_one_topic() -> None:
    progress = copied()
    progress.replay(
        topic_entry(
            "users", TopicProgress("other", "of other", 1, moved=True, settled=True, ends=(3,))
        )
    )

    progress.replay(reset_entry("orders"))

    assert progress.partitions == {}
    assert progress.topics == {
        "users": TopicProgress("other", "of other", 1, moved=True, settled=True, ends=(3,))
    }


def test_offsets_committed_for_groups_are_the_mirrors_although_the_topic_is_copied_again() -> None:
    """Not every cluster deletes the offsets of a group with the topic."""
    progress = copied()

    progress.replay(reset_entry("orders"))

    assert progress.groups == {("billing", "orders", 1): (-1, 3)}


def test_the_next_run_starts_after_markers() -> None:
    progress = copied()
    progress.replay(read_entry(PLACE, 15))
    progress.replay(read_entry(PLACE, 12))
    at = progress.partition(PLACE)

    assert (at.source_next, at.read_to) == (11, 15)

    progress.replay(copied_entry(PLACE, 5, [15, 2], records=1, checksum=9, last=0))

    assert (at.source_next, at.read_to) == (17, 17)


def test_lost_offsets_are_remembered_and_passed_over() -> None:
    progress = copied()

    progress.replay(lost_entry(PLACE, [(11, 14), (20, 22)]))

    at = progress.partition(PLACE)
    assert (at.lost, at.read_to) == ([(11, 14), (20, 22)], 22)


def test_the_largest_record_of_the_progress_fits_into_a_topic_with_default_settings() -> None:
    runs = [number for at in range(RUNS_MAX + READ_SIZE) for number in (10**14 + 2 * at, 1)]

    key, value = copied_entry(PLACE, 10**14, runs, records=10**14, checksum=2**32, last=0)

    assert len(key) + len(value) < 900_000
    assert "max.message.bytes" not in CONFIGS


def test_a_group_may_have_the_offset_before_or_after_the_commit() -> None:
    assert copied().groups == {("billing", "orders", 1): (-1, 3)}


def test_the_checksum_distinguishes_what_bytes_alone_would_not() -> None:
    base: RecordFields = (b"k", b"v", 1, [("a", b"b")])
    different: list[RecordFields] = [
        (b"kv", b"", 1, [("a", b"b")]),
        (b"k", None, 1, [("a", b"b")]),
        (None, b"v", 1, [("a", b"b")]),
        (b"k", b"v", 2, [("a", b"b")]),
        (b"k", b"v", 1, [("a", None)]),
        (b"k", b"v", 1, [("ab", b"")]),
        (b"k", b"v", 1, []),
    ]

    sums = {add_record(0, *record) for record in [base, *different]}

    assert len(sums) == 1 + len(different)
    assert add_record(add_record(0, *base), *base) != add_record(0, *base)


def test_only_the_timestamp_zero_is_changed() -> None:
    assert [writable_timestamp(at) for at in (-1, 0, 1, 1700000000000)] == [
        -1,
        1,
        1,
        1700000000000,
    ]
