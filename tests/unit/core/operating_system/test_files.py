"""Writes at a position, and syncs on a system whose fsync does not reach the disk."""

import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from duolog.core.operating_system.files import sync_directory, sync_fully, write_joined

FULL_SYNC = 51
"""The number of F_FULLFSYNC on macOS."""


@pytest.fixture
def descriptor(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    yield descriptor
    os.close(descriptor)


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Descriptors that fsync was called for."""
    calls: list[int] = []
    monkeypatch.setattr(os, "fsync", calls.append)
    return calls


def test_joined_buffers_go_to_their_position(descriptor: int) -> None:
    os.write(descriptor, b"0123456789")

    written = write_joined(descriptor, [b"ab", bytearray(b"c"), memoryview(b"de")], 3)

    assert written == 5
    assert os.pread(descriptor, 100, 0) == b"012abcde89"


def test_a_full_sync_asks_the_drive_and_needs_no_fsync(
    descriptor: int, synced: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(fcntl, "fcntl", lambda *call: asked.append(call))

    sync_fully(descriptor, FULL_SYNC)

    assert asked == [(descriptor, FULL_SYNC)]
    assert synced == []


@pytest.mark.parametrize("number", [errno.ENOTSUP, errno.EINVAL, errno.ENOTTY])
def test_a_file_system_without_a_full_sync_gets_an_fsync(
    descriptor: int, synced: list[int], monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*_call: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "fcntl", refuse)

    sync_fully(descriptor, FULL_SYNC)

    assert synced == [descriptor]


def test_a_drive_that_fails_is_not_hidden_by_an_fsync(
    descriptor: int, synced: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_call: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(fcntl, "fcntl", fail)

    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        sync_fully(descriptor, FULL_SYNC)
    assert synced == []


def test_a_directory_is_synced_and_closed_also_after_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def fail(descriptor: int) -> None:
        seen.append(descriptor)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", fail)

    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        sync_directory(tmp_path)

    with pytest.raises(OSError, match=os.strerror(errno.EBADF)):
        os.fstat(seen[0])
