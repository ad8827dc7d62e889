"""Keep persistent queries running: start desired ones, stop others, restart failed ones.

    desired ─▶ starting ─▶ running ─▶ (failed) ─▶ pause ─▶ starting …
       └─▶ paused

- Pauses grow with each failure, and start again from the first once a query has run for a while.
  Their settings are
  ksqlDB's (`ksql.query.retry.backoff.*`). A failed query does not affect the others.
- A query that CREATE OR REPLACE replaces keeps running while its replacement starts and rebuilds
  state. The replacement
  stops it when it has caught up. If the replacement does not start, the old query continues.
- Several queries start concurrently: a start mostly waits for the broker and for Spark.
- A query that another process is to run stops here and keeps its state.

Threads: one makes decisions and stops queries; a few start queries. Any thread may call `want` and
the getters.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, Protocol

from duolog.core.errors import DuologError
from duolog.runtime.sql.command_log.desired_query import DesiredQuery
from duolog.runtime.sql.persistent.pauses import DEFAULT_PAUSES, Pauses
from duolog.runtime.sql.persistent.query_errors import (
    NO_TROUBLE,
    ErrorKind,
    QueryTrouble,
    trouble_of,
)

if TYPE_CHECKING:
    from duolog.engine.query.reports.progress import Progress

logger: Final = logging.getLogger(__name__)

LiveState = Literal["STARTING", "RUNNING", "PAUSED", "UNRESPONSIVE", "ERROR"]

_OF_RUNNING: Final[Mapping[str, LiveState]] = {
    "restarting": "UNRESPONSIVE",
    "starting": "STARTING",
}
"""States of queries that have not ended, other than RUNNING."""
_LOOK_S: Final = 0.1
_STARTS_AT_ONCE: Final = 4
_STOPS_AT_ONCE: Final = 8
_RELEASE_S: Final = 10.0
"""Longer than a server that stops lets its JVM run."""
_WELL_AFTER_S: Final = 60.0
"""After running for this long, a query's failures are reset."""


class ManagedQuery(Protocol):
    """A started query of `duolog.engine`."""

    @property
    def state(self) -> str: ...
    @property
    def has_ended(self) -> bool: ...
    def exception(self) -> DuologError | None: ...
    def progress(self) -> "Progress": ...
    def stop(self) -> None: ...


class Starter(Protocol):
    """Starts queries, and deletes their checkpoints. Threads: any."""

    def start(self, wanted: DesiredQuery) -> ManagedQuery:
        """Start a query; a replacement stops the running query when it takes over.

        Raises DuologError.
        """

    def abandon(self, checkpoint: str) -> None:
        """End a start that rebuilds state, if it has begun with that."""

    def is_running(self, checkpoint: str) -> bool:
        """Return true if a query still stops in the background: its `stop` is bounded."""

    def force_stop(self, checkpoint: str) -> None:
        """End a query that still stops in the background, even if others have to start again."""

    def forget(self, checkpoint: str) -> None: ...
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class LiveQuery:
    """Current state of a query, and its last error, kept until the query has run for a while."""

    id: str
    state: LiveState
    error: str = ""
    failures: int = 0
    """Consecutive failures."""
    progress: "Progress | None" = None
    restarts: int = 0
    """Starts after the first one, for any reason, since this process supervises the query."""
    failures_total: int = 0
    """Failures since then: of starts, and of running queries."""
    started_at_ms: int | None = None
    """Time of the last start, in ms since 1970; None while it does not run."""
    group: str = ""
    """Group of the JVM that runs it; empty if that is not known here."""
    host: str = ""
    """Address of the server that runs it; empty if that is not a server."""
    error_kind: ErrorKind = "UNKNOWN"
    error_at_ms: int = 0
    """Time of the error, in ms since 1970; 0 if there is none, or it is unknown."""


@dataclass(slots=True)
class _Entry:
    wanted: DesiredQuery
    starting: "Future[ManagedQuery] | None" = None
    running: ManagedQuery | None = None
    is_replaced: bool = False
    """True if the running query is the old one that the desired one will replace."""
    trouble: QueryTrouble = NO_TROUBLE
    failures: int = 0
    failures_total: int = 0
    starts: int = 0
    started_at: float = 0.0
    started_at_ms: int = 0
    due_at: float = 0.0
    """Time of the next start."""


