"""The group coordinator's hands: its log, its timers and its replies.

    request ─▶ coordinator ─▶ Outcome ─▶ replies leave
                                │
                                └─▶ records ─▶ __consumer_offsets ─▶ on the disk ─▶ replay
                                                                                    └─▶ deferred
                                                                                    replies

At a start the log is replayed in time slices, so that a long one does not hold the loop; until that
is done groups answer COORDINATOR_LOAD_IN_PROGRESS. What goes over all groups is done in time
slices, too. Thread: the broker's loop.
"""

import gc
import logging
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Final, cast
from uuid import UUID, uuid4

from duolog.broker.configs.group_resource import HEARTBEAT_INTERVAL, SESSION_TIMEOUT
from duolog.broker.errors import kafka_code
from duolog.broker.event_loop.time_slices import OrderedWork
from duolog.broker.groups.large_deletions import AT_ONCE_MAX, LargeDeletions
from duolog.broker.groups.offsets_topic import Marker, OffsetsTopic, batches
from duolog.broker.groups.topic_matches import TopicMatches
from duolog.broker.groups.topic_view import BrokerTopics
from duolog.broker.settings.consumer_groups import consumer_group_settings
from duolog.coordinator.consumer_groups.messages import (
    DescribedConsumerGroup,
    HeartbeatReply,
    MemberHeartbeat,
)
from duolog.coordinator.coordinator import GroupCoordinator
from duolog.coordinator.errors import NOT_COORDINATOR
from duolog.coordinator.messages import (
    CommitRequest,
    DeletedReply,
    DescribedGroup,
    HeartbeatRequest,
    JoinReply,
    JoinRequest,
    LeavingMember,
    LeftMember,
    Letter,
    ListedGroup,
    Moment,
    OffsetsReply,
    OffsetsTransaction,
    Outcome,
    Reply,
    SyncReply,
    SyncRequest,
)
from duolog.coordinator.records import NO_TOPIC_ID, CoordinatorRecord, OffsetChange, OffsetRecord
from duolog.coordinator.settings import ConsumerGroupSettings, GroupSettings
from duolog.core.errors import DuologError
from duolog.core.ids import TopicPartition
from duolog.core.units import MINUTE_MS, SECOND_MS
from duolog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from duolog.broker.event_loop.loop import Timer
    from duolog.broker.groups.needs import Broker
    from duolog.broker.settings import BrokerSettings

logger = logging.getLogger(__name__)

_FIRST_SLICE_S: Final = 0.25
_AFTER_FAILURE_S: Final = 1.0
"""Delay before failed work that is still due is retried."""
_KEYS_A_STEP: Final = 250
_FREEZE_AFTER: Final = 10_000
"""Records. What was loaded stays: a collection that looks at all of it would hold the loop."""

Answer = Callable[[Reply], None]
"""Sends the coordinator's reply to the client."""


def new_member_suffix() -> str:
    """Return what makes a new member id unique."""
    return str(uuid4())


