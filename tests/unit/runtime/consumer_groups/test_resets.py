import pytest

from duolog.runtime.consumer_groups.resets import Scope, Target, To, command_of, moves_of
from unit.runtime.consumer_groups.cluster import FakePositions

A, B, GONE = ("orders", 0), ("orders", 1), ("gone", 0)
NOW_MS = 45_000


def moved(target: Target, old: dict[tuple[str, int], int] | None = None) -> dict[object, int]:
    positions = FakePositions({A: 50, B: 20}, {A: 10})
    committed = {A: 30, B: 15} if old is None else old
    found = moves_of(target, [A, B, GONE], committed, positions, NOW_MS)
    return {move.place: move.new for move in found.moves}


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (Target(To.EARLIEST), {A: 10, B: 0}),
        (Target(To.LATEST), {A: 50, B: 20}),
        (Target(To.CURRENT), {A: 30, B: 15}),
        (Target(To.OFFSET, 12), {A: 12, B: 12}),
        (Target(To.OFFSET, 40), {A: 40, B: 20}),
        (Target(To.SHIFT, -10), {A: 20, B: 5}),
        (Target(To.SHIFT, -25), {A: 10, B: 0}),
        (Target(To.SHIFT, 1_000), {A: 50, B: 20}),
        (Target(To.TIME, 12_500), {A: 13, B: 13}),
        (Target(To.TIME, 30_000), {A: 30, B: 20}),
        (Target(To.DURATION, 30_000), {A: 15, B: 15}),
        (Target(To.DURATION, 1_000_000), {A: 10, B: 0}),
    ],
)
def test_a_reset_moves_every_partition_within_its_records(
    target: Target, expected: dict[object, int]
) -> None:
    assert moved(target) == expected


def test_a_partition_without_an_offset_is_not_shifted() -> None:
    positions = FakePositions({A: 50, B: 20})

    found = moves_of(Target(To.SHIFT, 5), [A, B, GONE], {A: 30}, positions, NOW_MS)

    assert [(move.place, move.old, move.new) for move in found.moves] == [(A, 30, 35)]
    assert found.unchanged == [GONE, B]


def test_a_move_says_whether_the_wanted_offset_was_out_of_range() -> None:
    positions = FakePositions({A: 50, B: 20})

    found = moves_of(Target(To.OFFSET, 40), [A, B], {}, positions, NOW_MS)

    assert [(move.place, move.old, move.end, move.limited) for move in found.moves] == [
        (A, None, 50, False),
        (B, None, 20, True),
    ]


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (Target(To.EARLIEST), "--to-earliest"),
        (Target(To.CURRENT), "--to-current"),
        (Target(To.OFFSET, 7), "--to-offset 7"),
        (Target(To.DURATION, 5_400_000), "--by-duration PT5400S"),
        (Target(To.TIME, 2**62), f"--to-time {2**62}"),
    ],
)
def test_a_command_resets_in_the_same_way(target: Target, words: str) -> None:
    command = command_of("it's", [Scope("orders")], target, "h:1")

    assert command == f"duolog groups reset 'it'\"'\"'s' -b h:1 --topic orders {words}"
