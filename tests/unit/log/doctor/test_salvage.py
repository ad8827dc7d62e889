"""Salvage: each whole batch is in the copy with its bytes and offsets, the rest is listed."""

from random import Random

import pytest

from duolog.log import LogManager
from duolog.log.doctor import Salvaged, examine, salvage
from duolog.log.doctor.overlay import OverlayDisk
from duolog.log.errors import DataDirRefused
from duolog.log.files.disk import Disk, read_file
from duolog.record import crc_matches, whole_batches
from duolog.testing import FakeClock
from duolog.testing.disk import CrashDisk
from property.test_compaction_crashes import filled_log
from unit.log.doctor.small_directory import (
    DATA,
    PARTITIONS,
    TOPIC,
    files_of,
    flipped,
    served,
    small_directory,
)

OUT = "/salvaged/data"


def batches_of(disk: Disk, directory: str, partition: int) -> dict[int, bytes]:
    """Return the whole batches in the files of a partition, by their base offsets."""
    found = {}
    for path in files_of(disk, directory):
        if f"/{partition}/" in path and path.endswith(".log"):
            for header, batch in whole_batches(read_file(disk, path) or b""):
                found[header.base_offset] = bytes(batch)
    return found


def salvaged(disk: Disk) -> tuple[Salvaged, CrashDisk]:
    out = CrashDisk()
    return salvage(disk, DATA, out, OUT), out


def opened(disk: CrashDisk) -> LogManager:
    manager = LogManager(disk, OUT, FakeClock(), {})
    assert manager.logs.refused == {}
    return manager


def test_a_whole_directory_is_copied_whole() -> None:
    disk = small_directory()
    state = served(disk)

    result, out = salvaged(disk)

    assert (result.lost, result.remarks, result.partitions) == ([], [], PARTITIONS)
    for partition in range(PARTITIONS):
        copied = batches_of(out, OUT, partition)
        assert copied.items() <= batches_of(disk, DATA, partition).items()
    assert examine(out, OUT).healthy
    renamed = CrashDisk()
    salvage(disk, DATA, renamed, DATA)
    assert served(renamed) == state


@pytest.mark.parametrize("seed", range(30))
def test_damage_costs_only_its_own_batches(seed: int) -> None:
    random = Random(seed)  # noqa: S311 - chance
    disk = small_directory(stopped=seed % 2 == 0)
    paths = [p for p in files_of(disk) if p.endswith(".log") and disk.size(p) and "/2/" not in p]
    path = random.choice(paths)
    partition = int(path.split("/")[-2])
    position = random.randrange(disk.size(path))
    before = batches_of(disk, DATA, partition)
    header = next(
        header
        for header, batch in whole_batches(read_file(disk, path) or b"")
        if before.setdefault(header.base_offset, bytes(batch)) is not None
        and _end(disk, path, header.base_offset) > position
    )
    damaged = flipped(disk, path, 8 * position + random.randrange(8))

    result, out = salvaged(damaged)

    copied = batches_of(out, OUT, partition)
    harmless = 12 <= position - _end(disk, path, header.base_offset) + header.size_bytes < 16
    if harmless:  # The leader epoch is not part of the checksum.
        assert result.lost == []
        return
    del before[header.base_offset]
    assert copied == before
    (lost,) = result.lost
    assert (lost.topic, lost.partition, lost.first_offset) == (
        TOPIC,
        partition,
        header.base_offset,
    )
    assert lost.next_offset in (header.next_offset, None)
    log = opened(out).log(TOPIC, partition)
    assert log.log_end_offset == max(before) + 1 or log.log_end_offset > max(before)
    assert all(crc_matches(batch) for batch in copied.values())


def _end(disk: Disk, path: str, base_offset: int) -> int:
    """Return the position in a file where the batch with this base offset ends."""
    end = 0
    for header, _ in whole_batches(read_file(disk, path) or b""):
        end += header.size_bytes
        if header.base_offset == base_offset:
            return end
    raise AssertionError(base_offset)


