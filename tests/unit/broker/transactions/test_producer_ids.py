from collections.abc import Callable
from typing import Any

import pytest

from duolog.broker.configs.client_quotas import ClientQuotas
from duolog.broker.configs.dynamic_config_store import ConfigStore
from duolog.broker.transactions.producer_ids import ProducerIds
from duolog.log import LogManager
from duolog.log.errors import DamagedFile
from duolog.record import Record, encode_batch
from duolog.record.records import BatchProducer
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

    with pytest.raises(DamagedFile, match="/data/producer-ids") as caught:
        ProducerIds(manager)
    assert caught.value.hint.startswith("Remove the file: new producer ids then start far above")


@pytest.mark.parametrize(
    ("name", "store", "without"),
    [
        ("dynamic-configs", ConfigStore, "nothing is set at run time"),
        ("client-quotas", ClientQuotas, "there are no quotas"),
    ],
)
def test_the_hint_says_that_other_small_files_may_be_removed_too(
    name: str, store: Callable[[LogManager], object], without: str
) -> None:
    """The page of the data directory said so, and the message to restore them."""
    disk = CrashDisk()
    manager = open_manager(disk)
    manager.write_meta(name, b"{}")
    disk.open(f"/data/{name}").pwrite(3, b"\xff")

    with pytest.raises(DamagedFile, match=name) as caught:
        store(manager)

    assert f"or remove it: then {without}" in caught.value.hint


def test_a_file_that_is_missing_gives_no_id_again() -> None:
    """The first record of a producer with another one's id was acknowledged and never written."""
    disk = CrashDisk()
    given: list[int] = []
    for _ in range(3):
        manager = open_manager(disk)
        ids = ProducerIds(manager)
        given += [ids.take() for _ in range(1200)]
        if manager.topics.get("orders") is None:
            manager.topics.create("orders", 1)
        log = manager.log("orders", 0)
        batch = encode_batch([Record(0, 1, b"k", b"v")], producer=BatchProducer(given[-1], 0, 0))
        log.append(memoryview(batch))
        manager.close()
        disk.remove("/data/producer-ids")

    assert len(set(given)) == len(given)
    assert given[:2] == [0, 1], "a directory without producers begins at 0"
