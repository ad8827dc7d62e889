"""Guarantees of every disk, and the data that the in-memory disk may lose in a crash."""

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import final

import pytest

from duolog.log.files import disk as disk_module
from duolog.log.files.disk import IOV_MAX, Disk, RealDisk, make_durable_dir, read_file, replace_file
from duolog.testing.disk import PIECE_BYTES, CrashDisk, PowerLost


class DiskContract:
    """Promises of the interface, for each disk."""

    @pytest.fixture
    def disk(self) -> Disk:
        raise NotImplementedError

    @pytest.fixture
    def root(self, tmp_path: Path) -> str:
        return f"{tmp_path}/root"

    @final
    def test_appends_go_to_the_end_one_after_the_other(self, disk: Disk, root: str) -> None:
        make_durable_dir(disk, root)
        file = disk.open(f"{root}/a", create=True)

        file.append([b"one", bytearray(b"two"), memoryview(b"three")])
        file.append([b"four"])

        assert file.size_bytes == 15
        assert file.pread(0, 100) == b"onetwothreefour"
        assert disk.size(f"{root}/a") == 15

    @final
    def test_more_buffers_than_one_writev_takes_are_all_written(
        self, disk: Disk, root: str
    ) -> None:
        make_durable_dir(disk, root)
        file = disk.open(f"{root}/a", create=True)

        file.append([b"%05d" % number for number in range(2 * IOV_MAX + 1)])

        assert file.size_bytes == 5 * (2 * IOV_MAX + 1)
        assert file.pread(5 * 2 * IOV_MAX, 5) == b"%05d" % (2 * IOV_MAX)

    @final
    def test_a_truncated_file_grows_from_its_new_end(self, disk: Disk, root: str) -> None:
        make_durable_dir(disk, root)
        file = disk.open(f"{root}/a", create=True)
        file.append([b"abcdef"])

        file.truncate(2)
        file.append([b"x"])
        file.pwrite(1, b"YZ!")

        assert file.pread(0, 10) == b"aYZ!"
        assert file.size_bytes == 4

    @final
    def test_a_removed_file_is_readable_through_an_open_handle(self, disk: Disk, root: str) -> None:
        make_durable_dir(disk, root)
        file = disk.open(f"{root}/a", create=True)
        file.append([b"abc"])

        disk.remove(f"{root}/a")

        assert file.pread(0, 3) == b"abc"
        assert not disk.exists(f"{root}/a")

    @final
    def test_a_file_that_does_not_exist_is_not_opened(self, disk: Disk, root: str) -> None:
        make_durable_dir(disk, root)

        with pytest.raises(FileNotFoundError):
            disk.open(f"{root}/a")
        assert read_file(disk, f"{root}/a") is None
        assert disk.list(f"{root}/nowhere") == []

    @final
    def test_replacing_a_file_leaves_no_temporary_file(self, disk: Disk, root: str) -> None:
        make_durable_dir(disk, root)
        replace_file(disk, root, "meta", b"old and long")

        replace_file(disk, root, "meta", b"new")

        assert read_file(disk, f"{root}/meta") == b"new"
        assert disk.list(root) == ["meta"]

    @final
    def test_a_tree_is_renamed_and_removed_whole(self, disk: Disk, root: str) -> None:
        disk.make_dir(f"{root}/a/b")
        disk.open(f"{root}/a/b/file", create=True)

        disk.rename(f"{root}/a", f"{root}/c")

        assert disk.list(f"{root}/c/b") == ["file"]
        disk.remove_tree(f"{root}/c")
        assert disk.list(root) == []

    @final
    def test_a_lock_is_held_once(self, disk: Disk, root: str) -> None:
        make_durable_dir(disk, root)
        lock = disk.lock(f"{root}/.lock")

        with pytest.raises(BlockingIOError):
            disk.lock(f"{root}/.lock")
        lock.release()
        disk.lock(f"{root}/.lock").release()


