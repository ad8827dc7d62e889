"""Start each query in the JVM of its group.

    default          the JVM of this process
    heavy            a process with a JVM of its own
    quarantine…      as that; for queries of the default group that may have ended its JVM

A query changes its group by CREATE OR REPLACE: it stops in the old one first, and continues with
its state.

Threads: any; one of its own watches the JVMs.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from duolog.core.errors import DuologError
from duolog.ksql.settings import DEFAULT_GROUP, QUARANTINE
from duolog.runtime.sql.command_log.desired_query import DesiredQuery
from duolog.runtime.sql.groups.bounded_query import BoundedQuery
from duolog.runtime.sql.groups.errors import GroupEnded, GroupRefused
from duolog.runtime.sql.groups.group_processes import GroupProcesses
from duolog.runtime.sql.groups.limits import JvmLimits, setting_of
from duolog.runtime.sql.groups.remote_query import RemoteQuery
from duolog.runtime.sql.groups.suspects import Suspects
from duolog.runtime.sql.persistent.query_supervisor import ManagedQuery

if TYPE_CHECKING:
    from duolog.engine.jvm.exit_status import JvmEnd

logger: Final = logging.getLogger(__name__)

START_WAIT_S: Final = 20.0
"""A start that takes longer continues without its caller, who starts other queries."""
_LOOK_S: Final = 0.2


class SharedJvm(Protocol):
    """Runs queries in the JVM of this process: `SparkQueries`."""

    def start(self, wanted: DesiredQuery) -> ManagedQuery: ...
    def abandon(self, checkpoint: str) -> None: ...
    def forget(self, checkpoint: str) -> None: ...
    def ended_jvm(self) -> "JvmEnd | None": ...
    def kill_jvm(self) -> None: ...


@dataclass(slots=True)
class _Started:
    """The last start on a checkpoint."""

    query_id: str
    planned: object
    query: BoundedQuery


class GroupStarter:
    """Starts queries in their groups.

    Args:
        shared: runs those of the default group.
        processes: run the others.
        limits: limits of the groups.
        offset: returns the offset of the last command that was read.
    """

    def __init__(
        self,
        shared: SharedJvm,
        processes: GroupProcesses,
        limits: JvmLimits,
        offset: Callable[[], int],
        start_wait_s: float = START_WAIT_S,
    ) -> None:
        self._shared = shared
        self._processes = processes
        self._limits = limits
        self._offset = offset
        self._start_wait_s = start_wait_s
        self._started: dict[str, _Started] = {}
        self._suspects = Suspects()
        self._lock = threading.Lock()
        self._ended_pid = 0
        self._was_killed = False
        """True if the next end of the shared JVM has no cause to look for."""
        self.ends_seen = 0
        """Ends of the shared JVM so far."""
        self._closing = threading.Event()
        self._watch: threading.Thread | None = None

    def start(self, wanted: DesiredQuery) -> ManagedQuery:
        """Start a query in its group.

        Returns early if that takes long; the query is then `starting`.

        Raises:
            GroupRefused: a limit is reached.
            DuologError: it does not start.
        """
        checkpoint = wanted.checkpoint
        with self._lock:
            before = self._started.get(checkpoint)
            if before is not None and before.planned is not wanted.query.planned:
                self._suspects.forget(checkpoint)
            group = self._group_of(wanted)
            self._ensure_room(group, checkpoint)
        replaces = False
        if before is not None:
            replaces = wanted.replaces and before.query.is_running and not before.query.is_leaving
            if replaces and before.query.group != group:
                before.query.stop()
                replaces = False
            if not replaces and not before.query.is_released:
                doing = "stopping" if before.query.is_leaving else "starting"
                raise GroupEnded(
                    f"the query before it is still {doing}", hint="It starts afterwards."
                )
        query = BoundedQuery(
            group,
            lambda: self._start_in(group, wanted),
            stop_timeout_s=self._limits.stop_timeout_s,
            overdue=lambda: self._overdue(group, wanted.query.id),
        )
        with self._lock:
            # Checked again: other threads have started queries meanwhile.
            self._ensure_room(group, checkpoint)
            self._started[checkpoint] = _Started(wanted.query.id, wanted.query.planned, query)
            self._begin_watch()
        try:
            # The caller stops the query that this one replaces when this returns.
            query.begin(None if replaces else self._start_wait_s)
        except DuologError:
            if before is not None and replaces:
                self._put_back(checkpoint, before, query)
            raise
        return query

    def _put_back(self, checkpoint: str, before: _Started, failed: BoundedQuery) -> None:
        """Note that the old query continues, because its replacement did not start."""
        with self._lock:
            now = self._started.get(checkpoint)
            if now is not None and now.query is failed:
                self._started[checkpoint] = before

    def abandon(self, checkpoint: str) -> None:
        """End a start that rebuilds state, wherever it is."""
        with self._lock:
            started = self._started.get(checkpoint)
        if started is None or started.query.is_released:
            return
        if started.query.group == DEFAULT_GROUP:
            self._shared.abandon(checkpoint)
        else:
            self._processes.abandon(started.query.group, checkpoint)

    def is_running(self, checkpoint: str) -> bool:
        """Return true if some part of a query still runs."""
        with self._lock:
            started = self._started.get(checkpoint)
        return started is not None and not started.query.is_released

    def force_stop(self, checkpoint: str) -> None:
        """Kill the JVM of a query that does not stop; its other queries start again."""
        with self._lock:
            started = self._started.get(checkpoint)
        if started is None or started.query.is_released or not started.query.is_leaving:
            return
        group, query_id = started.query.group, started.query_id
        logger.warning("query %s of group %s does not stop; killing the JVM", query_id, group)
        if group == DEFAULT_GROUP:
            self._was_killed = True
            self._shared.kill_jvm()
        else:
            self._processes.kill(group, f"query {query_id} of the same group did not stop")

    def forget(self, checkpoint: str) -> None:
        """Delete the checkpoint of an ended query, once it has stopped."""
        with self._lock:
            started = self._started.pop(checkpoint, None)
            self._suspects.forget(checkpoint)
        if started is None or started.query.wait_released(0) or started.query.is_released:
            self._shared.forget(checkpoint)
            return

        def later() -> None:
            started.query.wait_released()
            self._shared.forget(checkpoint)

        threading.Thread(target=later, name="duolog-sql-forget", daemon=True).start()

    def close(self) -> None:
        """End the processes of all groups. Does nothing if closed."""
        self._closing.set()
        self._processes.close()
        if self._watch is not None:
            self._watch.join()

    def give_up(self) -> None:
        """Start no more processes."""
        self._closing.set()
        self._processes.give_up()

    def end_now(self) -> None:
        """Kill the processes of all groups."""
        self.give_up()
        self._processes.end_now()

    def group_of(self, wanted: DesiredQuery) -> str:
        """Return the group in which a query runs, or would start now."""
        with self._lock:
            return self._group_of(wanted)

    def pid_of(self, group: str) -> int | None:
        """Return the process id of a group; None if it has no process of its own."""
        return self._processes.pid_of(group)

    def _group_of(self, wanted: DesiredQuery) -> str:
        named = wanted.query.jvm_group
        return self._suspects.group_of(wanted.checkpoint) if named == DEFAULT_GROUP else named

    def _ensure_room(self, group: str, checkpoint: str) -> None:
        """Check the limit of a group; the caller holds the lock."""
        # During a search, the quarantine has half of the queries of the shared JVM.
        if group in {DEFAULT_GROUP, QUARANTINE}:
            return
        most = self._limits.of(group).queries_max
        others = [
            one.query_id
            for name, one in self._started.items()
            if name != checkpoint and one.query.group == group and not one.query.has_ended
        ]
        if len(others) >= most:
            raise GroupRefused(
                f'group "{group}" is full: it may run {most} queries',
                detail=f"It runs {', '.join(others) or 'none'}.",
                hint=f"Raise {setting_of(group, 'queries.max')}, or use another group.",
            )

    def _start_in(self, group: str, wanted: DesiredQuery) -> ManagedQuery:
        if group == DEFAULT_GROUP:
            return self._shared.start(wanted)
        return RemoteQuery(self._processes.get(group), wanted.query.id, self._offset())

    def _overdue(self, group: str, query_id: str) -> None:
        """Decide about a query that has not stopped in time."""
        seconds = self._limits.stop_timeout_s
        if group == DEFAULT_GROUP:
            logger.warning(
                "query %s has not stopped within %.0f s; it continues to stop, and to use the "
                "JVM that it shares with others",
                query_id,
                seconds,
            )
            return
        logger.warning("query %s of group %s did not stop; killing the JVM", query_id, group)
        self._processes.kill(
            group, f"query {query_id} of the same group did not stop within {seconds:g} s"
        )

    def _begin_watch(self) -> None:
        """Start the thread that watches the JVMs; the caller holds the lock."""
        if self._watch is None and not self._closing.is_set():
            self._watch = threading.Thread(target=self._run, name="duolog-sql-groups", daemon=True)
            self._watch.start()

    def _run(self) -> None:
        while not self._closing.wait(_LOOK_S):
            try:
                self._look()
            except Exception:  # an error in one round must not end the watch
                logger.exception("failed to watch the JVMs")

    def _look(self) -> None:
        with self._lock:
            started = dict(self._started)
        used = {one.query.group for one in started.values() if not one.query.is_released}
        moved = False
        end = self._shared.ended_jvm()
        if end is not None and end.pid != self._ended_pid:
            self._ended_pid = end.pid
            logger.warning("the JVM that queries share has ended. %s", end.how)
            was_killed, self._was_killed = self._was_killed, False
            if not was_killed:
                moved = self._note_end_of_shared(started)
            self.ends_seen += 1
        for process in self._processes.look(used):
            if process.is_closing:
                continue
            logger.warning("%s", process.end().message)
            if process.group == QUARANTINE:
                ran = [name for name, one in started.items() if one.query.group == QUARANTINE]
                moved = self._note_end(QUARANTINE, ran) or moved
        with self._lock:
            moved = self._suspects.look(time.monotonic()) or moved
        if moved:
            self._move(started)

    def _note_end_of_shared(self, started: dict[str, _Started]) -> bool:
        refusal = self._processes.refusal(QUARANTINE)
        if refusal is None:
            return self._note_end(DEFAULT_GROUP, _in_group(started, DEFAULT_GROUP))
        # Half of the queries would wait for a JVM that they cannot get.
        logger.warning("cannot look for the query that was the cause: %s", refusal.message)
        return False

    def _note_end(self, group: str, ran: list[str]) -> bool:
        with self._lock:
            changed = self._suspects.note_end(group, ran, time.monotonic())
            found = self._suspects.found
        for checkpoint, own in found.items():
            if changed and checkpoint in ran:
                logger.warning(
                    "query %s has ended the JVM that it shared, and now has one of its own, "
                    "group %s",
                    checkpoint,
                    own,
                )
        return changed

    def _move(self, started: dict[str, _Started]) -> None:
        """End queries that run in another group than they should; they start again there."""
        for checkpoint, one in started.items():
            if one.query.group != DEFAULT_GROUP and not one.query.group.startswith(QUARANTINE):
                continue
            with self._lock:
                group = self._suspects.group_of(checkpoint)
            if group != one.query.group:
                one.query.evict(_moved(group))


def _in_group(started: dict[str, _Started], group: str) -> list[str]:
    return [
        name for name, one in started.items() if one.query.group == group and one.query.is_running
    ]


def _moved(group: str) -> GroupEnded:
    if group == DEFAULT_GROUP:
        return GroupEnded("the query moves back to the JVM that all share")
    return GroupEnded(
        f"the query moves to the JVM of group {group}, because the JVM that all share has ended "
        "twice within minutes",
        detail="The server looks for the query that was the cause.",
    )
