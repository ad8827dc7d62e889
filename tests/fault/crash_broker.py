"""A whole broker in one thread, on a disk whose power can be cut at any operation.

No port, no thread, no waiting: connections are socket pairs, the loop is turned by hand, the clock
advances only when a test moves it, and the group commit syncs when a test requests it. A crash leaves the
object as it is and opens another broker on what the disk kept.
"""

from collections.abc import Callable
from typing import Any

from duolog.broker.broker import Broker
from duolog.broker.settings import BrokerSettings
from duolog.log.group_commit import Durability, GroupCommit
from duolog.log.log_manager import LogManager
from duolog.protocol.headers import RequestHeader
from duolog.protocol.messages import Messages
from duolog.record.batch import whole_batches
from duolog.record.records import decode_records
from duolog.testing.clock import FakeClock
from duolog.testing.disk import CrashDisk
from unit.broker.conftest import Harness

TOPIC = "t"
PARTITIONS = 3
SETTINGS = {
    "transaction.state.log.num.partitions": "2",
    "offsets.topic.num.partitions": "2",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}
TIMEOUT_MS = 60_000
_TURNS_MAX = 400


class _StillLogManager(LogManager):
    """A log manager whose group commit has no thread: the test syncs."""

    commit: GroupCommit

    def group_commit(
        self, durability: Durability, wake: Callable[[], None], *, threaded: bool = True
    ) -> GroupCommit:
        del threaded
        self.commit = super().group_commit(durability, wake, threaded=False)
        return self.commit


class _LoadedMessages(Messages):
    """Loads missing message classes synchronously: no request waits for a thread."""

    def loaded(self, header: RequestHeader) -> bool:
        if not super().loaded(header):
            self._load_request(header)
        return True


class CrashBroker(Harness):
    """A broker on `disk`; when the power is cut it raises nothing, and stops answering."""

    def __init__(self, disk: CrashDisk, clock: FakeClock, **settings: str) -> None:
        self.disk = disk
        self.clock = clock
        values = BrokerSettings({**SETTINGS, **settings})
        self.manager = _StillLogManager(disk, "/data", clock, values.values)
        self.broker = Broker(log_manager=self.manager, clock=clock, settings=values)
        self.broker.messages = _LoadedMessages()
        self._sockets = []
        self.broker.security.load()
        self.broker.groups.start()
        self.broker.transactions.start()
        self.settle()

    def turn(self) -> None:
        self.round()
        self.sync()

    def round(self) -> None:
        """Run the loop once, without waiting; nothing is synced."""
        self.broker.loop.run_once(0.0)

    def sync(self) -> None:
        """Run the group commit's pending requests."""
        self.manager.commit.run_pending()

    def settle(self, rounds: int = 20) -> None:
        for _ in range(rounds):
            self.turn()

    @property
    def dead(self) -> bool:
        return self.broker.rounds.failure is not None

    def leave(self) -> None:
        """Drop the broker as a crash does: nothing is written, nothing is closed in order."""
        for connection in list(self.broker.connections):
            connection.close("the broker is gone")
        for near in self._sockets:
            near.close()
        self.broker.loop.close()

    def crashed(self, seed: int | None) -> "CrashBroker":
        """Return the broker that starts after a power cut, or after a kill if there is no seed."""
        self.leave()
        disk = self.disk.kill() if seed is None else self.disk.crash(seed)
        return CrashBroker(disk, self.clock)

    # What must hold

    def pass_timeouts(self) -> None:
        """Advance the clock until every transaction has timed out."""
        self.settle()  # What was asked for before begins before.
        self.clock.advance(ms=TIMEOUT_MS + 1)
        for _ in range(4):
            self.clock.advance(ms=1001)
            self.settle()

    def logs(self) -> list[Any]:
        return [partition.log for topic in self.broker.topics for partition in topic.partitions]

    def hanging(self) -> list[Any]:
        """Return what is open, in any log or in the coordinator's records."""
        found: list[Any] = [
            (str(log.topic_partition), transaction)
            for log in self.logs()
            for transaction in log.open_transactions()
        ]
        found += [
            (str(log.topic_partition), log.last_stable_offset, log.high_watermark)
            for log in self.logs()
            if log.last_stable_offset != log.high_watermark
        ]
        found += [
            (name, record)
            for name, record in self.broker.transactions.records().items()
            if not record.state.idle
        ]
        return found

    def committed(self, partition: int) -> list[bytes]:
        """Return what a read_committed consumer is given of a partition, up to the end."""
        log = self.broker.log(TOPIC, partition)
        end = log.last_stable_offset
        if end == log.log_start_offset:
            return []
        data = log.read_bytes(log.log_start_offset, 1 << 24, up_to_offset=end)
        aborted = sorted(
            (item.first_offset, item.producer_id)
            for item in log.aborted_transactions(log.log_start_offset, end)
        )
        hidden: set[int] = set()
        seen: list[bytes] = []
        for header, batch in whole_batches(data):
            while aborted and aborted[0][0] <= header.base_offset:
                hidden.add(aborted.pop(0)[1])
            if header.control:
                hidden.discard(header.producer_id)
            elif header.producer_id not in hidden:
                seen += (record.value or b"" for record in decode_records(batch))
        return seen

    def visible(self) -> list[list[bytes]]:
        return [self.committed(partition) for partition in range(PARTITIONS)]

    def offsets(self, group: str) -> list[int]:
        return [value.offset for value in self.broker.groups.offsets(group).values()]


def opened(disk: CrashDisk | None = None, clock: FakeClock | None = None) -> CrashBroker:
    """Return a broker with the topic made."""
    broker = CrashBroker(disk or CrashDisk(), clock or FakeClock())
    if TOPIC not in broker.broker.topics:
        broker.topic(TOPIC, PARTITIONS)
    return broker
