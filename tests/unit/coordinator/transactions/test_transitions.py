"""Every request in every state: the next record, or Kafka's error."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from duolog.coordinator.transactions.errors import TransactionError
from duolog.coordinator.transactions.records import TransactionRecord
from duolog.coordinator.transactions.states import PREVIOUS, TransactionState
from duolog.coordinator.transactions.transitions import (
    End,
    Producer,
    add,
    check_producer,
    complete,
    end,
    fence,
    initialize,
)
from duolog.core.ids import TopicPartition

EMPTY, ONGOING = TransactionState.EMPTY, TransactionState.ONGOING
PREPARE_COMMIT, PREPARE_ABORT = TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT
COMPLETE_COMMIT = TransactionState.COMPLETE_COMMIT
COMPLETE_ABORT = TransactionState.COMPLETE_ABORT

A, B = TopicPartition("t", 0), TopicPartition("t", 1)
NOW = 5000
FENCED, CONCURRENT, MAPPING, INVALID = 90, 51, 49, 48
LAST = 32766
"""The largest epoch that a client can have."""


def record(state: TransactionState, **changes: Any) -> TransactionRecord:
    busy = state is ONGOING or state.prepared
    base = TransactionRecord(
        producer_id=7,
        producer_epoch=3,
        timeout_ms=1000,
        state=state,
        partitions=frozenset((A,)) if busy else frozenset(),
        updated_at_ms=100,
        started_at_ms=-1 if state is EMPTY else 50,
        previous_producer_id=7,
    )
    return replace(base, **changes)


@pytest.fixture
def fresh() -> Callable[[], int]:
    numbers: Iterator[int] = count(100)
    return lambda: next(numbers)


def outcome(
    call: Callable[..., TransactionRecord], *values: Any, **named: Any
) -> int | TransactionRecord:
    """Return the record, or the code of the error."""
    try:
        return call(*values, **named)
    except TransactionError as error:
        return error.code


# EndTxn

ENDS_V2 = {  # state: abort of the epoch before, abort, commit of the epoch before, commit
    EMPTY: (FENCED, PREPARE_ABORT, FENCED, INVALID),
    ONGOING: (FENCED, PREPARE_ABORT, FENCED, PREPARE_COMMIT),
    PREPARE_COMMIT: (CONCURRENT, CONCURRENT, CONCURRENT, CONCURRENT),
    PREPARE_ABORT: (CONCURRENT, CONCURRENT, CONCURRENT, CONCURRENT),
    COMPLETE_COMMIT: (INVALID, PREPARE_ABORT, "done", INVALID),
    COMPLETE_ABORT: ("done", PREPARE_ABORT, INVALID, INVALID),
}
ENDS_V0 = {  # state: abort, commit
    EMPTY: (INVALID, INVALID),
    ONGOING: (PREPARE_ABORT, PREPARE_COMMIT),
    PREPARE_COMMIT: (CONCURRENT, CONCURRENT),
    PREPARE_ABORT: (CONCURRENT, CONCURRENT),
    COMPLETE_COMMIT: (INVALID, "done"),
    COMPLETE_ABORT: ("done", INVALID),
}


def shown(found: int | TransactionRecord, before: TransactionRecord) -> object:
    if isinstance(found, int):
        return found
    return "done" if found is before else found.state


def asked_to_end(
    before: TransactionRecord | None, producer: Producer, version: int, *, commit: bool
) -> int | TransactionRecord:
    return outcome(
        end,
        "tx",
        before,
        End(producer, commit, version),
        new_producer_id=lambda: 100,
        now_ms=NOW,
    )


@pytest.mark.parametrize("state", TransactionState)
def test_an_end_of_version_2_in_every_state(state: TransactionState) -> None:
    before = record(state)

    found = tuple(
        shown(asked_to_end(before, Producer(7, epoch), 2, commit=commit), before)
        for commit in (False, True)
        for epoch in (2, 3)
    )

    assert found == ENDS_V2[state]


@pytest.mark.parametrize("state", TransactionState)
def test_an_end_before_version_2_in_every_state(state: TransactionState) -> None:
    before = record(state)

    def found(epoch: int, *, commit: bool) -> object:
        return shown(asked_to_end(before, Producer(7, epoch), 0, commit=commit), before)

    assert (found(3, commit=False), found(3, commit=True)) == ENDS_V0[state]
    assert {found(epoch, commit=commit) for epoch in (2, 4) for commit in (False, True)} == {FENCED}


@pytest.mark.parametrize("version", [0, 2])
def test_an_end_by_another_producer_id_is_refused(version: int) -> None:
    assert asked_to_end(None, Producer(8, 3), version, commit=True) == MAPPING
    assert asked_to_end(record(ONGOING), Producer(8, 3), version, commit=True) == MAPPING


def ended(before: TransactionRecord, fresh: Callable[[], int], version: int) -> TransactionRecord:
    return end(
        "tx",
        before,
        End(
            Producer(before.producer_id, before.producer_epoch), commit=True, client_version=version
        ),
        new_producer_id=fresh,
        now_ms=NOW,
    )


def test_an_end_of_version_2_gives_the_next_epoch(fresh: Callable[[], int]) -> None:
    prepared = ended(record(ONGOING), fresh, 2)
    done = complete(prepared, NOW + 1)

    assert (prepared.producer_epoch, prepared.last_producer_epoch) == (4, 3)
    assert prepared.partitions == {A}
    assert (done.state, done.producer_id, done.producer_epoch) == (COMPLETE_COMMIT, 7, 4)
    assert done.partitions == frozenset()
    assert done.started_at_ms == 50


def test_an_end_before_version_2_keeps_the_epoch(fresh: Callable[[], int]) -> None:
    prepared = ended(record(ONGOING), fresh, 0)

    assert (prepared.producer_epoch, prepared.last_producer_epoch) == (3, -1)
    assert complete(prepared, NOW).producer_epoch == 3


def test_a_producer_with_exhausted_epochs_gets_a_new_id(
    fresh: Callable[[], int],
) -> None:
    prepared = ended(record(ONGOING, producer_epoch=LAST), fresh, 2)
    done = complete(prepared, NOW)

    assert (prepared.producer_id, prepared.producer_epoch) == (7, 32767)
    assert prepared.next_producer_id == 100
    assert (done.producer_id, done.producer_epoch, done.previous_producer_id) == (100, 0, 7)
    assert done.last_producer_epoch == LAST


def test_a_retry_over_a_change_of_the_producer_id_is_answered_again(
    fresh: Callable[[], int],
) -> None:
    done = complete(ended(record(ONGOING, producer_epoch=LAST), fresh, 2), NOW)

    assert asked_to_end(done, Producer(7, LAST), 2, commit=True) is done
    assert asked_to_end(done, Producer(7, LAST), 2, commit=False) == INVALID


def test_an_abort_of_nothing_costs_an_epoch() -> None:
    prepared = asked_to_end(record(EMPTY), Producer(7, 3), 2, commit=False)

    assert isinstance(prepared, TransactionRecord)
    assert (prepared.state, prepared.producer_epoch) == (PREPARE_ABORT, 4)
    assert prepared.partitions == frozenset()
    assert prepared.started_at_ms == NOW


# AddPartitionsToTxn


def asked_to_add(before: TransactionRecord, producer: Producer) -> int | TransactionRecord:
    return outcome(add, "tx", before, producer, frozenset((B,)), client_version=0, now_ms=NOW)


@pytest.mark.parametrize("state", TransactionState)
def test_partitions_are_added_unless_the_last_transaction_is_ending(
    state: TransactionState,
) -> None:
    found = asked_to_add(record(state), Producer(7, 3))

    if state.prepared:
        assert found == CONCURRENT
        return
    assert isinstance(found, TransactionRecord)
    assert found.state is ONGOING
    assert found.partitions == ({A, B} if state is ONGOING else {B})
    assert found.started_at_ms == (50 if state is ONGOING else NOW)


def test_partitions_that_are_in_the_transaction_change_nothing() -> None:
    before = record(ONGOING, partitions=frozenset((A, B)))

    assert asked_to_add(before, Producer(7, 3)) is before


@pytest.mark.parametrize(
    ("producer", "code"),
    [(Producer(7, 2), FENCED), (Producer(7, 4), FENCED), (Producer(8, 3), MAPPING)],
)
def test_another_producer_cannot_add(producer: Producer, code: int) -> None:
    for state in (EMPTY, ONGOING, COMPLETE_ABORT):
        assert asked_to_add(record(state), producer) == code
        assert outcome(check_producer, "tx", record(state), producer) == code
    assert outcome(check_producer, "tx", None, producer) == MAPPING


def test_a_transaction_being_ended_is_reported_before_fencing() -> None:
    """The producer may have the id that it gets when the end is complete."""
    assert asked_to_add(record(PREPARE_COMMIT), Producer(100, 0)) == CONCURRENT


# InitProducerId


def init(
    known: TransactionRecord | None, expected: Producer | None, fresh: Callable[[], int]
) -> int | TransactionRecord:
    return outcome(
        initialize, "tx", known, expected, timeout_ms=2000, new_producer_id=fresh, now_ms=NOW
    )


def test_a_new_transactional_id_gets_a_new_producer_id(fresh: Callable[[], int]) -> None:
    for expected in (None, Producer(1, 1)):
        found = init(None, expected, fresh)

        assert isinstance(found, TransactionRecord)
        assert (found.producer_id, found.producer_epoch) == (fresh() - 1, 0)
        assert (found.state, found.timeout_ms) == (EMPTY, 2000)


@pytest.mark.parametrize("state", [EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT])
def test_a_known_one_gets_the_next_epoch(state: TransactionState, fresh: Callable[[], int]) -> None:
    found = init(record(state), None, fresh)

    assert isinstance(found, TransactionRecord)
    assert (found.producer_id, found.producer_epoch, found.last_producer_epoch) == (7, 4, -1)
    assert (found.state, found.partitions, found.started_at_ms) == (EMPTY, frozenset(), -1)


@pytest.mark.parametrize("state", [PREPARE_COMMIT, PREPARE_ABORT])
def test_a_producer_that_restarts_while_its_transaction_ends_must_wait(
    state: TransactionState, fresh: Callable[[], int]
) -> None:
    assert init(record(state), None, fresh) == CONCURRENT
    assert init(record(state), Producer(9, 9), fresh) == CONCURRENT


def test_an_ongoing_transaction_is_aborted_first_and_its_producer_fenced(
    fresh: Callable[[], int],
) -> None:
    found = init(record(ONGOING), None, fresh)

    assert isinstance(found, TransactionRecord)
    assert (found.state, found.producer_epoch, found.timeout_ms) == (PREPARE_ABORT, 4, 1000)


def test_a_producer_that_continues_gets_the_next_epoch_and_a_retry_the_same(
    fresh: Callable[[], int],
) -> None:
    """KIP-360."""
    first = init(record(EMPTY), Producer(7, 3), fresh)
    assert isinstance(first, TransactionRecord)
    again = init(first, Producer(7, 3), fresh)

    assert isinstance(again, TransactionRecord)
    assert (first.producer_epoch, again.producer_epoch) == (4, 4)
    assert (first.last_producer_epoch, again.last_producer_epoch) == (3, 3)


def test_a_replaced_producer_is_fenced(fresh: Callable[[], int]) -> None:
    replaced = init(record(EMPTY), None, fresh)
    assert isinstance(replaced, TransactionRecord)

    assert init(replaced, Producer(7, 3), fresh) == FENCED
    assert init(record(EMPTY), Producer(8, 3), fresh) == FENCED
    assert init(record(ONGOING), Producer(8, 3), fresh) == FENCED


def test_a_producer_id_whose_epochs_are_used_up_is_replaced(fresh: Callable[[], int]) -> None:
    first = init(record(EMPTY, producer_epoch=LAST), Producer(7, LAST), fresh)
    assert isinstance(first, TransactionRecord)
    again = init(first, Producer(7, LAST), fresh)

    assert isinstance(again, TransactionRecord)
    assert (first.producer_id, first.producer_epoch, first.last_producer_epoch) == (100, 0, LAST)
    assert (again.producer_id, again.producer_epoch) == (100, 0)


def test_a_fenced_producer_id_whose_epochs_are_used_up_is_replaced(
    fresh: Callable[[], int],
) -> None:
    done = complete(fence(record(ONGOING, producer_epoch=LAST), fresh, NOW), NOW)

    assert (done.producer_id, done.producer_epoch) == (100, 0)


# The machine as a whole


def test_no_transition_leads_to_a_state_that_may_not_follow(fresh: Callable[[], int]) -> None:
    seen = set()
    for state in TransactionState:
        before = record(state)
        found = [init(before, None, fresh)]
        for producer in (Producer(7, 2), Producer(7, 3)):
            found.append(asked_to_add(before, producer))
            found += (
                asked_to_end(before, producer, version, commit=commit)
                for version in (0, 2)
                for commit in (False, True)
            )
        if state.prepared:
            found.append(complete(before, NOW))
        for after in found:
            if isinstance(after, TransactionRecord) and after is not before:
                assert state in PREVIOUS[after.state]
                seen.add((state, after.state))

    assert seen == {(before, after) for after, some in PREVIOUS.items() for before in some}