class GroupCoordinatorService:
    """The groups of one broker."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._coordinator = GroupCoordinator(group_settings(broker.settings))
        self._coordinator.consumer.topics = BrokerTopics(broker)
        self.topic_matches = self._coordinator.consumer.matcher = TopicMatches(broker)
        self._coordinator.consumer.settings_of = self._consumer_settings
        self._topic = OffsetsTopic(broker)
        self._timers: dict[str, Timer] = {}
        self._expiry_timer: Timer | None = None
        self._ended_while_loading: list[Marker] = []
        self._landed = OrderedWork(broker.slices, broker.timers)
        """Records that became durable, in log order."""
        self._deleted: dict[str, int] = {}
        """Topics that were deleted and whose offsets were not looked for since, with their order."""
        self._deletions = count()
        self._large_deletions = LargeDeletions(self._coordinator, self._carry_out, self._now)
        self._sweeping = False
        self._stopped = False

    # The broker's life

    @property
    def loading(self) -> bool:
        """True while the log is being loaded."""
        return self._coordinator.loading

    def start(self) -> None:
        """Load what the log holds; what takes long goes on while the broker serves."""
        self._in_slices(self._load(), first_slice_s=_FIRST_SLICE_S)

    def stop(self) -> None:
        """Plan nothing any more."""
        self._stopped = True
        for timer in (*self._timers.values(), self._expiry_timer):
            if timer is not None:
                timer.cancel()
        self._timers.clear()

    def topic_deleted(self, topic: str) -> None:
        """Forget the offsets of a topic that is gone; one recreated under its name has none."""
        self._deleted[topic] = next(self._deletions)
        # The end of the loading looks for topics that are gone, too.
        if not self._coordinator.loading and not self._sweeping:
            self._in_slices(self._sweep())

    def complete_transaction(
        self,
        partition: int,
        producer_id: int,
        producer_epoch: int,
        commit: bool,  # noqa: FBT001
        done: Callable[[], None],
    ) -> None:
        """Take a marker that is durable in a partition of `__consumer_offsets`; say when it is done.

        A repetition changes nothing.
        """
        logger.debug(
            "a transaction with offsets ended",
            extra={"producer_id": producer_id, "producer_epoch": producer_epoch, "commit": commit},
        )
        marker = Marker((partition, producer_id), commit)
        if self._coordinator.loading:
            self._ended_while_loading.append(marker)
            done()
        else:
            self._landed.add(self._ended(marker, done))

    def _ended(self, marker: Marker, done: Callable[[], None]) -> Iterator[None]:
        self._coordinator.end_transaction(marker.transaction, committed=marker.committed)
        done()
        yield

    def topic_ids(self, name: str) -> frozenset[UUID]:
        """Return the topic ids under which offsets of this name count; none if there is no such topic.

        An offset without an id, from before ids were kept, counts for whatever topic has the name,
        unless one of this name was deleted.
        """
        topic = self._broker.topics.known(name)
        if topic is None:
            return frozenset()
        return frozenset((topic.id,) if name in self._deleted else (topic.id, NO_TOPIC_ID))

    def partition_of(self, group_id: str) -> int:
        """Return the partition of `__consumer_offsets` that holds a group."""
        return self._topic.partition_of(group_id)

    # Requests: each may raise a GroupError, or answers once

    def join(self, request: JoinRequest, answer: Callable[[JoinReply], None]) -> None:
        self._large_deletions.ensure_stays(request.group_id)
        try:
            self._carry_out(self._coordinator.join(request, answer, self._now()))
        finally:
            self._plan(request.group_id)

    def sync(self, request: SyncRequest, answer: Callable[[SyncReply], None]) -> None:
        try:
            self._carry_out(self._coordinator.sync(request, answer, self._now()))
        finally:
            self._plan(request.group_id)

    def heartbeat(self, request: HeartbeatRequest) -> None:
        # No plan: a sign of life only moves a deadline away.
        self._coordinator.heartbeat(request, self._now())

    def leave(self, group_id: str, leaving: Iterable[LeavingMember]) -> tuple[LeftMember, ...]:
        try:
            left, outcome = self._coordinator.leave(group_id, leaving, self._now())
            self._carry_out(outcome)
        finally:
            self._plan(group_id)
        return left

    def consumer_heartbeat(
        self, request: MemberHeartbeat, answer: Callable[[HeartbeatReply], None]
    ) -> None:
        self._large_deletions.ensure_stays(request.group_id)
        outcome = self._coordinator.consumer_heartbeat(request, answer, self._now())
        self._carry_out(outcome)
        if outcome.records:
            self._plan(request.group_id)

    def consumer_waits(self, request: MemberHeartbeat) -> None:
        self._coordinator.consumer.extend_session(request, self._now())

    def describe_consumer(self, group_id: str) -> DescribedConsumerGroup:
        return self._coordinator.describe_consumer(group_id)

    def commit(self, request: CommitRequest, answer: Callable[[OffsetsReply], None]) -> None:
        self._large_deletions.ensure_stays(request.group_id)
        self._carry_out(self._coordinator.commit(request, answer, self._now()))

    def offsets(
        self, group_id: str, member_id: str | None = None, member_epoch: int = -1
    ) -> Mapping[TopicPartition, OffsetRecord]:
        return self._coordinator.offsets(group_id, member_id, member_epoch)

    def unstable_offsets(self, group_id: str) -> frozenset[TopicPartition]:
        return self._coordinator.unstable_offsets(group_id)

    def delete_offsets(
        self,
        group_id: str,
        asked: Iterable[TopicPartition],
        answer: Callable[[OffsetsReply], None],
    ) -> None:
        self._carry_out(self._coordinator.delete_offsets(group_id, asked, answer, self._now()))

    def delete(self, group_id: str, answer: Callable[[DeletedReply], None]) -> None:
        self._large_deletions.ensure_stays(group_id)
        self._coordinator.check_delete(group_id)
        if len(self._coordinator.offset_keys(group_id)) > AT_ONCE_MAX:
            self._in_slices(self._large_deletions.delete(group_id, answer))
        else:
            self._carry_out(self._coordinator.delete(group_id, answer, self._now()))

    def describe(self, group_id: str) -> DescribedGroup | None:
        return self._coordinator.describe(group_id)

    def list_groups(self) -> Iterator[ListedGroup]:
        return self._coordinator.list_groups()

    # Outcomes

    def _carry_out(self, outcome: Outcome) -> None:
        _send(outcome.replies)
        if not outcome.records:
            _send(outcome.deferred)
            return
        try:
            partitions = self._topic.by_partition(outcome.records)
        except (OSError, DuologError) as error:
            self._refused(outcome, error)
            return
        pieces = [
            (partition, some)
            for partition, records in partitions.items()
            # What is answered is stored as a whole, but for tombstones, which can be many.
            for some in (
                [records]
                if outcome.deferred and not _only_tombstones(records)
                else batches(records)
            )
        ]
        *first, (partition, last) = pieces
        for earlier, some in first:
            self._append(earlier, Outcome(records=some))
        self._append(partition, replace(outcome, replies=[], records=last))

    def _append(self, partition: int, outcome: Outcome) -> None:
        producer = outcome.producer
        transaction = (partition, producer.producer_id) if producer else None

        # A log that is offline, or needs no sync, says so before the records are replayed.
        early: list[Exception | None] = []
        staged = False

        def on_durable(error: Exception | None) -> None:
            if not staged:
                early.append(error)
            elif error is None:
                self._landed.add(self._accepted(outcome, transaction))
            else:
                self._refused(outcome, error)

        try:
            self._topic.append(partition, outcome.records, producer, on_durable)
        except Exception as error:  # noqa: BLE001  Whatever it was, the record is not in the log.
            self._refused(outcome, error)
            return
        if not any(early):
            self._coordinator.stage(outcome)
        staged = True
        for result in early:
            on_durable(result)

    def _accepted(self, outcome: Outcome, transaction: OffsetsTransaction | None) -> Iterator[None]:
        now = self._now()
        group_ids = {record.group_id for record in outcome.records}
        try:
            late, replies = yield from self._replay(outcome, transaction, now)
            _send(replies)
            for group_id in group_ids:
                self._carry_out(self._coordinator.change_protocol(group_id, now))
        finally:  # Whatever happens to one of them, the deadlines of all are looked at.
            for group_id in group_ids:
                self._plan(group_id)
        for group_id, keys in late.items():
            self._carry_out(self._coordinator.forget_offsets(group_id, keys, self.topic_ids, now))

    def _replay(
        self, outcome: Outcome, transaction: OffsetsTransaction | None, now: Moment
    ) -> Generator[None, None, tuple[Mapping[str, list[TopicPartition]], list[Letter]]]:
        """Let records count; return the offsets that came too late, by group, and the replies."""
        late: dict[str, list[TopicPartition]] = defaultdict(list)
        left = deque(outcome.records)
        try:
            while left:
                record = left.popleft()
                self._coordinator.replay(record, now, transaction)
                if isinstance(record, OffsetChange) and record.value is not None:
                    # A topic may have been deleted while its offsets were on the way to the disk.
                    key = record.topic_partition
                    if record.value.topic_id not in self.topic_ids(key.topic):
                        late[record.group_id].append(key)
                if left and len(left) % _KEYS_A_STEP == 0:
                    yield
            return late, self._coordinator.settle(outcome, now)
        except Exception:
            # Whether they count, the next start will show: who waits for them would wait in vain.
            code = ErrorCode.UNKNOWN_SERVER_ERROR
            done = len(outcome.records) - len(left)
            self._carry_out(self._coordinator.abandon(outcome, code, now, done))
            raise

    def _consumer_settings(self, group_id: str) -> ConsumerGroupSettings:
        settings, configs = self._coordinator.consumer.settings, self._broker.configs.groups
        if not configs.configs(group_id):
            return settings
        return replace(
            settings,
            session_timeout_ms=configs.integer(group_id, SESSION_TIMEOUT),
            heartbeat_interval_ms=configs.integer(group_id, HEARTBEAT_INTERVAL),
        )

    def _sweep(self) -> Iterator[None]:
        """Write tombstones for all offsets of topics that are gone, until none goes meanwhile."""
        self._sweeping = True
        try:
            yield from self._sweep_all()
        finally:
            self._sweeping = False

    def _sweep_all(self) -> Iterator[None]:
        while True:
            last = next(self._deletions)
            for group_id in self._coordinator.group_ids():
                keys = self._coordinator.offset_keys(group_id)
                for start in range(0, len(keys), _KEYS_A_STEP):
                    some = keys[start : start + _KEYS_A_STEP]
                    outcome = self._coordinator.forget_offsets(
                        group_id, some, self.topic_ids, self._now()
                    )
                    self._carry_out(outcome)
                    yield
                yield
            self._deleted = {name: at for name, at in self._deleted.items() if at > last}
            if not self._deleted:
                return

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

    # Time

    def _now(self) -> Moment:
        clock = self._broker.clock
        return Moment(clock.now_ms(), int(clock.monotonic() * SECOND_MS))

    def _plan(self, group_id: str, *, pause_s: float = 0.0) -> None:
        """Make sure that a timer fires for the group when something is due, or earlier.

        But not before a pause, in seconds.
        """
        deadline_ms = self._coordinator.next_deadline_ms(group_id)
        timer = self._timers.get(group_id)
        offline = self._broker.rounds.failure is not None
        if deadline_ms is None or self._stopped or offline:
            if timer is not None:
                self._timers.pop(group_id).cancel()
            return
        at = (deadline_ms + 1) / SECOND_MS
        if pause_s:
            at = max(at, self._broker.clock.monotonic() + pause_s)
        if timer is not None:
            if timer.at <= at:
                return
            timer.cancel()
        self._timers[group_id] = self._broker.timers.call_at(at, lambda: self._expire(group_id))

    def _expire(self, group_id: str) -> None:
        self._timers.pop(group_id, None)
        pause_s = _AFTER_FAILURE_S
        try:
            self._carry_out(self._coordinator.expire(group_id, self._now()))
            pause_s = 0.0
        finally:  # Whatever happened to one look, there is a next one.
            self._plan(group_id, pause_s=pause_s)

    def _plan_offset_expiry(self) -> None:
        interval_ms = self._broker.settings.integer("offsets.retention.check.interval.ms")
        at = self._broker.clock.monotonic() + interval_ms / SECOND_MS
        self._expiry_timer = self._broker.timers.call_at(
            at, lambda: self._in_slices(self._expire_offsets())
        )

    def _expire_offsets(self) -> Iterator[None]:
        try:
            for group_id in self._coordinator.group_ids():
                self._carry_out(self._coordinator.expire_offsets(group_id, self._now()))
                yield
        finally:  # Whatever happens to one look, there is a next one.
            if not self._stopped:
                self._plan_offset_expiry()

    def _in_slices(self, steps: Iterator[None], *, first_slice_s: float | None = None) -> None:
        """Run something long in turns, until it or the broker ends."""
        self._broker.slices.run(
            steps, wanted=lambda: not self._stopped, first_slice_s=first_slice_s
        )

    # Loading

    def _load(self) -> Iterator[None]:
        coordinator = self._coordinator
        now = self._now()
        number = 0
        for number, item in enumerate(self._topic.replayed(), start=1):
            if isinstance(item, Marker):
                coordinator.end_transaction(item.transaction, committed=item.committed)
            elif item is not None:
                coordinator.replay(item.record, now, item.transaction)
            if number % _FREEZE_AFTER == 0:
                gc.freeze()
            yield
        for _ in coordinator.restore(self._now()):
            yield
        if number >= _FREEZE_AFTER:
            gc.freeze()
        for marker in self._ended_while_loading:
            coordinator.end_transaction(marker.transaction, committed=marker.committed)
        self._ended_while_loading.clear()
        self._plan_offset_expiry()
        for group_id in coordinator.group_ids():
            self._carry_out(coordinator.change_protocol(group_id, self._now()))
            self._plan(group_id)
            yield
        # A crash may have come between a topic's deletion and the tombstones of its offsets.
        yield from self._sweep()


def group_settings(settings: "BrokerSettings") -> GroupSettings:
    """Return the coordinator's part of the broker's settings."""
    return GroupSettings(
        initial_rebalance_delay_ms=settings.integer("group.initial.rebalance.delay.ms"),
        session_timeout_min_ms=settings.integer("group.min.session.timeout.ms"),
        session_timeout_max_ms=settings.integer("group.max.session.timeout.ms"),
        members_max=settings.integer("group.max.size"),
        offset_metadata_bytes_max=settings.integer("offset.metadata.max.bytes"),
        offsets_retention_ms=settings.integer("offsets.retention.minutes") * MINUTE_MS,
        consumer=consumer_group_settings(settings),
    )


def _only_tombstones(records: Iterable[CoordinatorRecord]) -> bool:
    return all(record.encode_value() is None for record in records)


def _send(letters: Iterable[Letter]) -> None:
    for to, reply in letters:
        cast("Answer", to)(reply)
