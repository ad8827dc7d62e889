"""The transaction coordinator of a broker: the state of all transactional ids.

Each request is `(request, now) -> Outcome`. Afterwards, the caller must, in this order:

1. Append `outcome.change` and call `staged`.
2. When it is durable, call `durable`.
3. If the record is then prepared, write the markers; when they are durable, append the result of
   `complete`.
4. Send the reply.

If a record cannot be made durable, the log directory is offline until a restart, and nothing has
to be undone.

State changes when a record is staged, so that a data batch in the same round finds its partition in
the transaction. Only COMPLETE_* takes effect when it is durable: until then the id is prepared, and
no new transaction may start. Otherwise a crash could leave batches of the new transaction after a
PREPARE_*, and the markers, written again, would end it.

A transaction's timeout is a deadline of the monotonic clock, so that setting the wall clock neither
ends it early nor keeps it open. After a restart, an open transaction has the rest of its timeout by
the wall clock, and never more than the whole timeout.

On start: `replay` every record of `__transaction_state` in the order of the log, then `loaded`.

Source: Kafka `TransactionCoordinator`, `TransactionStateManager`.
"""

from collections.abc import Iterable
from typing import NamedTuple

from duolog.coordinator.messages import Moment
from duolog.coordinator.transactions.errors import (
    ConcurrentTransactions,
    InvalidTransactionRequest,
    InvalidTransactionTimeout,
    NotInTransaction,
    TransactionalIdNotFound,
    TransactionsLoadInProgress,
)
from duolog.coordinator.transactions.records import (
    TEXT_BYTES_MAX,
    TransactionChange,
    TransactionRecord,
)
from duolog.coordinator.transactions.settings import TransactionSettings
from duolog.coordinator.transactions.states import PREVIOUS, TransactionState
from duolog.coordinator.transactions.transitions import (
    End,
    NewProducerId,
    Producer,
    add,
    check_producer,
    complete,
    end,
    fence,
    initialize,
)
from duolog.core.ids import TopicPartition
from duolog.protocol.error_codes import ErrorCode


class Answer(NamedTuple):
    """The response to a client: an error, or the producer id and epoch to continue with."""

    error_code: int
    producer: Producer


NO_ONE = Producer(-1, -1)


class Outcome(NamedTuple):
    """A record to append, if any, and the reply to send when all its effects are durable."""

    change: TransactionChange | None
    answer: Answer


