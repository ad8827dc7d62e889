"""Marker against checkpoint: what counts after an end at any place, on files alone."""

import hashlib
import json
from pathlib import Path

import pytest

from duolog.engine.checkpoint.checkpoint import Checkpoint, StartFacts
from duolog.engine.checkpoint.checksums import matches_checksum
from duolog.engine.checkpoint.pending_commit import prepared_path
from duolog.engine.checkpoint.pending_upgrade import Upgraded
from duolog.engine.errors import CheckpointDamaged, CheckpointMismatch, LogTruncated
from duolog.engine.exactly_once.epochs import (
    NO_EPOCH,
    Marker,
    ensure_goes_on,
    finish,
    last_committed,
)

QUERY = "6f1c"
OTHER = "9a02"


def checkpoint_at(
    directory: Path, *, committed: int, planned: int, prepared: tuple[int, ...] = ()
) -> Checkpoint:
    """Return a checkpoint with commits up to `committed` and offsets up to `planned`."""
    checkpoint = Checkpoint(directory / "orders")
    for log, last in (("offsets", planned), ("commits", committed)):
        (checkpoint.spark_dir / log).mkdir(parents=True)
        for number in range(last + 1):
            (checkpoint.spark_dir / log / str(number)).write_text(f"v2\n{{}} of {number}")
    (checkpoint.spark_dir / "metadata").write_text(json.dumps({"id": QUERY}))
    for number in prepared:
        (checkpoint.directory / f"prepared.{number}").write_text(f"v2\nprepared {number}")
    return checkpoint


@pytest.mark.parametrize("marked", [NO_EPOCH, 0, 4])
def test_a_completed_epoch_changes_nothing(tmp_path: Path, marked: int) -> None:
    """The last epochs may have written nothing: then they have no marker."""
    checkpoint = checkpoint_at(tmp_path, committed=4, planned=4)
    marker = Marker(QUERY, marked) if marked >= 0 else Marker()

    ensure_goes_on(checkpoint, marker, "orders-epochs")

    assert not finish(checkpoint, marker)
    assert last_committed(checkpoint) == 4


def test_an_epoch_whose_transaction_was_committed_is_put_down_as_done(tmp_path: Path) -> None:
    checkpoint = checkpoint_at(tmp_path, committed=4, planned=5, prepared=(4, 5))
    (checkpoint.spark_dir / "commits" / ".5.crc").write_bytes(b"of an entry that never was")

    ensure_goes_on(checkpoint, Marker(QUERY, 5), "orders-epochs")

    assert finish(checkpoint, Marker(QUERY, 5))
    assert (checkpoint.spark_dir / "commits" / "5").read_text() == "v2\nprepared 5"
    assert matches_checksum(checkpoint.spark_dir / "commits" / "5")
    assert [path.name for path in checkpoint.directory.glob("prepared.*")] == ["prepared.5"]


def test_the_first_epoch_of_all_is_put_down_too(tmp_path: Path) -> None:
    checkpoint = checkpoint_at(tmp_path, committed=-1, planned=0, prepared=(0,))
    (checkpoint.spark_dir / "commits").rmdir()

    assert finish(checkpoint, Marker(QUERY, 0))
    assert last_committed(checkpoint) == 0


def test_an_epoch_that_was_prepared_and_not_committed_does_not_count(tmp_path: Path) -> None:
    checkpoint = checkpoint_at(tmp_path, committed=4, planned=5, prepared=(5,))

    ensure_goes_on(checkpoint, Marker(QUERY, 4), "orders-epochs")

    assert not finish(checkpoint, Marker(QUERY, 4))
    assert last_committed(checkpoint) == 4
    assert not list(checkpoint.directory.glob("prepared.*"))


@pytest.mark.parametrize(
    ("marker", "prepared", "why"),
    [
        (Marker(QUERY, 5), (), "it contains only commits up to epoch 4"),
        (Marker(QUERY, 9), (9,), "it contains only commits up to epoch 4"),
        (Marker(QUERY, 6), (6,), "it contains only commits up to epoch 4"),
        (Marker(OTHER, 2), (), "with another checkpoint"),
    ],
)
def test_a_checkpoint_that_does_not_know_of_results_is_refused(
    tmp_path: Path, marker: Marker, prepared: tuple[int, ...], why: str
) -> None:
    """A copy that is older, half a copy, a new one."""
    checkpoint = checkpoint_at(tmp_path, committed=4, planned=5, prepared=prepared)

    with pytest.raises(CheckpointMismatch, match="does not know of") as refused:
        ensure_goes_on(checkpoint, marker, "orders-epochs")

    assert why in refused.value.detail
    assert '"orders-epochs"' in refused.value.hint


@pytest.mark.parametrize("left", [Marker(), Marker(QUERY, 3), Marker(QUERY, 4)])
def test_a_marker_topic_that_has_lost_its_last_records_is_refused(
    tmp_path: Path, left: Marker
) -> None:
    """The topic used to be read as epochs that had written nothing, and their results were lost with it."""
    checkpoint = checkpoint_at(tmp_path, committed=4, planned=5, prepared=(5,))
    assert finish(checkpoint, Marker(QUERY, 5))

    with pytest.raises(LogTruncated, match='topic "orders-epochs"') as refused:
        ensure_goes_on(checkpoint, left, "orders-epochs")

    assert "epoch 5 was committed to it" in refused.value.detail
    assert "duolog state reset orders" in refused.value.hint
    ensure_goes_on(checkpoint, Marker(QUERY, 5), "orders-epochs")


