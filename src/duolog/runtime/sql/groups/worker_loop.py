"""Serve the requests of the server in the process of a group.

    requests ─▶ a thread each ─▶ start, stop, progress, metrics ─▶ replies
    beats, with the states of the queries ────────────────▶ five times a second if they changed,
                                                             else once a second
    the JVM has ended ─▶ its reason ─▶ exit

The process ends with the server: the server's end of the pipe closes, even after SIGKILL.

Threads: one receives, one beats, one asks the JVM whether it answers, and one for each request.
"""

import contextlib
import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple, Protocol

from duolog.core.errors import DuologError, QueryError
from duolog.runtime.sql.figures.observation import metrics_of_query
from duolog.runtime.sql.groups.frames import Frames, Message
from duolog.runtime.sql.groups.messages import encode_error, encode_progress
from duolog.runtime.sql.persistent.query_supervisor import ManagedQuery

_LOOK_S: Final = 0.2
_BEAT_S: Final = 1.0
_REQUESTS_AT_ONCE: Final = 64


class GroupQueries(Protocol):
    """Runs the queries of a group. Threads: any."""

    def start(self, query_id: str, offset: int) -> ManagedQuery:
        """Start a query of the catalog as of an offset of the command topic.

        Raises:
            DuologError: it does not start.
        """

    def abandon(self, checkpoint: str) -> None:
        """End a start that rebuilds state on a checkpoint, if there is one."""

    def ping(self) -> None:
        """Return once the JVM has answered; at once if none runs."""

    def jvm_end(self) -> str:
        """Return how the JVM has ended, a sentence; empty if it has not."""

    def close(self) -> None:
        """Stop all queries and the JVM."""


class _Run(NamedTuple):
    """A start of a query."""

    query_id: str
    query: ManagedQuery


class WorkerLoop:
    """The process of a group, from its first request to its end."""

    def __init__(self, frames: Frames, queries: GroupQueries) -> None:
        self._frames = frames
        self._queries = queries
        self._runs: dict[int, _Run] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._answered_at = time.monotonic()
        self._ended = threading.Event()
        self._requests = ThreadPoolExecutor(_REQUESTS_AT_ONCE, "duolog-group")

    def run(self) -> None:
        """Serve until the server closes the connection or asks for the end, or the JVM ends."""
        for work in (self._receive, self._beat, self._ping):
            threading.Thread(target=work, name=f"duolog-group{work.__name__}", daemon=True).start()
        self._ended.wait()

    def _receive(self) -> None:
        try:
            while (message := self._frames.receive()) is not None:
                if message["do"] == "close":
                    self._queries.close()
                    return
                self._requests.submit(self._serve, message)
        finally:
            self._ended.set()

    def _serve(self, message: Message) -> None:
        reply: Message = {"id": message["id"]}
        try:
            reply["result"] = self._result(message)
        except Exception as error:  # noqa: BLE001 - an edge: the server gets it
            reply["error"] = encode_error(error)
        self._send(reply)

    def _result(self, message: Message) -> Message:
        if message["do"] == "start":
            query = self._queries.start(message["query"], message["offset"])
            return {"run": self._add(message["query"], query)}
        if message["do"] == "abandon":
            self._queries.abandon(message["checkpoint"])
            return {}
        with self._lock:
            run = self._runs.get(message["run"])
        if run is None:
            raise QueryError("the query has ended")
        query = run.query
        if message["do"] == "stop":
            query.stop()
            if not query.has_ended:
                raise QueryError("the query has not stopped yet")
            return {}
        if message["do"] == "metrics":
            metrics = metrics_of_query(query)
            return {"metrics": None if metrics is None else metrics.to_json()}
        return encode_progress(query.progress())

    def _add(self, query_id: str, query: ManagedQuery) -> int:
        """Add a run, and forget earlier ones of the same query; return its number.

        A query that fails again and again would otherwise have thousands. The last run before this
        one stays: the server may not have read its error yet.
        """
        with self._lock:
            before = [number for number, run in self._runs.items() if run.query_id == query_id]
            for number in before[:-1]:
                if self._runs[number].query.has_ended:
                    del self._runs[number]
            number = next(self._numbers)
            self._runs[number] = _Run(query_id, query)
        return number

    def _beat(self) -> None:
        sent: Message = {}
        sent_at = 0.0
        while not self._ended.is_set():
            if reason := self._queries.jvm_end():
                self._send({"ending": reason})
                self._ended.set()
                return
            runs = self._states()
            now = time.monotonic()
            if runs != sent or now - sent_at >= _BEAT_S:
                self._send({"jvm_silent_s": now - self._answered_at, "runs": runs})
                sent, sent_at = runs, now
            self._ended.wait(_LOOK_S)

    def _states(self) -> Message:
        with self._lock:
            runs = dict(self._runs)
        return {str(number): _state(run.query) for number, run in runs.items()}

    def _ping(self) -> None:
        while not self._ended.is_set():
            # If it has ended, `_beat` reports it.
            with contextlib.suppress(Exception):
                self._queries.ping()
            self._answered_at = time.monotonic()
            self._ended.wait(_BEAT_S)

    def _send(self, message: Message) -> None:
        with contextlib.suppress(OSError, ValueError):  # The server has ended.
            self._frames.send(message)


def _state(query: ManagedQuery) -> Message:
    ended = query.has_ended
    error: DuologError | None = query.exception() if ended else None
    return {
        "state": query.state,
        "ended": ended,
        "error": None if error is None else encode_error(error),
    }