class QuerySupervisor:
    """Starts and stops queries until the running ones are the desired ones.

    Args:
        starter: starts them.
        pauses: pauses before restarts.
        each_round: called by the supervisor's thread about ten times a second, for example to
            follow other engines.
        data: directory of the service, for hints of errors.
    """

    def __init__(
        self,
        starter: Starter,
        pauses: Pauses = DEFAULT_PAUSES,
        each_round: Callable[[], None] = lambda: None,
        *,
        data: Path | None = None,
    ) -> None:
        self._starter = starter
        self._pauses = pauses
        self._each_round = each_round
        self._data = data
        self._entries: dict[str, _Entry] = {}
        self._wanted: dict[str, DesiredQuery] = {}
        self._elsewhere: dict[str, DesiredQuery] = {}
        self._changed = threading.Condition()
        self._closing = threading.Event()
        self._in_round = False
        """True while `each_round` runs."""
        self._thread: threading.Thread | None = None
        self._starts = ThreadPoolExecutor(_STARTS_AT_ONCE, "duolog-sql-start")

    def start(self, ended: Iterable[str] = ()) -> None:
        """Start the supervisor.

        First delete the checkpoints of queries that have `ended` meanwhile.
        """
        assert self._thread is None, "it keeps already"
        for checkpoint in ended:
            self._starter.forget(checkpoint)
        self._thread = threading.Thread(target=self._run, name="duolog-sql-supervisor", daemon=True)
        self._thread.start()

    def want(
        self,
        queries: Mapping[str, DesiredQuery],
        elsewhere: Mapping[str, DesiredQuery] = MappingProxyType({}),
    ) -> None:
        """Set the queries that should run here, and those that run `elsewhere`, by id.

        Queries in neither have ended: their state is deleted.
        """
        with self._changed:
            self._wanted, self._elsewhere = dict(queries), dict(elsewhere)
            self._changed.notify_all()

    def live(self, query_id: str, *, with_progress: bool = False) -> LiveQuery | None:
        """Return the current state of a query; None if it is unknown. Progress asks the broker."""
        with self._changed:
            entry = self._entries.get(query_id)
            if entry is None:
                wanted = self._wanted.get(query_id)
                return None if wanted is None else LiveQuery(query_id, _not_started(wanted))
            entry = replace(entry)
        return _live(query_id, entry, with_progress=with_progress)

    def live_all(self, *, with_progress: bool = False) -> list[LiveQuery]:
        """Return the current states of all desired queries, in the order of their start."""
        with self._changed:
            ids = list(self._wanted)
        found = (self.live(one, with_progress=with_progress) for one in ids)
        return [live for live in found if live is not None]

    def running(self) -> dict[str, ManagedQuery]:
        """Return the queries that have started and not ended, by id."""
        with self._changed:
            found = {name: entry.running for name, entry in self._entries.items()}
        return {name: one for name, one in found.items() if one is not None and not one.has_ended}

    def stopping(self) -> set[str]:
        """Return the queries that are not desired any more, and have not stopped yet."""
        with self._changed:
            return self._entries.keys() - self._wanted.keys()

    def wait_until(self, done: Callable[[], bool], timeout_s: float) -> bool:
        """Wait for a condition that the supervisor brings about; return false after the timeout."""
        deadline = time.monotonic() + timeout_s
        while not done():
            with self._changed:
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    return False
                self._changed.wait(min(left_s, _LOOK_S))
        return True

    def wait_settled(self, timeout_s: float) -> bool:
        """Wait until each desired query is running, paused or failed, and no others are left."""
        return self.wait_until(self._is_settled, timeout_s)

    def wait_stopped(self, query_ids: Iterable[str], timeout_s: float) -> bool:
        """Wait until these queries have stopped."""
        ids = set(query_ids)
        return self.wait_until(lambda: not ids & self._entries.keys(), timeout_s)

    def force_stop(self, query_ids: Iterable[str]) -> None:
        """End queries that have not stopped in time, even if others have to start again."""
        with self._changed:
            found = [self._entries[one].wanted for one in query_ids if one in self._entries]
        for one in found:
            self._starter.force_stop(one.checkpoint)

    def give_up(self) -> None:
        """Start no more queries, and do not log failed starts."""
        self._closing.set()

    def close(self) -> None:
        """Stop all queries; their state stays. Does nothing if closed."""
        self._closing.set()
        with self._changed:
            self._changed.notify_all()
        # A round may wait long for the broker, for example when this process is cut off from it.
        if self._thread is not None and not self._in_round:
            self._thread.join()
        self._starts.shutdown(wait=False, cancel_futures=True)
        _stop_all(self._entries.values())
        checkpoints = [entry.wanted.checkpoint for entry in self._entries.values()]
        # Others may start the queries when this returns.
        self.wait_until(
            lambda: not any(self._starter.is_running(one) for one in checkpoints), _RELEASE_S
        )
        self._entries.clear()
        if self._thread is not None:
            self._thread.join()

    def _is_settled(self) -> bool:
        with self._changed:
            wanted, entries = self._wanted, dict(self._entries)
            return wanted.keys() == entries.keys() and all(
                entries[name].wanted is wanted[name]
                and _live(name, entries[name]).state != "STARTING"
                and not (entries[name].is_replaced and not entries[name].trouble.text)
                for name in wanted
            )

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                # Set before `_closing` is read, and `close` sets that first: once `close` has
                # found a round in progress, nothing is started or stopped here any more.
                self._in_round = True
                if not self._closing.is_set():
                    self._each_round()
            except Exception:  # as below
                logger.exception("failed to follow other engines")
            finally:
                self._in_round = False
            if self._closing.is_set():
                return
            try:
                self._look()
            except Exception:  # an error of one query must not stop the supervisor
                logger.exception("failed to supervise queries")
            with self._changed:
                self._changed.notify_all()
                self._changed.wait(_LOOK_S)

    def _look(self) -> None:
        with self._changed:
            wanted, elsewhere = dict(self._wanted), self._elsewhere
        self._end([one for one in self._entries if self._is_gone(one, wanted)], elsewhere)
        for query_id, one in wanted.items():
            if self._closing.is_set():
                return
            if (entry := self._entry_of(query_id, one)) is not None:
                self._bring_on(entry, one)

    def _entry_of(self, query_id: str, wanted: DesiredQuery) -> _Entry | None:
        """Return the entry of a query, which may be new; None if it is no longer desired.

        Another thread that gives the query away waits until there is no entry. So none may be added
        afterwards.
        """
        with self._changed:
            if self._wanted.get(query_id) is not wanted:
                return None
            return self._entries.setdefault(query_id, _Entry(wanted))

    def _end(self, gone: Iterable[str], elsewhere: Mapping[str, DesiredQuery]) -> None:
        """Stop queries, except those that are starting, and delete the state of ended ones."""
        found = {one: self._entries[one] for one in gone}
        list(map(self._maybe_abandon, found.values()))
        ending = {one: entry for one, entry in found.items() if not _is_starting(entry)}
        _stop_all(ending.values())
        for query_id, entry in ending.items():
            goes_on, checkpoint = elsewhere.get(query_id), entry.wanted.checkpoint
            if goes_on is None or goes_on.before != entry.wanted.before:
                self._starter.forget(checkpoint)
            elif self._starter.is_running(checkpoint):
                continue  # Others may start it when no part of it runs here. The next look asks.
            with self._changed:
                del self._entries[query_id]

    def _maybe_abandon(self, entry: _Entry) -> None:
        """End a start that rebuilds state, which takes as long as to read all records."""
        if entry.is_replaced and _is_starting(entry):
            self._starter.abandon(entry.wanted.checkpoint)

    def _is_gone(self, query_id: str, wanted: Mapping[str, DesiredQuery]) -> bool:
        """Return true if a query has ended; another one with its id may be desired."""
        now = wanted.get(query_id)
        return now is None or now.before != self._entries[query_id].wanted.before

    def _bring_on(self, entry: _Entry, wanted: DesiredQuery) -> None:
        """Bring a query one step closer to its desired state; wait for a start in progress."""
        if _is_starting(entry):
            if entry.wanted is not wanted:
                self._maybe_abandon(entry)
            return
        if entry.starting is not None:
            self._take_started(entry, entry.starting)
        if entry.wanted is not wanted:
            self._change(entry, wanted)
            entry.wanted = wanted
        if wanted.query.state == "PAUSED":
            return
        now = time.monotonic()
        if entry.running is not None and entry.running.has_ended:
            self._note(entry, entry.running.exception())
            entry.running = None
        elif _runs_well(entry) and now - entry.started_at > _WELL_AFTER_S:
            entry.trouble, entry.failures = NO_TROUBLE, 0
        if (entry.running is None or entry.is_replaced) and now >= entry.due_at:
            self._start(entry)

    def _change(self, entry: _Entry, wanted: DesiredQuery) -> None:
        """Stop the old query, unless its replacement will."""
        replaced = entry.wanted.query.planned is not wanted.query.planned
        paused = wanted.query.state == "PAUSED"
        if not (replaced or paused):
            return
        runs = entry.running is not None and not entry.running.has_ended
        entry.is_replaced = replaced and not paused and wanted.replaces and runs
        if not entry.is_replaced:
            _stop(entry)
        entry.due_at = 0.0
        if replaced:
            entry.trouble, entry.failures = NO_TROUBLE, 0

    def _start(self, entry: _Entry) -> None:
        entry.starting = self._starts.submit(self._starter.start, entry.wanted)
        entry.starting.add_done_callback(self._notify_changed)

    def _notify_changed(self, _started: "Future[ManagedQuery]") -> None:
        with self._changed:
            self._changed.notify_all()

    def _take_started(self, entry: _Entry, started: "Future[ManagedQuery]") -> None:
        before = entry.running
        try:
            entry.running = started.result()
            entry.started_at = time.monotonic()
            entry.started_at_ms = time.time_ns() // 1_000_000
            entry.starts += 1
            entry.is_replaced = False
        except Exception as error:  # noqa: BLE001 - the errors of other libraries, too
            self._note(entry, error)
        if before is not None and (before.has_ended or before is not entry.running):
            # The replacement has stopped it, or was about to.
            before.stop()
            entry.running = None if before is entry.running else entry.running
            entry.is_replaced = False
        # Reset last: until then, other threads see the query as starting.
        entry.starting = None

    def _note(self, entry: _Entry, error: Exception | None) -> None:
        entry.failures += 1
        entry.failures_total += 1
        entry.trouble = trouble_of(error, self._data)
        pause_s = self._pauses.after(entry.failures)
        entry.due_at = time.monotonic() + pause_s
        if self._closing.is_set():
            return
        logger.warning(
            "query %s failed; restarting in %.0f s: %s",
            entry.wanted.query.id,
            pause_s,
            entry.trouble.text.splitlines()[0],
        )


