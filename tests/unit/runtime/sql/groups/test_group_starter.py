import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pytest

from duolog.core.errors import QueryError
from duolog.core.units import GIB, MIB
from duolog.engine.jvm.exit_status import JvmEnd
from duolog.runtime.sql.command_log.desired_query import DesiredQuery
from duolog.runtime.sql.groups.errors import GroupEnded, GroupRefused
from duolog.runtime.sql.groups.group_processes import GroupProcesses
from duolog.runtime.sql.groups.group_starter import GroupStarter
from duolog.runtime.sql.groups.limits import JvmLimits
from duolog.runtime.sql.persistent.pauses import Pauses
from duolog.runtime.sql.persistent.query_supervisor import ManagedQuery, QuerySupervisor
from unit.runtime.sql.fake_queries import FakeQuery, FakeStarter
from unit.runtime.sql.groups.groups import Launches, wait_for, wanted

PREFIX = "duolog.query.jvm."


class SlowQuery(FakeQuery):
    """Stops once `stops` is set."""

    def __init__(self, stops: threading.Event) -> None:
        super().__init__()
        self._stops = stops

    def stop(self) -> None:
        self._stops.wait()
        super().stop()


class Shared(FakeStarter):
    """The shared JVM, which tests end; its queries stop once `stops` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.end: JvmEnd | None = None
        self.stops = threading.Event()
        self.stops.set()

    def start(self, wanted: DesiredQuery) -> FakeQuery:
        super().start(wanted)
        query = self.running[wanted.query.id] = SlowQuery(self.stops)
        return query

    def ended_jvm(self) -> JvmEnd | None:
        return self.end

    def kill_jvm(self) -> None:
        self.end_jvm(pid=4711)
        self.stops.set()

    def end_jvm(self, pid: int) -> None:
        self.end = JvmEnd.of(pid, 3)


@dataclass
class Groups:
    """A starter over fake processes."""

    directory: Path
    properties: dict[str, str] = field(default_factory=dict)
    idle_s: float = 600.0
    start_wait_s: float = 60.0
    offset: int = 5

    def __post_init__(self) -> None:
        self.shared = Shared()
        self.launches = Launches(self.directory)
        self.open()

    def open(self) -> None:
        limits = JvmLimits.of_properties(
            {f"{PREFIX}{name}": value for name, value in self.properties.items()}
        )
        processes = GroupProcesses(limits, self.launches, self.idle_s)
        self.starter = GroupStarter(
            self.shared, processes, limits, lambda: self.offset, self.start_wait_s
        )

    def has_seen(self, ends: int) -> bool:
        return self.starter.ends_seen == ends

    def start(self, query_id: str, group: str = "heavy") -> ManagedQuery:
        return self.starter.start(wanted(query_id, group))


@pytest.fixture
def groups(tmp_path: Path) -> Iterator[Groups]:
    groups = Groups(tmp_path)
    yield groups
    groups.starter.end_now()
    groups.starter.close()


def limited(groups: Groups, **properties: str) -> Groups:
    groups.properties = {name.replace("_", "."): value for name, value in properties.items()}
    groups.open()
    return groups


def test_a_query_of_the_default_group_runs_in_the_shared_jvm(groups: Groups) -> None:
    query = groups.start("OK_0", "default")

    assert not groups.launches.processes
    assert groups.shared.starts == ["OK_0"]
    query.stop()
    assert groups.shared.running["OK_0"].has_ended


def test_queries_of_one_group_share_a_process_and_those_of_two_do_not(groups: Groups) -> None:
    one, two, other = groups.start("OK_0"), groups.start("OK_1"), groups.start("OK_2", "light")

    assert [process.group for process in groups.launches.processes] == ["heavy", "light"]
    assert one.progress().records_in == 5
    assert [query.state for query in (one, two, other)] == ["running"] * 3
    assert groups.shared.starts == []


def test_a_group_gets_its_own_limits(groups: Groups) -> None:
    limited(groups, group_heavy_memory_bytes=str(2 * GIB), group_heavy_nice="3")
    groups.start("OK_0")

    assert [(one.memory_bytes, one.nice) for one in groups.launches.limits] == [(2 * GIB, 3)]


def test_a_full_group_refuses_a_query_until_another_one_ends(groups: Groups) -> None:
    limited(groups, group_heavy_queries_max="1")
    first = groups.start("OK_0")
    with pytest.raises(GroupRefused, match='group "heavy" is full') as raised:
        groups.start("OK_1")
    assert "OK_0" in raised.value.detail
    assert "duolog.query.jvm.group.heavy.queries.max" in raised.value.hint
    groups.start("OK_2", "light")
    groups.start("OK_3", "default")
    groups.start("OK_4", "default")

    first.stop()

    assert groups.start("OK_1").state == "running"


def test_a_query_that_starts_again_is_not_counted_twice(groups: Groups) -> None:
    limited(groups, group_heavy_queries_max="1")
    groups.start("OK_0").stop()

    assert groups.start("OK_0").state == "running"


def test_a_replacement_fits_into_a_full_group(groups: Groups) -> None:
    limited(groups, group_heavy_queries_max="1")
    groups.start("OK_0")
    text = "CREATE OR REPLACE STREAM one AS SELECT * FROM s;"

    assert groups.starter.start(wanted("OK_0", "heavy", text)).state == "running"


def test_the_number_of_groups_with_a_jvm_is_limited(groups: Groups) -> None:
    limited(groups, groups_max="1")
    groups.start("OK_0")
    groups.start("OK_1")
    with pytest.raises(GroupRefused, match='group "light" gets no JVM: 1 group may') as raised:
        groups.start("OK_2", "light")

    assert "heavy" in raised.value.detail


def test_the_memory_of_all_groups_is_limited(groups: Groups) -> None:
    limited(groups, memory_bytes_max=str(1600 * MIB), group_light_memory_bytes=str(600 * MIB))
    groups.start("OK_0")
    with pytest.raises(GroupRefused, match="more than 1600 MiB"):
        groups.start("OK_1", "light")


def test_an_idle_process_ends_and_one_with_a_query_does_not(groups: Groups) -> None:
    groups.idle_s = 0.0
    groups.open()
    groups.start("OK_0", "light")
    groups.start("OK_1").stop()
    light, heavy = groups.launches.processes

    wait_for(lambda: heavy.has_ended, "the idle process does not end")
    assert not light.has_ended
    assert groups.start("OK_1").state == "running"
    assert len(groups.launches.processes) == 3


def test_a_stuck_query_is_killed_with_its_group_only(groups: Groups) -> None:
    limited(groups, stop_timeout_ms="100")
    stuck, same, other = (
        groups.start("STUCK_0"),
        groups.start("OK_1"),
        groups.start("OK_2", "light"),
    )
    stuck.stop()

    wait_for(lambda: same.has_ended, "the process is not killed")
    assert "query STUCK_0 of the same group did not stop" in str(same.exception())
    assert not other.has_ended


def test_a_start_that_does_not_return_does_not_block_its_caller(groups: Groups) -> None:
    groups.start_wait_s = 0.1
    groups.open()
    query = groups.start("ENDLESS_0")

    assert (query.state, query.has_ended) == ("starting", False)


def test_a_silent_process_is_killed_and_started_again(groups: Groups) -> None:
    limited(groups, answer_timeout_ms="1500")
    query = groups.start("OK_0")
    os.kill(groups.launches.processes[0].pid, signal.SIGSTOP)

    wait_for(lambda: query.has_ended, "the silent process is not killed")
    assert "did not answer for 1.5 s" in str(query.exception())
    assert groups.start("OK_0").state == "running"


def test_a_jvm_that_does_not_answer_is_killed(groups: Groups) -> None:
    limited(groups, answer_timeout_ms="1500")
    query = groups.start("HANGS_0")

    wait_for(lambda: query.has_ended, "it is not killed")
    assert "did not answer" in str(query.exception())


def test_a_supervisor_starts_the_queries_of_an_ended_jvm_again(groups: Groups) -> None:
    supervisor = QuerySupervisor(groups.starter, Pauses(0.2, 0.2))
    one = wanted("OK_0")
    supervisor.start()
    supervisor.want({"OK_0": one, "OK_1": wanted("OK_1", "default")})
    assert supervisor.wait_settled(60)
    groups.launches.processes[0].kill("the JVM ran out of memory")

    wait_for(lambda: len(groups.launches.processes) == 2, "the group does not start again")
    wait_for(lambda: _state(supervisor, "OK_0") == "RUNNING", "the query does not start again")
    live = supervisor.live("OK_0")
    assert live is not None
    assert (live.error.splitlines()[0], live.group) == ("the JVM ran out of memory", "heavy")
    assert groups.shared.starts == ["OK_1"]
    supervisor.close()


def test_a_query_that_starts_for_long_is_not_replaced_meanwhile(groups: Groups) -> None:
    """Its replacement used to report that it is stopping."""
    groups.start_wait_s = 0.0
    groups.open()
    groups.start("ENDLESS_0")

    with pytest.raises(GroupEnded, match="still starting"):
        groups.starter.start(
            wanted("ENDLESS_0", "heavy", "CREATE OR REPLACE STREAM one AS SELECT * FROM s;")
        )


def test_a_query_that_starts_for_long_is_not_shown_as_running(groups: Groups) -> None:
    groups.start_wait_s = 0.1
    groups.open()
    supervisor = QuerySupervisor(groups.starter)
    supervisor.start()
    supervisor.want({"ENDLESS_0": wanted("ENDLESS_0"), "OK_0": wanted("OK_0", "default")})

    wait_for(lambda: _state(supervisor, "OK_0") == "RUNNING", "the other query does not start")
    assert _state(supervisor, "ENDLESS_0") == "STARTING"
    groups.starter.end_now()
    supervisor.close()


@pytest.mark.parametrize("query_id", ["OK_0", "STUCK_0"])
def test_a_query_of_a_group_moves_to_another_server_when_no_part_of_it_runs(
    groups: Groups, tmp_path: Path, query_id: str
) -> None:
    limited(groups, stop_timeout_ms="500")
    supervisor, moving = QuerySupervisor(groups.starter), wanted(query_id)
    supervisor.start()
    supervisor.want({query_id: moving})
    assert supervisor.wait_settled(60)
    supervisor.want({}, {query_id: moving})

    assert supervisor.wait_stopped([query_id], 60)
    assert not groups.starter.is_running(query_id)
    assert groups.launches.processes[0].has_ended == (query_id == "STUCK_0")
    assert groups.shared.forgotten == [], "the state stays"
    other = Groups(tmp_path / "other")
    assert other.start(query_id).state == "running"
    other.starter.end_now()
    other.starter.close()
    supervisor.close()


def test_a_query_that_moves_and_does_not_stop_is_ended_with_the_shared_jvm(groups: Groups) -> None:
    """Until its place is released, the group of the servers assigns no places at all."""
    limited(groups, stop_timeout_ms="10")
    groups.shared.stops = threading.Event()
    query = groups.start("SLOW_0", "default")
    groups.starter.force_stop("SLOW_0")
    assert groups.shared.end is None, "it was not asked to stop"
    query.stop()
    assert groups.starter.is_running("SLOW_0")

    groups.starter.force_stop("SLOW_0")

    wait_for(lambda: not groups.starter.is_running("SLOW_0"), "it does not stop")
    wait_for(partial(groups.has_seen, 1), "the end is not noticed")
    assert groups.starter._suspects._last_end is None, "a search needs a cause"  # noqa: SLF001 - nothing shows it


def test_a_replacement_in_another_group_stops_the_old_query_first(groups: Groups) -> None:
    old = groups.start("OK_0", "default")
    changed = wanted("OK_0", "heavy", "CREATE OR REPLACE STREAM one AS SELECT * FROM s;")
    changed = replace(changed, query=replace(changed.query, planned=replace(changed.query.planned)))
    query = groups.starter.start(changed)

    assert old.has_ended
    assert query.state == "running"
    assert [process.group for process in groups.launches.processes] == ["heavy"]


def test_a_query_whose_replacement_does_not_start_is_replaced_by_the_next_attempt(
    groups: Groups,
) -> None:
    """It used to be unknown afterwards: the server gave its place away while it was running."""
    old = groups.start("OK_0", "default")
    changed = wanted("OK_0", "default", "CREATE OR REPLACE STREAM one AS SELECT * FROM s;")
    changed = replace(changed, query=replace(changed.query, planned=replace(changed.query.planned)))
    groups.shared.refused["OK_0"] = "its topic is gone"
    with pytest.raises(QueryError, match="its topic is gone"):
        groups.starter.start(changed)

    assert not old.has_ended
    assert groups.starter.is_running("OK_0")
    groups.shared.refused.clear()
    groups.start_wait_s = 0.0
    assert groups.starter.start(changed).state == "running"


def test_queries_that_start_at_once_do_not_exceed_the_limit(groups: Groups) -> None:
    limited(groups, group_heavy_queries_max="1")
    groups.shared.stops = threading.Event()
    groups.start("OK_0", "default")
    changed = wanted("OK_0", "heavy", "CREATE OR REPLACE STREAM one AS SELECT * FROM s;")
    refused: list[GroupRefused] = []

    def replace_it() -> None:
        try:
            groups.starter.start(changed)
        except GroupRefused as error:
            refused.append(error)

    replacing = threading.Thread(target=replace_it)
    replacing.start()
    old = groups.starter._started["OK_0"].query  # noqa: SLF001 - while it stops, another one starts
    wait_for(lambda: old.is_leaving, "the old query does not stop")
    groups.start("OK_1")
    groups.shared.stops.set()
    replacing.join()

    assert ["OK_1" in error.detail for error in refused] == [True]


def test_a_query_that_still_stops_keeps_its_checkpoint(groups: Groups) -> None:
    limited(groups, stop_timeout_ms="10")
    groups.shared.stops = threading.Event()
    groups.start("SLOW_0", "default").stop()
    with pytest.raises(GroupEnded, match="still stopping"):
        groups.start("SLOW_0", "default")
    groups.starter.forget("SLOW_0")
    assert groups.shared.forgotten == []
    groups.shared.stops.set()

    wait_for(lambda: groups.shared.forgotten == ["SLOW_0"], "the checkpoint is not deleted")


def test_the_checkpoint_of_a_query_that_has_stopped_is_deleted_at_once(groups: Groups) -> None:
    groups.start("OK_0").stop()
    groups.starter.forget("OK_0")

    assert groups.shared.forgotten == ["OK_0"]


def test_after_two_ends_of_the_shared_jvm_the_newer_queries_move(groups: Groups) -> None:
    one, two = groups.start("OK_0", "default"), groups.start("OK_1", "default")
    groups.shared.end_jvm(pid=1)
    wait_for(lambda: groups.starter.ends_seen == 1, "the end is not noticed")
    assert not two.has_ended
    groups.shared.end_jvm(pid=2)

    wait_for(lambda: two.has_ended, "no query moves")
    assert "moves to the JVM of group quarantine" in str(two.exception())
    assert not one.has_ended
    wait_for(lambda: groups.shared.running["OK_1"].has_ended, "it does not stop")
    assert groups.starter.group_of(wanted("OK_1", "default")) == "quarantine"
    groups.start("OK_1", "default")
    assert [process.group for process in groups.launches.processes] == ["quarantine"]


def test_no_query_moves_to_a_quarantine_that_would_get_no_jvm(groups: Groups) -> None:
    """Half of the queries used to be in state ERROR for ten minutes, although they were innocent."""
    limited(groups, groups_max="1")
    groups.start("OK_9", "heavy")
    queries = [groups.start(f"OK_{number}", "default") for number in range(2)]
    for pid in (1, 2, 3):
        groups.shared.end_jvm(pid)
        wait_for(partial(groups.has_seen, pid), "the end is not noticed")

    assert not any(query.has_ended for query in queries)
    assert groups.starter.group_of(wanted("OK_1", "default")) == "default"


def test_the_quarantine_has_room_for_all_suspects(groups: Groups) -> None:
    limited(groups, group_queries_max="1")
    queries = [groups.start(f"OK_{number}", "default") for number in range(4)]
    for pid in (1, 2):
        groups.shared.end_jvm(pid)
        wait_for(partial(groups.has_seen, pid), "the end is not noticed")
    wait_for(lambda: sum(query.has_ended for query in queries) == 2, "no query moves")
    for number in (2, 3):
        wait_for(lambda: not groups.starter.is_running(f"OK_{number}"), "it does not stop")  # noqa: B023

        assert groups.start(f"OK_{number}", "default").state == "running"


def test_the_end_of_the_quarantine_finds_the_cause(groups: Groups) -> None:
    groups.start("OK_0", "default")
    groups.start("OK_1", "default")
    for pid in (1, 2):
        groups.shared.end_jvm(pid)
        wait_for(partial(groups.has_seen, pid), "the end is not noticed")
    wait_for(lambda: groups.shared.running["OK_1"].has_ended, "it does not stop")
    groups.start("OK_1", "default")
    groups.launches.processes[0].kill("the JVM ran out of memory")

    wait_for(
        lambda: groups.starter.group_of(wanted("OK_1", "default")) == "quarantine-1",
        "the cause is not found",
    )
    assert groups.starter.group_of(wanted("OK_0", "default")) == "default"


def test_after_the_end_of_all_nothing_starts(groups: Groups) -> None:
    groups.start("OK_0")
    groups.starter.close()

    assert groups.launches.processes[0].has_ended
    with pytest.raises(QueryError, match="closing"):
        groups.start("OK_1")


def _state(supervisor: QuerySupervisor, query_id: str) -> str:
    live = supervisor.live(query_id)
    return "" if live is None else live.state


@pytest.mark.parametrize("group", ["default", "heavy"])
def test_a_start_that_rebuilds_state_is_abandoned_where_it_runs(groups: Groups, group: str) -> None:
    groups.start_wait_s = 0.1
    groups.open()
    query = groups.start("REBUILDS_0", group)
    checkpoint = wanted("REBUILDS_0", group).checkpoint

    groups.starter.abandon(checkpoint)

    if group == "default":
        assert groups.shared.abandoned == {checkpoint}
    else:
        wait_for(lambda: query.has_ended, "the start ends")
        assert "the rebuild was stopped" in str(query.exception())


def test_nothing_is_abandoned_on_an_unknown_checkpoint(groups: Groups) -> None:
    groups.starter.abandon("never-started")

    assert groups.shared.abandoned == set()
