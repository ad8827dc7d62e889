"""After a kill all that was written is there: what is missing was damaged, and is not taken for a power failure."""

from collections.abc import Callable
from typing import Final

import pytest

from duolog.core.setting_types import Value
from duolog.log import LogManager, PartitionLog
from duolog.record import Record, encode_batch
from duolog.testing import FakeClock
from duolog.testing.disk import CrashDisk

SETTINGS: Final[dict[str, Value]] = {"log.segment.bytes": 1500}
BATCHES: Final = 40
"""So few that there is no recovery point."""
REFUSED: Final = ("lost acknowledged records", "is damaged at offset")


def directory_of(disk: CrashDisk) -> str:
    (topic,) = (name for name in disk.list("/data/topics") if disk.list(f"/data/topics/{name}"))
    return f"/data/topics/{topic}/0"


def segments_of(disk: CrashDisk) -> list[str]:
    directory = directory_of(disk)
    return [f"{directory}/{name}" for name in disk.list(directory) if name.endswith(".log")]


class Broker:
    """A log manager on `disk`, and the log of topic "t"."""

    def __init__(self, disk: CrashDisk, *, batches: int = 0, sync: bool = True) -> None:
        self.disk = disk
        self.manager = LogManager(disk, "/data", FakeClock(), SETTINGS)
        if batches:
            self.manager.topics.create("t", 1)
            self.write(batches)
        if sync and ("t", 0) not in self.manager.logs.refused:
            commit = self.manager.group_commit("fsync", lambda: None, threaded=False)
            commit.request([self.log])
            commit.run_pending()

    @property
    def log(self) -> PartitionLog:
        return self.manager.log("t", 0)

    def write(self, count: int) -> None:
        for number in range(count):
            self.log.append(memoryview(encode_batch([Record(0, number, b"k", bytes(100))])))
        self.log.write_staged()

    @property
    def segments(self) -> list[str]:
        return segments_of(self.disk)

    def cut(self, segment: int, size_bytes: int) -> None:
        self.disk.open(self.segments[segment]).truncate(size_bytes)

    def flip(self, segment: int, position: int) -> None:
        """Change a byte; a negative position counts from the end."""
        file = self.disk.open(self.segments[segment])
        at = position % file.size_bytes
        file.pwrite(at, bytes([file.pread(at, 1)[0] ^ 1]))

    def is_refused(self) -> bool:
        refused = self.manager.logs.refused.get(("t", 0))
        assert refused is None or any(reason in refused.message for reason in REFUSED)
        return refused is not None


def killed(*, batches: int = BATCHES) -> Broker:
    return Broker(Broker(CrashDisk(), batches=batches).disk.kill(), sync=False)


Damage = Callable[[Broker], None]
DAMAGES: Final[dict[str, Damage]] = {
    "the first segment is cut": lambda broker: broker.cut(0, 700),
    "the first segment is empty": lambda broker: broker.cut(0, 0),
    "a segment in the middle is cut between two batches": lambda broker: broker.cut(2, 2 * 169),
    "the first segment is gone": lambda broker: broker.disk.remove(broker.segments[0]),
    "a segment in the middle is gone": lambda broker: broker.disk.remove(broker.segments[1]),
    "a bit of a sealed segment differs": lambda broker: broker.flip(1, 300),
    "the last bit of a sealed segment differs": lambda broker: broker.flip(1, -1),
    "the last bit of the log differs": lambda broker: broker.flip(-1, -1),
}


def damaged_after_kill(damage: Damage) -> CrashDisk:
    """Return the disk of a broker that was killed; then its log was damaged."""
    broker = Broker(CrashDisk(), batches=BATCHES)
    directory = directory_of(broker.disk)
    assert not broker.disk.exists(f"{directory}/recovery-point")
    damage(broker)
    for path in broker.segments:
        broker.disk.open(path).sync()
    broker.disk.sync_dir(directory)
    return broker.disk.kill()


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_log_that_is_damaged_after_a_kill_is_refused_and_left_as_it_is(damage: Damage) -> None:
    disk = damaged_after_kill(damage)
    before = [(path, disk.size(path)) for path in segments_of(disk)]

    broker = Broker(disk, sync=False)

    assert broker.is_refused()
    assert [(path, disk.size(path)) for path in segments_of(disk)] == before


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_log_stays_refused_after_kills_stops_and_power_failures(damage: Damage) -> None:
    disk = damaged_after_kill(damage)
    assert Broker(disk, sync=False).is_refused()

    again = Broker(disk.kill(), sync=False)
    assert again.is_refused()
    again.manager.close()
    stopped = Broker(again.disk.kill(), sync=False)
    assert stopped.is_refused()
    for seed in range(5):
        after_power_failure = Broker(stopped.disk.crash(seed), sync=False)
        assert after_power_failure.is_refused(), seed
        assert Broker(after_power_failure.disk.crash(seed), sync=False).is_refused(), seed