class TransactionCoordinator:
    """The transactional ids and their transactions."""

    def __init__(
        self, new_producer_id: NewProducerId, settings: TransactionSettings | None = None
    ) -> None:
        self._settings = settings or TransactionSettings()
        self._new_producer_id = new_producer_id
        self._records: dict[str, TransactionRecord] = {}
        self._ids: dict[int, str] = {}
        self._ongoing: dict[str, int] = {}
        """The deadline of each ongoing transaction, in monotonic milliseconds."""
        self._loading = True

    # Requests

    def initialize(
        self, transactional_id: str, timeout_ms: int, expected: Producer | None, now_ms: int
    ) -> Outcome:
        """InitProducerId; an ongoing transaction is aborted, and the client must ask again.

        Raises:
            TransactionError: the producer can not begin, or not yet.
        """
        _check_id(transactional_id)
        if not 0 < timeout_ms <= self._settings.timeout_ms_max:
            raise InvalidTransactionTimeout(
                f"transaction timeout of {timeout_ms} ms is not in 1 to "
                f"{self._settings.timeout_ms_max} ms"
            )
        record = initialize(
            transactional_id,
            self._known(transactional_id),
            expected,
            timeout_ms=timeout_ms,
            new_producer_id=self._new_producer_id,
            now_ms=now_ms,
        )
        answer = Answer(ErrorCode.NONE, Producer(record.producer_id, record.producer_epoch))
        if record.state.prepared:
            answer = Answer(ErrorCode.CONCURRENT_TRANSACTIONS, NO_ONE)
        return Outcome(TransactionChange(transactional_id, record), answer)

    def add(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: frozenset[TopicPartition],
        now_ms: int,
        *,
        client_version: int = 0,
    ) -> Outcome:
        """AddPartitionsToTxn, AddOffsetsToTxn, and the partitions that Produce adds implicitly.

        Raises:
            TransactionError: the producer can not add to a transaction now.
        """
        _check_id(transactional_id)
        known = self._known(transactional_id)
        record = add(
            transactional_id,
            known,
            producer,
            partitions,
            client_version=client_version,
            now_ms=now_ms,
        )
        answer = Answer(ErrorCode.NONE, producer)
        if record is known:
            return Outcome(None, answer)
        return Outcome(TransactionChange(transactional_id, record), answer)

    def end(
        self,
        transactional_id: str,
        producer: Producer,
        now_ms: int,
        *,
        commit: bool,
        client_version: int = 0,
    ) -> Outcome:
        """EndTxn; the answer names the producer id and the epoch of the next transaction.

        Raises:
            TransactionError: the producer can not end a transaction so, or not yet.
        """
        _check_id(transactional_id)
        known = self._known(transactional_id)
        record = end(
            transactional_id,
            known,
            End(producer, commit, client_version),
            new_producer_id=self._new_producer_id,
            now_ms=now_ms,
        )
        if record is known:
            return Outcome(
                None, Answer(ErrorCode.NONE, Producer(record.producer_id, record.producer_epoch))
            )
        after = complete(record, now_ms)
        return Outcome(
            TransactionChange(transactional_id, record),
            Answer(ErrorCode.NONE, Producer(after.producer_id, after.producer_epoch)),
        )

    def verify(
        self, transactional_id: str, producer: Producer, topic_partition: TopicPartition
    ) -> None:
        """Return if the partition is in the producer's transaction (KIP-890, part 1).

        Raises:
            TransactionError: it is not.
        """
        _check_id(transactional_id)
        known = check_producer(transactional_id, self._known(transactional_id), producer)
        if known.state.prepared:
            raise ConcurrentTransactions(
                f'transactional id "{transactional_id}" is ending its transaction'
            )
        if known.state is not TransactionState.ONGOING or topic_partition not in known.partitions:
            raise NotInTransaction(
                f'"{topic_partition}" is not in the transaction of "{transactional_id}"'
            )

    # Administration

    def describe(self, transactional_id: str) -> TransactionRecord:
        """Return the record of a transactional id.

        Raises:
            TransactionalIdNotFound: the id is unknown.
        """
        _check_id(transactional_id)
        known = self._known(transactional_id)
        if known is None:
            raise TransactionalIdNotFound(f'there is no transactional id "{transactional_id}"')
        return known

    def records(self) -> dict[str, TransactionRecord]:
        """Return a copy of all records.

        Raises:
            TransactionsLoadInProgress: try again.
        """
        self._ensure_loaded()
        return dict(self._records)

    def holds(self, producer: Producer, topic_partition: TopicPartition) -> bool:
        """Return whether a transaction that is open in a log is one of ours, or will be ended."""
        record = self._records.get(self._ids.get(producer.producer_id, ""))
        return (
            record is not None
            and record.producer_id == producer.producer_id
            and topic_partition in record.partitions
            and (record.state.prepared or record.producer_epoch == producer.epoch)
        )

    def owner(self, producer: Producer) -> str | None:
        """Return the transactional id for which the producer can start or continue now."""
        transactional_id = self._ids.get(producer.producer_id, "")
        record = self._records.get(transactional_id)
        if record is None or record.state.prepared:
            return None
        current = Producer(record.producer_id, record.producer_epoch)
        return transactional_id if current == producer else None

    # Time

    def timed_out(self, monotonic_ms: int) -> list[str]:
        """Return the transactional ids whose transaction has taken longer than its timeout."""
        return [
            transactional_id
            for transactional_id, until_ms in self._ongoing.items()
            if until_ms < monotonic_ms
        ]

    def is_timed_out(self, transactional_id: str, monotonic_ms: int) -> bool:
        """Return whether there is a transaction that has taken longer than its timeout."""
        until_ms = self._ongoing.get(transactional_id)
        return until_ms is not None and until_ms < monotonic_ms

    def abort(self, transactional_id: str, now_ms: int) -> TransactionChange:
        """Return the change that aborts an ongoing transaction and fences its producer."""
        record = self._records[transactional_id]
        assert record.state is TransactionState.ONGOING
        return TransactionChange(transactional_id, fence(record, self._new_producer_id, now_ms))

    def expired(self, transactional_ids: Iterable[str], now_ms: int) -> list[TransactionChange]:
        """Return tombstones for ids that have been unused for too long."""
        return [
            TransactionChange(transactional_id, None)
            for transactional_id in transactional_ids
            if (record := self._records.get(transactional_id)) is not None
            and record.state.idle
            and record.updated_at_ms + self._settings.id_expiration_ms <= now_ms
        ]

    # The log

    @property
    def loading(self) -> bool:
        return self._loading

    def complete(self, transactional_id: str, now_ms: int) -> TransactionChange:
        """Return the change for when all markers of a prepared transaction are durable."""
        return TransactionChange(
            transactional_id, complete(self._records[transactional_id], now_ms)
        )

    def staged(self, change: TransactionChange, monotonic_ms: int) -> None:
        """Apply a staged record, unless it is a COMPLETE_*."""
        if change.value is None or not change.value.state.complete:
            self.replay(change)
        if change.value is not None and change.value.state is TransactionState.ONGOING:
            until_ms = monotonic_ms + change.value.timeout_ms
            self._ongoing.setdefault(change.transactional_id, until_ms)

    def durable(self, change: TransactionChange) -> TransactionRecord | None:
        """Apply a durable record if it is a COMPLETE_*; return one that needs markers, if any."""
        if change.value is not None and change.value.state.complete:
            self.replay(change)
        record = self._records.get(change.transactional_id)
        # Only the PREPARE_* itself asks for markers: nothing else is staged until it is complete.
        return record if record is change.value and record and record.state.prepared else None

    def replay(self, change: TransactionChange) -> None:
        """Apply a record of the log. Only this method changes state."""
        if change.value is None or change.value.state is not TransactionState.ONGOING:
            self._ongoing.pop(change.transactional_id, None)
        if change.value is None:
            gone = self._records.pop(change.transactional_id, None)
            if gone is not None:
                self._ids.pop(gone.producer_id, None)
            return
        known = self._records.get(change.transactional_id)
        # A log that was compacted has only the last record of each id.
        assert self._loading or known is None or known.state in PREVIOUS[change.value.state], (
            f"{change.transactional_id}: {change.value.state} after {known and known.state}"
        )
        if known is not None and known.producer_id != change.value.producer_id:
            self._ids.pop(known.producer_id, None)
        self._ids[change.value.producer_id] = change.transactional_id
        self._records[change.transactional_id] = change.value

    def loaded(self, now: Moment) -> dict[str, TransactionRecord]:
        """End the loading; return the transactions that must be completed."""
        assert self._loading
        self._loading = False
        for transactional_id, record in self._records.items():
            if record.state is TransactionState.ONGOING:
                left_ms = record.started_at_ms + record.timeout_ms - now.wall_ms
                until_ms = now.monotonic_ms + min(left_ms, record.timeout_ms)
                self._ongoing[transactional_id] = until_ms
        return {key: record for key, record in self._records.items() if record.state.prepared}

    def _known(self, transactional_id: str) -> TransactionRecord | None:
        self._ensure_loaded()
        return self._records.get(transactional_id)

    def _ensure_loaded(self) -> None:
        if self._loading:
            raise TransactionsLoadInProgress("transactions are still being loaded")


def _check_id(transactional_id: str) -> None:
    if not transactional_id:
        raise InvalidTransactionRequest("the transactional id is empty")
    if len(transactional_id.encode()) > TEXT_BYTES_MAX:
        raise InvalidTransactionRequest(
            f"the transactional id is longer than {TEXT_BYTES_MAX} bytes"
        )