def test_a_missing_segment_is_one_lost_range() -> None:
    disk = small_directory()
    segments = sorted(p for p in files_of(disk) if "/1/" in p and p.endswith(".log"))
    bases = [int(path.rpartition("/")[2][:20]) for path in segments]
    without = OverlayDisk(disk)
    without.remove(segments[1])

    result, out = salvaged(without)

    assert [tuple(one)[:4] for one in result.lost] == [(TOPIC, 1, bases[1], bases[2])]
    log = opened(out).log(TOPIC, 1)
    assert log.read(bases[1], 10_000, up_to_offset=log.log_end_offset).first_offset == bases[2]


def test_a_missing_first_segment_moves_the_log_start() -> None:
    disk = small_directory()
    segments = sorted(p for p in files_of(disk) if "/1/" in p and p.endswith(".log"))
    first_kept = int(segments[1].rpartition("/")[2][:20])
    without = OverlayDisk(disk)
    without.remove(segments[0])

    result, out = salvaged(without)

    assert [tuple(one)[:4] for one in result.lost] == [(TOPIC, 1, 0, first_kept)]
    assert opened(out).log(TOPIC, 1).log_start_offset == first_kept


def test_a_compacted_log_keeps_its_holes_without_loss() -> None:
    cleaned = filled_log()
    cleaned.compact()

    result, out = salvaged(cleaned.disk.kill())

    assert result.lost == []
    log = opened(out).log("kept", 0)
    assert log.log_end_offset == cleaned.log.log_end_offset
    assert examine(out, OUT).healthy


def test_damaged_files_at_the_top_are_named_and_replaced() -> None:
    disk = small_directory()
    for name in ("meta.properties", "dynamic-configs", "leader-epoch", "last-start"):
        disk.open(f"{DATA}/{name}").pwrite(40, b"?")
    disk.remove(f"{DATA}/clean-shutdown")

    result, out = salvaged(disk)

    assert len(result.remarks) == 3
    assert sorted(remark.split()[0] for remark in result.remarks) == [
        "dynamic-configs",
        "leader-epoch",
        "meta.properties",
    ]
    assert opened(out).leader_epoch == 2


def test_a_topic_without_its_description_is_salvaged_under_its_name() -> None:
    disk = small_directory()
    topic = next(path for path in files_of(disk) if path.endswith("/topic"))
    disk.open(topic).truncate(10)

    result, out = salvaged(disk)

    assert len(result.remarks) == 1
    assert f'topic "{TOPIC}"' in result.remarks[0]
    assert opened(out).log(TOPIC, 2).log_end_offset > 9


def test_a_directory_with_content_is_refused() -> None:
    disk, out = small_directory(), CrashDisk()
    out.make_dir(OUT)
    out.open(f"{OUT}/mine", create=True)

    with pytest.raises(DataDirRefused, match="is not empty"):
        salvage(disk, DATA, out, OUT)

    assert files_of(out, OUT) == [f"{OUT}/mine"]


def test_the_source_is_not_changed() -> None:
    disk = small_directory(stopped=False)
    before = {path: read_file(disk, path) for path in files_of(disk)}
    operations = disk.operations

    salvaged(disk)

    assert disk.operations == operations
    assert before == {path: read_file(disk, path) for path in files_of(disk)}


def test_an_end_that_a_stop_has_noted_is_compared() -> None:
    disk = small_directory()
    path = max(p for p in files_of(disk) if "/1/" in p and p.endswith(".log"))
    *_, (header, _batch) = whole_batches(read_file(disk, path) or b"")
    disk.open(path).truncate(disk.size(path) - header.size_bytes)

    result, out = salvaged(disk)

    assert [tuple(one)[:4] for one in result.lost] == [
        (TOPIC, 1, header.base_offset, header.next_offset)
    ]
    assert opened(out).log(TOPIC, 1).log_end_offset == header.base_offset


def test_an_impossible_leader_epoch_is_replaced() -> None:
    disk = small_directory()
    path = next(p for p in files_of(disk) if p.endswith("/1/00000000000000000000.log"))
    header, _ = next(whole_batches(read_file(disk, path) or b""))
    disk.open(path).pwrite(header.size_bytes + 12, b"\x7f\xff\xff\xff")

    result, out = salvaged(disk)

    assert result.lost == []
    assert result.remarks == [
        f'partition "{TOPIC}-1": 1 record batch had an impossible leader epoch, which was replaced'
    ]
    assert opened(out).log(TOPIC, 1).log_end_offset > header.next_offset