def test_partitions_of_another_attempt_do_not_fail_the_marker(tmp_path: Path) -> None:
    checkpoint = checkpoint_at(tmp_path, committed=4, planned=4, prepared=(4,))

    ensure_goes_on(checkpoint, Marker(QUERY, 3), "orders-epochs")


def test_the_prepared_entry_of_another_attempt_is_not_taken_for_the_committed_one(
    tmp_path: Path,
) -> None:
    """An entry restored from a copy used to be accepted, with any state that it named."""
    checkpoint = checkpoint_at(tmp_path, committed=4, planned=5)
    entries = [b"v2\nof the first attempt", b"v2\nof the second attempt"]
    digests = [hashlib.sha256(entry).hexdigest() for entry in entries]
    first, second = (
        Marker.parse({"epoch": {"query": QUERY, "epoch": 5, "prepared": digest}})
        for digest in digests
    )
    kept = b"duolog-prepared 1 %s\n%s" % (digests[0].encode(), entries[0])
    prepared_path(checkpoint.directory, 5).write_bytes(kept)

    for call in (finish, lambda of, marker: ensure_goes_on(of, marker, "orders-epochs")):
        with pytest.raises(CheckpointDamaged, match=r"prepared\.5") as refused:
            call(checkpoint, second)
    assert "another attempt" in refused.value.detail
    assert finish(checkpoint, first)


def test_a_copy_without_the_offsets_of_the_epoch_is_refused(tmp_path: Path) -> None:
    checkpoint = checkpoint_at(tmp_path, committed=4, planned=4, prepared=(5,))

    with pytest.raises(CheckpointMismatch, match="does not know of"):
        ensure_goes_on(checkpoint, Marker(QUERY, 5), "orders-epochs")


def test_a_new_checkpoint_after_results_of_another_is_refused_until_it_takes_them_over(
    tmp_path: Path,
) -> None:
    checkpoint = Checkpoint(tmp_path / "orders")
    marker = Marker(OTHER, 7)
    with pytest.raises(CheckpointMismatch):
        ensure_goes_on(checkpoint, marker, "orders-epochs")

    checkpoint.pin("orders", StartFacts({"tasks": 1}, {}, {}))
    checkpoint.take_over(OTHER, 7)

    ensure_goes_on(checkpoint, marker, "orders-epochs")
    with pytest.raises(CheckpointMismatch):
        ensure_goes_on(checkpoint, Marker(OTHER, 8), "orders-epochs")


def test_the_offsets_of_a_prepared_epoch_are_kept(tmp_path: Path) -> None:
    """After a lack of memory, the offsets of a planned epoch are dropped; a prepared one may be committed."""
    checkpoint = checkpoint_at(tmp_path, committed=4, planned=5, prepared=(5,))

    checkpoint.unfinished.forget_planned()

    assert (checkpoint.spark_dir / "offsets" / "5").is_file()


def test_an_upgrade_continues_after_the_results_of_the_previous_query(tmp_path: Path) -> None:
    """Also when it is settled before the new query has written anything."""
    checkpoint = checkpoint_at(tmp_path, committed=4, planned=4)
    (checkpoint.spark_dir.parent / "held").mkdir()
    spark = checkpoint.spark_dir.rename(checkpoint.directory / "held" / "spark")
    checkpoint.pin("orders", StartFacts({"tasks": 1}, {}, {}))
    spark.rename(checkpoint.spark_dir)
    checkpoint.upgrade.begin({"tasks": 1, "of": "another topology"}, Upgraded({}, {}, {}, []))
    assert checkpoint.spark_dir != checkpoint.upgrade.spark_dir_before

    with pytest.raises(CheckpointMismatch, match="does not know of") as refused:
        ensure_goes_on(checkpoint, Marker(QUERY, 5), "orders-epochs")
    assert "before the upgrade" in refused.value.detail
    ensure_goes_on(checkpoint, Marker(QUERY, 4), "orders-epochs")
    assert not finish(checkpoint, Marker(QUERY, 4))

    (checkpoint.spark_dir / "commits").mkdir(parents=True)
    (checkpoint.spark_dir / "commits" / "0").write_text("v2\n{}")
    checkpoint.upgrade.settle()
    assert checkpoint.upgrade.spark_dir_before is None
    ensure_goes_on(checkpoint, Marker(QUERY, 4), "orders-epochs")


def test_a_missing_file_is_named_and_not_another_checkpoint(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "flights")
    commits = checkpoint.spark_dir / "commits"
    commits.mkdir(parents=True)
    (commits / "3").write_text("v1\n{}")

    with pytest.raises(CheckpointMismatch) as caught:
        ensure_goes_on(checkpoint, Marker("1f3a", 3), "marker")

    assert "is missing: " in caught.value.detail
    assert str(checkpoint.spark_dir / "metadata") in caught.value.detail
    assert "`duolog state reset flights`" in caught.value.hint


def test_results_of_another_checkpoint_are_said_to_be_so(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "flights")

    with pytest.raises(CheckpointMismatch, match="that its checkpoint does not know of") as caught:
        ensure_goes_on(checkpoint, Marker("1f3a", 3), "marker")

    assert caught.value.detail.startswith("They were written with another checkpoint.")
