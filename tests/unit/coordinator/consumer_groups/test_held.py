"""Letters wait for the records before them, and for no others."""

from duolog.coordinator.consumer_groups.held import HeldLetters
from duolog.coordinator.consumer_groups.messages import HeartbeatReply
from duolog.coordinator.messages import Letter

A, B = Letter("a", HeartbeatReply()), Letter("b", HeartbeatReply())


def test_a_letter_waits_for_the_records_before_it_and_not_for_later_ones() -> None:
    held = HeldLetters()
    held.sent("g")
    assert held.hold("g", [A])
    held.sent("g")
    assert held.hold("g", [B])

    held.landed("g")
    first = held.released("g")
    held.landed("g")

    assert (first, held.released("g")) == ([A], [B])


def test_nothing_is_held_without_pending_records() -> None:
    held = HeldLetters()
    held.sent("other")

    assert not held.hold("g", [A])
    held.sent("g")
    held.landed("g")
    assert held.released("g") == []
    assert not held.hold("g", [A])


def test_held_letters_are_returned_if_records_are_refused() -> None:
    held = HeldLetters()
    held.sent("g")
    held.sent("g")
    held.hold("g", [A, B])

    held.landed("g")

    assert held.refused("g") == [A, B]
    held.landed("g")
    assert held.released("g") == []
