import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from duolog.ksql.session import PersistentQuery, SqlSession
from duolog.runtime.sql.command_log.wanted import Wanted
from duolog.runtime.sql.persistent.keeper import Keeper, Pauses
from unit.runtime.sql.living import FakeQuery, FakeStarter

WAIT_S = 60.0
TEXT = """
CREATE STREAM s (a INT) WITH (kafka_topic='t', value_format='json', partitions=1);
CREATE STREAM one AS SELECT * FROM s;
CREATE STREAM two AS SELECT * FROM s;
"""
ONE, TWO = "CSAS_ONE_0", "CSAS_TWO_1"


def queries() -> dict[str, PersistentQuery]:
    session = SqlSession()
    list(session.run(TEXT))
    return session.state.queries


@pytest.fixture
def starter() -> FakeStarter:
    return FakeStarter()


@pytest.fixture
def keeper(starter: FakeStarter) -> Iterator[Keeper]:
    keeper = Keeper(starter, Pauses(0.2, 60.0))
    keeper.start()
    yield keeper
    keeper.close()


def wait_for(keeper: Keeper, done: Callable[[], bool]) -> None:
    assert keeper.wait_until(done, WAIT_S)


def test_what_is_wanted_runs_and_what_is_not_is_stopped_and_forgotten(
    keeper: Keeper, starter: FakeStarter
) -> None:
    wanted = {name: Wanted(query, {"t": {0: 5}}) for name, query in queries().items()}
    keeper.want(wanted)
    assert keeper.wait_settled(WAIT_S)
    assert [live.state for live in keeper.live_all()] == ["RUNNING", "RUNNING"]
    assert starter.offsets[ONE] == {"t": {0: 5}}

    keeper.want({TWO: wanted[TWO]})

    assert keeper.wait_gone([ONE], WAIT_S)
    assert starter.running[ONE].has_ended
    assert not starter.running[TWO].has_ended
    assert starter.forgotten == [ONE]


def test_a_query_that_fails_harms_no_other_and_starts_again_behind_growing_pauses(
    keeper: Keeper, starter: FakeStarter
) -> None:
    starter.refused[ONE] = "its topic is gone"
    began = time.monotonic()
    keeper.want({name: Wanted(query) for name, query in queries().items()})
    assert keeper.wait_settled(WAIT_S)
    failed = keeper.live(ONE)
    assert failed is not None
    assert (failed.state, failed.error) == ("ERROR", "its topic is gone")

    wait_for(keeper, lambda: starter.starts.count(ONE) == 3)

    assert time.monotonic() - began >= 0.2 + 0.4
    assert starter.starts.count(TWO) == 1

    del starter.refused[ONE]
    wait_for(keeper, lambda: ONE in starter.running)
    wait_for(keeper, lambda: getattr(keeper.live(ONE), "state", "") == "RUNNING")
    again = keeper.live(ONE)
    assert again is not None
    assert again.error == "its topic is gone", "the last error stays until it has run for a while"


def test_a_query_that_fails_while_it_runs_keeps_its_error(
    keeper: Keeper, starter: FakeStarter
) -> None:
    keeper.want({name: Wanted(query) for name, query in queries().items()})
    assert keeper.wait_settled(WAIT_S)

    starter.running[TWO].fail("a sum has overflowed")

    wait_for(keeper, lambda: starter.starts.count(TWO) == 2)
    live = keeper.live(TWO)
    assert live is not None
    assert (live.failures, live.error) == (1, "a sum has overflowed")


def test_a_paused_query_stops_keeps_its_state_and_goes_on(
    keeper: Keeper, starter: FakeStarter
) -> None:
    of = queries()
    keeper.want({ONE: Wanted(of[ONE])})
    assert keeper.wait_settled(WAIT_S)

    keeper.want({ONE: Wanted(replace(of[ONE], state="PAUSED"))})
    assert keeper.wait_settled(WAIT_S)
    assert starter.running[ONE].has_ended
    assert [live.state for live in keeper.live_all()] == ["PAUSED"]
    assert starter.forgotten == []

    keeper.want({ONE: Wanted(of[ONE])})
    wait_for(keeper, lambda: starter.starts.count(ONE) == 2)


def test_a_query_with_another_plan_takes_the_place_of_the_old_one(
    keeper: Keeper, starter: FakeStarter
) -> None:
    of = queries()
    keeper.want({ONE: Wanted(of[ONE])})
    assert keeper.wait_settled(WAIT_S)
    first = starter.running[ONE]

    keeper.want({ONE: Wanted(replace(of[ONE], planned=of[TWO].planned))})
    wait_for(keeper, lambda: starter.starts.count(ONE) == 2)

    assert first.has_ended
    assert starter.plans == [of[ONE].planned.plan, of[TWO].planned.plan]
    assert starter.forgotten == [], "its state is what the new one goes on from"


class ReplacingStarter(FakeStarter):
    """Starts the second query of an id when it is let, and tells whether the first one runs then."""

    def __init__(self) -> None:
        super().__init__()
        self.may_start = threading.Event()
        self.ran: list[bool] = []

    def start(self, wanted: Wanted) -> FakeQuery:
        if (before := self.running.get(wanted.query.id)) is not None:
            assert self.may_start.wait(WAIT_S)
            self.ran.append(not before.has_ended)
        return super().start(wanted)


def replacing(of: dict[str, PersistentQuery]) -> Wanted:
    statement = "CREATE OR REPLACE STREAM one AS SELECT * FROM s;"
    return Wanted(replace(of[ONE], planned=of[TWO].planned, statement=statement))


