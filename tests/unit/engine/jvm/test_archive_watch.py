"""The process that bounds how long a JVM writes its archive; here other processes take the place of the JVM."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from duolog.core.operating_system.portable import PORTABLE
from duolog.core.units import MIB
from duolog.engine.jvm import archive_watch

WAIT_S = 60


on_linux = pytest.mark.skipif(sys.platform != "linux" or PORTABLE, reason="only Linux has pidfds")


@pytest.fixture
def writer() -> Iterator[subprocess.Popen[bytes]]:
    """A process that ends with its standard input."""
    program = "import sys; sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


@pytest.fixture
def arriving(tmp_path: Path) -> Path:
    path = tmp_path / "a.1.arriving"
    path.write_bytes(bytes(4096))
    return path


@on_linux
def test_a_jvm_that_takes_too_long_is_killed_and_leaves_no_part_of_an_archive(
    writer: subprocess.Popen[bytes], arriving: Path
) -> None:
    watch = archive_watch.bound(writer.pid, arriving, 0.0)

    assert watch is not None
    assert writer.wait(WAIT_S) == -signal.SIGKILL
    assert watch.wait(WAIT_S) == 0
    assert not arriving.exists()


@on_linux
def test_a_jvm_that_grows_too_large_is_killed_and_leaves_no_part_of_an_archive(
    arriving: Path,
) -> None:
    """Such a JVM used to grow to 1.3 GB, without a limit."""
    program = f"import sys; sys.stdin.read(1); held = bytearray({64 * MIB}); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE) as writer:
        watch = archive_watch.bound(writer.pid, arriving, 10 * WAIT_S, 32 * MIB)
        assert watch is not None
        assert writer.stdin is not None
        writer.stdin.write(b".")
        writer.stdin.flush()

        assert writer.wait(WAIT_S) == -signal.SIGKILL

    assert watch.wait(WAIT_S) == 0
    assert not arriving.exists()


@on_linux
def test_a_jvm_that_ends_in_time_keeps_what_it_wrote(
    writer: subprocess.Popen[bytes], arriving: Path
) -> None:
    watch = archive_watch.bound(writer.pid, arriving, WAIT_S)

    assert writer.stdin is not None
    writer.stdin.close()

    assert watch is not None
    assert writer.wait(WAIT_S) == 0
    assert watch.wait(WAIT_S) == 0
    assert arriving.exists()


def test_a_process_that_has_ended_is_not_watched(arriving: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait(WAIT_S)

    assert archive_watch.bound(gone.pid, arriving) is None


@pytest.mark.parametrize("lacks", ["linux", "pidfds"])
def test_a_system_without_pidfds_does_not_bound_the_jvm(
    writer: subprocess.Popen[bytes],
    arriving: Path,
    monkeypatch: pytest.MonkeyPatch,
    lacks: str,
) -> None:
    if lacks == "linux":
        monkeypatch.setattr(archive_watch, "PORTABLE", True)
    else:
        monkeypatch.delattr(os, "pidfd_open", raising=False)

    assert archive_watch.bound(writer.pid, arriving, 0.0) is None

    assert writer.poll() is None
    assert arriving.exists()
