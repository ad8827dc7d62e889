import pytest

from duolog.log import LogManager
from duolog.log.checkpoints import log_start
from duolog.log.data_directory.upgrade import upgrade
from duolog.log.errors import CorruptLog, DamagedFile, PartitionRefused
from duolog.log.files.checked_file import (
    decode_checked,
    encode_checked,
    read_checked,
    write_checked,
)
from duolog.log.files.disk import read_file
from duolog.record import Record, encode_batch
from duolog.testing import FakeClock
from duolog.testing.disk import CrashDisk

CONTENT = b"1200\n"
FILE = encode_checked("log-start-offset", CONTENT, version=2)


def decoded(data: bytes, name: str = "log-start-offset") -> bytes:
    return decode_checked(f"/data/{name}", data, version=2)


def test_content_round_trips() -> None:
    assert decoded(FILE) == CONTENT
    assert decoded(encode_checked("log-start-offset", b"", version=2)) == b""
    binary = bytes(range(256))
    assert decoded(encode_checked("log-start-offset", binary, version=2)) == binary


def test_any_flipped_bit_or_truncation_is_reported_with_the_file_name() -> None:
    flipped = [
        FILE[:i] + bytes([FILE[i] ^ (1 << bit)]) + FILE[i + 1 :]
        for i in range(len(FILE))
        for bit in range(8)
    ]
    cut = [FILE[:size] for size in range(len(FILE))]
    for data in [*flipped, *cut, FILE + b"\0", FILE + FILE, CONTENT]:
        with pytest.raises(DamagedFile, match='"/data/log-start-offset" is damaged'):
            decoded(data)


def test_a_file_copied_over_another_is_detected() -> None:
    with pytest.raises(DamagedFile):
        decoded(FILE, "leader-epoch")


def test_another_version_is_not_reported_as_damage() -> None:
    with pytest.raises(DamagedFile, match="has the version 2"):
        decode_checked("/data/log-start-offset", FILE)


# The files of a data directory.


def batch() -> memoryview:
    return memoryview(encode_batch([Record(0, 1000, b"k", b"v" * 100)]))


def used_directory(clean: bool) -> CrashDisk:  # noqa: FBT001
    """Return a data directory of two topics with everything that a partition may have."""
    disk = CrashDisk()
    manager = LogManager(disk, "/data", FakeClock(), {})
    for name in ("a", "b"):
        manager.topics.create(name, 1, {"segment.bytes": "2000"})
        log = manager.log(name, 0)
        for _ in range(40):
            log.append(batch())
        log.write_staged()
        log.high_watermark = 40
        log.advance_log_start(15)
        commit = manager.group_commit("fsync", lambda: None, threaded=False)
        commit.save(log, lambda: None)
        commit.run_pending()
    manager.write_meta("producer-ids", b"1000")
    if clean:
        manager.close()
        return disk
    return disk.kill()


def facts(disk: CrashDisk) -> dict[str, object]:
    """Return what a start finds; by name why a partition or the directory is refused."""
    try:
        manager = LogManager(disk.crash(1), "/data", FakeClock(), {})
    except CorruptLog as error:
        return {"start": error.message}
    found: dict[str, object] = {"producer-ids": manager.read_meta("producer-ids")}
    for name in ("a", "b"):
        try:
            log = manager.log(name, 0)
        except PartitionRefused as error:
            found[name] = error.message
            continue
        ends = (log.log_start_offset, log.log_end_offset)
        records = log.read_bytes(ends[0], 10**6, up_to_offset=ends[1])
        found[name] = (*ends, records[:61], log.offset_for_leader_epoch(0))
    return found


def all_files(disk: CrashDisk, path: str) -> list[str]:
    found = []
    for name in disk.list(path):
        below = all_files(disk, f"{path}/{name}")
        found += below or [f"{path}/{name}"]
    return found


