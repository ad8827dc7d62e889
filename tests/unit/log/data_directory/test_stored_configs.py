"""Stored configs of topics that cannot be used: the start succeeds, and no record is lost by it."""

import json
from typing import TYPE_CHECKING, Final

import pytest

from duolog.core.units import INT64_MAX
from duolog.log import LogManager, topic_values
from duolog.log.data_directory.stored_configs import KEEPS_RECORDS, usable_configs
from duolog.log.data_directory.topics import TOPIC_FILE_NAME
from duolog.log.files.checked_file import read_checked, write_checked
from duolog.testing import FakeClock
from duolog.testing.disk import CrashDisk

if TYPE_CHECKING:
    from duolog.core.setting_types import Value

STORED: Final = {"segment.bytes": "1048576", "retention.ms": "soon", "of.tomorrow": "1"}


def open_manager(disk: CrashDisk) -> LogManager:
    return LogManager(disk, "/data", FakeClock(), {})


def stored(disk: CrashDisk, topic: str) -> dict[str, object]:
    manager = open_manager(disk)
    entry = manager.topics.get(topic)
    assert entry is not None
    manager.close()
    data = read_checked(disk, f"/data/topics/{entry.id}", TOPIC_FILE_NAME)
    assert data is not None
    return dict(json.loads(data))


def with_configs(configs: dict[str, str]) -> CrashDisk:
    """Return the disk of a stopped manager; a topic has configs that another version stored."""
    disk = CrashDisk()
    manager = open_manager(disk)
    for topic in ("orders", "others"):
        entry = manager.topics.create(topic, 1, {})
    manager.close()
    content = stored(disk, "others") | {"configs": configs}
    directory = f"/data/topics/{entry.id}"
    write_checked(disk, directory, TOPIC_FILE_NAME, json.dumps(content).encode())
    return disk


def test_a_config_that_cannot_be_used_keeps_no_topic_from_being_served(
    caplog: pytest.LogCaptureFixture,
) -> None:
    manager = open_manager(with_configs(STORED))

    assert manager.log("orders", 0).config.retention_ms > 0
    config = manager.log("others", 0).config
    assert (config.segment_bytes_max, config.retention_ms) == (1048576, -1)
    told = [(row.topic, row.config, row.in_force) for row in caplog.records if row.levelno >= 40]  # type: ignore[attr-defined]
    assert told == [
        ("others", "retention.ms", "retention.ms=-1"),
        ("others", "of.tomorrow", "the default"),
    ]


def test_the_file_keeps_what_was_stored_until_a_config_is_changed() -> None:
    disk = with_configs(STORED)
    manager = open_manager(disk)
    manager.topics.configure("others")
    manager.close()
    assert stored(disk, "others")["configs"] == STORED

    manager = open_manager(disk)
    entry = manager.topics.get("others")
    assert entry is not None
    manager.topics.alter("others", {**entry.configs, "segment.ms": "1000"})
    manager.close()

    changed = {"segment.bytes": "1048576", "retention.ms": "-1", "segment.ms": "1000"}
    assert stored(disk, "others")["configs"] == changed


@pytest.mark.parametrize("name", KEEPS_RECORDS)
def test_an_unusable_config_about_deletion_deletes_and_compacts_nothing(name: str) -> None:
    broker: dict[str, Value] = {"log.cleanup.policy": ("delete", "compact"), "log.retention.ms": 1}

    values = topic_values(usable_configs("orders", {name: "often?"}), broker)

    neutral: dict[str, object] = {"cleanup.policy": (), "delete.retention.ms": INT64_MAX}
    neutral |= {"retention.ms": -1, "retention.bytes": -1, "min.compaction.lag.ms": INT64_MAX}
    assert values[name] == neutral[name]
