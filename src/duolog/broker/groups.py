"""The group coordinator's hands: its log, its timers and its replies.

    request ─▶ coordinator ─▶ Outcome ─▶ replies leave
                                │
                                └─▶ records ─▶ __consumer_offsets ─▶ on the disk ─▶ replay
                                                                                    └─▶ deferred replies

`__consumer_offsets` is made with the first record. A group's records lie in the partition that
Kafka's hash gives it. At a start they are replayed in slices, so that a long log does not hold the
loop; until that is done groups answer COORDINATOR_LOAD_IN_PROGRESS.

All of it runs on the broker's loop.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, cast
from uuid import uuid4

from duolog.broker.errors import kafka_code
from duolog.coordinator.coordinator import GroupCoordinator
from duolog.coordinator.decoding import decode_record
from duolog.coordinator.errors import NOT_COORDINATOR
from duolog.coordinator.messages import (
    CommitRequest,
    DescribedGroup,
    HeartbeatRequest,
    JoinRequest,
    LeavingMember,
    LeftMember,
    Letter,
    Moment,
    Outcome,
    SyncRequest,
)
from duolog.coordinator.records import (
    CoordinatorRecord,
    OffsetChange,
    OffsetRecord,
)
from duolog.coordinator.settings import GroupSettings
from duolog.core.errors import DuologError
from duolog.core.ids import TopicPartition
from duolog.core.units import KIB, MIB, MINUTE_MS, SECOND_MS
from duolog.protocol.error_codes import ErrorCode
from duolog.record.records import Record, encode_batch

if TYPE_CHECKING:
    from duolog.broker.broker import Broker
    from duolog.broker.loop import Timer
    from duolog.broker.settings import BrokerSettings

logger = logging.getLogger(__name__)

OFFSETS_TOPIC: Final = "__consumer_offsets"
OFFSETS_TOPIC_CONFIGS: Final = {
    "cleanup.policy": "compact",
    "compression.type": "producer",
    "segment.bytes": str(100 * MIB),
}

_BATCH_BYTES_USUAL: Final = 256 * KIB

_FIRST_SLICE_SECONDS: Final = 0.25
_SLICE_SECONDS: Final = 0.01

Answer = Callable[[Any], None]
"""Takes the coordinator's reply and sends it to whoever asked."""


def new_member_suffix() -> str:
    """Return what makes a new member id unique."""
    return str(uuid4())


