from pathlib import Path

import pytest

from duolog.engine.checkpoint.pending_commit import prepared_path
from duolog.engine.checkpoint.unfinished_batches import UnfinishedBatches


def put(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")


def test_a_micro_batch_that_was_planned_is_forgotten_with_its_checksum(tmp_path: Path) -> None:
    offsets = tmp_path / "offsets"
    for name in ("offsets/0", "offsets/1", "commits/0"):
        put(tmp_path / name)
    put(offsets / ".1.crc")

    UnfinishedBatches(tmp_path).forget_planned()
    UnfinishedBatches(tmp_path).forget_planned()

    assert [path.name for path in offsets.iterdir()] == ["0"]


def test_files_of_a_start_without_planned_batches_are_removed(tmp_path: Path) -> None:
    """A file of the offset log that was being written as the query was stopped, or the JVM killed."""
    for name in ("offsets/.0.7d1c.tmp", "offsets/.0.7d1c.tmp.crc", "state/0/0/1.delta", "metadata"):
        put(tmp_path / name)

    UnfinishedBatches(tmp_path).forget_unplanned()

    assert [path.name for path in tmp_path.iterdir()] == ["metadata"]


@pytest.mark.parametrize("entry", ["offsets/0", "commits/0"])
def test_planned_and_completed_batches_stay(tmp_path: Path, entry: str) -> None:
    names = (entry, "offsets/.1.7d1c.tmp", "state/0/0/1.delta")
    for name in names:
        put(tmp_path / name)

    UnfinishedBatches(tmp_path).forget_unplanned()

    assert all((tmp_path / name).exists() for name in names)


def test_a_first_micro_batch_that_is_forgotten_leaves_no_state(tmp_path: Path) -> None:
    """The micro-batch did not fit the memory; Spark refuses to plan a first one if there is state."""
    for name in ("offsets/0", "state/0/0/1.delta"):
        put(tmp_path / name)

    UnfinishedBatches(tmp_path).forget_planned()

    assert list(tmp_path.iterdir()) == []


def test_a_micro_batch_whose_transaction_may_be_committed_stays(tmp_path: Path) -> None:
    spark = tmp_path / "spark"
    for path in (spark / "offsets/0", spark / "offsets/1", spark / "commits/0"):
        put(path)
    put(prepared_path(tmp_path, 1))

    UnfinishedBatches(spark).forget_planned()

    assert (spark / "offsets/1").exists()