def test_a_query_that_is_replaced_runs_until_its_successor_takes_its_place() -> None:
    of, starter = queries(), ReplacingStarter()
    keeper = Keeper(starter, Pauses(0.2, 60.0))
    keeper.start()
    try:
        keeper.want({ONE: Wanted(of[ONE])})
        assert keeper.wait_settled(WAIT_S)
        first = starter.running[ONE]

        keeper.want({ONE: replacing(of)})
        assert not keeper.wait_settled(0.5)
        live = keeper.live(ONE)
        assert live is not None
        assert (live.state, first.has_ended) == ("RUNNING", False)
        starter.may_start.set()
        assert keeper.wait_settled(WAIT_S)

        assert starter.ran == [True]
        assert first.has_ended
        assert starter.running[ONE] is not first
        assert not starter.running[ONE].has_ended
    finally:
        keeper.close()


def test_a_query_whose_successor_does_not_start_goes_on_and_is_replaced_later(
    keeper: Keeper, starter: FakeStarter
) -> None:
    of = queries()
    keeper.want({ONE: Wanted(of[ONE])})
    assert keeper.wait_settled(WAIT_S)
    first = starter.running[ONE]
    starter.refused[ONE] = "its topic is gone"

    keeper.want({ONE: replacing(of)})
    wait_for(keeper, lambda: starter.starts.count(ONE) == 3)
    live = keeper.live(ONE)
    assert live is not None
    assert (live.state, live.error) == ("RUNNING", "its topic is gone")
    assert not first.has_ended

    del starter.refused[ONE]
    wait_for(keeper, lambda: starter.running[ONE] is not first)
    wait_for(keeper, lambda: first.has_ended)


def test_a_query_that_is_paused_while_it_is_replaced_stops(
    keeper: Keeper, starter: FakeStarter
) -> None:
    of = queries()
    keeper.want({ONE: Wanted(of[ONE])})
    assert keeper.wait_settled(WAIT_S)
    starter.refused[ONE] = "its topic is gone"
    wanted = replacing(of)
    keeper.want({ONE: wanted})
    wait_for(keeper, lambda: starter.starts.count(ONE) == 2)

    keeper.want({ONE: Wanted(replace(wanted.query, state="PAUSED"))})

    wait_for(keeper, lambda: starter.running[ONE].has_ended)
    assert keeper.wait_settled(WAIT_S)
    assert [live.state for live in keeper.live_all()] == ["PAUSED"]


def test_what_is_kept_ends_with_the_keeper_and_its_state_stays(starter: FakeStarter) -> None:
    keeper = Keeper(starter)
    keeper.want({ONE: Wanted(queries()[ONE])})
    keeper.start()
    assert keeper.wait_settled(WAIT_S)

    keeper.close()

    assert starter.running[ONE].has_ended
    assert starter.forgotten == []


def test_a_query_that_is_made_again_at_once_has_nothing_of_the_one_that_ended(
    keeper: Keeper, starter: FakeStarter
) -> None:
    """Between two looks of the keeper the new one was taken for a replaced one, and went on from its state."""
    query = queries()[ONE]
    keeper.want({ONE: Wanted(query)})
    assert keeper.wait_settled(WAIT_S)

    keeper.want({ONE: Wanted(query, before=1)})
    assert keeper.wait_settled(WAIT_S)

    assert starter.forgotten == [ONE]
    assert starter.checkpoints == [ONE, f"{ONE}~1"]


class SlowStarter(FakeStarter):
    """Starts none before so many are at it."""

    def __init__(self, together: int) -> None:
        super().__init__()
        self.together = threading.Barrier(together)

    def start(self, wanted: Wanted) -> FakeQuery:
        self.together.wait(WAIT_S)
        return super().start(wanted)


def test_queries_start_side_by_side() -> None:
    """Fifty of them started one after the other."""
    starter = SlowStarter(2)
    keeper = Keeper(starter)
    keeper.start()
    keeper.want({name: Wanted(query) for name, query in queries().items()})

    assert keeper.wait_settled(WAIT_S)

    assert [live.state for live in keeper.live_all()] == ["RUNNING", "RUNNING"]
    keeper.close()


def test_a_query_that_is_not_wanted_any_more_while_it_starts_is_stopped_and_forgotten() -> None:
    starter = SlowStarter(2)
    keeper = Keeper(starter)
    keeper.start()
    of = queries()
    keeper.want({ONE: Wanted(of[ONE])})
    wait_for(keeper, lambda: starter.together.n_waiting == 1)

    keeper.want({TWO: Wanted(of[TWO])})

    assert keeper.wait_gone([ONE], WAIT_S)
    assert keeper.wait_settled(WAIT_S)
    assert starter.running[ONE].has_ended
    assert starter.forgotten == [ONE]
    assert not starter.running[TWO].has_ended
    keeper.close()


def test_a_close_stops_what_was_just_starting() -> None:
    starter = SlowStarter(2)
    keeper = Keeper(starter)
    keeper.start()
    keeper.want({ONE: Wanted(queries()[ONE])})
    wait_for(keeper, lambda: starter.together.n_waiting == 1)
    closing = threading.Thread(target=keeper.close)
    closing.start()

    starter.together.wait(WAIT_S)
    closing.join(WAIT_S)

    assert not closing.is_alive()
    assert starter.running[ONE].has_ended
