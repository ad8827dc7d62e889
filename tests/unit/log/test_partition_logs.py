import pytest

from duolog.log.errors import (
    PartitionRefused,
)
from duolog.record import Record, encode_batch, whole_batches
from duolog.record.records import BatchProducer
from duolog.testing.disk import CrashDisk
from unit.log.log_directory import fill, killed, open_manager


def test_a_clean_start_reads_no_segment_and_a_killed_one_finds_all() -> None:
    disk = CrashDisk()
    manager = open_manager(disk)
    manager.topics.create("orders", 1)
    log = manager.log("orders", 0)
    fill(log, 40, producer_id=4)

    after_kill = open_manager(killed(disk)).log("orders", 0)
    manager.close()
    after_stop = open_manager(disk).log("orders", 0)

    for again in (after_kill, after_stop):
        assert (again.log_start_offset, again.log_end_offset, again.high_watermark) == (0, 40, 40)
        assert again.offset_for_leader_epoch(0).end_offset == 40
        newest = again.max_timestamp()
        assert newest is not None
        assert newest.offset == 39
        repeated = encode_batch(
            [Record(0, 1037, b"k", bytes(100))], producer=BatchProducer(4, 0, 37)
        )
        assert again.append(memoryview(repeated)).base_offset == 37


def test_the_log_ends_before_a_torn_batch_and_later_segments_go() -> None:
    disk = CrashDisk()
    manager = open_manager(disk)
    manager.topics.create("orders", 1)
    log = manager.log("orders", 0)
    fill(log, 30)
    bases = [int(name[:20]) for name in disk.list(log.directory) if name.endswith(".log")]
    torn = disk.open(f"{log.directory}/{bases[1]:020d}.log")
    torn.truncate(torn.size_bytes - 1)

    again = open_manager(killed(disk)).log("orders", 0)

    assert again.log_end_offset == bases[2] - 1
    fill(again, 1)
    data = again.read_bytes(bases[1], 10**6, up_to_offset=again.high_watermark)
    assert [h.base_offset for h, _ in whole_batches(data)][-1] == bases[2] - 1


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("content", [None, b"", b"short", b"\xff" * 24])
def test_indexes_that_are_missing_or_damaged_are_rebuilt(
    suffix: str, content: bytes | None
) -> None:
    disk = CrashDisk()
    manager = open_manager(disk)
    manager.topics.create("orders", 1)
    directory = manager.log("orders", 0).directory
    fill(manager.log("orders", 0), 40)
    manager.close()
    for name in [name for name in disk.list(directory) if name.endswith(suffix)]:
        disk.remove(f"{directory}/{name}")
        if content is not None:
            disk.open(f"{directory}/{name}", create=True).append([content])

    again = open_manager(disk).log("orders", 0)

    for offset in range(40):
        found = again.offset_for_timestamp(1000 + offset)
        assert found is not None
        assert found.offset == offset
        assert again.read(offset, 1, up_to_offset=40).first_offset == offset


@pytest.mark.parametrize(("batches", "size_bytes"), [(5, 300), (140, 100), (140, 0)])
def test_a_file_that_lost_acknowledged_records_is_refused_with_an_explanation(
    batches: int, size_bytes: int
) -> None:
    disk = CrashDisk()
    manager = open_manager(disk)
    manager.topics.create("orders", 1)
    log = manager.log("orders", 0)
    fill(log, batches)
    directory = log.directory
    manager.close()
    last = [name for name in disk.list(directory) if name.endswith(".log")][-1]
    disk.open(f"{directory}/{last}").truncate(size_bytes)

    with pytest.raises(PartitionRefused, match="lost acknowledged records") as caught:
        open_manager(disk).log("orders", 0)

    assert directory in caught.value.message
    assert caught.value.hint


def test_a_damaged_recovery_point_means_that_all_is_read_again() -> None:
    disk = CrashDisk()
    manager = open_manager(disk)
    manager.topics.create("orders", 1)
    log = manager.log("orders", 0)
    fill(log, 140, producer_id=4)
    path = f"{log.directory}/recovery-point"
    manager.close()
    disk.open(path).pwrite(6, b"\xee\xee")

    again = open_manager(disk).log("orders", 0)

    assert again.log_end_offset == 140
    assert next(whole_batches(again.read_bytes(33, 1, up_to_offset=140)))[0].base_offset == 33


def test_leader_epochs_tell_where_each_start_ended() -> None:
    disk = CrashDisk()
    manager = open_manager(disk)
    manager.topics.create("orders", 1)
    for _ in range(3):
        fill(manager.log("orders", 0), 5)
        manager.close()
        manager = open_manager(disk)

    log = manager.log("orders", 0)

    assert [tuple(log.offset_for_leader_epoch(epoch)) for epoch in range(-1, 5)] == [
        (-1, -1),
        (0, 5),
        (1, 10),
        (2, 15),
        (3, 15),
        (-1, -1),
    ]


def test_epochs_are_found_in_the_batches_when_their_file_is_gone() -> None:
    disk = CrashDisk()
    manager = open_manager(disk)
    manager.topics.create("orders", 1)
    directory = manager.log("orders", 0).directory
    fill(manager.log("orders", 0), 5)
    manager.close()
    manager = open_manager(disk)
    fill(manager.log("orders", 0), 5)
    assert not disk.exists(f"{directory}/leader-epoch-checkpoint")

    log = open_manager(killed(disk)).log("orders", 0)

    assert tuple(log.offset_for_leader_epoch(0)) == (0, 5)
    assert tuple(log.offset_for_leader_epoch(1)) == (1, 10)


@pytest.mark.parametrize(("durability", "kept"), [("fsync", True), ("os", False)])
def test_acknowledged_records_survive_a_kill_and_then_a_power_failure(
    durability: str,
    kept: bool,  # noqa: FBT001
) -> None:
    ends = set()
    for seed in range(20):
        disk = CrashDisk()
        manager = open_manager(disk, log_segment_bytes=100_000)
        manager.topics.create("orders", 1)
        fill(manager.log("orders", 0), batches=200)
        found = disk.kill()
        assert open_manager(found, durability=durability).log("orders", 0).log_end_offset == 200

        ends.add(open_manager(found.crash(seed)).log("orders", 0).log_end_offset)

    assert (ends == {200}) is kept
