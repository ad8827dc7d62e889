"""Compute the next record of a transactional id for each request; pure functions.

`EndTxn` of a client of transactions version 2 carries the epoch of the transaction that it ends;
the end gives the producer the next epoch, so a request of the epoch before is a retry:

                      abort                      commit
                      retry       this epoch     retry       this epoch
    EMPTY             fenced      next epoch     fenced      INVALID_TXN_STATE
    ONGOING           fenced      next epoch     fenced      next epoch
    COMPLETE_ABORT    done        next epoch     INVALID     INVALID_TXN_STATE
    COMPLETE_COMMIT   INVALID     next epoch     done        INVALID_TXN_STATE

Before version 2 the epoch stays, so a retry looks like the request: another epoch is fenced, a
complete transaction answers the outcome that it had, and an EMPTY one is INVALID_TXN_STATE.
While PREPARE_* lasts everything is CONCURRENT_TRANSACTIONS, and the client asks again.

Source: Kafka `TransactionMetadata.prepare*`, `TransactionCoordinator.endTransaction`; KIP-98,
KIP-360, KIP-588, KIP-890.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, NamedTuple

from duolog.coordinator.transactions.errors import (
    ConcurrentTransactions,
    InvalidProducerIdMapping,
    InvalidTransactionState,
    ProducerFenced,
)
from duolog.coordinator.transactions.records import (
    NO_EPOCH,
    NO_PRODUCER,
    NO_TIME,
    TransactionRecord,
)
from duolog.coordinator.transactions.states import TransactionState
from duolog.core.ids import TopicPartition

EPOCH_MAX: Final = 2**15 - 1
BUMPING_VERSION: Final = 2
"""The first version of transactions with a new epoch at every end."""

_LAST_GIVEN_EPOCH: Final = EPOCH_MAX - 1
"""No client has the largest epoch, so that every client can be fenced."""

NewProducerId = Callable[[], int]


class Producer(NamedTuple):
    """A producer id with its epoch."""

    producer_id: int
    epoch: int


class End(NamedTuple):
    """A request to end a transaction: by whom, and how."""

    producer: Producer
    commit: bool
    client_version: int = 0


def initialize(
    transactional_id: str,
    known: TransactionRecord | None,
    expected: Producer | None,
    *,
    timeout_ms: int,
    new_producer_id: NewProducerId,
    now_ms: int,
) -> TransactionRecord:
    """Return the record of a producer that starts, or continues after an error.

    If the record is prepared, a transaction must be aborted first. `expected` is the producer id
    and epoch of a producer that continues (KIP-360).

    Raises:
        ConcurrentTransactions: the last transaction is not complete yet.
        ProducerFenced: `expected` is an older producer.
    """
    if known is None:
        return TransactionRecord(
            producer_id=(producer_id := new_producer_id()),
            producer_epoch=0,
            timeout_ms=timeout_ms,
            updated_at_ms=now_ms,
            previous_producer_id=producer_id,
        )
    if known.state.prepared:
        raise _concurrent(transactional_id)
    if expected is not None and not _goes_on(known, expected):
        raise _fenced(transactional_id, known)
    if known.state is TransactionState.ONGOING:
        return fence(known, new_producer_id, now_ms)
    fresh = replace(
        known,
        timeout_ms=timeout_ms,
        state=TransactionState.EMPTY,
        partitions=frozenset(),
        updated_at_ms=now_ms,
        started_at_ms=NO_TIME,
        previous_producer_id=known.producer_id,
    )
    epoch = known.producer_epoch
    if expected is not None and expected.epoch != epoch:
        if expected.epoch != known.last_producer_epoch:
            raise _fenced(transactional_id, known)
        return fresh  # The answer to the first try was lost.
    last_epoch = NO_EPOCH if expected is None else epoch
    if epoch >= _LAST_GIVEN_EPOCH:
        return replace(
            fresh,
            producer_id=new_producer_id(),
            producer_epoch=0,
            last_producer_epoch=last_epoch,
        )
    return replace(fresh, producer_epoch=epoch + 1, last_producer_epoch=last_epoch)


def _goes_on(known: TransactionRecord, expected: Producer) -> bool:
    # A retry may name the id before, if that one's epochs were used up.
    return expected.producer_id == known.producer_id or (
        expected.producer_id == known.previous_producer_id and expected.epoch >= _LAST_GIVEN_EPOCH
    )


def add(
    transactional_id: str,
    known: TransactionRecord | None,
    producer: Producer,
    partitions: frozenset[TopicPartition],
    *,
    client_version: int,
    now_ms: int,
) -> TransactionRecord:
    """Return the record with `partitions` in the transaction, which begins if there is none.

    It is `known` itself if all of them are in it already.

    Raises:
        InvalidProducerIdMapping, ProducerFenced: another producer has the transactional id.
        ConcurrentTransactions: the last transaction is not complete yet.
    """
    # Before any other check: the producer may have what it gets when the last one is complete.
    if known is not None and known.state.prepared:
        raise _concurrent(transactional_id)
    known = check_producer(transactional_id, known, producer)
    ongoing = known.state is TransactionState.ONGOING
    if ongoing and partitions <= known.partitions:
        return known
    return replace(
        known,
        state=TransactionState.ONGOING,
        partitions=known.partitions | partitions if ongoing else partitions,
        updated_at_ms=now_ms,
        started_at_ms=known.started_at_ms if ongoing else now_ms,
        previous_producer_id=known.producer_id,
        client_version=client_version,
    )


def check_producer(
    transactional_id: str, known: TransactionRecord | None, producer: Producer
) -> TransactionRecord:
    """Return the record if it is this producer's.

    Raises:
        InvalidProducerIdMapping, ProducerFenced: it is not.
    """
    if known is None or known.producer_id != producer.producer_id:
        raise _other_producer(transactional_id, producer)
    if known.producer_epoch != producer.epoch:
        raise _fenced(transactional_id, known)
    return known


def end(
    transactional_id: str,
    known: TransactionRecord | None,
    asked: End,
    *,
    new_producer_id: NewProducerId,
    now_ms: int,
) -> TransactionRecord:
    """Return the prepared record; `known` itself if this is a retry of an end that is complete.

    Raises:
        InvalidProducerIdMapping, ProducerFenced: another producer has the transactional id.
        ConcurrentTransactions: this end is under way.
        InvalidTransactionState: there is nothing to end, or it had the other outcome.
    """
    producer, commit, client_version = asked
    if known is None:
        raise _other_producer(transactional_id, producer)
    bumping = client_version >= BUMPING_VERSION
    state = known.state
    if not bumping:
        check_producer(transactional_id, known, producer)
    if state.prepared:
        raise _concurrent(transactional_id)
    retried = _check_bumped_epoch(transactional_id, known, producer) if bumping else state.complete
    if state is TransactionState.ONGOING:
        return _prepared(
            known,
            commit=commit,
            client_version=client_version,
            new_producer_id=new_producer_id,
            now_ms=now_ms,
        )
    if retried and state.commit == commit:
        return known
    if retried or commit or not bumping:
        raise InvalidTransactionState(
            f'transactional id "{transactional_id}" is in the state {state.value} and cannot '
            f"{'commit' if commit else 'abort'}"
        )
    # An abort without a transaction: the client wants a new epoch.
    begun = replace(known, partitions=frozenset(), started_at_ms=now_ms)
    return _prepared(
        begun,
        commit=False,
        client_version=client_version,
        new_producer_id=new_producer_id,
        now_ms=now_ms,
    )


def _check_bumped_epoch(
    transactional_id: str, known: TransactionRecord, producer: Producer
) -> bool:
    """Return whether the request is a retry of the end before."""
    rotated = (
        known.previous_producer_id == producer.producer_id
        and producer.epoch == _LAST_GIVEN_EPOCH
        and known.producer_epoch == 0
        and known.producer_id != producer.producer_id
    )
    if known.producer_id != producer.producer_id and not rotated:
        raise _other_producer(transactional_id, producer)
    retried = rotated or known.producer_epoch == producer.epoch + 1
    if retried and known.state.complete:
        return True
    if rotated or known.producer_epoch != producer.epoch:
        raise _fenced(transactional_id, known)
    return False


def fence(
    known: TransactionRecord, new_producer_id: NewProducerId, now_ms: int
) -> TransactionRecord:
    """Return the record that aborts an ongoing transaction and shuts its producer out."""
    return _prepared(
        known,
        commit=False,
        client_version=BUMPING_VERSION,
        new_producer_id=new_producer_id,
        now_ms=now_ms,
    )


def _prepared(
    known: TransactionRecord,
    *,
    commit: bool,
    client_version: int,
    new_producer_id: NewProducerId,
    now_ms: int,
) -> TransactionRecord:
    prepared = replace(
        known,
        state=TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT,
        updated_at_ms=now_ms,
        previous_producer_id=known.producer_id,
        client_version=client_version,
    )
    if client_version < BUMPING_VERSION:
        return prepared
    assert known.producer_epoch < EPOCH_MAX, "no client has the largest epoch"
    used_up = known.producer_epoch >= _LAST_GIVEN_EPOCH
    return replace(
        prepared,
        producer_epoch=known.producer_epoch + 1,
        last_producer_epoch=known.producer_epoch,
        next_producer_id=new_producer_id() if used_up else NO_PRODUCER,
    )


def complete(prepared: TransactionRecord, now_ms: int) -> TransactionRecord:
    """Return the record for when the markers are written."""
    assert prepared.state.prepared
    done = replace(
        prepared,
        state=TransactionState.COMPLETE_COMMIT
        if prepared.state.commit
        else TransactionState.COMPLETE_ABORT,
        partitions=frozenset(),
        updated_at_ms=now_ms,
        previous_producer_id=prepared.producer_id,
        next_producer_id=NO_PRODUCER,
    )
    if prepared.next_producer_id == NO_PRODUCER:
        return done
    return replace(done, producer_id=prepared.next_producer_id, producer_epoch=0)


def _concurrent(transactional_id: str) -> ConcurrentTransactions:
    return ConcurrentTransactions(
        f'the last transaction of transactional id "{transactional_id}" is not complete yet'
    )


def _fenced(transactional_id: str, known: TransactionRecord) -> ProducerFenced:
    return ProducerFenced(
        f'transactional id "{transactional_id}" is at epoch {known.producer_epoch} of '
        f"producer {known.producer_id}"
    )


def _other_producer(transactional_id: str, producer: Producer) -> InvalidProducerIdMapping:
    return InvalidProducerIdMapping(
        f'producer {producer.producer_id} does not have transactional id "{transactional_id}"'
    )
