from pathlib import Path
from unittest.mock import MagicMock

import pytest

from duolog.engine.checkpoint.position_marks import MARKS_FILE, Marks, read_marks, write_marks
from duolog.engine.checkpoint.truncation_watch import TruncationWatch
from duolog.engine.errors import CheckpointDamaged, LogTruncated
from duolog.engine.topics.offsets import LogEnd
from duolog.engine.topics.record_checks import Mark, SeenRecord

AT = ("orders", 0)
READ = {"orders": {0: 10}}
MARK = Mark(10, 1, 9, 1, "9f")


def broker(*begins: int) -> MagicMock:
    """Return a broker that reports these log starts in turn; each check reports that the log has changed."""
    reported = iter(begins)
    topics = MagicMock()
    topics.topic_ids.return_value = {}
    topics.gone.return_value = []
    topics.log_ends.side_effect = lambda of, **_: {at: LogEnd(50, 2) for at in of}
    topics.log_begins.side_effect = lambda of: {at: next(reported) for at in of}
    topics.looks.changed.side_effect = lambda marks: dict.fromkeys(marks, "its log was truncated")
    return topics


def broker_with_log_end(end: LogEnd, *, last: SeenRecord | None = None) -> MagicMock:
    """Return a broker whose logs end at `end`, with `last` as the last record before each position."""
    topics = broker()
    topics.log_ends.side_effect = lambda of, **_: dict.fromkeys(of, end)
    topics.log_begins.side_effect = lambda of: dict.fromkeys(of, 0)
    topics.looks.changed.side_effect = lambda _marks: {}
    topics.looks.last_before.side_effect = lambda of: dict.fromkeys(of, last) if last else {}
    return topics


@pytest.mark.parametrize(("end", "is_whole"), [(11, True), (10, True), (9, False)])
def test_a_log_that_lacks_one_record_is_refused(
    tmp_path: Path, end: int, *, is_whole: bool
) -> None:
    watch = TruncationWatch(broker_with_log_end(LogEnd(end)), tmp_path)

    if is_whole:
        watch.ensure_whole(READ)
    else:
        with pytest.raises(LogTruncated, match='"orders" has lost records'):
            watch.ensure_whole(READ)


def test_a_changelog_that_loses_an_entry_ends_a_running_query(tmp_path: Path) -> None:
    topics = broker_with_log_end(LogEnd(10, 1))
    watch = TruncationWatch(topics, tmp_path, {"totals-changelog": 1})
    watch.look({}, {}, {})
    watch.look({}, {}, {})
    topics.log_ends.side_effect = lambda of, **_: dict.fromkeys(of, LogEnd(9, 1))

    with pytest.raises(LogTruncated, match='changelog "totals-changelog"'):
        watch.look({}, {}, {})


def test_a_new_leader_epoch_makes_a_running_query_compare_records(tmp_path: Path) -> None:
    """The position has not moved, and the log has grown over it again: the epoch alone shows it."""
    topics = broker_with_log_end(LogEnd(50, 1), last=SeenRecord(9, 1, "9f"))
    watch = TruncationWatch(topics, tmp_path)
    watch.look(READ, READ, {})
    topics.looks.changed.side_effect = lambda marks: dict.fromkeys(marks, "its log was truncated")
    watch.look(READ, READ, {})
    topics.log_ends.side_effect = lambda of, **_: dict.fromkeys(of, LogEnd(50, 2))

    with pytest.raises(LogTruncated, match='"orders" has lost records'):
        watch.look(READ, READ, {})


def test_records_are_compared_at_a_start_whatever_the_leader_epoch(tmp_path: Path) -> None:
    """A broker that was restored from a backup uses epochs again."""
    write_marks(tmp_path, Marks({AT: MARK}, {}))
    topics = broker_with_log_end(LogEnd(50, MARK.leader_epoch))
    topics.looks.changed.side_effect = lambda marks: dict.fromkeys(marks, "it is another one")

    with pytest.raises(LogTruncated, match='"orders" has lost records'):
        TruncationWatch(topics, tmp_path).ensure_whole(READ)


