"""The processes of all groups: started on demand within the limits, watched, ended when idle.

    first query of a group ─▶ process ─▶ last query has ended ─▶ idle for a while ─▶ closed
                                 └─ silent for too long ─▶ killed

Threads: any; `look` is called by one, several times a second.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from duolog.core.counts import counted
from duolog.core.units import MIB
from duolog.runtime.sql.groups.errors import GroupEnded, GroupRefused
from duolog.runtime.sql.groups.group_process import GroupProcess
from duolog.runtime.sql.groups.limits import GroupLimits, JvmLimits, setting_of

logger: Final = logging.getLogger(__name__)

Launch = Callable[[str, GroupLimits], GroupProcess]
"""Starts the process of a group; raises OSError."""
IDLE_S: Final = 30.0
_PAUSED_S: Final = 5.0
"""If `look` was not called for so long, this process was suspended, not the others."""
_CLOSE_S: Final = 10.0
_FIRST_ANSWER_S: Final = 60.0


class GroupProcesses:
    """The processes of all groups but the default one."""

    def __init__(self, limits: JvmLimits, launch: Launch, idle_s: float = IDLE_S) -> None:
        self._limits = limits
        self._launch = launch
        self._idle_s = idle_s
        self._processes: dict[str, GroupProcess] = {}
        self._used_at: dict[str, float] = {}
        self._looked_at = time.monotonic()
        self._lock = threading.Lock()
        self._given_up = False

    def get(self, group: str) -> GroupProcess:
        """Return the process of a group, and start it if it does not run.

        Raises:
            GroupRefused: a limit of all groups is reached.
            GroupEnded: this process is closing, or the process cannot be started.
        """
        with self._lock:
            if self._given_up:
                raise GroupEnded("the server is closing")
            self._used_at[group] = time.monotonic()
            known = self._processes.get(group)
            if known is not None and not known.has_ended and not known.is_closing:
                return known
            limits = self._limits.of(group)
            self._ensure_room(group, limits)
            try:
                process = self._launch(group, limits)
            except OSError as error:
                raise GroupEnded(
                    f'the process of group "{group}" cannot be started', detail=f"{error}."
                ) from error
            self._processes[group] = process
        logger.info("started the process of a group", extra={"group": group, "pid": process.pid})
        return process

    def pid_of(self, group: str) -> int | None:
        """Return the process id of a group; None if it has no process."""
        with self._lock:
            known = self._processes.get(group)
        return None if known is None or known.has_ended else known.pid

    def refusal(self, group: str) -> GroupRefused | None:
        """Return why a group would get no process now; None if it would."""
        with self._lock:
            try:
                self._ensure_room(group, self._limits.of(group))
            except GroupRefused as refused:
                return refused
        return None

    def look(self, used: set[str]) -> list[GroupProcess]:
        """Kill silent processes, close idle ones, and return those that have ended since.

        Args:
            used: groups with queries that run or start.
        """
        now = time.monotonic()
        was_paused = now - self._looked_at > _PAUSED_S
        self._looked_at = now
        with self._lock:
            processes = dict(self._processes)
            ended = [one for one in processes.values() if one.has_ended]
            for one in ended:
                del self._processes[one.group]
            self._used_at |= dict.fromkeys(used, now)
            idle = [
                one
                for name, one in processes.items()
                if now - self._used_at[name] > self._idle_s and not one.is_closing
            ]
            for one in idle:
                one.retire()
        for one in idle:
            threading.Thread(target=one.close, args=(_CLOSE_S,), daemon=True).start()
        for one in processes.values():
            if was_paused:
                one.heard_at = now
            elif one.silent_s(now) > self._patience_s(one) and not one.has_ended:
                self._kill_silent(one)
        return ended

    def _patience_s(self, process: GroupProcess) -> float:
        """Return for how long a process may be silent; a new one has to load its modules first."""
        answer_s = self._limits.answer_timeout_s
        return answer_s if process.has_answered else max(answer_s, _FIRST_ANSWER_S)

    def abandon(self, group: str, checkpoint: str) -> None:
        """End a start that rebuilds state in the process of a group, if it has one."""
        with self._lock:
            known = self._processes.get(group)
        if known is not None:
            known.notify({"do": "abandon", "checkpoint": checkpoint})

    def kill(self, group: str, reason: str) -> None:
        """Kill the process of a group, if it has one."""
        with self._lock:
            known = self._processes.get(group)
        if known is not None:
            known.kill(reason)

    def give_up(self) -> None:
        """Start no more processes."""
        self._given_up = True

    def end_now(self) -> None:
        """Kill all processes."""
        self.give_up()
        with self._lock:
            processes = list(self._processes.values())
        for one in processes:
            one.kill("the server is closing")

    def close(self) -> None:
        """End all processes. Does nothing if closed."""
        self.give_up()
        with self._lock:
            processes, self._processes = list(self._processes.values()), {}
        closing = [
            threading.Thread(target=one.close, args=(_CLOSE_S,), daemon=True) for one in processes
        ]
        for thread in closing:
            thread.start()
        for thread in closing:
            thread.join()

    def _kill_silent(self, process: GroupProcess) -> None:
        seconds = self._patience_s(process)
        logger.warning(
            "killed the process of a group that did not answer",
            extra={"group": process.group, "pid": process.pid},
        )
        process.kill(f'the process of group "{process.group}" did not answer for {seconds:g} s')

    def _ensure_room(self, group: str, limits: GroupLimits) -> None:
        """Check the limits of all groups; the caller holds the lock."""
        running = [name for name, one in self._processes.items() if not one.has_ended]
        running = [name for name in running if name != group]
        most = self._limits.groups_max
        if len(running) >= most:
            raise GroupRefused(
                f'group "{group}" gets no JVM: {counted(most, "group")} may have one',
                detail=f"Now these have one: {', '.join(sorted(running)) or 'none'}.",
                hint="Raise duolog.query.jvm.groups.max, or use one of these groups.",
            )
        heaps = sum(self._limits.of(name).memory_bytes for name in running)
        total = self._limits.memory_bytes_max
        if total and heaps + limits.memory_bytes > total:
            raise GroupRefused(
                f'group "{group}" gets no JVM: its {limits.memory_bytes // MIB} MiB and the '
                f"{heaps // MIB} MiB of other groups are more than {total // MIB} MiB",
                hint="Raise duolog.query.jvm.memory.bytes.max, or lower "
                f"{setting_of(group, 'memory.bytes')}.",
            )
