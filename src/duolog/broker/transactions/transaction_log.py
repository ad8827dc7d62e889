"""The log of the transaction coordinator: the topic `__transaction_state`.

    change ─▶ record ─▶ on the disk ─▶ if the transaction is prepared: markers in every partition
                                       ─▶ on the disk ─▶ the record that completes it ─▶ done

The topic is made with its first record. Partitions that batches have added to a transaction are
written once for each round of the loop.
"""

import logging
from typing import TYPE_CHECKING, Final

from duolog.broker.groups.offsets_topic import partition_of
from duolog.broker.transactions.markers import Done, EndedTransaction, write_markers
from duolog.coordinator.transactions.records import TransactionChange, TransactionRecord
from duolog.coordinator.transactions.transitions import BUMPING_VERSION, Producer
from duolog.core.errors import DuologError
from duolog.core.ids import TopicPartition
from duolog.core.units import MIB, SECOND_MS
from duolog.record.records import Record, encode_batch

if TYPE_CHECKING:
    from duolog.broker.transactions.needs import Broker
    from duolog.coordinator.transactions.coordinator import TransactionCoordinator

logger = logging.getLogger(__name__)

TRANSACTIONS_TOPIC: Final = "__transaction_state"

_RECORD_BYTES_MAX: Final = 100 * MIB


class TransactionLog:
    """Appends the coordinator's records, and what must follow them."""

    def __init__(self, broker: "Broker", coordinator: "TransactionCoordinator") -> None:
        self._broker = broker
        self._coordinator = coordinator
        self._unwritten: dict[str, TransactionChange] = {}
        """Staged, and appended before this round is written."""

    def monotonic_ms(self) -> int:
        """Return the time from which the timeout of a transaction counts."""
        return int(self._broker.clock.monotonic() * SECOND_MS)

    def added(
        self, transactional_id: str, producer: Producer, topic_partition: TopicPartition
    ) -> TransactionChange | None:
        """Return the change that adds a partition to a transaction; None if it is there already.

        Raises:
            TransactionError: the producer may not add it.
        """
        return self._coordinator.add(
            transactional_id,
            producer,
            frozenset((topic_partition,)),
            self._broker.clock.now_ms(),
            client_version=BUMPING_VERSION,
        ).change

    def append_in_round(self, change: TransactionChange) -> None:
        """Let a change count now, and append it before this round is written."""
        self._coordinator.staged(change, self.monotonic_ms())
        if not self._unwritten:
            self._broker.rounds.before_write.append(self._write_added)
        self._unwritten[change.transactional_id] = change

    def _write_added(self) -> None:
        """Append one record for each id with all partitions that this round has added to it.

        A record holds all partitions of its transaction, so one for each batch would be n² of them.
        """
        unwritten, self._unwritten = self._unwritten, {}
        try:
            for change in unwritten.values():
                self._append_record(change, ignore)
        except (DuologError, OSError):
            # The disk refused, and the round that is about to be written finds that out as well.
            logger.exception("partitions of transactions were not stored")

    def append(self, change: TransactionChange, done: Done) -> None:
        """Append a record, and all that must follow it; `done` is called when that is durable."""

        def on_durable(error: Exception | None) -> None:
            prepared = None if error is not None else self._coordinator.durable(change)
            if prepared is None:
                done(error)
            else:
                self.finish(change.transactional_id, prepared, done)

        self._append_record(change, on_durable)
        # The record holds what was added before it in this round, too.
        self._unwritten.pop(change.transactional_id, None)
        self._coordinator.staged(change, self.monotonic_ms())

    def append_tombstones(
        self, partition: int, changes: list[TransactionChange], now_ms: int
    ) -> None:
        """Append the removal of transactional ids that one partition holds."""
        rows = [Record(0, now_ms, change.encode_key(), None) for change in changes]
        self._broker.append_internal(TRANSACTIONS_TOPIC, partition, encode_batch(rows), ignore)
        for change in changes:
            self._coordinator.staged(change, self.monotonic_ms())

    def _append_record(self, change: TransactionChange, on_durable: Done) -> None:
        now_ms = self._broker.clock.now_ms()
        record = Record(0, now_ms, change.encode_key(), change.encode_value())
        self._broker.append_internal(
            TRANSACTIONS_TOPIC,
            self.partition_of(change.transactional_id),
            encode_batch([record]),
            on_durable,
        )

    def finish(self, transactional_id: str, prepared: TransactionRecord, done: Done) -> None:
        """Write the markers of a prepared transaction, and when they are durable its end."""
        epoch = self._broker.log(
            TRANSACTIONS_TOPIC, self.partition_of(transactional_id)
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
                self.append(self._coordinator.complete(transactional_id, now_ms), done)
            except (DuologError, OSError) as refused:
                done(refused)

        markers = write_markers(self._broker, ended, sorted(prepared.partitions), written)
        self._broker.slices.run(markers)

    def partition_of(self, transactional_id: str) -> int:
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


def ignore(error: Exception | None) -> None:
    """Do nothing: a record that cannot be stored has taken the log directory offline."""
    del error
