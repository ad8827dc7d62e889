"""The door of the transaction coordinator: what is staged counts, but for an end."""

from collections.abc import Callable
from itertools import count

import pytest

from duolog.coordinator.messages import Moment
from duolog.coordinator.transactions.coordinator import (
    NO_ONE,
    Outcome,
    TransactionCoordinator,
)
from duolog.coordinator.transactions.errors import TransactionError
from duolog.coordinator.transactions.records import TransactionRecord
from duolog.coordinator.transactions.settings import TransactionSettings
from duolog.coordinator.transactions.states import TransactionState
from duolog.coordinator.transactions.transitions import Producer
from duolog.core.ids import TopicPartition

A, B = TopicPartition("t", 0), TopicPartition("t", 1)
P = Producer(100, 0)
DAY_MS = 86_400_000
START = Moment(1_385_000_000_000, 0)


@pytest.fixture
def coordinator() -> TransactionCoordinator:
    return opened()


def opened() -> TransactionCoordinator:
    numbers = count(100)
    made = TransactionCoordinator(lambda: next(numbers), TransactionSettings())
    made.loaded(START)
    return made


def stage(
    coordinator: TransactionCoordinator, outcome: Outcome, now_ms: int = 0
) -> TransactionRecord | None:
    """Stage and make durable; return what markers must be written for."""
    assert outcome.change is not None
    coordinator.staged(outcome.change, now_ms)
    return coordinator.durable(outcome.change)


def begin(coordinator: TransactionCoordinator, now_ms: int = 0) -> None:
    stage(coordinator, coordinator.initialize("tx", 1000, None, now_ms))
    stage(coordinator, coordinator.add("tx", P, frozenset((A,)), now_ms, client_version=2), now_ms)


def finish(coordinator: TransactionCoordinator) -> None:
    change = coordinator.complete("tx", 1)
    coordinator.staged(change, 0)
    assert coordinator.durable(change) is None


def code(call: Callable[[], object]) -> int:
    try:
        call()
    except TransactionError as error:
        return error.code
    return 0


def test_a_partition_is_in_the_transaction_when_its_record_is_staged(
    coordinator: TransactionCoordinator,
) -> None:
    stage(coordinator, coordinator.initialize("tx", 1000, None, 0))
    added = coordinator.add("tx", P, frozenset((A,)), 0)
    assert added.change is not None
    assert code(lambda: coordinator.verify("tx", P, A)) == 120

    coordinator.staged(added.change, 0)

    assert code(lambda: coordinator.verify("tx", P, A)) == 0
    assert code(lambda: coordinator.verify("tx", P, B)) == 120
    assert coordinator.add("tx", P, frozenset((A,)), 0).change is None


def test_markers_are_asked_for_when_the_outcome_is_durable(
    coordinator: TransactionCoordinator,
) -> None:
    begin(coordinator)

    prepared = stage(coordinator, coordinator.end("tx", P, 0, commit=True, client_version=2))

    assert prepared is not None
    assert prepared.state is TransactionState.PREPARE_COMMIT
    assert prepared.partitions == {A}


def test_no_transaction_begins_before_the_end_of_the_last_is_durable(
    coordinator: TransactionCoordinator,
) -> None:
    begin(coordinator)
    stage(coordinator, coordinator.end("tx", P, 0, commit=True, client_version=2))
    change = coordinator.complete("tx", 1)

    coordinator.staged(change, 0)
    after = Producer(100, 1)
    assert code(lambda: coordinator.add("tx", after, frozenset((B,)), 1)) == 51
    assert code(lambda: coordinator.verify("tx", after, A)) == 51
    coordinator.durable(change)

    assert code(lambda: coordinator.add("tx", after, frozenset((B,)), 1)) == 0
    assert code(lambda: coordinator.verify("tx", P, A)) == 90


def test_an_end_answers_the_producer_of_the_next_transaction(
    coordinator: TransactionCoordinator,
) -> None:
    begin(coordinator)

    ended = coordinator.end("tx", P, 0, commit=True, client_version=2)
    stage(coordinator, ended)
    finish(coordinator)
    again = coordinator.end("tx", P, 0, commit=True, client_version=2)

    assert ended.answer == again.answer == (0, Producer(100, 1))
    assert again.change is None


def test_a_producer_that_restarts_in_a_transaction_must_retry(
    coordinator: TransactionCoordinator,
) -> None:
    begin(coordinator)

    first = coordinator.initialize("tx", 1000, None, 0)
    stage(coordinator, first)
    finish(coordinator)
    second = coordinator.initialize("tx", 1000, None, 0)

    assert first.answer == (51, NO_ONE)
    assert second.answer == (0, Producer(100, 2))


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
def test_a_timeout_that_is_not_allowed_is_refused(
    coordinator: TransactionCoordinator, timeout_ms: int
) -> None:
    assert code(lambda: coordinator.initialize("tx", timeout_ms, None, 0)) == 50


@pytest.mark.parametrize("transactional_id", ["", "x" * 32768])
def test_an_id_that_no_record_can_hold_is_refused(
    coordinator: TransactionCoordinator, transactional_id: str
) -> None:
    asked = frozenset((A,))
    assert code(lambda: coordinator.initialize(transactional_id, 1, None, 0)) == 42
    assert code(lambda: coordinator.add(transactional_id, P, asked, 0)) == 42
    assert code(lambda: coordinator.end(transactional_id, P, 0, commit=True)) == 42
    assert code(lambda: coordinator.describe(transactional_id)) == 42


