"""The transaction coordinator's hands: its log, its markers, its timers.

    request ─▶ coordinator ─▶ record ─▶ __transaction_state ─▶ on the disk ─┬─▶ answer
                                                                             │ PREPARE_*
                                                                             ▼
             answer ◀─ on the disk ◀─ COMPLETE_* ◀─ on the disk ◀─ markers in every partition

An end is answered when it is complete, two syncs later than Kafka does: the next transaction of the
producer then never meets CONCURRENT_TRANSACTIONS, which costs clients 20 to 100 ms.

At a start the log is replayed, and what was open is ended; see `transaction_recovery`. Until the
replay is done, requests are answered COORDINATOR_LOAD_IN_PROGRESS. All of it runs on the broker's
loop.

Source: Kafka `TransactionCoordinator`, `TransactionMarkerChannelManager`; ADR 0013.
"""

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from duolog.broker.errors import kafka_code
from duolog.broker.topics.topic_names import OFFSETS_TOPIC
from duolog.broker.transactions.transaction_log import TransactionLog
from duolog.broker.transactions.transaction_recovery import TransactionRecovery
from duolog.broker.transactions.transaction_timers import TransactionTimers
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
from duolog.coordinator.transactions.records import TransactionRecord
from duolog.coordinator.transactions.settings import TransactionSettings
from duolog.coordinator.transactions.transitions import BUMPING_VERSION, Producer
from duolog.core.errors import DuologError, KafkaError
from duolog.core.ids import TopicPartition
from duolog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from duolog.broker.settings import BrokerSettings
    from duolog.broker.transactions.needs import Broker

logger = logging.getLogger(__name__)

_FIRST_SLICE_S: Final = 0.25

AnswerTo = Callable[[Answer], None]


class TransactionCoordinatorService:
    """The transactions of one broker."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._coordinator = TransactionCoordinator(
            broker.producer_ids.take, transaction_settings(broker.settings)
        )
        self._log = TransactionLog(broker, self._coordinator)
        self._timers = TransactionTimers(broker, self._coordinator, self._log)
        self._recovery = TransactionRecovery(broker, self._coordinator, self._log)

    # The broker's life

    @property
    def loading(self) -> bool:
        """True while the log is being loaded."""
        return self._coordinator.loading

    def start(self) -> None:
        """Load the state from the log, in time slices while the broker serves other requests."""
        load = self._recovery.load(then=self._timers.start)
        self._broker.slices.run(load, first_slice_s=_FIRST_SLICE_S)

    def stop(self) -> None:
        """Cancel all timers."""
        self._timers.stop()

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
                self._log.append(outcome.change, done)
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
        change = self._log.added(transactional_id, producer, topic_partition)
        if change is not None:
            self._log.append_in_round(change)

    def _ensure_online(self) -> None:
        if self._broker.rounds.failure is not None:
            raise TransactionsNotHere("the log directory is offline")


def transaction_settings(settings: "BrokerSettings") -> TransactionSettings:
    """Return the coordinator's part of the broker's settings."""
    return TransactionSettings(
        timeout_ms_max=settings.integer("transaction.max.timeout.ms"),
        id_expiration_ms=settings.integer("transactional.id.expiration.ms"),
    )


def _code(error: Exception) -> int:
    """Return the error for a client; after a storage error it looks for the coordinator again."""
    code, _ = kafka_code(error)
    return ErrorCode.NOT_COORDINATOR if code == ErrorCode.KAFKA_STORAGE_ERROR else code
