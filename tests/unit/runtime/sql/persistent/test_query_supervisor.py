import threading
import time
from dataclasses import replace

import pytest

from duolog.core.errors import QueryError
from duolog.ksql.session import PersistentQuery
from duolog.runtime.sql.command_log.desired_query import DesiredQuery
from duolog.runtime.sql.persistent.pauses import Pauses
from duolog.runtime.sql.persistent.query_supervisor import QuerySupervisor
from unit.runtime.sql.fake_queries import FakeQuery, FakeStarter
from unit.runtime.sql.persistent.supervised_queries import ONE, TWO, WAIT_S, queries, wait_for


def test_desired_queries_run_and_others_are_stopped_and_deleted(
    supervisor: QuerySupervisor, starter: FakeStarter
) -> None:
    wanted = {name: DesiredQuery(query, {"t": {0: 5}}) for name, query in queries().items()}
    supervisor.want(wanted)
    assert supervisor.wait_settled(WAIT_S)
    assert [live.state for live in supervisor.live_all()] == ["RUNNING", "RUNNING"]
    assert starter.offsets[ONE] == {"t": {0: 5}}

    supervisor.want({TWO: wanted[TWO]})

    assert supervisor.wait_stopped([ONE], WAIT_S)
    assert starter.running[ONE].has_ended
    assert not starter.running[TWO].has_ended
    assert starter.forgotten == [ONE]


def test_a_failing_query_affects_no_other_and_restarts_with_backoff(
    supervisor: QuerySupervisor, starter: FakeStarter
) -> None:
    starter.refused[ONE] = "its topic is gone"
    began = time.monotonic()
    supervisor.want({name: DesiredQuery(query) for name, query in queries().items()})
    assert supervisor.wait_settled(WAIT_S)
    failed = supervisor.live(ONE)
    assert failed is not None
    assert (failed.state, failed.error) == ("ERROR", "its topic is gone")

    wait_for(supervisor, lambda: starter.starts.count(ONE) == 3)

    assert time.monotonic() - began >= 0.2 + 0.4
    assert starter.starts.count(TWO) == 1

    del starter.refused[ONE]
    wait_for(supervisor, lambda: ONE in starter.running)
    wait_for(supervisor, lambda: getattr(supervisor.live(ONE), "state", "") == "RUNNING")
    again = supervisor.live(ONE)
    assert again is not None
    assert again.error == "its topic is gone", "the last error stays until it has run for a while"


def test_a_query_that_fails_while_running_keeps_its_error(
    supervisor: QuerySupervisor, starter: FakeStarter
) -> None:
    supervisor.want({name: DesiredQuery(query) for name, query in queries().items()})
    assert supervisor.wait_settled(WAIT_S)

    starter.running[TWO].fail("a sum has overflowed")

    wait_for(supervisor, lambda: starter.starts.count(TWO) == 2)
    live = supervisor.live(TWO)
    assert live is not None
    assert (live.failures, live.error) == (1, "a sum has overflowed")


def test_restarts_and_failures_are_counted_and_the_start_has_a_time(
    supervisor: QuerySupervisor, starter: FakeStarter
) -> None:
    starter.refused[ONE] = "its topic is gone"
    before_ms = time.time_ns() // 1_000_000
    supervisor.want({name: DesiredQuery(query) for name, query in queries().items()})
    wait_for(supervisor, lambda: starter.starts.count(ONE) == 2)
    del starter.refused[ONE]
    wait_for(supervisor, lambda: ONE in supervisor.running())
    starter.running[ONE].fail("the disk is full")
    wait_for(supervisor, lambda: ONE not in supervisor.running())

    failed = supervisor.live(ONE)
    assert failed is not None
    assert failed.started_at_ms is None

    wait_for(supervisor, lambda: ONE in supervisor.running())
    one, two = supervisor.live(ONE), supervisor.live(TWO)
    assert one is not None
    assert two is not None
    # Two starts and a run have failed; only the second run is a restart.
    assert (one.failures_total, one.restarts) == (3, 1)
    assert (two.failures_total, two.restarts) == (0, 0)
    assert two.started_at_ms is not None
    assert one.started_at_ms is not None
    assert before_ms <= two.started_at_ms <= one.started_at_ms <= time.time_ns() // 1_000_000
    assert supervisor.running() == starter.running


def test_a_paused_query_stops_keeps_its_state_and_resumes(
    supervisor: QuerySupervisor, starter: FakeStarter
) -> None:
    of = queries()
    supervisor.want({ONE: DesiredQuery(of[ONE])})
    assert supervisor.wait_settled(WAIT_S)

    supervisor.want({ONE: DesiredQuery(replace(of[ONE], state="PAUSED"))})
    assert supervisor.wait_settled(WAIT_S)
    assert starter.running[ONE].has_ended
    assert [live.state for live in supervisor.live_all()] == ["PAUSED"]
    assert starter.forgotten == []

    supervisor.want({ONE: DesiredQuery(of[ONE])})
    wait_for(supervisor, lambda: starter.starts.count(ONE) == 2)


