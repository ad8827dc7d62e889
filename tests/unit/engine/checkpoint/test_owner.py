"""Who may start on a checkpoint. The JVM's side is simulated with `fcntl`, whose locks Java uses too."""

import errno
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any
from unittest.mock import MagicMock

import pytest

from duolog.engine.checkpoint import owner
from duolog.engine.checkpoint.owner import (
    Locked,
    Owner,
    claim,
    ensure_no_live_owner,
    give_back,
    release,
    reserve,
)
from duolog.engine.errors import CheckpointInUse, CheckpointNotWritable

HOLDS_THE_LOCK = """
import fcntl, sys
file = open(sys.argv[1], "w")
fcntl.lockf(file, fcntl.LOCK_EX)
print("locked", flush=True)
input()
"""
BEAT_S = 0.05
NEVER_S = 3600
"""Waiting for it would take longer than the test's time limit."""


class FakeLockHolder:
    """Holds locks, and sends heartbeats until the test pauses it."""

    def __init__(self, *, supported: bool = True) -> None:
        self._supported = supported
        self._files: dict[str, IO[str]] = {}
        self.owned: dict[str, str] = {}
        self.released = threading.Event()

    def lock(self, directory: str) -> Locked:
        if not self._supported:
            return "unsupported"
        file = Path(directory, "owner.lock").open("w")  # noqa: SIM115 - a lock is kept open
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return "held"
        self._files[directory] = file
        return "locked"

    def own(self, directory: str, owner: str, number: int) -> None:
        self.owned[directory] = owner
        threading.Thread(target=self._beat, args=[Path(directory, f"owner.{number}.beat")]).start()

    def release(self, directory: str) -> None:
        self.released.set()
        if directory in self._files:
            self._files.pop(directory).close()

    def _beat(self, file: Path) -> None:
        while not self.released.wait(BEAT_S):
            file.touch()


