import pytest

from duolog.core.errors import KafkaError
from duolog.log.errors import CoordinatorFenced
from duolog.log.producers.producer_state import KeptBatch, ProducerStates

DAY_MS = 86_400_000


def states_with(*sequences: tuple[int, int], epoch: int = 0) -> ProducerStates:
    """Producer 1 has written these (base sequence, last sequence), at offsets 100, 200, ..."""
    states = ProducerStates()
    for number, (first, last) in enumerate(sequences, start=1):
        offset = 100 * number
        states.note(1, epoch, KeptBatch(first, last, offset, offset + last - first, 5))
    return states


def code_of(states: ProducerStates, epoch: int, sequence: int, delta: int = 0) -> int:
    with pytest.raises(KafkaError) as caught:
        states.check(1, epoch, sequence, delta)
    return caught.value.code


def test_an_unknown_producer_may_begin_with_any_sequence() -> None:
    assert ProducerStates().check(1, 3, 77, 0) is None


def test_the_next_sequence_is_accepted() -> None:
    assert states_with((0, 4)).check(1, 0, 5, 2) is None


def test_each_of_the_five_batches_is_known_again_with_its_offset() -> None:
    states = states_with((0, 0), (1, 3), (4, 4), (5, 5), (6, 9))

    found = [states.check(1, 0, first, delta) for first, delta in ((0, 0), (1, 2), (6, 3))]

    assert [batch.base_offset for batch in found if batch] == [100, 200, 500]


def test_an_older_duplicate_is_answered_without_an_offset() -> None:
    states = states_with((0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5))

    assert code_of(states, 0, 0) == 46


def test_a_gap_is_out_of_order() -> None:
    assert code_of(states_with((0, 4)), 0, 6) == 45


def test_the_same_first_sequence_with_another_length_is_out_of_order() -> None:
    assert code_of(states_with((0, 4)), 0, 0, delta=2) == 45


def test_an_older_epoch_is_fenced() -> None:
    assert code_of(states_with((0, 4), epoch=2), 1, 5) == 47


def test_a_new_epoch_begins_with_sequence_zero() -> None:
    states = states_with((0, 4), epoch=2)

    assert states.check(1, 3, 0, 0) is None
    assert code_of(states, 3, 5) == 45


def test_the_batches_of_an_older_epoch_are_forgotten() -> None:
    states = states_with((0, 4), epoch=2)
    states.note(1, 3, KeptBatch(0, 0, 900, 900, 5))

    found = states.check(1, 3, 0, 0)

    assert found is not None
    assert found.base_offset == 900
    assert code_of(states, 2, 0, delta=4) == 47


def test_the_sequence_after_the_largest_is_zero() -> None:
    states = states_with((2**31 - 2, 2**31 - 1))

    assert states.check(1, 0, 0, 0) is None
    assert code_of(states, 0, 1) == 45


def test_a_batch_may_span_the_wrap_and_is_known_again() -> None:
    states = ProducerStates()
    states.note(1, 0, KeptBatch(2**31 - 1, 1, 40, 42, 5))

    found = states.check(1, 0, 2**31 - 1, 2)

    assert found is not None
    assert states.check(1, 0, 2, 0) is None


@pytest.mark.parametrize(("epoch", "sequence"), [(-1, 0), (0, -1)])
def test_a_producer_id_without_epoch_or_sequence_is_an_invalid_record(
    epoch: int, sequence: int
) -> None:
    assert code_of(ProducerStates(), epoch, sequence) == 87


def test_an_idle_producer_is_forgotten_and_an_active_one_is_not() -> None:
    states = states_with((0, 4))
    states.expire(1000, DAY_MS)
    states.expire(1000 + DAY_MS - 1, DAY_MS)
    assert len(states) == 1

    states.note(1, 0, KeptBatch(5, 5, 200, 200, 5))
    states.expire(1000 + DAY_MS, DAY_MS)
    assert len(states) == 1

    states.expire(1000 + 2 * DAY_MS, DAY_MS)
    assert len(states) == 0


def test_a_clock_that_goes_back_removes_no_member() -> None:
    states = states_with((0, 4))
    states.expire(10 * DAY_MS, DAY_MS)

    states.expire(DAY_MS, DAY_MS)
    states.expire(DAY_MS + 10, DAY_MS)

    assert len(states) == 1


def test_a_snapshot_brings_all_five_batches_back() -> None:
    states = states_with((0, 0), (1, 3), (4, 4), (5, 5), (6, 9), (10, 10))

    again = ProducerStates.decode(states.encode())

    assert again is not None
    found = again.check(1, 0, 1, 2)
    assert found is not None
    assert found.base_offset == 200
    assert again.encode() == states.encode()


@pytest.mark.parametrize("position", [0, 4, 12, -1])
def test_a_damaged_snapshot_is_not_used(position: int) -> None:
    data = bytearray(states_with((0, 4)).encode())
    data[position] ^= 1

    assert ProducerStates.decode(bytes(data)) is None
    assert ProducerStates.decode(bytes(data[:3])) is None


def marked(states: ProducerStates, *, epoch: int, coordinator_epoch: int) -> None:
    states.note_marker(1, epoch, coordinator_epoch=coordinator_epoch, timestamp_ms=5, offset=900)


def test_a_new_epoch_of_a_producer_keeps_the_epoch_of_its_coordinator() -> None:
    """An earlier coordinator could end the next transaction of the producer."""
    states = states_with((0, 4))
    marked(states, epoch=0, coordinator_epoch=9)
    states.note(1, 1, KeptBatch(0, 0, 901, 901, 5))

    with pytest.raises(CoordinatorFenced):
        states.check_marker(1, 1, 8)
    states.check_marker(1, 1, 9)


def test_a_snapshot_brings_the_epoch_of_the_coordinator_back() -> None:
    states = states_with((0, 4))
    marked(states, epoch=0, coordinator_epoch=9)

    found = ProducerStates.decode(states.encode())

    assert found is not None
    with pytest.raises(CoordinatorFenced):
        found.check_marker(1, 0, 8)