class TestRealDisk(DiskContract):
    @pytest.fixture
    def disk(self) -> Disk:
        return RealDisk()

    def test_a_short_write_is_completed(
        self, disk: Disk, root: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def write_two_bytes(fd: int, buffers: Sequence[bytes], at: int) -> int:
            return os.pwrite(fd, buffers[0][:2], at)

        monkeypatch.setattr(disk_module, "pwritev", write_two_bytes)
        disk.make_dir(root)
        file = disk.open(f"{root}/a", create=True)

        file.append([b"abc", b"def", b"ghi"])

        assert file.pread(0, 20) == b"abcdefghi"
        assert file.size_bytes == 9

    def test_only_the_broker_s_user_can_read_what_it_writes(self, tmp_path: Path) -> None:
        """Files hold records, credentials, and settings with private keys."""
        disk = RealDisk()
        before = os.umask(0)
        try:
            make_durable_dir(disk, f"{tmp_path}/data/topics")
            replace_file(disk, f"{tmp_path}/data", "dynamic-configs", b"{}")
            disk.open(f"{tmp_path}/data/topics/0.log", create=True)
            lock = disk.lock(f"{tmp_path}/data/.lock")
        finally:
            os.umask(before)

        modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
        lock.release()
        assert modes.pop("data") == modes.pop("topics") == 0o700
        assert modes == {"dynamic-configs": 0o600, "0.log": 0o600, ".lock": 0o600}


class TestCrashDisk(DiskContract):
    @pytest.fixture
    def disk(self) -> Disk:
        return CrashDisk()


SEEDS = range(40)


def test_synced_bytes_and_names_survive_every_crash() -> None:
    disk = CrashDisk()
    make_durable_dir(disk, "/d")
    file = disk.open("/d/a", create=True)
    file.append([b"abc"])
    file.sync()
    disk.sync_dir("/d")
    file.append([b"lost or not"])

    for seed in SEEDS:
        content = read_file(disk.crash(seed), "/d/a")
        assert content is not None
        assert content.startswith(b"abc")


def test_unsynced_writes_survive_only_some_crashes() -> None:
    disk = CrashDisk()
    make_durable_dir(disk, "/d")
    file = disk.open("/d/a", create=True)
    file.sync()
    disk.sync_dir("/d")
    file.append([b"x" * 3 * PIECE_BYTES])
    disk.open("/d/b", create=True)

    survivors = {read_file(disk.crash(seed), "/d/a") for seed in SEEDS}
    names = {tuple(disk.crash(seed).list("/d")) for seed in SEEDS}

    assert {b"", b"x" * 3 * PIECE_BYTES} < survivors
    assert any(content and b"\0" * PIECE_BYTES in content for content in survivors)
    assert names == {("a",), ("a", "b")}


def test_a_rename_is_whole_or_not_there() -> None:
    disk = CrashDisk()
    make_durable_dir(disk, "/d")
    replace_file(disk, "/d", "meta", b"old")
    temporary = disk.open("/d/meta.tmp", create=True)
    temporary.append([b"new"])
    temporary.sync()
    disk.rename("/d/meta.tmp", "/d/meta")

    assert {read_file(disk.crash(seed), "/d/meta") for seed in SEEDS} == {b"old", b"new"}


def test_a_seed_keeps_the_same_writes_and_the_disk_stays_usable() -> None:
    disk = CrashDisk()
    make_durable_dir(disk, "/d")
    file = disk.open("/d/a", create=True)
    disk.sync_dir("/d")
    file.append([b"x" * 5000])

    first, second = (read_file(disk.crash(3), "/d/a") for _ in range(2))

    assert first == second
    assert file.pread(0, 1) == b"x"


def test_after_the_power_is_off_nothing_works() -> None:
    disk = CrashDisk()
    disk.make_dir("/d")
    disk.power_off_after(operations=1)
    file = disk.open("/d/a", create=True)

    with pytest.raises(PowerLost):
        file.append([b"x"])
    with pytest.raises(PowerLost):
        disk.exists("/d/a")


def test_a_failure_lasts_until_it_is_healed() -> None:
    disk = CrashDisk()
    disk.make_dir("/d")
    file = disk.open("/d/a", create=True)
    disk.fail("sync", OSError(errno.EIO, "I/O error"))

    with pytest.raises(OSError, match="I/O error"):
        file.sync()
    disk.heal()
    file.sync()


def test_a_killed_process_leaves_what_it_wrote_and_no_more_of_it_durable() -> None:
    disk = CrashDisk()
    disk.lock("/lock")
    disk.open("/file", create=True).append([b"written"])
    disk.power_off_after(operations=0)

    found = disk.kill()

    found.lock("/lock")
    assert found.open("/file").pread(0, 10) == b"written"
    assert any(not found.crash(seed).exists("/file") for seed in range(20))