def partition_of(group_id: str, partitions: int) -> int:
    """Return the partition that holds a group: Java's hash of the id, as in Kafka.

    Example:
        >>> partition_of("hello", 50)  # "hello".hashCode() is 99162322
        22
    """
    code = 0
    data = group_id.encode("utf-16-be", "surrogatepass")
    for high, low in zip(data[::2], data[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
    # Kafka's Utils.abs: the smallest int has no positive twin and becomes 0.
    signed = code - (1 << 32) if code >= 1 << 31 else code
    return (0 if signed == -(1 << 31) else abs(signed)) % partitions


class Groups:
    """The groups of one broker."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._coordinator = GroupCoordinator(group_settings(broker.settings))
        self._timers: dict[str, Timer] = {}
        self._other_timer: Timer | None = None
        self._stopped = False

    # The broker's life

    def start(self) -> None:
        """Load what the log holds; what takes long goes on while the broker serves."""
        self._load(self._replayable(), _FIRST_SLICE_SECONDS)

    def stop(self) -> None:
        """Plan nothing any more."""
        self._stopped = True
        for timer in (*self._timers.values(), self._other_timer):
            if timer is not None:
                timer.cancel()
        self._timers.clear()

    def topic_deleted(self, topic: str) -> None:
        """Forget the offsets of a topic that is gone."""
        # The end of the loading looks for topics that are gone, too.
        if not self._coordinator.loading:
            self._carry_out(self._coordinator.remove_topic(topic, self._now()))

    # Requests: each may raise a GroupError, or answers once

    def join(self, request: JoinRequest, answer: Answer) -> None:
        try:
            self._carry_out(self._coordinator.join(request, answer, self._now()))
        finally:
            self._plan(request.group_id)

    def sync(self, request: SyncRequest, answer: Answer) -> None:
        self._carry_out(self._coordinator.sync(request, answer, self._now()))
        self._plan(request.group_id)

    def heartbeat(self, request: HeartbeatRequest) -> None:
        # No plan: a sign of life only moves a deadline away.
        self._coordinator.heartbeat(request, self._now())

    def leave(self, group_id: str, leaving: Iterable[LeavingMember]) -> tuple[LeftMember, ...]:
        left, outcome = self._coordinator.leave(group_id, leaving, self._now())
        self._carry_out(outcome)
        self._plan(group_id)
        return left

    def commit(self, request: CommitRequest, answer: Answer) -> None:
        self._carry_out(self._coordinator.commit(request, answer, self._now()))

    def offsets(self, group_id: str) -> Mapping[TopicPartition, OffsetRecord]:
        return self._coordinator.offsets(group_id)

    def describe(self, group_id: str) -> DescribedGroup | None:
        return self._coordinator.describe(group_id)

    def list_groups(self) -> Iterator[DescribedGroup]:
        return self._coordinator.list_groups()

    # Outcomes

    def _carry_out(self, outcome: Outcome) -> None:
        _send(outcome.replies)
        if not outcome.records:
            _send(outcome.deferred)
            return
        try:
            self._ensure_topic()
        except (OSError, DuologError) as error:
            self._refused(outcome, error)
            return
        partitions = self._by_partition(outcome.records)
        if outcome.deferred:
            ((partition, records),) = partitions.items()  # A reply waits for one group's records.
            self._append(partition, records, outcome)
            return
        for partition, records in partitions.items():
            for some in _batches(records):
                self._append(partition, some, Outcome(records=some))

    def _append(self, partition: int, records: list[CoordinatorRecord], outcome: Outcome) -> None:
        def on_durable(error: Exception | None) -> None:
            if error is None:
                self._accepted(outcome)
            else:
                self._refused(outcome, error)

        now_ms = self._broker.clock.now_ms()
        try:
            batch = encode_batch(
                Record(0, now_ms, record.encode_key(), record.encode_value()) for record in records
            )
            self._broker.append_internal(OFFSETS_TOPIC, partition, batch, on_durable)
        except Exception as error:  # noqa: BLE001  Whatever it was, the record is not in the log.
            self._refused(outcome, error)

    def _accepted(self, outcome: Outcome) -> None:
        now = self._now()
        for record in outcome.records:
            self._coordinator.replay(record, now)
        _send(self._coordinator.settle(outcome, now))
        for group_id in {record.group_id for record in outcome.records}:
            self._plan(group_id)
        # A topic may have been deleted while its offsets were on the way to the disk.
        self._forget_deleted_topics(
            record.topic_partition.topic
            for record in outcome.records
            if isinstance(record, OffsetChange) and record.value is not None
        )

    def _forget_deleted_topics(self, committed: Iterable[str]) -> None:
        for topic in {name for name in committed if name not in self._broker.topics}:
            self.topic_deleted(topic)

    def _refused(self, outcome: Outcome, error: Exception) -> None:
        logger.error("group records were not stored", exc_info=error)
        code, _ = kafka_code(error)
        # As Kafka maps a storage error here: the client looks for the coordinator and tries again.
        # Trying again does not help with anything else, such as a record that is too large.
        storage = code == ErrorCode.KAFKA_STORAGE_ERROR
        code = NOT_COORDINATOR if storage else ErrorCode.UNKNOWN_SERVER_ERROR
        self._carry_out(self._coordinator.abandon(outcome, code, self._now()))
        for group_id in {record.group_id for record in outcome.records}:
            self._plan(group_id)

    def _by_partition(
        self, records: Iterable[CoordinatorRecord]
    ) -> dict[int, list[CoordinatorRecord]]:
        count = len(self._broker.topics.find(OFFSETS_TOPIC).partitions)
        found: dict[int, list[CoordinatorRecord]] = defaultdict(list)
        for record in records:
            found[partition_of(record.group_id, count)].append(record)
        return found

    def _ensure_topic(self) -> None:
        if OFFSETS_TOPIC not in self._broker.topics:
            count = self._broker.settings.integer("offsets.topic.num.partitions")
            self._broker.create_topic(OFFSETS_TOPIC, count, dict(OFFSETS_TOPIC_CONFIGS))

    # Time

    def _now(self) -> Moment:
        clock = self._broker.clock
        return Moment(clock.now_ms(), int(clock.monotonic() * SECOND_MS))

    def _plan(self, group_id: str) -> None:
        """Make sure that a timer fires for the group when something is due, or earlier."""
        deadline_ms = self._coordinator.next_deadline_ms(group_id)
        timer = self._timers.get(group_id)
        if deadline_ms is None or self._stopped:
            if timer is not None:
                self._timers.pop(group_id).cancel()
            return
        at = (deadline_ms + 1) / SECOND_MS
        if timer is not None:
            if timer.at <= at:
                return
            timer.cancel()
        self._timers[group_id] = self._broker.timers.call_at(at, lambda: self._expire(group_id))

    def _expire(self, group_id: str) -> None:
        self._timers.pop(group_id, None)
        self._carry_out(self._coordinator.expire(group_id, self._now()))
        self._plan(group_id)

    def _plan_offset_expiry(self) -> None:
        interval_ms = self._broker.settings.integer("offsets.retention.check.interval.ms")
        at = self._broker.clock.monotonic() + interval_ms / SECOND_MS
        self._other_timer = self._broker.timers.call_at(at, self._expire_offsets)

    def _expire_offsets(self) -> None:
        self._plan_offset_expiry()
        self._carry_out(self._coordinator.expire_offsets(self._now()))

    # Loading

    def _replayable(self) -> Iterator[CoordinatorRecord | None]:
        topic = self._broker.topics.get(OFFSETS_TOPIC)
        for partition in range(len(topic.partitions)) if topic else ():
            for record in self._broker.replay_internal(OFFSETS_TOPIC, partition):
                if record.key is not None:
                    yield decode_record(record.key, record.value)

    def _load(self, records: Iterator[CoordinatorRecord | None], seconds: float) -> None:
        """Replay for `seconds`, then go on when the loop has served others."""
        until = self._broker.clock.monotonic() + seconds
        now = self._now()
        for record in records:
            if record is not None:
                self._coordinator.replay(record, now)
            if self._broker.clock.monotonic() >= until:
                self._other_timer = self._broker.timers.call_at(
                    until, lambda: self._load(records, _SLICE_SECONDS)
                )
                return
        for group_id in self._coordinator.loaded(self._now()):
            self._plan(group_id)
        # A crash may have come between a topic's deletion and the tombstones of its offsets.
        self._forget_deleted_topics(self._coordinator.committed_topics())
        self._plan_offset_expiry()


def _batches(records: Iterable[CoordinatorRecord]) -> Iterator[list[CoordinatorRecord]]:
    """Yield the records in lists that fit a batch, but for a record that does not fit alone."""
    batch: list[CoordinatorRecord] = []
    size_bytes = 0
    for record in records:
        record_bytes = len(record.encode_key()) + len(record.encode_value() or b"")
        if batch and size_bytes + record_bytes > _BATCH_BYTES_USUAL:
            yield batch
            batch, size_bytes = [], 0
        batch.append(record)
        size_bytes += record_bytes
    yield batch


def group_settings(settings: "BrokerSettings") -> GroupSettings:
    """Return the coordinator's part of the broker's settings."""
    return GroupSettings(
        initial_rebalance_delay_ms=settings.integer("group.initial.rebalance.delay.ms"),
        session_timeout_min_ms=settings.integer("group.min.session.timeout.ms"),
        session_timeout_max_ms=settings.integer("group.max.session.timeout.ms"),
        members_max=settings.integer("group.max.size"),
        offset_metadata_bytes_max=settings.integer("offset.metadata.max.bytes"),
        offsets_retention_ms=settings.integer("offsets.retention.minutes") * MINUTE_MS,
    )


def _send(letters: Iterable[Letter]) -> None:
    for to, reply in letters:
        cast("Answer", to)(reply)
