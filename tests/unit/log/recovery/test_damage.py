"""Acknowledged data that is damaged later is refused, and never skipped silently."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from duolog.core.setting_types import Value
from duolog.log import LogManager, PartitionLog
from duolog.log.errors import CorruptLog, PartitionRefused
from duolog.log.files.disk import RealDisk
from duolog.log.segments.index import OffsetIndex
from duolog.record import Record, encode_batch, whole_batches
from duolog.testing import FakeClock
from duolog.testing.disk import CrashDisk

SETTINGS: Final[dict[str, Value]] = {"log.segment.bytes": 1500, "log.index.interval.bytes": 200}
BATCHES: Final = 140
FEW_BATCHES: Final = 40
"""So few that the stop writes no recovery point: the start reads them all."""


def open_manager(disk: CrashDisk) -> LogManager:
    return LogManager(disk, "/data", FakeClock(), SETTINGS)


class Stopped:
    """A log of several segments after an orderly stop."""

    def __init__(self, batches: int = BATCHES) -> None:
        self.disk = CrashDisk()
        manager = open_manager(self.disk)
        manager.topics.create("orders", 1)
        log = manager.log("orders", 0)
        for number in range(batches):
            log.append(memoryview(encode_batch([Record(0, number, b"k", bytes(100))])))
        log.write_staged()
        log.high_watermark = log.log_end_offset
        self.directory = log.directory
        self.topic_directory = log.directory.rpartition("/")[0]
        manager.close()
        names = self.disk.list(self.directory)
        self.bases = [int(name[:20]) for name in names if name.endswith(".log")]

    def segment(self, number: int) -> str:
        return f"{self.directory}/{self.bases[number]:020d}.log"

    def start(self) -> PartitionLog:
        return open_manager(self.disk).log("orders", 0)


@pytest.fixture
def stopped() -> Stopped:
    return Stopped()


def read_until_refused(log: PartitionLog) -> int:
    """Read as a consumer does; return the offset at which the log says that it is damaged."""
    offset = 0
    while offset < log.high_watermark:
        try:
            data = log.read_bytes(offset, 400, up_to_offset=log.high_watermark)
        except CorruptLog:
            return offset
        batches = list(whole_batches(data))
        assert sum(len(batch) for _, batch in batches) == len(data), "a torn batch is served"
        assert batches[0][0].base_offset == offset, "records are skipped"
        offset = batches[-1][0].next_offset
    return offset


@pytest.mark.parametrize("cut_bytes", [1, 60, 100, 161, 700])
def test_a_sealed_segment_that_was_cut_is_refused_where_records_are_missing(
    stopped: Stopped, cut_bytes: int
) -> None:
    sealed = stopped.disk.open(stopped.segment(1))
    sealed.truncate(sealed.size_bytes - cut_bytes)

    log = stopped.start()

    assert stopped.bases[0] < read_until_refused(log) < stopped.bases[2]
    assert log.read(stopped.bases[2], 400, up_to_offset=BATCHES).size_bytes > 0


def test_retention_removes_damaged_segments_too(stopped: Stopped) -> None:
    sealed = stopped.disk.open(stopped.segment(1))
    sealed.truncate(sealed.size_bytes - 1)
    log = stopped.start()

    log.delete_old_segments(now_ms=10**12)

    assert (log.log_start_offset, log.log_end_offset) == (BATCHES, BATCHES)


def test_a_segment_that_is_missing_in_the_middle_is_refused_when_it_is_read(
    stopped: Stopped,
) -> None:
    stopped.disk.remove(stopped.segment(1))

    assert read_until_refused(stopped.start()) == stopped.bases[1]


@pytest.mark.parametrize("batches", [BATCHES, FEW_BATCHES])
def test_a_first_segment_that_is_missing_is_refused_at_the_start(batches: int) -> None:
    stopped = Stopped(batches)
    stopped.disk.remove(stopped.segment(0))

    with pytest.raises(PartitionRefused, match="lost acknowledged records"):
        stopped.start()


def test_a_small_log_with_a_segment_missing_is_refused_at_the_start() -> None:
    stopped = Stopped(FEW_BATCHES)
    stopped.disk.remove(stopped.segment(2))

    with pytest.raises(PartitionRefused, match="lost acknowledged records"):
        stopped.start()

    assert stopped.disk.exists(stopped.segment(3))


def test_a_damaged_recovery_point_is_no_reason_to_drop_segments(stopped: Stopped) -> None:
    stopped.disk.remove(stopped.segment(0))
    stopped.disk.open(f"{stopped.directory}/recovery-point").pwrite(3, b"\xff\xff")

    with pytest.raises(PartitionRefused, match="lost acknowledged records"):
        stopped.start()

    assert stopped.disk.exists(stopped.segment(1))


def test_an_index_that_grew_without_data_is_not_used() -> None:
    assert OffsetIndex.decode(bytes(8), 1000) is None
    assert OffsetIndex.decode(b"", 1000) is not None


# After a kill: what follows the recovery point is read.


class Killed:
    """A log of several segments, all of it acknowledged, whose broker was killed."""

    def __init__(self, value: bytes = b"v" * 100) -> None:
        self.disk = CrashDisk()
        manager = open_manager(self.disk)
        commit = manager.group_commit("fsync", lambda: None, threaded=False)
        for name in ("orders", "others"):
            manager.topics.create(name, 1)
            log = manager.log(name, 0)
            for number in range(FEW_BATCHES):
                log.append(memoryview(encode_batch([Record(0, number, b"k", value)])))
            log.write_staged()
            commit.request([log])
            commit.run_pending()
        self.directory = manager.log("orders", 0).directory
        self.paths = [
            f"{self.directory}/{name}"
            for name in self.disk.list(self.directory)
            if name.endswith(".log")
        ]

    def start(self) -> LogManager:
        return open_manager(self.disk.kill())


@pytest.mark.parametrize("bit", [0, 7])
def test_a_flipped_bit_before_whole_batches_is_refused_and_nothing_is_cut(bit: int) -> None:
    killed = Killed()
    path = killed.paths[1]
    whole = killed.disk.size(path)
    for position in range(0, whole - 171, 7):
        file = killed.disk.open(path)
        (byte,) = file.pread(position, 1)
        file.pwrite(position, bytes([byte ^ (1 << bit)]))
        manager = killed.start()

        if position % 171 not in range(12, 16):  # The leader epoch, which no checksum covers.
            with pytest.raises(PartitionRefused, match="is damaged at offset"):
                manager.log("orders", 0)
        assert manager.log("others", 0).log_end_offset == FEW_BATCHES
        assert killed.disk.size(path) == whole
        file.pwrite(position, bytes([byte]))
    assert killed.start().log("orders", 0).log_end_offset == FEW_BATCHES


@pytest.mark.parametrize("from_end", [1, 50, 100, 165])
def test_a_flipped_bit_in_the_last_batch_of_a_segment_is_refused(from_end: int) -> None:
    killed = Killed()
    path = killed.paths[1]
    file = killed.disk.open(path)
    position = file.size_bytes - from_end
    (byte,) = file.pread(position, 1)
    file.pwrite(position, bytes([byte ^ 0x40]))

    with pytest.raises(PartitionRefused, match="is damaged at offset"):
        killed.start().log("orders", 0)

    assert all(killed.disk.exists(path) for path in killed.paths)


def test_a_batch_lost_in_a_power_failure_ends_the_log() -> None:
    killed = Killed()
    killed.disk.open(killed.paths[1]).pwrite(512, bytes(512))
    killed.disk.boots += 1

    log = killed.start().log("orders", 0)

    assert 0 < log.log_end_offset < FEW_BATCHES


def test_the_words_say_where_the_damage_is_and_what_helps() -> None:
    killed = Killed()
    killed.disk.open(killed.paths[0]).pwrite(2 * 171 + 80, b"!")

    with pytest.raises(PartitionRefused) as caught:
        killed.start().log("orders", 0)

    assert killed.directory in caught.value.message
    assert "position 342" in caught.value.detail
    assert "from offset 3 on" in caught.value.detail
    file = killed.disk.open(killed.paths[0])
    file.truncate(342)
    for path in killed.paths[1:]:
        killed.disk.remove(path)
    assert killed.start().log("orders", 0).log_end_offset == 2


# Indexes have no checksum.


def all_reads(log: PartitionLog) -> list[object]:
    """Read from every offset, and look for every time."""
    end = log.high_watermark
    return [
        *(log.read_bytes(offset, 700, up_to_offset=end) for offset in range(end)),
        *(log.offset_for_timestamp(time) for time in range(0, end, 3)),
        log.max_timestamp(),
        *(log.expired_below(now_ms=log.config.retention_ms + time) for time in range(0, end, 9)),
    ]


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("number", [2, -1])
def test_an_index_with_a_flipped_bit_is_rebuilt(stopped: Stopped, suffix: str, number: int) -> None:
    """Of a sealed segment, and of the one that is written to."""
    expected = all_reads(stopped.start())
    path = stopped.segment(number).removesuffix(".log") + suffix
    file = stopped.disk.open(path)
    assert file.size_bytes

    bits = file.size_bytes * 8

    for bit in sorted({*range(0, bits, 5), *range(bits - 64, bits)}):
        (byte,) = file.pread(bit // 8, 1)
        file.pwrite(bit // 8, bytes([byte ^ (1 << bit % 8)]))
        assert all_reads(open_manager(stopped.disk.kill()).log("orders", 0)) == expected, bit
        file.pwrite(bit // 8, bytes([byte]))


# After a clean stop: where each log ended was noted.


def emptied(stopped: Stopped) -> None:
    stopped.disk.open(stopped.segment(0)).truncate(0)


def without_its_last_batches(stopped: Stopped) -> None:
    segment = stopped.disk.open(stopped.segment(0))
    segment.truncate(8 * (segment.size_bytes // 10))


def without_segment(stopped: Stopped) -> None:
    stopped.disk.remove(stopped.segment(0))


def without_directory(stopped: Stopped) -> None:
    stopped.disk.remove_tree(stopped.directory)


@pytest.mark.parametrize(
    "cut", [emptied, without_its_last_batches, without_segment, without_directory]
)
def test_a_small_log_that_ends_before_its_end_at_the_stop_is_refused(
    cut: Callable[[Stopped], None],
) -> None:
    """A copy that was cut off, on a full disk say: it was served as an empty log, and groups as new."""
    stopped = Stopped(10)
    cut(stopped)

    for _ in range(2):  # Another start does not forget what was lost.
        manager = open_manager(stopped.disk)
        with pytest.raises(PartitionRefused, match="lost acknowledged records"):
            manager.log("orders", 0)
        manager.close()

    stopped.disk.remove("/data/clean-shutdown")
    stopped.disk.remove("/data/last-start")
    assert stopped.start().log_end_offset < 10


def test_where_a_log_ended_does_not_matter_after_a_kill(stopped: Stopped) -> None:
    stopped.disk.remove("/data/clean-shutdown")

    assert stopped.start().log_end_offset == BATCHES


def test_a_log_with_something_else_in_the_place_of_a_file_is_refused_alone(tmp_path: Path) -> None:
    manager = LogManager(RealDisk(), str(tmp_path), FakeClock(), SETTINGS)
    for topic in ("orders", "others"):
        manager.topics.create(topic, 1)
        manager.log(topic, 0).append(memoryview(encode_batch([Record(0, 1, b"k", b"v")])))
    segment = Path(manager.log("orders", 0).directory, f"{0:020d}.log")
    manager.close()
    segment.unlink()
    segment.mkdir()

    manager = LogManager(RealDisk(), str(tmp_path), FakeClock(), SETTINGS)

    assert manager.log("others", 0).log_end_offset == 1
    with pytest.raises(PartitionRefused, match="cannot be read") as caught:
        manager.log("orders", 0)
    assert f"{segment}: is a directory" in caught.value.detail
    manager.close()


@pytest.mark.parametrize(
    ("topic", "forgets"),
    [("__consumer_offsets", "committed offsets"), ("__transaction_state", "transactional ids")],
)
def test_damage_of_a_topic_that_each_start_needs_says_what_to_move_away(
    topic: str, forgets: str
) -> None:
    disk = CrashDisk()
    manager = open_manager(disk)
    manager.topics.create(topic, 1)
    log = manager.log(topic, 0)
    log.append(memoryview(encode_batch([Record(0, 1, b"k", bytes(100))])))
    manager.close()
    disk.remove(f"{log.directory}/{0:020d}.log")

    manager = open_manager(disk)
    with pytest.raises(PartitionRefused, match="lost acknowledged records") as caught:
        manager.log(topic, 0)
    manager.close()

    assert "delete the topic" not in caught.value.hint
    assert "move the folder of its topic out of topics/" in caught.value.hint
    assert forgets in caught.value.hint
    disk.remove_tree(log.directory.rpartition("/")[0])
    assert open_manager(disk).topics.entries() == []