def test_a_query_with_another_plan_replaces_the_old_one(
    supervisor: QuerySupervisor, starter: FakeStarter
) -> None:
    of = queries()
    supervisor.want({ONE: DesiredQuery(of[ONE])})
    assert supervisor.wait_settled(WAIT_S)
    first = starter.running[ONE]

    supervisor.want({ONE: DesiredQuery(replace(of[ONE], planned=of[TWO].planned))})
    wait_for(supervisor, lambda: starter.starts.count(ONE) == 2)

    assert first.has_ended
    assert starter.plans == [of[ONE].planned.plan, of[TWO].planned.plan]
    assert starter.forgotten == [], "the new one continues from its state"


class ReplacingStarter(FakeStarter):
    """Starts the second query of an id on request, and records if the first one is running then."""

    def __init__(self) -> None:
        super().__init__()
        self.may_start = threading.Event()
        self.ran: list[bool] = []

    def start(self, wanted: DesiredQuery) -> FakeQuery:
        if (before := self.running.get(wanted.query.id)) is not None:
            assert self.may_start.wait(WAIT_S)
            self.ran.append(not before.has_ended)
        return super().start(wanted)


class RebuildingStarter(ReplacingStarter):
    """A replacement starts when it may, or fails when it is abandoned."""

    def __init__(self) -> None:
        super().__init__()
        self.rebuilds = threading.Event()

    def start(self, wanted: DesiredQuery) -> FakeQuery:
        if wanted.query.id in self.running:
            self.rebuilds.set()
        found = super().start(wanted)
        if wanted.checkpoint in self.abandoned:
            self.abandoned.clear()
            raise QueryError("the rebuild was stopped")
        return found

    def abandon(self, checkpoint: str) -> None:
        super().abandon(checkpoint)
        self.may_start.set()


def replacing(of: dict[str, PersistentQuery]) -> DesiredQuery:
    statement = "CREATE OR REPLACE STREAM one AS SELECT * FROM s;"
    return DesiredQuery(replace(of[ONE], planned=of[TWO].planned, statement=statement))


def test_a_replaced_query_runs_until_its_successor_has_started() -> None:
    of, starter = queries(), ReplacingStarter()
    supervisor = QuerySupervisor(starter, Pauses(0.2, 60.0))
    supervisor.start()
    try:
        supervisor.want({ONE: DesiredQuery(of[ONE])})
        assert supervisor.wait_settled(WAIT_S)
        first = starter.running[ONE]

        supervisor.want({ONE: replacing(of)})
        assert not supervisor.wait_settled(0.5)
        live = supervisor.live(ONE)
        assert live is not None
        assert (live.state, first.has_ended) == ("RUNNING", False)
        starter.may_start.set()
        assert supervisor.wait_settled(WAIT_S)

        assert starter.ran == [True]
        assert first.has_ended
        assert starter.running[ONE] is not first
        assert not starter.running[ONE].has_ended
    finally:
        supervisor.close()


