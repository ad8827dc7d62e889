from collections.abc import Iterator
from pathlib import Path

import pytest

from duolog.engine.errors import SlotsMissing
from duolog.engine.modes import choose_mode
from duolog.engine.spark import slots

A, B = Path("/checkpoints/a"), Path("/checkpoints/b")


@pytest.fixture(autouse=True)
def _no_slot_is_held() -> Iterator[None]:
    slots.release_slots(A)
    slots.release_slots(B)
    yield
    slots.release_slots(A)
    slots.release_slots(B)


def test_auto_goes_live_if_real_time_fits() -> None:
    chosen = choose_mode("auto", needed=6, free=6, slots_total=8)

    assert (chosen.live, chosen.catches_up) == ("real-time", True)


def test_auto_stays_in_micro_batches_with_the_reason_if_real_time_does_not_fit() -> None:
    chosen = choose_mode("auto", needed=7, free=6, slots_total=8)

    assert (chosen.live, chosen.catches_up) == ("micro-batch", False)
    assert chosen.why == "It needs 7 slots, 6 of 8 are free."


def test_a_mode_that_was_asked_for_is_kept() -> None:
    assert choose_mode("real-time", needed=99, free=0, slots_total=4).live == "real-time"
    assert choose_mode("micro-batch", needed=1, free=9, slots_total=9).live == "micro-batch"


def test_a_query_that_does_not_fit_is_refused_with_the_numbers() -> None:
    slots.hold_slots(A, "a", 5, slots_total=10)

    with pytest.raises(SlotsMissing) as caught:
        slots.hold_slots(B, "b", 4, slots_total=10)

    assert caught.value.detail == "It needs 4 slots, 3 of 10 are free."


def test_applications_of_one_name_on_two_checkpoints_hold_slots_of_their_own() -> None:
    slots.hold_slots(A, "a", 3, slots_total=10)
    slots.hold_slots(B, "a", 3, slots_total=10)
    slots.release_slots(B)

    assert slots.slots_free(10) == 10 - slots.SLOTS_RESERVED - 3


def test_slots_are_released_when_a_query_ends() -> None:
    slots.hold_slots(A, "a", 5, slots_total=10)
    slots.release_slots(A)

    assert slots.slots_free(10) == 10 - slots.SLOTS_RESERVED


def test_a_query_holds_a_slot_for_each_source_partition_and_each_task_of_a_level() -> None:
    assert slots.slots_needed(source_partitions=5, tasks=2, levels=3) == 11


def test_explaining_for_a_cluster_states_the_slots_that_it_needs() -> None:
    chosen = choose_mode("auto", needed=6, free=None, slots_total=0)

    assert (chosen.live, chosen.why) == (
        "real-time",
        "Every operator allows it, if the cluster has 6 free slots when it starts.",
    )


def test_the_slots_that_a_query_holds_itself_are_free_for_it() -> None:
    slots.hold_slots(A, "one", 4, 10)
    slots.hold_slots(B, "two", 2, 10)

    assert slots.slots_free(10) == 2
    assert slots.slots_free(10, besides=A) == 6
