"""A disk over another: reads see changes, and the disk below is left as it is."""

from pathlib import Path

import pytest

from duolog.log.doctor.overlay import Change, OverlayDisk, ReadOnlyDisk
from duolog.log.files.disk import read_file, replace_file
from duolog.testing.disk import CrashDisk


@pytest.fixture
def below() -> CrashDisk:
    disk = CrashDisk()
    disk.make_dir("/d/inner")
    disk.open("/d/file", create=True).append([b"0123456789"])
    disk.open("/d/inner/other", create=True).append([b"other"])
    return disk


def test_writes_are_seen_above_and_not_below(below: CrashDisk) -> None:
    overlay = OverlayDisk(below)

    overlay.open("/d/file").pwrite(3, b"abc")
    overlay.open("/d/file").append([b"!", b"?"])

    assert read_file(overlay, "/d/file") == b"012abc6789!?"
    assert overlay.open("/d/file").pread(2, 3) == b"2ab"
    assert read_file(below, "/d/file") == b"0123456789"
    assert overlay.changes() == [Change("/d/file", 10, 12)]


def test_a_file_that_is_cut_and_grows_again_has_zeros_in_between(below: CrashDisk) -> None:
    overlay = OverlayDisk(below)
    file = overlay.open("/d/file")

    file.truncate(4)
    file.pwrite(6, b"x")

    assert read_file(overlay, "/d/file") == b"0123\0\0x"


def test_names_change_above_only(below: CrashDisk) -> None:
    overlay = OverlayDisk(below)

    overlay.rename("/d/file", "/d/renamed")
    replace_file(overlay, "/d", "new", b"content")
    overlay.remove("/d/inner/other")

    assert overlay.list("/d") == ["inner", "new", "renamed"]
    assert overlay.list("/d/inner") == []
    assert not overlay.exists("/d/file")
    assert read_file(overlay, "/d/renamed") == b"0123456789"
    assert read_file(overlay, "/d/file") is None
    assert below.list("/d") == ["file", "inner"]
    assert read_file(below, "/d/inner/other") == b"other"


def test_a_removed_tree_is_gone_above(below: CrashDisk) -> None:
    overlay = OverlayDisk(below)

    overlay.remove_tree("/d/inner")

    assert overlay.list("/d/inner") == []
    assert not overlay.exists("/d/inner/other")
    assert overlay.list("/d") == ["file"]
    with pytest.raises(FileNotFoundError):
        overlay.open("/d/inner/other")


def test_a_handle_of_a_removed_file_does_not_bring_it_back(below: CrashDisk) -> None:
    overlay = OverlayDisk(below)
    file = overlay.open("/d/file")

    overlay.remove("/d/file")
    file.append([b"late"])

    assert not overlay.exists("/d/file")


def test_a_directory_is_not_opened_as_a_file(below: CrashDisk) -> None:
    with pytest.raises(IsADirectoryError):
        OverlayDisk(below).open("/d/inner")


def test_a_read_only_disk_opens_files_without_the_right_to_write(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"content")
    disk = ReadOnlyDisk()

    assert read_file(disk, str(path)) == b"content"
    with pytest.raises(OSError, match="Bad file descriptor"):
        disk.open(str(path)).append([b"more"])
    with pytest.raises(IsADirectoryError):
        disk.open(str(tmp_path))
