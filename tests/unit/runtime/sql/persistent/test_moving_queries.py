import threading
from dataclasses import replace

from duolog.runtime.sql.command_log.desired_query import DesiredQuery
from duolog.runtime.sql.persistent.pauses import Pauses
from duolog.runtime.sql.persistent.query_supervisor import QuerySupervisor
from unit.runtime.sql.fake_queries import FakeQuery, FakeStarter
from unit.runtime.sql.persistent.supervised_queries import ONE, TWO, WAIT_S, queries, wait_for


def test_a_query_that_runs_elsewhere_is_stopped_and_keeps_its_state(
    supervisor: QuerySupervisor, starter: FakeStarter
) -> None:
    wanted = {name: DesiredQuery(query) for name, query in queries().items()}
    supervisor.want(wanted)
    assert supervisor.wait_settled(WAIT_S)

    supervisor.want({TWO: wanted[TWO]}, {ONE: wanted[ONE]})

    assert supervisor.wait_stopped([ONE], WAIT_S)
    assert starter.running[ONE].has_ended
    assert not starter.running[TWO].has_ended
    assert starter.forgotten == []
    assert [live.id for live in supervisor.live_all()] == [TWO]


def test_the_state_of_an_ended_query_is_deleted_though_its_id_runs_elsewhere(
    supervisor: QuerySupervisor, starter: FakeStarter
) -> None:
    wanted = {name: DesiredQuery(query) for name, query in queries().items()}
    supervisor.want(wanted)
    assert supervisor.wait_settled(WAIT_S)

    supervisor.want({TWO: wanted[TWO]}, {ONE: replace(wanted[ONE], before=1)})

    assert supervisor.wait_stopped([ONE], WAIT_S)
    assert starter.forgotten == [ONE]


def test_a_query_that_was_given_away_gets_no_entry(starter: FakeStarter) -> None:
    """The supervisor had copied the desired queries when another thread gave one away and waited for its end."""
    supervisor = QuerySupervisor(starter, Pauses(0.2, 60.0))
    wanted = {name: DesiredQuery(query) for name, query in queries().items()}
    supervisor.want({TWO: wanted[TWO]}, {ONE: wanted[ONE]})

    assert supervisor._entry_of(ONE, wanted[ONE]) is None  # noqa: SLF001 - between two steps of one look
    assert supervisor._entry_of(TWO, wanted[TWO]) is not None  # noqa: SLF001
    assert supervisor.wait_stopped([ONE], 0)


def test_a_query_that_moves_while_it_starts_is_stopped_after_its_start() -> None:
    begun, may_start = threading.Event(), threading.Event()

    class Slow(FakeStarter):
        def start(self, wanted: DesiredQuery) -> FakeQuery:
            begun.set()
            assert may_start.wait(WAIT_S)
            return super().start(wanted)

    starter = Slow()
    supervisor = QuerySupervisor(starter)
    supervisor.start()
    wanted = {name: DesiredQuery(query) for name, query in queries().items()}
    supervisor.want({ONE: wanted[ONE]})
    assert begun.wait(WAIT_S)

    supervisor.want({}, {ONE: wanted[ONE]})
    assert not supervisor.wait_stopped([ONE], 0.2)
    may_start.set()

    assert supervisor.wait_stopped([ONE], WAIT_S)
    assert starter.running[ONE].has_ended
    supervisor.close()


def test_a_query_that_moves_has_moved_when_no_part_of_it_runs_any_more(
    supervisor: QuerySupervisor, starter: FakeStarter
) -> None:
    """A query in a shared JVM may still stop after its bounded stop has returned."""
    wanted = {name: DesiredQuery(query) for name, query in queries().items()}
    supervisor.want(wanted)
    assert supervisor.wait_settled(WAIT_S)
    starter.stopping.add(ONE)

    supervisor.want({TWO: wanted[TWO]}, {ONE: wanted[ONE]})
    wait_for(supervisor, lambda: starter.running[ONE].has_ended)
    assert not supervisor.wait_stopped([ONE], 0.5)
    supervisor.force_stop([ONE, "CSAS_GONE_7"])

    assert supervisor.wait_stopped([ONE], WAIT_S)
    assert starter.forgotten == []


def test_a_supervisor_closes_when_no_part_of_its_queries_runs_any_more(
    starter: FakeStarter,
) -> None:
    supervisor = QuerySupervisor(starter)
    supervisor.start()
    wanted = {name: DesiredQuery(query) for name, query in queries().items()}
    supervisor.want(wanted)
    assert supervisor.wait_settled(WAIT_S)
    starter.stopping.add(ONE)
    closing = threading.Thread(target=supervisor.close)

    closing.start()
    wait_for(supervisor, lambda: starter.running[ONE].has_ended)
    closing.join(0.5)
    assert closing.is_alive()
    starter.stopping.clear()

    closing.join(WAIT_S)
    assert not closing.is_alive()


def test_queries_stop_although_a_round_waits_for_the_broker(starter: FakeStarter) -> None:
    """They continued for fifteen seconds in a process that was cut off, while another one ran them."""
    cut_off, waits, answered = (threading.Event() for _ in range(3))

    def each_round() -> None:
        if cut_off.is_set():
            waits.set()
            assert answered.wait(WAIT_S)

    supervisor = QuerySupervisor(starter, each_round=each_round)
    supervisor.start()
    supervisor.want({name: DesiredQuery(query) for name, query in queries().items()})
    assert supervisor.wait_settled(WAIT_S)
    cut_off.set()
    assert waits.wait(WAIT_S)
    closing = threading.Thread(target=supervisor.close)

    closing.start()

    wait_for(supervisor, lambda: all(one.has_ended for one in starter.running.values()))
    assert closing.is_alive(), "it waits for its thread"
    answered.set()
    closing.join(WAIT_S)
    assert not closing.is_alive()
    assert len(starter.starts) == 2
