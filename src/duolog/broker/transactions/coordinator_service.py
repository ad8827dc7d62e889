"""The transaction coordinator's hands: its log, its markers, its timers.

    request ─▶ coordinator ─▶ record ─▶ __transaction_state ─▶ on the disk ─┬─▶ answer
                                                                             │ PREPARE_*
                                                                             ▼
             answer ◀─ on the disk ◀─ COMPLETE_* ◀─ on the disk ◀─ markers in every partition

An end is answered when it is complete, two syncs later than Kafka does: the next transaction of the
producer then never meets CONCURRENT_TRANSACTIONS, which costs clients 20 to 100 ms.

At a start the log is replayed; then what is prepared is brought to its end; then every transaction
that is open in a partition is compared with the coordinator's records: a crash between two files
can leave a batch without the record that its partition is in the transaction. If its producer could
go on, the record is written now, because a retry of the batch is answered as its duplicate;
otherwise the transaction is aborted there. Until the replay is done, requests are answered
COORDINATOR_LOAD_IN_PROGRESS.

`__transaction_state` is made with the first record. All of it runs on the broker's loop.

Source: Kafka `TransactionCoordinator`, `TransactionMarkerChannelManager`; ADR 0013.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from duolog.broker.errors import kafka_code
from duolog.broker.groups.offsets_topic import partition_of
from duolog.broker.topics.topic_names import OFFSETS_TOPIC
from duolog.broker.transactions.markers import Done, EndedTransaction, write_markers
from duolog.coordinator.messages import Moment
from duolog.coordinator.transactions.coordinator import (
    NO_ONE,
    Answer,
    Outcome,
    TransactionCoordinator,
)
from duolog.coordinator.transactions.errors import (
    InvalidTransactionState,
    NotInTransaction,
    TransactionsNotHere,
)
from duolog.coordinator.transactions.records import (
    TransactionChange,
    TransactionRecord,
    decode_record,
)
from duolog.coordinator.transactions.settings import TransactionSettings
from duolog.coordinator.transactions.transitions import BUMPING_VERSION, Producer
from duolog.core.errors import DuologError, KafkaError
from duolog.core.ids import TopicPartition
from duolog.core.units import MIB, SECOND_MS
from duolog.protocol.error_codes import ErrorCode
from duolog.record.records import Record, encode_batch

if TYPE_CHECKING:
    from duolog.broker.event_loop.loop import Timer
    from duolog.broker.settings import BrokerSettings
    from duolog.broker.transactions.needs import Broker

logger = logging.getLogger(__name__)

TRANSACTIONS_TOPIC: Final = "__transaction_state"

_RECORD_BYTES_MAX: Final = 100 * MIB
_FIRST_SLICE_S: Final = 0.25
_IDS_A_STEP: Final = 200

AnswerTo = Callable[[Answer], None]


class TransactionCoordinatorService:
    """The transactions of one broker."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._coordinator = TransactionCoordinator(
            broker.producer_ids.take, transaction_settings(broker.settings)
        )
        self._unwritten: dict[str, TransactionChange] = {}
        """Staged, and appended before this round is written."""
        self._timers: dict[str, Timer] = {}
        self._stopped = False

    # The broker's life

    @property
    def loading(self) -> bool:
        """True while the log is being loaded."""
        return self._coordinator.loading

    def start(self) -> None:
        """Load what the log holds; what takes long goes on while the broker serves."""
        self._broker.slices.run(self._load(), first_slice_s=_FIRST_SLICE_S)

    def stop(self) -> None:
        """Plan nothing any more."""
        self._stopped = True
        for timer in self._timers.values():
            timer.cancel()

    # Requests: each is answered once, now or when what it asks for is durable

    def initialize(
        self,
        transactional_id: str,
        timeout_ms: int,
        expected: Producer | None,
        answer: AnswerTo,
    ) -> None:
        """InitProducerId."""
        self._carry_out(
            lambda now_ms: self._coordinator.initialize(
                transactional_id, timeout_ms, expected, now_ms
            ),
            answer,
        )

    def add(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Iterable[TopicPartition],
        answer: AnswerTo,
    ) -> None:
        """AddPartitionsToTxn and AddOffsetsToTxn."""
        asked = frozenset(partitions)
        self._carry_out(
            lambda now_ms: self._coordinator.add(transactional_id, producer, asked, now_ms),
            answer,
        )

    def end(
        self,
        transactional_id: str,
        producer: Producer,
        answer: AnswerTo,
        *,
        commit: bool,
        bumping: bool,
    ) -> None:
        """EndTxn; a `bumping` client takes a new epoch from the answer."""
        self._carry_out(
            lambda now_ms: self._coordinator.end(
                transactional_id,
                producer,
                now_ms,
                commit=commit,
                client_version=BUMPING_VERSION if bumping else 0,
            ),
            answer,
        )

    def verify_produce(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        topic: str,
        partition: int,
        *,
        implicit: bool,
    ) -> None:
        """Return if a batch may be appended; `implicit` adds its partition to the transaction.

        Raises:
            KafkaError: it may not.
        """
        producer = Producer(producer_id, producer_epoch)
        topic_partition = TopicPartition(topic, partition)
        try:
            self._verify(transactional_id, producer, topic_partition, implicit=implicit)
        except NotInTransaction as error:
            raise InvalidTransactionState(error.message) from error

    def verify_offsets(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partition: int,
        *,
        implicit: bool,
        abortable: bool,
    ) -> None:
        """Return if offsets may be committed in a partition of `__consumer_offsets`.

        Raises:
            KafkaError: they may not; `abortable` clients get TRANSACTION_ABORTABLE.
        """
        producer = Producer(producer_id, producer_epoch)
        topic_partition = TopicPartition(OFFSETS_TOPIC, partition)
        try:
            self._verify(transactional_id, producer, topic_partition, implicit=implicit)
        except NotInTransaction as error:
            if abortable:
                raise
            raise InvalidTransactionState(error.message) from error
        except KafkaError as error:
            if error.code != ErrorCode.PRODUCER_FENCED:
                raise
            raise KafkaError(error.message, code=ErrorCode.INVALID_PRODUCER_EPOCH) from error

    def describe(self, transactional_id: str) -> TransactionRecord:
        self._ensure_online()
        return self._coordinator.describe(transactional_id)

    def records(self) -> dict[str, TransactionRecord]:
        self._ensure_online()
        return self._coordinator.records()

    # Outcomes

    def _carry_out(self, decide: Callable[[int], Outcome], answer: AnswerTo) -> None:
        def done(error: Exception | None) -> None:
            answer(outcome.answer if error is None else Answer(_code(error), NO_ONE))

        try:
            self._ensure_online()
            outcome = decide(self._broker.clock.now_ms())
            if outcome.change is not None:
                self._append(outcome.change, done)
                return
        except (DuologError, OSError) as error:
            answer(Answer(_code(error), NO_ONE))
            return
        answer(outcome.answer)

    def _verify(
        self,
        transactional_id: str,
        producer: Producer,
        topic_partition: TopicPartition,
        *,
        implicit: bool,
    ) -> None:
        self._ensure_online()
        if not implicit:
            self._coordinator.verify(transactional_id, producer, topic_partition)
            return
        change = self._added(transactional_id, producer, topic_partition)
        if change is not None:
            self._coordinator.staged(change, self._monotonic_ms())
            if not self._unwritten:
                self._broker.rounds.before_write.append(self._write_added)
            self._unwritten[transactional_id] = change

    def _added(
        self, transactional_id: str, producer: Producer, topic_partition: TopicPartition
    ) -> TransactionChange | None:
        return self._coordinator.add(
            transactional_id,
            producer,
            frozenset((topic_partition,)),
            self._broker.clock.now_ms(),
            client_version=BUMPING_VERSION,
        ).change

    def _write_added(self) -> None:
        """Append one record for all partitions that batches of this round have added to an id.

        A record holds all partitions of its transaction, so one for each batch would be n² of them.
        """
        unwritten, self._unwritten = self._unwritten, {}
        try:
            for change in unwritten.values():
                self._append_record(change, _ignore)
        except (DuologError, OSError):
            # The disk refused, and the round that is about to be written finds that out as well.
            logger.exception("partitions of transactions were not stored")

    def _append(self, change: TransactionChange, done: Done) -> None:
        """Append a record, and all that must follow it; `done` is called when that is durable."""

        def on_durable(error: Exception | None) -> None:
            prepared = None if error is not None else self._coordinator.durable(change)
            if prepared is None:
                done(error)
            else:
                self._finish(change.transactional_id, prepared, done)

        self._append_record(change, on_durable)
        # The record holds what was added before it in this round, too.
        self._unwritten.pop(change.transactional_id, None)
        self._coordinator.staged(change, self._monotonic_ms())

    def _append_record(self, change: TransactionChange, on_durable: Done) -> None:
        now_ms = self._broker.clock.now_ms()
        record = Record(0, now_ms, change.encode_key(), change.encode_value())
        self._broker.append_internal(
            TRANSACTIONS_TOPIC,
            self._partition_of(change.transactional_id),
            encode_batch([record]),
            on_durable,
        )

    def _finish(self, transactional_id: str, prepared: TransactionRecord, done: Done) -> None:
        """Write the markers of a prepared transaction, and when they are durable its end."""
        epoch = self._broker.log(
            TRANSACTIONS_TOPIC, self._partition_of(transactional_id)
        ).leader_epoch
        ended = EndedTransaction(
            prepared.producer_id, prepared.producer_epoch, prepared.state.commit, epoch
        )

        def written(error: Exception | None) -> None:
            if error is not None:
                done(error)
                return
            now_ms = self._broker.clock.now_ms()
            try:
                self._append(self._coordinator.complete(transactional_id, now_ms), done)
            except (DuologError, OSError) as refused:
                done(refused)

        markers = write_markers(self._broker, ended, sorted(prepared.partitions), written)
        self._broker.slices.run(markers)

    def _partition_of(self, transactional_id: str) -> int:
        """Return the partition that holds a transactional id; the topic is made."""
        topics, settings = self._broker.topics, self._broker.settings
        if TRANSACTIONS_TOPIC not in topics:
            configs = {
                "cleanup.policy": "compact",
                "compression.type": "uncompressed",
                # A record names all partitions of a transaction, and none may be too large to end.
                "max.message.bytes": str(_RECORD_BYTES_MAX),
                "segment.bytes": settings.text("transaction.state.log.segment.bytes"),
            }
            count = settings.integer("transaction.state.log.num.partitions")
            self._broker.create_topic(TRANSACTIONS_TOPIC, count, configs)
        return partition_of(transactional_id, len(topics.find(TRANSACTIONS_TOPIC).partitions))

    def _ensure_online(self) -> None:
        if self._broker.rounds.failure is not None:
            raise TransactionsNotHere("the log directory is offline")

    # Time

    def _monotonic_ms(self) -> int:
        return int(self._broker.clock.monotonic() * SECOND_MS)

    def _plan(self, setting: str, work: Callable[[], None]) -> None:
        """Call `work` again and again, as often as the setting says."""

        def due() -> None:
            self._plan(setting, work)
            if self._broker.rounds.failure is None:
                work()

        if not self._stopped:
            interval_s = self._broker.settings.integer(setting) / SECOND_MS
            self._timers[setting] = self._broker.timers.call_later(interval_s, due)

    def _abort_timed_out(self) -> None:
        found = self._coordinator.timed_out(self._monotonic_ms())
        self._broker.slices.run(self._abort_each(found))

    def _abort_each(self, transactional_ids: list[str]) -> Iterator[None]:
        for transactional_id in transactional_ids:
            now_ms = self._broker.clock.now_ms()
            # It may have ended since it was found.
            if self._coordinator.is_timed_out(transactional_id, self._monotonic_ms()):
                logger.info(
                    "aborting a transaction that takes too long",
                    extra={"transactional_id": transactional_id},
                )
                try:
                    self._append(self._coordinator.abort(transactional_id, now_ms), _ignore)
                except (DuologError, OSError):
                    logger.exception(
                        "a transaction was not aborted",
                        extra={"transactional_id": transactional_id},
                    )
            yield

    def _expire_ids(self) -> None:
        self._broker.slices.run(self._bury(list(self._coordinator.records())))

    def _bury(self, transactional_ids: list[str]) -> Iterator[None]:
        for start in range(0, len(transactional_ids), _IDS_A_STEP):
            now_ms = self._broker.clock.now_ms()
            some = transactional_ids[start : start + _IDS_A_STEP]
            tombstones: dict[int, list[TransactionChange]] = defaultdict(list)
            for change in self._coordinator.expired(some, now_ms):
                tombstones[self._partition_of(change.transactional_id)].append(change)
            for partition, changes in tombstones.items():
                if self._broker.rounds.failure is not None:
                    return
                rows = [Record(0, now_ms, change.encode_key(), None) for change in changes]
                self._broker.append_internal(
                    TRANSACTIONS_TOPIC, partition, encode_batch(rows), _ignore
                )
                for change in changes:
                    self._coordinator.staged(change, self._monotonic_ms())
            yield

    # Loading

    def _load(self) -> Iterator[None]:
        topic = self._broker.topics.get(TRANSACTIONS_TOPIC)
        for partition in range(len(topic.partitions)) if topic else ():
            for record in self._broker.replay_internal(TRANSACTIONS_TOPIC, partition):
                change = record.key and decode_record(record.key, record.value)
                if change:
                    self._coordinator.replay(change)
                yield
        now = Moment(self._broker.clock.now_ms(), self._monotonic_ms())
        prepared = self._coordinator.loaded(now)
        # In a round of the loop: what is staged before it runs would lie until something comes.
        self._broker.timers.call_later(
            0.0, lambda: self._broker.slices.run(self._reconcile(prepared))
        )

    def _reconcile(self, prepared: dict[str, TransactionRecord]) -> Iterator[None]:
        try:
            for transactional_id, record in prepared.items():
                logger.info("ending a transaction", extra={"transactional_id": transactional_id})
                self._finish(transactional_id, record, _ignore)
                yield
            for topic in list(self._broker.topics):
                for partition in topic.served:
                    if self._broker.topics.get(topic.name) is topic:
                        self._reconcile_partition(partition.topic_partition)
                    yield
        finally:  # Whatever happens to one of them, later ones are not left open for ever.
            self._plan(
                "transaction.abort.timed.out.transaction.cleanup.interval.ms", self._abort_timed_out
            )
            self._plan(
                "transaction.remove.expired.transaction.cleanup.interval.ms", self._expire_ids
            )

    def _reconcile_partition(self, topic_partition: TopicPartition) -> None:
        """See to it that each transaction that is open in a partition will be ended."""
        log = self._broker.log(*topic_partition)
        for transaction in log.open_transactions():
            producer = Producer(transaction.producer_id, transaction.producer_epoch)
            if self._coordinator.holds(producer, topic_partition):
                continue
            transactional_id = self._coordinator.owner(producer)
            logger.info(
                "a crash left a partition out of its transaction",
                extra={
                    "topic_partition": str(topic_partition),
                    "producer_id": producer.producer_id,
                    "transactional_id": transactional_id,
                },
            )
            if transactional_id is None:
                ended = EndedTransaction(
                    *producer, commit=False, coordinator_epoch=log.leader_epoch
                )
                self._broker.slices.run(
                    write_markers(self._broker, ended, [topic_partition], _ignore)
                )
            else:
                added = self._added(transactional_id, producer, topic_partition)
                assert added is not None, "the partition is not in the transaction"
                self._append(added, _ignore)


def transaction_settings(settings: "BrokerSettings") -> TransactionSettings:
    """Return the coordinator's part of the broker's settings."""
    return TransactionSettings(
        timeout_ms_max=settings.integer("transaction.max.timeout.ms"),
        id_expiration_ms=settings.integer("transactional.id.expiration.ms"),
    )


def _code(error: Exception) -> int:
    """Return the error that a client receives; after a storage error it looks up the coordinator again."""
    code, _ = kafka_code(error)
    return ErrorCode.NOT_COORDINATOR if code == ErrorCode.KAFKA_STORAGE_ERROR else code


def _ignore(error: Exception | None) -> None:
    """Do nothing: a record that cannot be stored has taken the log directory offline."""
    del error
