from typing import Any

import pytest

from duolog.broker.transactions.producer_ids import ProducerIds
from duolog.log import LogManager
from duolog.log.errors import DamagedFile
from duolog.record import Record, encode_batch
from duolog.testing import FakeClock
from duolog.testing.disk import CrashDisk


def open_manager(disk: CrashDisk) -> LogManager:
    return LogManager(disk, "/data", FakeClock(), {})


def test_an_id_is_never_given_again_whatever_a_crash_leaves() -> None:
    disk = CrashDisk()
    given: list[int] = []
    for seed in range(5):
        ids = ProducerIds(open_manager(disk))
        given += [ids.take() for _ in range(1200)]
        disk = disk.crash(seed)

    assert len(set(given)) == len(given)


@pytest.mark.parametrize("content", [b"", b"x", b"1000"])
def test_a_damaged_file_refuses_the_start_by_its_name(content: bytes) -> None:
    disk = CrashDisk()
    manager = open_manager(disk)
    ProducerIds(manager).take()
    file: Any = disk.open("/data/producer-ids")
    file.truncate(0)
    file.append([content])

    with pytest.raises(DamagedFile, match="/data/producer-ids"):
        ProducerIds(manager)


def test_a_file_that_is_missing_gives_no_id_again() -> None:
    """The first record of a producer with another one's id was acknowledged and never written."""
    disk = CrashDisk()
    given: list[int] = []
    for _ in range(3):
        manager = open_manager(disk)
        ids = ProducerIds(manager)
        given += [ids.take() for _ in range(1200)]
        if manager.topic("orders") is None:
            manager.create_topic("orders", 1)
        log = manager.log("orders", 0)
        batch = encode_batch([Record(0, 1, b"k", b"v")], producer_id=given[-1], producer_epoch=0, base_sequence=0)  # fmt: skip
        log.append(memoryview(batch))
        manager.close()
        disk.remove("/data/producer-ids")

    assert len(set(given)) == len(given)
    assert given[:2] == [0, 1], "a directory without producers begins at 0"