@pytest.mark.parametrize("moves", [False, True], ids=["ends", "moves"])
def test_a_replacement_that_rebuilds_state_is_abandoned_if_the_query_is_gone(
    moves: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """The places of other queries waited until it had read all records."""
    of, starter = queries(), RebuildingStarter()
    supervisor = QuerySupervisor(starter, Pauses(0.2, 60.0))
    supervisor.start()
    try:
        supervisor.want({ONE: DesiredQuery(of[ONE])})
        assert supervisor.wait_settled(WAIT_S)
        first = starter.running[ONE]
        supervisor.want({ONE: replacing(of)})
        wait_for(supervisor, starter.rebuilds.is_set)
        assert [first.has_ended] == [False]

        supervisor.want({}, {ONE: replacing(of)} if moves else {})

        assert supervisor.wait_stopped([ONE], WAIT_S)
        assert first.has_ended
        assert starter.forgotten == ([] if moves else [DesiredQuery(of[ONE]).checkpoint])
    finally:
        starter.may_start.set()
        supervisor.close()


def test_a_replacement_that_rebuilds_state_is_abandoned_for_a_newer_one() -> None:
    of, starter = queries(), RebuildingStarter()
    supervisor = QuerySupervisor(starter, Pauses(0.2, 60.0))
    supervisor.start()
    try:
        supervisor.want({ONE: DesiredQuery(of[ONE])})
        assert supervisor.wait_settled(WAIT_S)
        first = starter.running[ONE]
        supervisor.want({ONE: replacing(of)})
        wait_for(supervisor, starter.rebuilds.is_set)
        newest = replacing(of)
        planned = replace(newest.query.planned)

        supervisor.want({ONE: replace(newest, query=replace(newest.query, planned=planned))})

        wait_for(supervisor, lambda: starter.running[ONE] is not first)
        assert supervisor.wait_settled(WAIT_S)
        assert first.has_ended
        assert supervisor.live_all()[0].failures == 0
    finally:
        starter.may_start.set()
        supervisor.close()


def test_a_query_whose_successor_fails_to_start_runs_on_and_is_replaced_later(
    supervisor: QuerySupervisor, starter: FakeStarter
) -> None:
    of = queries()
    supervisor.want({ONE: DesiredQuery(of[ONE])})
    assert supervisor.wait_settled(WAIT_S)
    first = starter.running[ONE]
    starter.refused[ONE] = "its topic is gone"

    supervisor.want({ONE: replacing(of)})
    wait_for(supervisor, lambda: starter.starts.count(ONE) == 3)
    live = supervisor.live(ONE)
    assert live is not None
    assert (live.state, live.error) == ("RUNNING", "its topic is gone")
    assert not first.has_ended

    del starter.refused[ONE]
    wait_for(supervisor, lambda: starter.running[ONE] is not first)
    wait_for(supervisor, lambda: first.has_ended)


def test_a_query_that_is_paused_while_it_is_replaced_stops(
    supervisor: QuerySupervisor, starter: FakeStarter
) -> None:
    of = queries()
    supervisor.want({ONE: DesiredQuery(of[ONE])})
    assert supervisor.wait_settled(WAIT_S)
    starter.refused[ONE] = "its topic is gone"
    wanted = replacing(of)
    supervisor.want({ONE: wanted})
    wait_for(supervisor, lambda: starter.starts.count(ONE) == 2)

    supervisor.want({ONE: DesiredQuery(replace(wanted.query, state="PAUSED"))})

    wait_for(supervisor, lambda: starter.running[ONE].has_ended)
    assert supervisor.wait_settled(WAIT_S)
    assert [live.state for live in supervisor.live_all()] == ["PAUSED"]


def test_queries_stop_with_the_supervisor_and_keep_their_state(starter: FakeStarter) -> None:
    supervisor = QuerySupervisor(starter)
    supervisor.want({ONE: DesiredQuery(queries()[ONE])})
    supervisor.start()
    assert supervisor.wait_settled(WAIT_S)

    supervisor.close()

    assert starter.running[ONE].has_ended
    assert starter.forgotten == []


def test_a_recreated_query_has_no_state_of_the_dropped_one(
    supervisor: QuerySupervisor, starter: FakeStarter
) -> None:
    """If it ended and started between two rounds, the new query reused the old state."""
    query = queries()[ONE]
    supervisor.want({ONE: DesiredQuery(query)})
    assert supervisor.wait_settled(WAIT_S)

    supervisor.want({ONE: DesiredQuery(query, before=1)})
    assert supervisor.wait_settled(WAIT_S)

    assert starter.forgotten == [ONE]
    assert starter.checkpoints == [ONE, f"{ONE}~1"]


class SlowStarter(FakeStarter):
    """Delays every start until the given number of starts run at the same time."""

    def __init__(self, together: int) -> None:
        super().__init__()
        self.together = threading.Barrier(together)

    def start(self, wanted: DesiredQuery) -> FakeQuery:
        self.together.wait(WAIT_S)
        return super().start(wanted)


def test_queries_start_in_parallel() -> None:
    """Fifty of them started one after the other."""
    starter = SlowStarter(2)
    supervisor = QuerySupervisor(starter)
    supervisor.start()
    supervisor.want({name: DesiredQuery(query) for name, query in queries().items()})

    assert supervisor.wait_settled(WAIT_S)

    assert [live.state for live in supervisor.live_all()] == ["RUNNING", "RUNNING"]
    supervisor.close()


def test_a_query_dropped_while_it_starts_is_stopped_and_deleted() -> None:
    starter = SlowStarter(2)
    supervisor = QuerySupervisor(starter)
    supervisor.start()
    of = queries()
    supervisor.want({ONE: DesiredQuery(of[ONE])})
    wait_for(supervisor, lambda: starter.together.n_waiting == 1)

    supervisor.want({TWO: DesiredQuery(of[TWO])})

    assert supervisor.wait_stopped([ONE], WAIT_S)
    assert supervisor.wait_settled(WAIT_S)
    assert starter.running[ONE].has_ended
    assert starter.forgotten == [ONE]
    assert not starter.running[TWO].has_ended
    supervisor.close()


def test_close_stops_starting_queries() -> None:
    starter = SlowStarter(2)
    supervisor = QuerySupervisor(starter)
    supervisor.start()
    supervisor.want({ONE: DesiredQuery(queries()[ONE])})
    wait_for(supervisor, lambda: starter.together.n_waiting == 1)
    closing = threading.Thread(target=supervisor.close)
    closing.start()

    starter.together.wait(WAIT_S)
    closing.join(WAIT_S)

    assert not closing.is_alive()
    assert starter.running[ONE].has_ended
