import pytest

from duolog.core.errors import ConfigError
from duolog.log.errors import (
    InvalidPartitions,
    TopicExists,
    UnknownTopic,
)
from duolog.testing.disk import CrashDisk
from unit.log.log_directory import fill, killed, open_manager


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


def test_a_recreated_topic_has_another_id_and_is_empty() -> None:
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


@pytest.mark.parametrize("started_clean", [True, False])
def test_a_folder_that_is_removed_by_hand_takes_its_topic_and_nothing_else(
    *, started_clean: bool
) -> None:
    """The hint of a full disk says this."""
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
