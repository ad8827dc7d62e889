from collections.abc import Sequence

import pytest

from duolog.runtime.dead_letters.corrections import Corrected, Fixed, Kept
from duolog.runtime.dead_letters.errors import ReplayRefused
from duolog.runtime.dead_letters.letter import Letter
from duolog.runtime.dead_letters.marks import mark_of
from duolog.runtime.dead_letters.replaying import Outcome, Target, planned
from unit.runtime.dead_letters.making import headers, letter

INTERNAL = (
    "_duolog-replayed-dead-letters",
    "_duolog-ksql-default_command_topic",
    "__consumer_offsets",
)
TOPICS = {"orders": 2, "other": 9, "wrong": 1, **dict.fromkeys(INTERNAL, 1)}


def place(target: Target, one: Letter) -> tuple[str, int] | Kept:
    return target.of(one, TOPICS)


def test_the_partition_of_the_source_is_kept() -> None:
    one = letter(of=headers("orders", 1))

    assert place(Target(), one) == ("orders", 1)
    assert place(Target(partition="key"), one) == ("orders", -1)
    assert place(Target(partition="0"), one) == ("orders", 0)
    assert place(Target("orders"), one) == ("orders", 1)


def test_another_topic_has_no_partition_of_the_source() -> None:
    assert place(Target("other"), letter(of=headers("orders", 1))) == ("other", -1)
    assert place(Target("other", "8"), letter()) == ("other", 8)


def test_a_letter_without_a_known_source_is_kept() -> None:
    unknown = letter(of=(("__streams.errors.exception", b"E"),))

    assert isinstance(place(Target(), unknown), Kept)
    assert place(Target("other"), unknown) == ("other", -1)


@pytest.mark.parametrize(
    ("target", "told"),
    [
        (Target("none"), 'topic "none" does not exist'),
        (Target("orders", "2"), 'partition 2 of topic "orders" does not exist'),
        (Target("wrong"), "is the dead-letter topic itself"),
    ],
)
def test_places_that_do_not_exist_are_refused(target: Target, told: str) -> None:
    with pytest.raises(ReplayRefused, match=told):
        place(target, letter())


@pytest.mark.parametrize("topic", INTERNAL)
def test_letters_are_not_written_to_internal_topics(topic: str) -> None:
    with pytest.raises(ReplayRefused, match="is an internal topic"):
        place(Target(topic), letter())
    with pytest.raises(ReplayRefused, match="is an internal topic"):
        place(Target(), letter(of=headers(topic)))


def test_corrections_see_batches_that_fit_into_memory() -> None:
    seen: list[int] = []

    class Noting:
        def of(self, letters: Sequence[Letter]) -> Sequence[Corrected | Kept]:
            seen.append(len(letters))
            return Fixed().of(letters)

    large = [letter(n, bytes(20 * 1024 * 1024)) for n in range(3)]
    outcome = Outcome()

    found = list(planned(large, Noting(), Target(), TOPICS, outcome))

    assert seen == [2, 1]
    assert [one.letter.record.offset for one in found] == [0, 1, 2]


def test_a_corrected_key_chooses_its_partition() -> None:
    def number(correction: Fixed, partition: str) -> int:
        one = letter(of=headers("orders", 1))
        target = Target(partition=partition)
        (found,) = planned([one], correction, target, TOPICS, Outcome())
        return found.partition

    assert number(Fixed(key=b"new"), "keep") == -1
    assert number(Fixed(key=b"new"), "0") == 0
    assert number(Fixed(key=b"k"), "keep") == 1
    assert number(Fixed(value=b"new"), "keep") == 1


def test_marks_are_runs_of_offsets() -> None:
    _, value = mark_of(("t", "i"), "r", 0, [(0, 1), (1, 2), (0, 2), (1, 3), (0, 3), (0, 9)], "bob")

    assert value == b'{"by":"bob","partitions":{"0":[1,3,9,1],"1":[2,2]}}'