def on_another_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make later claims come from another machine, whose locks are not visible here."""
    monkeypatch.setattr(owner, "_machine", lambda: "another machine")


def start(directory: Path, holder: FakeLockHolder, **more: Any) -> None:
    waits = {"wait_s": 0.2, "lease_s": 0.5} | more
    claim(directory, holder, "flights", pid=os.getpid(), **waits)


def number_of(directory: Path) -> int:
    return int(json.loads((directory / "owner.json").read_text())["number"])


@pytest.fixture
def other(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """Another process that holds the lock, as the JVM of an application does."""
    words = [sys.executable, "-c", HOLDS_THE_LOCK, str(tmp_path / "owner.lock")]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    yield process
    process.kill()
    process.communicate()


def test_a_live_owner_of_this_machine_is_refused_by_name(
    tmp_path: Path, other: "subprocess.Popen[str]"
) -> None:
    """The pid alone is not enough: in another container it is another process, and both owners used to run."""
    held = Owner(7, "x", "whatever", "north", other.pid)
    (tmp_path / "owner.json").write_text(json.dumps(asdict(held)))

    with pytest.raises(CheckpointInUse, match="runs in another process") as caught:
        start(tmp_path, FakeLockHolder())

    assert caught.value.detail.endswith(f"is held by process {other.pid} on host north, its JVM.")


def test_a_refusal_names_the_process_to_stop_and_not_its_jvm(
    tmp_path: Path, other: "subprocess.Popen[str]"
) -> None:
    """A JVM that was killed for it was started again by its Python process."""
    held = Owner(7, "x", owner._machine(), "north", other.pid)  # noqa: SLF001
    (tmp_path / "owner.json").write_text(json.dumps(asdict(held)))
    (tmp_path / "owner.process").write_text("process 4711 on host north\n")
    with (tmp_path / "owner.process").open("a") as process:
        fcntl.flock(process, fcntl.LOCK_EX)

        with pytest.raises(CheckpointInUse) as started:
            start(tmp_path, FakeLockHolder())
        with pytest.raises(CheckpointInUse) as looked:
            ensure_no_live_owner(tmp_path, "flights")

    for caught in (started, looked):
        assert caught.value.detail.endswith("is held by process 4711 on host north.")


def test_a_claim_records_the_process_to_stop_and_the_jvm(tmp_path: Path) -> None:
    holder = FakeLockHolder()
    claim(tmp_path, holder, "flights", pid=4711)
    reported = str(owner.taken_over_by(tmp_path, 4712))
    release(tmp_path, holder, 4711)

    assert reported == f"process {os.getpid()} on host {socket.gethostname()}"
    kept = json.loads((tmp_path / "owner.json").read_text())
    assert (kept["pid"], kept["process"], kept["released"]) == (4711, os.getpid(), True)


def test_an_owner_whose_python_lives_is_not_waited_for(
    tmp_path: Path, other: "subprocess.Popen[str]"
) -> None:
    """A second start was refused after half a minute only: as long as a JVM may need to end."""
    with (tmp_path / "owner.process").open("w") as process:
        fcntl.flock(process, fcntl.LOCK_EX)

        with pytest.raises(CheckpointInUse):
            start(tmp_path, FakeLockHolder(), wait_s=NEVER_S)


def test_an_owner_that_still_starts_its_jvm_keeps_others_out(
    tmp_path: Path, other: "subprocess.Popen[str]"
) -> None:
    """A second process was refused only when its own JVM was there, 15 seconds later."""
    (tmp_path / "owner.process").write_text("process 4711 on host north\n")
    with (tmp_path / "owner.process").open("a") as process:
        fcntl.flock(process, fcntl.LOCK_EX)

        with pytest.raises(CheckpointInUse, match="runs in another process") as caught:
            reserve(tmp_path, "totals")

    assert caught.value.detail.endswith("is held by process 4711 on host north.")
    assert reserve(tmp_path, "totals")
    give_back(tmp_path)


def test_reserved_checkpoints_are_held_until_released(tmp_path: Path) -> None:
    directory = tmp_path / "totals"

    assert reserve(directory, "totals")
    assert not reserve(directory, "totals")
    with (directory / "owner.process").open() as process:
        assert process.read() == f"process {os.getpid()} on host {socket.gethostname()}\n"
        with pytest.raises(BlockingIOError):
            fcntl.flock(process, fcntl.LOCK_EX | fcntl.LOCK_NB)
        give_back(directory)
        fcntl.flock(process, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_an_owner_may_claim_again_with_another_jvm(tmp_path: Path) -> None:
    first, second = FakeLockHolder(), FakeLockHolder()
    start(tmp_path, first)
    threading.Timer(0.3, first.release, [str(tmp_path)]).start()

    start(tmp_path, second, wait_s=30)
    release(tmp_path, second, os.getpid())

    assert number_of(tmp_path) == 2


def test_an_owner_that_is_paused_is_still_the_owner(
    tmp_path: Path, other: "subprocess.Popen[str]"
) -> None:
    other.send_signal(signal.SIGSTOP)

    with pytest.raises(CheckpointInUse):
        start(tmp_path, FakeLockHolder())


def test_a_killed_owner_of_this_machine_is_replaced_at_once(
    tmp_path: Path, other: "subprocess.Popen[str]"
) -> None:
    held = Owner(7, "x", owner._machine(), "here", other.pid)  # noqa: SLF001
    (tmp_path / "owner.json").write_text(json.dumps(asdict(held)))
    other.send_signal(signal.SIGKILL)
    holder = FakeLockHolder()

    start(tmp_path, holder, wait_s=NEVER_S, lease_s=NEVER_S)
    holder.release(str(tmp_path))

    assert number_of(tmp_path) == 8


def test_an_owner_that_is_ending_is_waited_for(
    tmp_path: Path, other: "subprocess.Popen[str]"
) -> None:
    threading.Timer(0.3, other.kill).start()
    holder = FakeLockHolder()

    start(tmp_path, holder, wait_s=30)
    holder.release(str(tmp_path))


@pytest.mark.parametrize("supported", [True, False])
def test_a_live_owner_on_another_host_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, supported: bool
) -> None:
    there = FakeLockHolder(supported=False)
    start(tmp_path, there)
    on_another_host(monkeypatch)

    with pytest.raises(CheckpointInUse):
        start(tmp_path, FakeLockHolder(supported=supported))
    there.release(str(tmp_path))

    assert there.owned[str(tmp_path)] == (tmp_path / "owner.json").read_text()


def test_an_owner_on_another_host_that_beats_no_more_is_replaced_and_sees_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, here = FakeLockHolder(supported=False), FakeLockHolder()
    start(tmp_path, there)
    there.release(str(tmp_path))
    on_another_host(monkeypatch)

    start(tmp_path, here)
    here.release(str(tmp_path))

    assert number_of(tmp_path) == 2
    # What the kernel compares before each write.
    assert there.owned[str(tmp_path)] != (tmp_path / "owner.json").read_text()


def test_of_two_that_claim_at_once_without_locks_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def settle(_s: float) -> None:
        (tmp_path / "owner.json").write_text(json.dumps(asdict(Owner(2, "y", "m", "h", 1))))

    monkeypatch.setattr(time, "sleep", settle)

    with pytest.raises(CheckpointInUse):
        start(tmp_path, FakeLockHolder(supported=False))


def test_a_checkpoint_that_was_given_up_is_free_for_every_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = FakeLockHolder(supported=False), FakeLockHolder(supported=False)
    start(tmp_path, first)
    release(tmp_path, first, os.getpid())
    on_another_host(monkeypatch)

    start(tmp_path, second, lease_s=1000)
    release(tmp_path, first, os.getpid() + 1)
    second.release(str(tmp_path))

    assert number_of(tmp_path) == 2
    assert not json.loads((tmp_path / "owner.json").read_text())["released"]


def test_a_truncated_owner_file_does_not_count_as_an_owner(tmp_path: Path) -> None:
    (tmp_path / "owner.json").write_text('{"number": 1')
    holder = FakeLockHolder()

    start(tmp_path, holder)
    holder.release(str(tmp_path))


def test_a_checkpoint_that_cannot_be_written_is_refused_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(CheckpointNotWritable) as caught:
        start(tmp_path / "file" / "flights", FakeLockHolder())

    assert str(tmp_path / "file") in caught.value.message


def test_a_claim_on_a_full_disk_is_refused_with_a_reason_and_holds_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty file can still be made where nothing can be written."""
    full = MagicMock(side_effect=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    monkeypatch.setattr(owner, "write_durably", full)
    holder = FakeLockHolder()

    with pytest.raises(CheckpointNotWritable) as caught:
        start(tmp_path, holder)

    assert "No space left on device" in caught.value.message
    assert holder.released.is_set()


def test_a_checkpoint_is_free_again_though_nothing_can_be_written_at_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a full disk the next start of the same process waited, and was refused."""
    holder = FakeLockHolder()
    start(tmp_path, holder)
    full = MagicMock(side_effect=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    monkeypatch.setattr(owner, "write_durably", full)

    with pytest.raises(OSError, match="No space left"):
        release(tmp_path, holder, os.getpid())

    assert holder.released.is_set()
