"""A process that is killed leaves what it wrote in the page cache, and a power loss takes that.

So whatever a start finds and builds upon must be made durable by that start: bytes, and names too.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Final

import pytest

from duolog.core.setting_types import Value
from duolog.log import LogManager, PartitionLog
from duolog.log.errors import LogDirOffline
from duolog.log.group_commit import Durability
from duolog.record import Record, encode_batch
from duolog.testing import FakeClock
from duolog.testing.disk import CrashDisk, PowerLost

SETTINGS: Final[dict[str, Value]] = {"log.segment.bytes": 2000, "log.retention.ms": 10_000}
SEEDS: Final = range(12)


class Broker:
    """A log manager with its group commit, in one process on `disk`."""

    def __init__(
        self, disk: CrashDisk, *, durability: Durability = "fsync", point_bytes: int = 10**6
    ) -> None:
        self.disk = disk
        settings = {**SETTINGS, "log.recovery.point.bytes": point_bytes}
        self.manager = LogManager(disk, "/data", FakeClock(), settings)
        self.commit = self.manager.group_commit(durability, lambda: None, threaded=False)

    @property
    def log(self) -> PartitionLog:
        return self.manager.log("t", 0)

    def write(self, count: int = 1, value_bytes: int = 100) -> None:
        for _ in range(count):
            self.log.append(memoryview(encode_batch([Record(0, 1, b"k", bytes(value_bytes))])))
        self.log.write_staged()

    def acknowledge(self) -> int:
        """Return the log end offset, once all below it is promised to clients."""
        ticket = self.commit.request([self.log])
        self.commit.run_pending()
        assert self.commit.completed_ticket >= ticket
        self.log.high_watermark = self.log.log_end_offset
        return self.log.log_end_offset

    def stop(self) -> None:
        self.commit.close()
        self.manager.close()

    def ends_after_power_loss(self) -> set[int]:
        return {Broker(self.disk.crash(seed)).log.log_end_offset for seed in SEEDS}


def test_the_name_of_a_new_partition_is_made_durable_by_the_start_that_finds_it() -> None:
    killed = Broker(CrashDisk())
    killed.manager.topics.create("t", 1)
    killed.write()
    broker = Broker(killed.disk.kill())
    broker.write()

    end = broker.acknowledge()

    assert broker.ends_after_power_loss() == {end}


def test_the_name_of_a_new_segment_is_made_durable_by_the_start_that_finds_it() -> None:
    killed = Broker(CrashDisk(), point_bytes=1)
    killed.manager.topics.create("t", 1)
    killed.write(3)
    killed.acknowledge()
    killed.log.roll()
    broker = Broker(killed.disk.kill())
    broker.write()

    end = broker.acknowledge()

    assert broker.ends_after_power_loss() == {end}


def test_a_segment_that_retention_began_is_durable_after_an_orderly_stop() -> None:
    stopped = Broker(CrashDisk())
    stopped.manager.topics.create("t", 1)
    stopped.write(3)
    stopped.acknowledge()
    stopped.log.delete_old_segments(now_ms=10**9)
    stopped.stop()
    broker = Broker(stopped.disk.kill())
    broker.write()

    end = broker.acknowledge()

    assert broker.ends_after_power_loss() == {end}


def test_a_topic_that_a_start_finds_is_durable_wherever_its_creation_was_killed() -> None:
    for changes in range(30):
        disk = CrashDisk()
        killed = Broker(disk)
        disk.power_off_after(operations=changes)
        with suppress(PowerLost, LogDirOffline):
            killed.manager.topics.create("t", 1)
        broker = Broker(disk.kill())
        if broker.manager.topics.get("t") is None:
            continue
        broker.write()

        end = broker.acknowledge()

        assert broker.ends_after_power_loss() == {end}, changes


def write_and_stop(broker: Broker) -> None:
    broker.write(3)
    broker.acknowledge()
    broker.stop()


def roll_and_stop(broker: Broker) -> None:
    broker.write(40)
    broker.acknowledge()
    broker.stop()


@pytest.mark.parametrize("life", [write_and_stop, roll_and_stop])
def test_an_orderly_stop_makes_all_durable_even_where_acknowledgements_did_not(
    life: Callable[[Broker], None],
) -> None:
    broker = Broker(CrashDisk(), durability="os")
    broker.manager.topics.create("t", 1)

    life(broker)

    assert len(broker.ends_after_power_loss()) == 1
