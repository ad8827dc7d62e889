"""The pending commit entry is read as it was written, or refused with its name."""

import hashlib
from pathlib import Path
from typing import Final

import pytest

from duolog.engine.checkpoint.pending_commit import read_pending_commit
from duolog.engine.errors import CheckpointDamaged, CheckpointMismatch

ENTRY: Final = b'v2\n{"nextBatchWatermarkMs":0,"stateUniqueIds":{"0":[["4f1"]]}}'


def written(directory: Path, content: bytes) -> Path:
    path = directory / "prepared.5"
    path.write_bytes(content)
    return path


def kept(entry: bytes = ENTRY, version: int = 1) -> bytes:
    return b"duolog-prepared %d %s\n%s" % (
        version,
        hashlib.sha256(entry).hexdigest().encode(),
        entry,
    )


def test_entries_of_this_and_earlier_versions_are_read(tmp_path: Path) -> None:
    for content in (kept(), ENTRY):
        assert read_pending_commit(written(tmp_path, content), 5, "orders") == ENTRY.decode()


def test_an_entry_of_another_digest_than_the_marker_names_is_refused(tmp_path: Path) -> None:
    """One without a first line names none: an earlier Duolog may have prepared the same epoch."""
    own = hashlib.sha256(ENTRY).hexdigest()
    assert read_pending_commit(written(tmp_path, kept()), 5, "orders", digest=own) == ENTRY.decode()

    other = hashlib.sha256(b"other").hexdigest()
    for content, digest in ((kept(), other), (ENTRY, own)):
        with pytest.raises(CheckpointDamaged, match=r"prepared\.5"):
            read_pending_commit(written(tmp_path, content), 5, "orders", digest=digest)


def test_a_flipped_bit_is_refused_wherever_it_is(tmp_path: Path) -> None:
    whole = kept()
    version = whole.index(b"1 ")
    for place in range(len(whole)):
        if place == version:
            continue  # The number of the format: another test's.
        flipped = bytearray(whole)
        flipped[place] ^= 1
        with pytest.raises(CheckpointDamaged, match=r"prepared\.5") as refused:
            read_pending_commit(written(tmp_path, bytes(flipped)), 5, "orders")
    assert "Results of epoch 5 are committed" in refused.value.detail


@pytest.mark.parametrize("length", [0, 1, 17, 84, len(kept()) - 1])
def test_a_file_that_was_cut_is_refused(tmp_path: Path, length: int) -> None:
    with pytest.raises(CheckpointDamaged):
        read_pending_commit(written(tmp_path, kept()[:length]), 5, "orders")


def test_a_file_of_a_newer_duolog_is_refused_as_that(tmp_path: Path) -> None:
    with pytest.raises(CheckpointMismatch, match="newer Duolog"):
        read_pending_commit(written(tmp_path, kept(version=2)), 5, "orders")
