import errno
import os
from pathlib import Path
from typing import Final

import pytest

from duolog.core.errors import ConfigError
from duolog.core.settings import Value
from duolog.log import LogManager, PartitionLog
from duolog.log.checked_file import read_checked, write_checked
from duolog.log.disk import RealDisk
from duolog.log.errors import (
    DataDirRefused,
    InvalidPartitions,
    LogDirOffline,
    PartitionRefused,
    TopicExists,
    UnknownTopic,
)
from duolog.record import Record, encode_batch, whole_batches
from duolog.record.records import BatchProducer
from duolog.testing import FakeClock
from duolog.testing.disk import CrashDisk

SETTINGS: Final[dict[str, Value]] = {
    "log.segment.bytes": 1500,
    "log.index.interval.bytes": 200,
}


def open_manager(disk: CrashDisk, **settings: Value) -> LogManager:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return LogManager(disk, "/data", FakeClock(), {**SETTINGS, **named})


def fill(log: PartitionLog, batches: int, *, producer_id: int = -1) -> None:
    for number in range(batches):
        batch = encode_batch(
            [Record(0, 1000 + number, b"k", bytes(100))],
            producer=BatchProducer(
                producer_id, 0 if producer_id >= 0 else -1, number if producer_id >= 0 else -1
            ),
        )
        log.append(memoryview(batch))
    log.write_staged()
    log.high_watermark = log.log_end_offset


def killed(disk: CrashDisk) -> CrashDisk:
    """What a killed process leaves: everything written, nothing closed."""
    for name in disk.list("/data/topics"):
        for partition in disk.list(f"/data/topics/{name}"):
            directory = f"/data/topics/{name}/{partition}"
            for file in disk.list(directory):
                disk.open(f"{directory}/{file}").sync()
            if partition.isdigit():
                disk.sync_dir(directory)
        disk.sync_dir(f"/data/topics/{name}")
    return disk.crash(0)


# The data directory.


def test_a_data_directory_keeps_its_cluster_id_and_raises_its_leader_epoch() -> None:
    disk = CrashDisk()
    seen = []
    for _ in range(3):
        manager = open_manager(disk)
        seen.append((manager.cluster_id, manager.leader_epoch))
        manager.close()

    assert len({cluster_id for cluster_id, _ in seen}) == 1
    assert len(seen[0][0]) == 22
    assert [epoch for _, epoch in seen] == [0, 1, 2]


def test_a_second_broker_is_told_that_the_directory_is_in_use() -> None:
    disk = CrashDisk()
    first = open_manager(disk)

    with pytest.raises(DataDirRefused, match="is in use"):
        open_manager(disk)
    first.close()
    open_manager(disk).close()


def test_a_newer_format_is_refused_and_nothing_is_changed() -> None:
    disk = CrashDisk()
    open_manager(disk).close()
    meta = read_checked(disk, "/data", "meta.properties") or b""
    newer = meta.replace(b"format.version=2", b"format.version=3")
    write_checked(disk, "/data", "meta.properties", newer)

    with pytest.raises(DataDirRefused, match="newer Duolog") as caught:
        open_manager(disk)

    assert "format 3" in caught.value.detail
    assert read_checked(disk, "/data", "leader-epoch") == b"0\n"
    write_checked(disk, "/data", "meta.properties", meta)
    assert open_manager(disk).leader_epoch == 1


def test_a_directory_of_something_else_is_refused() -> None:
    disk = CrashDisk()
    disk.make_dir("/data")
    disk.open("/data/holiday.jpg", create=True)

    with pytest.raises(DataDirRefused, match="not a data directory"):
        open_manager(disk)


def test_another_node_id_is_refused() -> None:
    disk = CrashDisk()
    open_manager(disk).close()

    with pytest.raises(DataDirRefused, match="belongs to node 0"):
        open_manager(disk, node_id=3)


def test_only_an_orderly_stop_counts_as_clean() -> None:
    disk = CrashDisk()
    open_manager(disk).close()
    clean = open_manager(disk)

    assert clean.started_clean
    assert not open_manager(killed(disk)).started_clean


def test_small_files_of_the_broker_are_kept() -> None:
    disk = CrashDisk()
    manager = open_manager(disk)
    assert manager.read_meta("producer-ids") is None

    manager.write_meta("producer-ids", b"1000")

    assert open_manager(disk.crash(1)).read_meta("producer-ids") == b"1000"


# Topics.


def test_topics_and_their_settings_survive_a_crash() -> None:
    disk = CrashDisk()
    manager = open_manager(disk)
    made = manager.topics.create("orders", 3, {"retention.ms": "5"})
    manager.topics.create("gone", 1)
    manager.topics.grow("orders", 5)
    manager.topics.alter("orders", {"retention.ms": "6"})
    manager.topics.delete("gone")

    for seed in range(10):
        (entry,) = open_manager(disk.crash(seed)).topics.entries()
        assert (entry.name, entry.id, entry.partitions) == ("orders", made.id, 5)
        assert entry.configs == {"retention.ms": "6"}


def test_a_topic_made_anew_has_another_id_and_is_empty() -> None:
    manager = open_manager(CrashDisk())
    first = manager.topics.create("orders", 1)
    fill(manager.log("orders", 0), 3)

    manager.topics.delete("orders")
    second = manager.topics.create("orders", 1)

    assert first.id != second.id
    assert manager.log("orders", 0).log_end_offset == 0


