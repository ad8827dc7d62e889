"""The start of the transaction coordinator: its log is replayed, and what is open is ended.

What is prepared is brought to its end. Then every transaction that is open in a partition is
compared with the coordinator's records: a crash between two files can leave a batch without the
record that its partition is in the transaction. If its producer could continue, the record is
written now, because a retry of the batch is answered as its duplicate; otherwise the transaction is
aborted there.
"""

import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from duolog.broker.transactions.markers import EndedTransaction, write_markers
from duolog.broker.transactions.transaction_log import TRANSACTIONS_TOPIC, ignore
from duolog.coordinator.messages import Moment
from duolog.coordinator.transactions.records import TransactionRecord, decode_record
from duolog.coordinator.transactions.transitions import Producer
from duolog.core.ids import TopicPartition

if TYPE_CHECKING:
    from duolog.broker.transactions.needs import Broker
    from duolog.broker.transactions.transaction_log import TransactionLog
    from duolog.coordinator.transactions.coordinator import TransactionCoordinator

logger = logging.getLogger(__name__)


class TransactionRecovery:
    """Brings the coordinator of one broker to the state that its log holds."""

    def __init__(
        self, broker: "Broker", coordinator: "TransactionCoordinator", log: "TransactionLog"
    ) -> None:
        self._broker = broker
        self._coordinator = coordinator
        self._log = log

    def load(self, then: Callable[[], None]) -> Iterator[None]:
        """Replay the log in steps; `then` is called when all that was open is seen to."""
        topic = self._broker.topics.get(TRANSACTIONS_TOPIC)
        for partition in range(len(topic.partitions)) if topic else ():
            for record in self._broker.replay_internal(TRANSACTIONS_TOPIC, partition):
                change = record.key and decode_record(record.key, record.value)
                if change:
                    self._coordinator.replay(change)
                yield
        now = Moment(self._broker.clock.now_ms(), self._log.monotonic_ms())
        prepared = self._coordinator.loaded(now)
        # In a round of the loop: what is staged before it runs would lie until something comes.
        self._broker.timers.call_later(
            0.0, lambda: self._broker.slices.run(self._reconcile(prepared, then))
        )

    def _reconcile(
        self, prepared: dict[str, TransactionRecord], then: Callable[[], None]
    ) -> Iterator[None]:
        try:
            for transactional_id, record in prepared.items():
                logger.info("ending a transaction", extra={"transactional_id": transactional_id})
                self._log.finish(transactional_id, record, ignore)
                yield
            for topic in list(self._broker.topics):
                for partition in topic.served:
                    if self._broker.topics.get(topic.name) is topic:
                        self._reconcile_partition(partition.topic_partition)
                    yield
        finally:  # Whatever happens to one of them, later ones are not left open for ever.
            then()

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
                    write_markers(self._broker, ended, [topic_partition], ignore)
                )
            else:
                added = self._log.added(transactional_id, producer, topic_partition)
                assert added is not None, "the partition is not in the transaction"
                self._log.append(added, ignore)
