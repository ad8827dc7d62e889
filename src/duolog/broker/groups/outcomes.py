"""Outcomes of the group coordinator, carried out: replies are sent, records are stored.

    Outcome ─▶ replies leave
       └─▶ records ─▶ __consumer_offsets ─▶ on the disk ─▶ replay ─▶ deferred replies leave

Thread: the broker's loop.
"""

import logging
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from duolog.broker.errors import kafka_code
from duolog.broker.event_loop.time_slices import OrderedWork
from duolog.broker.groups.deleted_topics import KEYS_A_STEP
from duolog.broker.groups.group_timers import GroupTimers, moment
from duolog.broker.groups.offsets_topic import OffsetsTopic, batches
from duolog.coordinator.errors import NOT_COORDINATOR
from duolog.coordinator.messages import Letter, Moment, OffsetsTransaction, Outcome, Reply
from duolog.coordinator.records import CoordinatorRecord, OffsetChange
from duolog.core.errors import DuologError
from duolog.core.ids import TopicPartition
from duolog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from duolog.broker.groups.needs import Broker
    from duolog.coordinator.coordinator import GroupCoordinator
    from duolog.coordinator.offsets import TopicIds

logger = logging.getLogger(__name__)

Answer = Callable[[Reply], None]
"""Sends the coordinator's reply to the client."""


class Outcomes:
    """Carries out the outcomes of one broker's group coordinator.

    Attributes:
        topic: the topic that holds the records.
        timers: the deadlines of the groups, planned again after each outcome.
        landed: records that became durable, in log order.
    """

    def __init__(
        self, broker: "Broker", coordinator: "GroupCoordinator", topic_ids: "TopicIds"
    ) -> None:
        self._broker = broker
        self._coordinator = coordinator
        self._topic_ids = topic_ids
        self.topic = OffsetsTopic(broker)
        self.timers = GroupTimers(broker, coordinator, self.carry_out)
        self.landed = OrderedWork(broker.slices, broker.timers)

    def carry_out(self, outcome: Outcome) -> None:
        """Send the replies, and append the records; the deferred replies leave after these."""
        _send(outcome.replies)
        if not outcome.records:
            _send(outcome.deferred)
            return
        try:
            partitions = self.topic.by_partition(outcome.records)
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
                self.landed.add(self._accepted(outcome, transaction))
            else:
                self._refused(outcome, error)

        try:
            self.topic.append(partition, outcome.records, producer, on_durable)
        except Exception as error:  # noqa: BLE001  Whatever it was, the record is not in the log.
            self._refused(outcome, error)
            return
        if not any(early):
            self._coordinator.stage(outcome)
        staged = True
        for result in early:
            on_durable(result)

    def _accepted(self, outcome: Outcome, transaction: OffsetsTransaction | None) -> Iterator[None]:
        now = moment(self._broker.clock)
        coordinator = self._coordinator
        group_ids = {record.group_id for record in outcome.records}
        try:
            late, replies = yield from self._replay(outcome, transaction, now)
            _send(replies)
            for group_id in group_ids:
                self.carry_out(coordinator.change_protocol(group_id, now))
        finally:  # Whatever happens to one of them, the deadlines of all are looked at.
            for group_id in group_ids:
                self.timers.plan(group_id)
        for group_id, keys in late.items():
            self.carry_out(coordinator.offsets.forget(group_id, keys, self._topic_ids, now))

    def _replay(
        self, outcome: Outcome, transaction: OffsetsTransaction | None, now: Moment
    ) -> Generator[None, None, tuple[Mapping[str, list[TopicPartition]], list[Letter]]]:
        """Let records count; return the offsets that came too late, by group, and the replies."""
        late: dict[str, list[TopicPartition]] = defaultdict(list)
        left = deque(outcome.records)
        try:
            while left:
                record = left.popleft()
                self._coordinator.store.replay(record, now, transaction)
                if isinstance(record, OffsetChange) and record.value is not None:
                    # A topic may have been deleted while its offsets were on the way to the disk.
                    key = record.topic_partition
                    if record.value.topic_id not in self._topic_ids(key.topic):
                        late[record.group_id].append(key)
                if left and len(left) % KEYS_A_STEP == 0:
                    yield
            return late, self._coordinator.settle(outcome, now)
        except Exception:  # Whatever it was, the clients that wait for the records get an answer.
            # The next start shows whether the records count.
            code = ErrorCode.UNKNOWN_SERVER_ERROR
            done = len(outcome.records) - len(left)
            self.carry_out(self._coordinator.abandon(outcome, code, now, done))
            raise

    def _refused(self, outcome: Outcome, error: Exception) -> None:
        logger.error("group records were not stored", exc_info=error)
        code, _ = kafka_code(error)
        # As Kafka maps a storage error here: the client looks for the coordinator and tries again.
        # Trying again does not help with anything else, such as a record that is too large.
        storage = code == ErrorCode.KAFKA_STORAGE_ERROR
        code = NOT_COORDINATOR if storage else ErrorCode.UNKNOWN_SERVER_ERROR
        now = moment(self._broker.clock)
        self.carry_out(self._coordinator.abandon(outcome, code, now))
        for group_id in {record.group_id for record in outcome.records}:
            self.timers.plan(group_id)


def _only_tombstones(records: Iterable[CoordinatorRecord]) -> bool:
    return all(record.encode_value() is None for record in records)


def _send(letters: Iterable[Letter]) -> None:
    for to, reply in letters:
        cast("Answer", to)(reply)