def test_requests_that_cannot_be_are_refused() -> None:
    manager = open_manager(CrashDisk())
    manager.topics.create("orders", 2)

    with pytest.raises(TopicExists):
        manager.topics.create("orders", 1)
    with pytest.raises(InvalidPartitions):
        manager.topics.create("none", 0)
    with pytest.raises(InvalidPartitions):
        manager.topics.grow("orders", 2)
    with pytest.raises(UnknownTopic):
        manager.log("orders", 2)
    with pytest.raises(UnknownTopic):
        manager.topics.delete("nothing")
    with pytest.raises(ConfigError):
        manager.topics.create("odd", 1, {"retention.mss": "5"})
    assert [entry.name for entry in manager.topics.entries()] == ["orders"]


def test_a_changed_setting_holds_for_the_open_log() -> None:
    manager = open_manager(CrashDisk())
    manager.topics.create("orders", 1)
    log = manager.log("orders", 0)

    manager.topics.alter("orders", {"segment.bytes": "4000"})

    assert log.config.segment_bytes_max == 4000


def test_partitions_that_were_never_written_have_no_files() -> None:
    disk = CrashDisk()
    manager = open_manager(disk)
    entry = manager.topics.create("orders", 500)
    fill(manager.log("orders", 7), 1)
    assert manager.log("orders", 8).read_bytes(0, 100, up_to_offset=0) == b""

    assert disk.list(f"/data/topics/{entry.id}") == ["7", "name=orders", "topic"]


# Recovery.


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
def test_a_file_that_lost_acknowledged_records_is_refused_with_words_for_people(
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


def test_retention_runs_over_all_logs() -> None:
    clock = FakeClock(now_ms=2000)
    manager = LogManager(CrashDisk(), "/data", clock, {**SETTINGS, "log.retention.ms": 5000})
    manager.topics.create("orders", 2)
    for partition in range(2):
        fill(manager.log("orders", partition), 3)

    early = manager.delete_old_segments()
    clock.advance(seconds=5)
    late = manager.delete_old_segments()

    assert (early, late) == (0, 2)


@pytest.mark.parametrize(("durability", "kept"), [("fsync", True), ("os", False)])
def test_what_a_killed_process_left_outlives_a_power_failure_where_that_was_promised(
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


def test_who_asks_in_vain_is_told_the_process_that_uses_the_directory(tmp_path: Path) -> None:
    first = LogManager(RealDisk(), str(tmp_path / "data"), FakeClock(), {})

    with pytest.raises(DataDirRefused) as refused:
        LogManager(RealDisk(), str(tmp_path / "data"), FakeClock(), {})

    assert refused.value.detail == f"The broker in process {os.getpid()} holds its lock."
    first.close()


@pytest.mark.parametrize("threads", [1, 4])
def test_a_stop_syncs_every_log_whatever_the_number_of_threads(
    tmp_path: Path, threads: int
) -> None:
    settings: dict[str, Value] = {"num.recovery.threads.per.data.dir": threads}
    manager = LogManager(RealDisk(), str(tmp_path / "data"), FakeClock(), settings)
    manager.topics.create("t", 20)
    for partition in range(20):
        log = manager.log("t", partition)
        log.append(memoryview(encode_batch([Record(0, 1, b"k", b"v" * 20_000)])))
    manager.close()

    manager = LogManager(RealDisk(), str(tmp_path / "data"), FakeClock(), settings)

    assert manager.started_clean
    assert [manager.log("t", partition).log_end_offset for partition in range(20)] == [1] * 20
    manager.close()


def test_a_sync_that_fails_in_a_stop_leaves_no_mark_of_a_clean_one() -> None:
    disk = CrashDisk()
    manager = open_manager(disk)
    manager.topics.create("t", 3)
    for partition in range(3):
        log = manager.log("t", partition)
        log.append(memoryview(encode_batch([Record(0, 1, b"k", b"v")])))
        log.write_staged()
    disk.fail("sync", OSError(5, "Input/output error"))

    with pytest.raises(LogDirOffline, match="closing the logs"):
        manager.close()
    disk.heal()

    assert not open_manager(disk).started_clean


@pytest.mark.parametrize(
    ("code", "helps"), [(errno.ENOSPC, "Make room"), (errno.EROFS, "Mount"), (errno.EIO, "disk")]
)
@pytest.mark.parametrize("operation", ["append", "sync"])
def test_a_start_that_the_disk_refuses_says_where_and_what_helps(
    operation: str, code: int, helps: str
) -> None:
    disk = CrashDisk()
    manager = open_manager(disk)
    manager.topics.create("orders", 1)
    fill(manager.log("orders", 0), 30)
    crashed = killed(disk)
    crashed.fail(operation, OSError(code, os.strerror(code)))

    with pytest.raises(DataDirRefused, match="/data") as caught:
        open_manager(crashed)

    assert os.strerror(code).lower() in caught.value.message
    assert helps in caught.value.hint
    crashed.heal()
    assert open_manager(crashed).log("orders", 0).log_end_offset == 30


@pytest.mark.parametrize("started_clean", [True, False])
def test_a_folder_that_is_removed_by_hand_takes_its_topic_and_nothing_else(
    *, started_clean: bool
) -> None:
    """What the hint of a full disk says."""
    disk = CrashDisk()
    manager = open_manager(disk)
    commit = manager.group_commit("fsync", lambda: None, threaded=False)
    for name in ("orders", "events"):
        manager.topics.create(name, 2, {})
        fill(manager.log(name, 1), 5)
    commit.close()
    entry = next(found for found in manager.topics.entries() if found.name == "orders")
    if started_clean:
        manager.close()
    disk = killed(disk)

    disk.remove_tree(f"/data/topics/{entry.id}")
    manager = open_manager(disk)

    assert [found.name for found in manager.topics.entries()] == ["events"]
    assert manager.log("events", 1).log_end_offset == 5
