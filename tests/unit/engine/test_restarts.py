from duolog.engine.errors import QueryFailed
from duolog.engine.restarts import PAUSE_MAX_S, Restarts

AWAY = QueryFailed("no broker", may_pass=True)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_pauses_grow_up_to_a_bound() -> None:
    restarts = Restarts(timeout_s=1e9, clock=Clock())

    pauses = [restarts.pause_s(AWAY) for _ in range(8)]

    assert pauses == [1, 2, 4, 8, 16, PAUSE_MAX_S, PAUSE_MAX_S, PAUSE_MAX_S]


def test_what_does_not_pass_is_not_waited_for() -> None:
    assert Restarts(timeout_s=1e9).pause_s(QueryFailed("a bad record")) is None


def test_trouble_that_lasts_longer_than_the_timeout_is_the_end() -> None:
    clock = Clock()
    restarts = Restarts(timeout_s=10, clock=clock)
    assert restarts.pause_s(AWAY) == 1
    clock.now = 9.5

    last = restarts.pause_s(AWAY)
    clock.now = 10

    assert last == 0.5
    assert restarts.pause_s(AWAY) is None


def test_a_query_that_ran_for_a_minute_has_overcome_its_trouble() -> None:
    clock = Clock()
    restarts = Restarts(timeout_s=10, clock=clock)
    restarts.pause_s(AWAY)
    clock.now = 2
    restarts.started()
    clock.now = 100

    assert restarts.pause_s(AWAY) == 1


def test_a_start_that_fails_does_not_end_the_trouble() -> None:
    clock = Clock()
    restarts = Restarts(timeout_s=200, clock=clock)
    restarts.started()
    clock.now = 100

    pauses = []
    for _ in range(3):
        pauses.append(restarts.pause_s(AWAY))
        clock.now += 90

    assert pauses == [1, 2, 4]
    assert restarts.pause_s(AWAY) is None


def test_a_timeout_of_nothing_fails_at_once() -> None:
    assert Restarts(timeout_s=0).pause_s(AWAY) is None
