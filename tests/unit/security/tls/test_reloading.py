"""Files of certificates that change: each change is seen, and each mistake is one line in the log."""

import logging
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

import certificates
from certificates import Certificates
from duolog.security.tls.reloading import ListenerTls
from duolog.security.tls.settings import TlsSettings


@pytest.fixture
def files(tmp_path: Path) -> Certificates:
    return certificates.make(tmp_path / "ca")


@pytest.fixture
def other(tmp_path: Path) -> Certificates:
    return certificates.make(tmp_path / "other")


def listener(files: Certificates) -> ListenerTls:
    return ListenerTls("A", lambda: TlsSettings(str(files.server)))


def same_time_and_place(path: Path, data: bytes) -> None:
    """As a copy with `cp --preserve` over the file."""
    status = path.stat()
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def same_time_and_size(path: Path, data: bytes) -> None:
    """As a new file that is renamed, with the time and the size of the old one."""
    status = path.stat()
    new = path.with_suffix(".new")
    new.write_bytes(data.ljust(status.st_size)[: status.st_size])
    os.utime(new, ns=(status.st_atime_ns, status.st_mtime_ns))
    new.replace(path)


def same_size_and_place(path: Path, data: bytes) -> None:
    """As an editor that writes into the file, a millisecond later."""
    status = path.stat()
    path.write_bytes(data.ljust(status.st_size)[: status.st_size])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1_000_000))


@pytest.mark.parametrize("change", [same_time_and_place, same_time_and_size, same_size_and_place])
def test_a_change_of_time_size_or_place_is_seen(
    files: Certificates, other: Certificates, change: Callable[[Path, bytes], None]
) -> None:
    tls = listener(files)
    before = tls.context
    padded = other.server.read_bytes() + b"\n"
    if change is not same_time_and_place:
        files.server.write_bytes(files.server.read_bytes() + b"\n" * 300)
        tls.reload()
        before = tls.context

    change(files.server, padded)
    tls.follow_files()

    assert tls.context is not before


def test_files_that_did_not_change_are_not_loaded_again(files: Certificates) -> None:
    tls = listener(files)
    before = tls.context

    tls.follow_files()

    assert tls.context is before


def test_a_mistake_is_one_line_and_the_old_certificate_stays(
    files: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    tls = listener(files)
    before, good = tls.context, files.server.read_bytes()

    files.server.write_text("no certificate")
    for _ in range(5):
        tls.follow_files()

    errors = [row for row in caplog.records if row.levelno == logging.ERROR]
    assert len(errors) == 1
    assert tls.context is before
    files.server.write_bytes(good)
    tls.follow_files()
    assert tls.context is not before


def test_a_file_that_is_away_for_a_while_is_one_line(
    files: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    tls = listener(files)

    files.server.rename(files.server.with_suffix(".away"))
    for _ in range(5):
        tls.follow_files()

    assert len([row for row in caplog.records if row.levelno == logging.ERROR]) == 1


def test_a_certificate_that_expires_soon_is_a_line_each_day(
    files: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    tls = listener(files)
    caplog.clear()

    noon = tls.expires_at.replace(hour=12)
    for days, minutes in ((-20, 0), (-13, 0), (-13, 5), (-12, 0), (2, 0)):
        tls.follow_files(noon + timedelta(days=days, minutes=minutes))

    assert [record.getMessage() for record in caplog.records] == [
        "a certificate expires soon",
        "a certificate expires soon",
        "a certificate has expired",
    ]