def test_records_are_compared_while_a_query_reads_on(tmp_path: Path) -> None:
    topics = broker_with_log_end(LogEnd(50, 1), last=SeenRecord(9, 1, "9f"))
    watch = TruncationWatch(topics, tmp_path)
    watch.look(READ, READ, {})
    topics.looks.changed.side_effect = lambda marks: dict.fromkeys(marks, "it is another one")

    with pytest.raises(LogTruncated, match='"orders" has lost records'):
        watch.look({"orders": {0: 20}}, READ, {})


def test_a_changelog_is_compared_at_a_start(tmp_path: Path) -> None:
    write_marks(tmp_path, Marks({("totals-changelog", 0): Mark(10)}, {}))
    watch = TruncationWatch(broker_with_log_end(LogEnd(9)), tmp_path, {"totals-changelog": 1})

    with pytest.raises(LogTruncated, match='changelog "totals-changelog"'):
        watch.ensure_whole({})


@pytest.mark.parametrize(("begin", "is_compared"), [(9, True), (10, False)])
def test_the_first_record_of_a_log_is_compared(
    tmp_path: Path, begin: int, *, is_compared: bool
) -> None:
    write_marks(tmp_path, Marks({AT: MARK}, {}))
    watch = TruncationWatch(broker(begin, begin), tmp_path)

    if is_compared:
        with pytest.raises(LogTruncated):
            watch.ensure_whole(READ)
    else:
        watch.ensure_whole(READ)


def test_records_that_retention_deletes_during_a_check_are_not_reported(tmp_path: Path) -> None:
    """The application ended for good, as if the broker had lost them."""
    write_marks(tmp_path, Marks({AT: MARK}, {}))

    TruncationWatch(broker(0, 40), tmp_path).ensure_whole(READ)

    with pytest.raises(LogTruncated, match='"orders" has lost records'):
        TruncationWatch(broker(0, 0), tmp_path).ensure_whole(READ)


def test_marks_with_a_flipped_bit_are_refused(tmp_path: Path) -> None:
    write_marks(tmp_path, Marks({AT: MARK}, {"orders": "first"}))
    assert read_marks(tmp_path) == Marks({AT: MARK}, {"orders": "first"})
    path = tmp_path / MARKS_FILE
    path.write_text(path.read_text().replace("10,", "11,", 1))

    with pytest.raises(CheckpointDamaged, match=MARKS_FILE):
        read_marks(tmp_path)


def test_a_deleted_changelog_is_not_reported_as_a_missing_source(tmp_path: Path) -> None:
    """The error used to name a missing source topic and a command to create it: empty, for a restore to read."""
    changelog = ("totals-changelog", 0)
    write_marks(tmp_path, Marks({changelog: Mark(10)}, {}))
    topics = broker()
    topics.gone.return_value = [changelog[0]]

    TruncationWatch(topics, tmp_path, {changelog[0]: 1}).ensure_whole({})

    assert not any(changelog in asked.args[0] for asked in topics.log_ends.call_args_list)


def test_an_id_that_one_check_did_not_get_is_kept(tmp_path: Path) -> None:
    """Marks were then compared with the topic that had been made in place of theirs."""
    topics = broker()
    topics.log_begins.side_effect = lambda of: dict.fromkeys(of, 0)
    topics.looks.changed.side_effect = lambda _marks: {}
    topics.looks.last_before.return_value = {}
    watch = TruncationWatch(topics, tmp_path)
    watch.look(READ, READ, {"orders": "first"})
    watch.look({"orders": {0: 20}}, {"orders": {0: 20}}, {"other": "x"})

    kept = read_marks(tmp_path)

    assert (kept.of[AT].position, kept.topic_ids["orders"]) == (20, "first")
    assert kept.within(["orders"], {"orders": "second"}) == {}
    assert kept.within(["orders"], {"orders": "first"}) == kept.within(["orders"], {}) == kept.of


def test_a_log_that_is_shorter_without_a_known_id_may_be_another_topic(tmp_path: Path) -> None:
    for ids, says_so in (({"orders": "first"}, False), ({}, True)):
        write_marks(tmp_path, Marks({AT: MARK}, ids))

        with pytest.raises(LogTruncated) as refused:
            TruncationWatch(broker(0, 0), tmp_path).ensure_whole(READ)

        assert ("deleted and created again" in refused.value.detail) == says_so
