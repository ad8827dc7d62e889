from duolog.engine.errors import FailureKind, QueryFailed
from duolog.engine.query.supervision.restarts import MISSING_S, PAUSE_MAX_S, Restarts

AWAY = QueryFailed("no broker", kind=FailureKind(may_pass=True))
MISSING = QueryFailed(
    'source topic "t" does not exist', kind=FailureKind(may_pass=True, source_missing=True)
)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_pauses_grow_up_to_a_bound() -> None:
    restarts = Restarts(timeout_s=1e9, clock=Clock())

    pauses = [restarts.pause_s(AWAY) for _ in range(8)]

    assert pauses == [1, 2, 4, 8, 16, PAUSE_MAX_S, PAUSE_MAX_S, PAUSE_MAX_S]


def test_filtered_records_are_not_waited_for() -> None:
    assert Restarts(timeout_s=1e9).pause_s(QueryFailed("a bad record")) is None


def test_failures_longer_than_the_timeout_end_the_query() -> None:
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


def test_a_query_that_ran_for_less_has_the_same_trouble() -> None:
    clock = Clock()
    restarts = Restarts(timeout_s=100, clock=clock)
    restarts.pause_s(AWAY)
    clock.now = 2
    restarts.started()
    clock.now = 62

    assert restarts.pause_s(AWAY) == 2


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


def test_a_source_topic_that_is_missing_is_waited_for_as_long_as_a_broker_may_take_to_know_it() -> (
    None
):
    """A broker that was just starting did not know it yet, and the query ended for good."""
    clock = Clock()
    restarts = Restarts(timeout_s=1e9, clock=clock)
    assert restarts.pause_s(AWAY) == 1
    clock.now = 100
    assert restarts.pause_s(MISSING) == 2
    clock.now += MISSING_S - 1
    assert restarts.pause_s(MISSING) == 1
    clock.now += 1

    assert restarts.pause_s(MISSING) is None


def test_a_topic_that_reappeared_and_is_missing_again_is_waited_for_again() -> None:
    clock = Clock()
    restarts = Restarts(timeout_s=1e9, clock=clock)
    restarts.pause_s(MISSING)
    clock.now = MISSING_S - 1
    restarts.started()
    clock.now = MISSING_S + 1
    assert restarts.pause_s(MISSING) is not None

    restarts.pause_s(AWAY)
    clock.now = 3 * MISSING_S

    assert restarts.pause_s(MISSING) is not None


def test_a_timeout_of_nothing_fails_at_once() -> None:
    assert Restarts(timeout_s=0).pause_s(AWAY) is None