def test_a_log_that_is_restored_is_served() -> None:
    broker = Broker(CrashDisk(), batches=BATCHES)
    end, path = broker.log.log_end_offset, broker.segments[0]
    content = broker.disk.open(path).pread(0, broker.disk.size(path))
    broker.cut(0, 700)
    refused = Broker(broker.disk.kill(), sync=False)
    assert refused.is_refused()

    refused.disk.open(path).pwrite(0, content)
    restored = Broker(refused.disk.kill(), sync=False)

    assert restored.log.log_end_offset == end
    restored.cut(-1, restored.disk.size(restored.segments[-1]) - 1)
    assert Broker(restored.disk.crash(0), sync=False).log.log_end_offset <= end


def test_removing_the_file_takes_the_damage_for_a_power_failure() -> None:
    disk = damaged_after_kill(DAMAGES["the first segment is cut"])
    refused = Broker(disk, sync=False)
    assert refused.is_refused()
    assert "clean-shutdown and last-start" in refused.manager.logs.refused["t", 0].hint

    disk.remove("/data/last-start")

    assert 0 < Broker(disk.kill(), sync=False).log.log_end_offset < BATCHES


@pytest.mark.parametrize("cut_bytes", [1, 60, 108, 168])
def test_a_last_write_that_a_kill_has_cut_off_is_truncated(cut_bytes: int) -> None:
    broker = Broker(CrashDisk(), batches=BATCHES)
    broker.cut(-1, broker.disk.size(broker.segments[-1]) - cut_bytes)

    assert Broker(broker.disk.kill(), sync=False).log.log_end_offset == BATCHES - 1


def test_a_segment_that_was_just_begun_may_be_empty() -> None:
    broker = Broker(CrashDisk(), batches=BATCHES)
    broker.log.roll()
    assert broker.disk.size(broker.segments[-1]) == 0

    assert Broker(broker.disk.kill(), sync=False).log.log_end_offset == BATCHES


def test_records_from_before_the_last_start_are_missed_even_if_no_file_is_left() -> None:
    first = Broker(CrashDisk(), batches=3)
    second = Broker(first.disk.kill())
    assert len(second.segments) == 1

    second.disk.remove(second.segments[0])

    assert Broker(second.disk.kill(), sync=False).is_refused()


def test_a_start_that_is_killed_itself_does_not_forget_the_boot() -> None:
    for operations in range(1, 40):
        disk = damaged_after_kill(DAMAGES["the first segment is cut"])
        disk.power_off_after(operations=operations)
        try:
            Broker(disk, sync=False)
        except OSError:
            pass
        else:
            break

        assert Broker(disk.kill(), sync=False).is_refused(), operations
    assert operations > 10


def test_a_recovery_started_on_another_machine_continues_on_this_one() -> None:
    """Here the boot is the same, but segments were truncated there."""
    for operations in range(1, 40):
        disk = damaged_after_kill(DAMAGES["the first segment is cut"])
        before = {path: disk.size(path) for path in segments_of(disk)}
        disk.boots += 1
        disk.power_off_after(operations=operations)
        try:
            Broker(disk, sync=False)
        except OSError:
            pass
        else:
            break

        home = disk.kill()
        home.boots -= 1
        after = {path: home.size(path) for path in segments_of(home)}
        assert Broker(home, sync=False).is_refused() <= (after == before), operations
    assert operations > 10


def test_after_a_power_failure_the_same_is_truncated() -> None:
    disk = damaged_after_kill(DAMAGES["the first segment is cut"])
    disk.boots += 1

    broker = Broker(disk, sync=False)

    assert 0 < broker.log.log_end_offset < BATCHES


def test_a_recovery_killed_after_a_power_failure_continues() -> None:
    """The recovery has truncated a segment, and was killed before it removed the later ones."""
    for operations in range(1, 40):
        disk = damaged_after_kill(DAMAGES["the first segment is cut"])
        disk.boots += 1
        disk.power_off_after(operations=operations)
        try:
            Broker(disk, sync=False)
        except OSError:
            pass
        else:
            break

        assert 0 < Broker(disk.kill(), sync=False).log.log_end_offset < BATCHES, operations
    assert operations > 10


@pytest.mark.parametrize("boot", [None, "boot-of-another-machine"])
def test_another_machine_or_a_system_without_boot_ids_is_treated_as_after_a_power_failure(
    boot: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = damaged_after_kill(DAMAGES["the first segment is cut"])
    monkeypatch.setattr(CrashDisk, "boot_id", lambda _disk: boot)

    assert not Broker(disk, sync=False).is_refused()


def test_a_damaged_file_is_no_reason_to_refuse() -> None:
    broker = killed()
    broker.disk.open("/data/last-start").pwrite(3, b"\xff")

    assert Broker(broker.disk.kill(), sync=False).log.log_end_offset == BATCHES
