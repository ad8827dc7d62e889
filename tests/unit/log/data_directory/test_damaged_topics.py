"""One damaged description of a topic costs this topic, by its name, and no other."""

from collections.abc import Callable
from typing import Final
from uuid import uuid4

import pytest

from duolog.log import LogManager, PartitionLog
from duolog.log.errors import CorruptLog, PartitionRefused, TopicExists, TopicRefused
from duolog.record import Record, encode_batch
from duolog.testing import FakeClock
from duolog.testing.disk import CrashDisk

TOPICS: Final = "/data/topics"


def open_manager(disk: CrashDisk) -> LogManager:
    return LogManager(disk, "/data", FakeClock(), {})


def append(log: PartitionLog, value: bytes) -> None:
    log.append(memoryview(encode_batch([Record(0, 1, b"k", value)])))
    log.write_staged()
    log.high_watermark = log.log_end_offset


def used(*, clean: bool = True) -> tuple[CrashDisk, str]:
    """Return a disk with two topics and the directory of one, "orders"."""
    disk = CrashDisk()
    manager = open_manager(disk)
    for topic in ("orders", "others"):
        manager.topics.create(topic, 4, {"retention.ms": "777"})
        append(manager.log(topic, 2), b"v")
    directory = f"{TOPICS}/{manager.topics.get('orders').id}"  # type: ignore[union-attr]
    if clean:
        manager.close()
    return disk, directory


def flipped(disk: CrashDisk, path: str) -> None:
    file = disk.open(path)
    byte = file.pread(60, 1)[0]
    file.pwrite(60, bytes([byte ^ 1]))


def as_a_directory(disk: CrashDisk, path: str) -> None:
    disk.remove(path)
    disk.make_dir(path)


def of_another_topic(disk: CrashDisk, path: str) -> None:
    (other,) = {name for name in disk.list(TOPICS) if name not in path}
    content = disk.open(f"{TOPICS}/{other}/topic")
    file = disk.open(path)
    file.truncate(0)
    file.append([content.pread(0, content.size_bytes)])


DAMAGES: Final[list[Callable[[CrashDisk, str], object]]] = [
    flipped,
    as_a_directory,
    of_another_topic,
    lambda disk, path: disk.open(path).truncate(0),
    lambda disk, path: disk.open(path).truncate(70),
    lambda disk, path: disk.remove(path),
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_only_the_damaged_topic_is_refused_by_name(
    damage: Callable[[CrashDisk, str], object],
) -> None:
    disk, directory = used()
    damage(disk, f"{directory}/topic")

    manager = open_manager(disk)

    assert manager.log("others", 2).high_watermark == 1
    with pytest.raises(PartitionRefused, match=f"orders-2.* is not served.*{directory}") as caught:
        manager.log("orders", 2)
    assert "Restore the file" in caught.value.hint


def test_its_name_and_its_place_are_kept() -> None:
    disk, directory = used()
    disk.open(f"{directory}/topic").truncate(0)
    manager = open_manager(disk)

    with pytest.raises(TopicExists):
        manager.topics.create("orders", 1)
    with pytest.raises(
        TopicRefused, match=f'topic "orders" is not served: file "{directory}/topic"'
    ):
        manager.topics.grow("orders", 9)
    with pytest.raises(TopicRefused):
        manager.topics.alter("orders", {})
    assert disk.open(f"{directory}/topic").size_bytes == 0
    manager.topics.delete("orders")
    assert disk.list(directory) == []
    assert manager.logs.refused == {}


@pytest.mark.parametrize("clean", [True, False])
def test_a_damaged_topic_is_served_again_after_repair(*, clean: bool) -> None:
    """A start after a clean stop used to treat the tail that the kill had torn as lost records."""
    disk, directory = used(clean=clean)
    if not clean:
        disk = disk.kill()
        disk.open(f"{directory}/2/{0:020d}.log").append([b"torn"])
    description = disk.open(f"{directory}/topic")
    content = description.pread(0, description.size_bytes)
    description.truncate(5)
    manager = open_manager(disk)
    assert manager.logs.refused
    manager.close()
    description = disk.open(f"{directory}/topic")
    description.truncate(0)
    description.append([content])

    manager = open_manager(disk)

    entry = manager.topics.get("orders")
    assert entry is not None
    assert (entry.partitions, entry.configs) == (4, {"retention.ms": "777"})
    assert manager.log("orders", 2).high_watermark == 1


def test_a_directory_of_an_older_duolog_gets_its_names() -> None:
    disk, directory = used()
    disk.remove(f"{directory}/name=orders")
    open_manager(disk).close()
    disk.open(f"{directory}/topic").truncate(0)

    assert {topic for topic, _ in open_manager(disk).logs.refused} == {"orders"}


def test_without_a_name_the_start_is_refused() -> None:
    """It could be the topic of the committed offsets, which would be created again without its content."""
    disk, directory = used()
    disk.remove(f"{directory}/name=orders")
    disk.open(f"{directory}/topic").truncate(0)

    with pytest.raises(CorruptLog, match=f"{directory}/topic"):
        open_manager(disk)


def test_records_without_a_topic_id_are_kept() -> None:
    disk, directory = used()
    for name in ("lost+found", f"{uuid4()} (copy)", "orders.deleted"):
        disk.make_dir(f"{TOPICS}/{name}/0")
    disk.open(f"{TOPICS}/.DS_Store", create=True)

    manager = open_manager(disk)

    assert [entry.name for entry in manager.topics.entries()] == sorted(
        ["orders", "others"],
        key=lambda name: str(manager.topics.get(name).id),  # type: ignore[union-attr]
    )
    assert disk.exists(f"{TOPICS}/orders.deleted/0")
    assert disk.exists(directory)


def test_a_creation_that_was_cut_off_leaves_nothing() -> None:
    disk, _ = used()
    begun = f"{TOPICS}/{uuid4()}"
    disk.make_dir(begun)
    for name in ("name=new", "topic.tmp"):
        disk.open(f"{begun}/{name}", create=True)

    manager = open_manager(disk)

    assert manager.topics.get("new") is None
    assert disk.list(begun) == []
