"""Ownership of a checkpoint at a URL, without locks: one claimant may start, and a heartbeat shows that it runs."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from duolog.engine.checkpoint import owner
from duolog.engine.checkpoint.owner import Locked, claim, ensure_no_live_owner, release
from duolog.engine.checkpoint.remote import RemotePath
from duolog.engine.errors import CheckpointInUse
from unit.engine.checkpoint.remote.fake_file_system import FakeFileSystem, opened

DIRECTORY = RemotePath("hdfs://host/checkpoints/totals")
LEASE_S = 0.6
NEVER_S = 3600
"""Waiting for it would take longer than the test's time limit."""
BEAT_S = 0.05


_beating: "list[FakeLockHolder]" = []


class FakeLockHolder:
    """Simulates the kernel's `Checkpoint` for a URL: no locks, and a heartbeat."""

    def __init__(self) -> None:
        self._ended = threading.Event()
        self.number = 0

    def lock(self, directory: str) -> Locked:
        assert directory == str(DIRECTORY)
        return "unsupported"

    def own(self, directory: str, owner: str, number: int) -> None:
        assert (DIRECTORY / "owner.json").read_text() == owner
        assert directory == str(DIRECTORY)
        self.number = number
        self._beat(number)
        self._beating = threading.Thread(target=self._send_heartbeats, args=[number], daemon=True)
        self._beating.start()
        _beating.append(self)

    def release(self, directory: str) -> None:
        assert directory == str(DIRECTORY)
        self._ended.set()

    def stop_heartbeats(self) -> None:
        self._ended.set()
        self._beating.join()

    def _send_heartbeats(self, number: int) -> None:
        while not self._ended.wait(BEAT_S):
            self._beat(number)

    @staticmethod
    def _beat(number: int) -> None:
        (DIRECTORY / f"owner.{number}.beat").replace_text(str(time.monotonic_ns()))


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeFileSystem]:
    monkeypatch.setattr(owner, "_SETTLE_S", 0.05)
    with opened() as door:
        yield door
        while _beating:
            _beating.pop().stop_heartbeats()


def start(holder: FakeLockHolder, pid: int = 1, lease_s: float = LEASE_S) -> None:
    claim(DIRECTORY, holder, "totals", pid=pid, wait_s=0.2, lease_s=lease_s)


def forget_this_process() -> None:
    """Be another process from here on."""
    owner._claims_here.clear()  # noqa: SLF001


@pytest.mark.usefixtures("door")
def test_a_second_driver_is_refused_while_the_first_one_beats() -> None:
    first = FakeLockHolder()
    start(first)
    forget_this_process()
    try:
        with pytest.raises(CheckpointInUse, match='"totals" runs in another process'):
            start(FakeLockHolder(), pid=2)
        with pytest.raises(CheckpointInUse):
            ensure_no_live_owner(DIRECTORY, "totals", watch_s=LEASE_S)
    finally:
        first.stop_heartbeats()


@pytest.mark.usefixtures("door")
def test_a_killed_owner_is_replaced_after_its_lease_and_not_before() -> None:
    first, second = FakeLockHolder(), FakeLockHolder()
    start(first)
    first.stop_heartbeats()
    forget_this_process()

    begun = time.monotonic()
    ensure_no_live_owner(DIRECTORY, "totals", watch_s=BEAT_S)
    start(second, pid=2)
    second.stop_heartbeats()

    assert time.monotonic() - begun >= LEASE_S
    assert second.number == first.number + 1
    assert sorted(path.name for path in DIRECTORY.glob("owner.*")) == [
        f"owner.{second.number}.beat",
        f"owner.{second.number}.claim",
        "owner.json",
    ]


@pytest.mark.usefixtures("door")
def test_a_released_checkpoint_or_one_of_this_process_is_taken_over_at_once() -> None:
    first, second, third = FakeLockHolder(), FakeLockHolder(), FakeLockHolder()
    start(first)
    release(DIRECTORY, first, 1)
    forget_this_process()

    start(second, pid=2, lease_s=NEVER_S)
    second.stop_heartbeats()
    start(third, pid=3, lease_s=NEVER_S)
    third.stop_heartbeats()

    assert third.number == 3


@pytest.mark.usefixtures("door")
def test_of_those_that_claim_at_once_one_becomes_the_owner() -> None:
    holders = [FakeLockHolder() for _ in range(8)]
    reported: list[Exception] = []
    at_once = threading.Barrier(len(holders))

    def begin(holder: FakeLockHolder) -> None:
        at_once.wait()
        try:
            start(holder)
        except CheckpointInUse as error:
            reported.append(error)

    threads = [threading.Thread(target=begin, args=[holder]) for holder in holders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(reported) == len(holders) - 1
    assert sorted(holder.number for holder in holders)[-2:] == [0, 1]


def test_a_claim_that_never_became_an_owner_holds_up_the_next_one_for_a_lease(
    door: FakeFileSystem,
) -> None:
    DIRECTORY.mkdir(parents=True)
    (DIRECTORY / "owner.1.claim").create()  # Of a start that was killed just then.

    begun = time.monotonic()
    holder = FakeLockHolder()
    start(holder)
    holder.stop_heartbeats()

    assert time.monotonic() - begun >= LEASE_S
    assert holder.number == 2
    assert "hdfs://host/checkpoints/totals/owner.1.claim" not in door.files


@pytest.mark.usefixtures("door")
def test_a_claimant_paused_before_owner_json_and_replaced_does_not_become_the_owner() -> None:
    first = FakeLockHolder()
    start(first)
    first.stop_heartbeats()
    found = owner._read(DIRECTORY)  # noqa: SLF001
    assert found is not None
    later = replace(found, number=2, claim="another")
    (DIRECTORY / "owner.2.claim").create()
    owner._write(DIRECTORY, later)  # noqa: SLF001
    (DIRECTORY / "owner.2.beat").replace_text("1")
    forget_this_process()

    with pytest.raises(CheckpointInUse):
        owner._claim_number(DIRECTORY, 2, "totals", LEASE_S)  # noqa: SLF001