def test_nothing_is_answered_while_it_is_loading() -> None:
    loading = TransactionCoordinator(lambda: 1)

    assert code(lambda: loading.initialize("tx", 1000, None, 0)) == 14
    assert code(lambda: loading.verify("tx", P, A)) == 14
    assert code(loading.records) == 14


def test_only_a_transaction_that_passed_its_timeout_is_aborted(
    coordinator: TransactionCoordinator,
) -> None:
    begin(coordinator, now_ms=10)

    assert coordinator.timed_out(1010) == []
    assert coordinator.timed_out(1011) == ["tx"]
    change = coordinator.abort("tx", 1011)
    coordinator.staged(change, 0)

    assert coordinator.timed_out(9999) == []
    assert change.value is not None
    assert (change.value.state, change.value.producer_epoch) == (TransactionState.PREPARE_ABORT, 1)
    finish(coordinator)
    # What the producer still asks for is refused; another one can begin.
    assert code(lambda: coordinator.add("tx", P, frozenset((A,)), 1)) == 90
    assert code(lambda: coordinator.end("tx", P, 1, commit=True)) == 90
    assert coordinator.initialize("tx", 1000, None, 1).answer == (0, Producer(100, 2))


def test_a_timeout_is_no_longer_for_a_partition_that_is_added_later(
    coordinator: TransactionCoordinator,
) -> None:
    begin(coordinator, now_ms=10)

    stage(coordinator, coordinator.add("tx", P, frozenset((B,)), 500, client_version=2), 500)

    assert coordinator.timed_out(1010) == []
    assert coordinator.timed_out(1011) == ["tx"]


@pytest.mark.parametrize(
    ("wall_ms", "left_ms"),
    [(1400, 600), (-DAY_MS, 1000), (2000, 0)],
    ids=["some is left", "the wall clock went back", "it was over before"],
)
def test_a_restart_leaves_a_transaction_what_is_left_of_its_timeout_and_never_more(
    wall_ms: int, left_ms: int
) -> None:
    coordinator = opened()
    stage(coordinator, coordinator.initialize("tx", 1000, None, 1000))
    added = coordinator.add("tx", P, frozenset((A,)), 1000, client_version=2)
    assert added.change is not None

    again = TransactionCoordinator(lambda: 1, TransactionSettings())
    again.replay(added.change)
    again.loaded(Moment(wall_ms, 50))

    assert again.timed_out(50 + left_ms) == []
    assert again.timed_out(50 + left_ms + 1) == ["tx"]


def test_an_unused_id_expires_unless_in_a_transaction(
    coordinator: TransactionCoordinator,
) -> None:
    stage(coordinator, coordinator.initialize("idle", 1000, None, 0))
    stage(coordinator, coordinator.initialize("tx", 1000, None, 0))
    stage(coordinator, coordinator.add("tx", Producer(101, 0), frozenset((A,)), 0))

    names = ["idle", "nobody", "tx"]
    assert coordinator.expired(names, 7 * DAY_MS - 1) == []
    (tombstone,) = coordinator.expired(names, 7 * DAY_MS)
    coordinator.staged(tombstone, 0)

    assert (tombstone.transactional_id, tombstone.value) == ("idle", None)
    assert coordinator.records().keys() == {"tx"}
    assert coordinator.expired(names, 7 * DAY_MS) == []
    assert code(lambda: coordinator.add("idle", Producer(100, 0), frozenset((A,)), 0)) == 49
    assert coordinator.initialize("idle", 1000, None, 0).answer == (0, Producer(102, 0))


def test_a_restart_finds_the_same_and_what_must_be_ended(
    coordinator: TransactionCoordinator,
) -> None:
    begin(coordinator)
    ended = coordinator.end("tx", P, 0, commit=True, client_version=2)
    stage(coordinator, ended)
    assert ended.change is not None

    again = TransactionCoordinator(lambda: 1)
    again.replay(ended.change)
    prepared = again.loaded(START)

    assert prepared == coordinator.records() == again.records()


def test_a_transaction_in_a_log_is_ours_if_a_record_has_its_partition(
    coordinator: TransactionCoordinator,
) -> None:
    begin(coordinator)

    assert coordinator.holds(P, A)
    assert not coordinator.holds(P, B)
    assert not coordinator.holds(Producer(100, 1), A)
    assert not coordinator.holds(Producer(99, 0), A)
    stage(coordinator, coordinator.end("tx", P, 0, commit=False, client_version=2))
    assert coordinator.holds(P, A)
    finish(coordinator)
    assert not coordinator.holds(P, A)


def test_a_producer_that_could_continue_owns_its_id(coordinator: TransactionCoordinator) -> None:
    begin(coordinator)

    assert coordinator.owner(P) == "tx"
    assert coordinator.owner(Producer(100, 1)) is None
    assert coordinator.owner(Producer(99, 0)) is None
    stage(coordinator, coordinator.end("tx", P, 0, commit=False, client_version=2))
    assert coordinator.owner(Producer(100, 1)) is None
    finish(coordinator)
    assert coordinator.owner(Producer(100, 1)) == "tx"


def test_an_unknown_id_is_not_found(coordinator: TransactionCoordinator) -> None:
    assert code(lambda: coordinator.describe("tx")) == 105
    assert code(lambda: coordinator.verify("tx", P, A)) == 49
