"""The groups of a broker: requests go to the coordinator, and its outcomes are carried out.

At a start the log is replayed in time slices, so that a long one does not hold the loop; until that
is done groups answer COORDINATOR_LOAD_IN_PROGRESS. What goes over all groups is done in time
slices, too. Thread: the broker's loop.
"""

import gc
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from duolog.broker.configs.group_resource import HEARTBEAT_INTERVAL, SESSION_TIMEOUT
from duolog.broker.groups.deleted_topics import DeletedTopics
from duolog.broker.groups.group_timers import moment
from duolog.broker.groups.large_deletions import AT_ONCE_MAX, LargeDeletions
from duolog.broker.groups.offsets_topic import Marker
from duolog.broker.groups.outcomes import Outcomes
from duolog.broker.groups.topic_matches import TopicMatches
from duolog.broker.groups.topic_view import BrokerTopics
from duolog.broker.groups.visible_topics import VisibleTopics
from duolog.broker.settings.consumer_groups import consumer_group_settings
from duolog.coordinator.consumer_groups.messages import (
    DescribedConsumerGroup,
    HeartbeatReply,
    MemberHeartbeat,
)
from duolog.coordinator.coordinator import GroupCoordinator
from duolog.coordinator.messages import (
    CommitRequest,
    DeletedReply,
    DescribedGroup,
    HeartbeatRequest,
    JoinReply,
    JoinRequest,
    LeavingMember,
    LeftMember,
    ListedGroup,
    Moment,
    OffsetsReply,
    SyncReply,
    SyncRequest,
)
from duolog.coordinator.records import OffsetRecord
from duolog.coordinator.settings import ConsumerGroupSettings, GroupSettings
from duolog.core.ids import TopicPartition
from duolog.core.units import MINUTE_MS

if TYPE_CHECKING:
    from duolog.broker.authorization.checks import Asker
    from duolog.broker.groups.needs import Broker
    from duolog.broker.settings import BrokerSettings

logger = logging.getLogger(__name__)

_FIRST_SLICE_S: Final = 0.25
_FREEZE_AFTER: Final = 10_000
"""Records. What was loaded stays: a collection that looks at all of it would hold the loop."""


def new_member_suffix() -> str:
    """Return what makes a new member id unique."""
    return str(uuid4())