@pytest.mark.parametrize("clean", [True, False])
def test_a_flipped_bit_in_a_small_file_is_refused_or_changes_nothing(clean: bool) -> None:  # noqa: FBT001
    disk = used_directory(clean)
    expected = facts(disk)
    small = [
        path
        for path in all_files(disk, "/data")
        if (read_file(disk, path) or b"").startswith(b"#duolog")
    ]
    assert {path.rpartition("/")[2] for path in small} >= {
        "meta.properties",
        "leader-epoch",
        "producer-ids",
        "topic",
        "log-start-offset",
        "recovery-point",
        "leader-epoch-checkpoint",
    }

    for path in small:
        size_bytes = disk.size(path)
        for position in {0, 7, size_bytes // 2, size_bytes - 2}:
            file = disk.open(path)
            (byte,) = file.pread(position, 1)
            file.pwrite(position, bytes([byte ^ 4]))
            file.sync()

            try:
                found = facts(disk)
            except DamagedFile as error:  # The broker reads the file, and gets this error.
                found = {"start": error.message}
            for what, value in found.items():
                refused = isinstance(value, str) and path in value
                assert refused or value == expected[what], (path, position)
            file.pwrite(position, bytes([byte]))
            file.sync()


def test_one_partition_is_refused_and_the_others_are_served() -> None:
    disk = used_directory(clean=True)
    manager = LogManager(disk, "/data", FakeClock(), {})
    directory = manager.log("a", 0).directory
    manager.close()
    disk.open(f"{directory}/log-start-offset").pwrite(50, b"7")

    manager = LogManager(disk, "/data", FakeClock(), {})

    assert list(manager.logs.refused) == [("a", 0)]
    assert [log.topic_partition.topic for log in manager.logs] == ["b"]
    with pytest.raises(PartitionRefused, match="log-start-offset") as caught:
        manager.log("a", 0)
    assert "delete the topic" in caught.value.hint
    manager.topics.delete("a")
    assert manager.logs.refused == {}
    assert disk.exists(directory) is False


def test_a_log_start_after_the_log_end_deletes_nothing() -> None:
    disk = used_directory(clean=False)
    manager = LogManager(disk, "/data", FakeClock(), {})
    directory = manager.log("a", 0).directory
    before = disk.list(directory)
    log_start.write_log_start(disk, directory, 1000)

    again = LogManager(disk.kill(), "/data", FakeClock(), {})

    with pytest.raises(PartitionRefused, match="lost acknowledged records"):
        again.log("a", 0)
    assert disk.list(directory) == before


def test_a_leader_epoch_that_went_back_is_detected() -> None:
    disk = used_directory(clean=False)
    write_checked(disk, "/data", "leader-epoch", b"5\n")
    manager = LogManager(disk.kill(), "/data", FakeClock(), {})
    manager.log("a", 0).append(batch())
    manager.log("a", 0).write_staged()
    write_checked(disk, "/data", "leader-epoch", b"0\n")

    with pytest.raises(PartitionRefused, match="leader epoch"):
        LogManager(disk.kill(), "/data", FakeClock(), {}).log("a", 0)


# The first format.


def as_first_format(disk: CrashDisk) -> CrashDisk:
    """Write the small files of a directory as they were before they had checksums."""
    for path in all_files(disk, "/data"):
        directory, _, name = path.rpartition("/")
        data = read_file(disk, path) or b""
        if not data.startswith(b"#duolog"):
            continue
        content = read_checked(disk, directory, name) or b""
        forms = {"recovery-point": 2, "compaction.swap": 1}
        if name in forms:
            content = forms[name].to_bytes(2, "big") + content
            content = _crc(content) + content
        if name == "clean-shutdown":
            content = b"\n"
        if name == "meta.properties":
            content = content.replace(b"version=2", b"version=1")
        disk.remove(path)
        old = disk.open(f"{directory}/topic.json" if name == "topic" else path, create=True)
        old.append([content])
        old.sync()
        disk.sync_dir(directory)
    return disk


def _crc(data: bytes) -> bytes:
    from crc32c import crc32c  # noqa: PLC0415

    return crc32c(data).to_bytes(4, "big")


@pytest.mark.parametrize("clean", [True, False])
def test_a_directory_of_the_first_format_is_read_and_brought_to_the_second(
    clean: bool,  # noqa: FBT001
) -> None:
    disk = used_directory(clean)
    expected = facts(disk)
    old = as_first_format(disk)

    manager = LogManager(old, "/data", FakeClock(), {})

    assert manager.started_clean is clean
    assert b"format.version=2" in (read_checked(old, "/data", "meta.properties") or b"")
    assert {path for path in all_files(old, "/data") if path.endswith("topic.json")} == set()
    assert facts(old.kill()) == expected


def test_a_creation_that_a_crash_cut_off_in_the_first_format_is_forgotten() -> None:
    expected = facts(used_directory(clean=True))
    old = as_first_format(used_directory(clean=True))
    directory = "/data/topics/4b0f5a3e-0000-4000-8000-000000000000"
    old.make_dir(directory)
    old.open(f"{directory}/topic.json.tmp", create=True).append([b"{"])

    LogManager(old, "/data", FakeClock(), {})

    assert not old.exists(directory)
    assert facts(old.kill()) == expected


def test_the_power_may_go_at_any_step_of_it() -> None:
    expected = facts(used_directory(clean=True))
    old = as_first_format(used_directory(clean=True))
    old.operations = 0
    counting = old.crash(0)
    upgrade(counting, "/data")
    steps = counting.operations
    assert steps > 30

    for cut in range(0, steps, 3):
        disk = old.crash(cut)
        disk.power_off_after(operations=cut)
        with pytest.raises(OSError, match="power"):
            LogManager(disk, "/data", FakeClock(), {})
        assert facts(disk.crash(cut)) == expected