def _is_starting(entry: _Entry) -> bool:
    return entry.starting is not None and not entry.starting.done()


def _runs_well(entry: _Entry) -> bool:
    return entry.running is not None and not entry.is_replaced and entry.failures > 0


def _stop_all(entries: Collection[_Entry]) -> None:
    """Stop queries concurrently, because each stop waits."""
    if entries:
        with ThreadPoolExecutor(_STOPS_AT_ONCE, "duolog-sql-stop") as stops:
            list(stops.map(_stop, entries))


def _stop(entry: _Entry) -> None:
    """Stop a query; wait if it is starting."""
    starting, entry.starting = entry.starting, None
    before = entry.running
    if starting is not None:
        # The query is no longer desired, so that any error of its start is irrelevant.
        with contextlib.suppress(Exception):
            entry.running = starting.result()
    running, entry.running, entry.is_replaced = entry.running, None, False
    for one in (running, before):
        if one is not None:
            one.stop()


def _not_started(wanted: DesiredQuery) -> LiveState:
    return "PAUSED" if wanted.query.state == "PAUSED" else "STARTING"


def _live(query_id: str, entry: _Entry, *, with_progress: bool = False) -> LiveQuery:
    running = entry.running
    runs = running is not None and not running.has_ended
    state: LiveState = _not_started(entry.wanted)
    if running is not None and runs:
        state = _OF_RUNNING.get(running.state, "RUNNING")
    elif state != "PAUSED" and entry.trouble.text:
        state = "ERROR"
    progress = running.progress() if running is not None and with_progress else None
    trouble = entry.trouble
    if progress is not None and progress.trouble:
        trouble = QueryTrouble(progress.trouble, "SYSTEM", time.time_ns() // 1_000_000)
    return LiveQuery(
        query_id,
        state,
        trouble.text,
        entry.failures,
        progress,
        restarts=max(0, entry.starts - 1),
        failures_total=entry.failures_total,
        started_at_ms=entry.started_at_ms if runs else None,
        group=str(getattr(running, "group", "")),
        error_kind=trouble.kind,
        error_at_ms=trouble.at_ms,
    )