class GroupCoordinatorService:
    """The groups of one broker."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._coordinator = GroupCoordinator(group_settings(broker.settings))
        self._coordinator.consumer.topics = BrokerTopics(broker)
        self.topic_matches = TopicMatches(broker)
        self._visible = self._coordinator.consumer.matcher = VisibleTopics(self.topic_matches)
        self._coordinator.consumer.settings_of = self._consumer_settings
        self._deleted_topics = DeletedTopics(broker, self._coordinator)
        self.topic_ids = self._deleted_topics.topic_ids
        self._outcomes = Outcomes(broker, self._coordinator, self.topic_ids)
        self._carry_out = self._outcomes.carry_out
        self._timers = self._outcomes.timers
        self._plan = self._timers.plan
        self._ended_while_loading: list[Marker] = []
        self._large_deletions = LargeDeletions(self._coordinator, self._carry_out, self._now)

    # The broker's life

    @property
    def loading(self) -> bool:
        """True while the log is being loaded."""
        return self._coordinator.store.loading

    def start(self) -> None:
        """Load the state from the log, in time slices while the broker serves other requests."""
        self._timers.in_slices(self._load(), first_slice_s=_FIRST_SLICE_S)

    def stop(self) -> None:
        """Cancel all timers."""
        self._timers.stop()

    def topic_deleted(self, topic: str) -> None:
        """Forget the offsets of a topic that is gone; one recreated under its name has none."""
        self._deleted_topics.add(topic)
        # The end of the loading looks for topics that are gone, too.
        if not self.loading and not self._deleted_topics.sweeping:
            self._timers.in_slices(self._deleted_topics.sweep(self._carry_out))

    def complete_transaction(
        self,
        partition: int,
        producer_id: int,
        producer_epoch: int,
        commit: bool,  # noqa: FBT001
        done: Callable[[], None],
    ) -> None:
        """Take a marker that is durable in a partition of `__consumer_offsets`, then call `done`.

        A repetition changes nothing.
        """
        logger.debug(
            "a transaction with offsets ended",
            extra={"producer_id": producer_id, "producer_epoch": producer_epoch, "commit": commit},
        )
        marker = Marker((partition, producer_id), commit)
        if self.loading:
            self._ended_while_loading.append(marker)
            done()
        else:
            self._outcomes.landed.add(self._ended(marker, done))

    def _ended(self, marker: Marker, done: Callable[[], None]) -> Iterator[None]:
        self._coordinator.store.end_transaction(marker.transaction, committed=marker.committed)
        done()
        yield

    def partition_of(self, group_id: str) -> int:
        """Return the partition of `__consumer_offsets` that holds a group."""
        return self._outcomes.topic.partition_of(group_id)

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
        self, request: MemberHeartbeat, answer: Callable[[HeartbeatReply], None], client: "Asker"
    ) -> None:
        self._large_deletions.ensure_stays(request.group_id)
        with self._visible.to(client):
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
        self._carry_out(self._coordinator.offsets.commit(request, answer, self._now()))

    def offsets(
        self, group_id: str, member_id: str | None = None, member_epoch: int = -1
    ) -> Mapping[TopicPartition, OffsetRecord]:
        return self._coordinator.offsets.fetch(group_id, member_id, member_epoch)

    def unstable_offsets(self, group_id: str) -> frozenset[TopicPartition]:
        return self._coordinator.offsets.unstable(group_id)

    def delete_offsets(
        self,
        group_id: str,
        asked: Iterable[TopicPartition],
        answer: Callable[[OffsetsReply], None],
    ) -> None:
        self._carry_out(self._coordinator.offsets.delete(group_id, asked, answer, self._now()))

    def delete(self, group_id: str, answer: Callable[[DeletedReply], None]) -> None:
        self._large_deletions.ensure_stays(group_id)
        self._coordinator.check_delete(group_id)
        if len(self._coordinator.offsets.keys(group_id)) > AT_ONCE_MAX:
            self._timers.in_slices(self._large_deletions.delete(group_id, answer))
        else:
            self._carry_out(self._coordinator.delete(group_id, answer, self._now()))

    def describe(self, group_id: str) -> DescribedGroup | None:
        return self._coordinator.describe(group_id)

    def list_groups(self) -> Iterator[ListedGroup]:
        return self._coordinator.list_groups()

    def _consumer_settings(self, group_id: str) -> ConsumerGroupSettings:
        settings, configs = self._coordinator.consumer.settings, self._broker.configs.groups
        if not configs.configs(group_id):
            return settings
        return replace(
            settings,
            session_timeout_ms=configs.integer(group_id, SESSION_TIMEOUT),
            heartbeat_interval_ms=configs.integer(group_id, HEARTBEAT_INTERVAL),
        )

    # Time

    def _now(self) -> Moment:
        return moment(self._broker.clock)

    # Loading

    def _load(self) -> Iterator[None]:
        coordinator = self._coordinator
        now = self._now()
        number = 0
        for number, item in enumerate(self._outcomes.topic.replayed(), start=1):
            if isinstance(item, Marker):
                coordinator.store.end_transaction(item.transaction, committed=item.committed)
            elif item is not None:
                coordinator.store.replay(item.record, now, item.transaction)
            if number % _FREEZE_AFTER == 0:
                gc.freeze()
            yield
        for _ in coordinator.store.restore(self._now()):
            yield
        if number >= _FREEZE_AFTER:
            gc.freeze()
        for marker in self._ended_while_loading:
            coordinator.store.end_transaction(marker.transaction, committed=marker.committed)
        self._ended_while_loading.clear()
        self._timers.plan_offset_expiry()
        for group_id in coordinator.store.ids():
            self._carry_out(coordinator.change_protocol(group_id, self._now()))
            self._plan(group_id)
            yield
        # A crash may have come between a topic's deletion and the tombstones of its offsets.
        yield from self._deleted_topics.sweep(self._carry_out)


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
