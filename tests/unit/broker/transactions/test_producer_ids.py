from typing import Any

import pytest

from duolog.broker.transactions.producer_ids import ProducerIds
from duolog.log import LogManager
from duolog.log.errors import DamagedFile
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
