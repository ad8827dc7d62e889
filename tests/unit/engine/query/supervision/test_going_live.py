"""A query goes live depending on the backlog after each pass."""

from typing import NoReturn

import pytest

from duolog.engine.query.supervision.going_live import GoingLive

LAG = {"flights": 500}


def passes(going_live: GoingLive, *left_ms: int | None) -> list[bool]:
    return [going_live.is_near(LAG, lambda left=left: left) for left in left_ms]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("left_ms", "live"),
    [
        ((1000,), [True]),
        ((1001, 1000), [False, True]),
        ((300_000, 40_000, 6_000, 2_500, 2_400), [False, False, False, False, True]),
        ((4_000, 2_001), [False, True]),
        ((4_000, 2_000), [False, False]),
        ((4_000, 8_000), [False, True]),
    ],
)
def test_passes_continue_while_they_get_closer(left_ms: tuple[int, ...], live: list[bool]) -> None:
    assert passes(GoingLive(1000, 10_000), *left_ms) == live


def test_unknown_event_time_is_not_waited_for() -> None:
    assert passes(GoingLive(1000, 10_000), None) == [True]


def test_a_backlog_above_the_limit_is_not_small() -> None:
    def asked() -> NoReturn:
        raise AssertionError("it is not asked")

    going_live = GoingLive(1000, 499)

    assert not going_live.is_near(LAG, asked)
    assert not going_live.is_near({}, asked)
    assert going_live.is_near({"flights": 0}, asked)
    assert GoingLive(1000, 500).is_near(LAG, lambda: 10)
    assert GoingLive(1000, None).is_near(LAG, lambda: 10)
