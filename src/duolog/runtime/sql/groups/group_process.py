"""The process of a group, seen from the server.

    start ─▶ requests and replies, beats ─▶ ended, with the reason
                                             ├─ it has reported the end of its JVM
                                             ├─ it was killed, or has failed
                                             └─ `kill`: it was silent, or did not stop a query

It has a process group of its own, with its JVM and their children, which ends as a whole. It ends
when this process does, because its standard input closes.

Threads: any; one of its own receives.
"""

import contextlib
import itertools
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Final

from duolog.core.errors import DuologError
from duolog.runtime.server_process import environment_of_child
from duolog.runtime.sql.groups.errors import GroupEnded
from duolog.runtime.sql.groups.frames import Frames, Message
from duolog.runtime.sql.groups.messages import Setup, decode_error

logger: Final = logging.getLogger(__name__)

# -P: do not import a directory called "duolog" in the user's working directory.
WORKER_PROGRAM: Final = (sys.executable, "-P", "-m", "duolog.runtime.sql.groups.worker")
_RUNNING: Final[Message] = {"state": "running", "ended": False, "error": None}
_STOPPED: Final[Message] = {"state": "stopped", "ended": True, "error": None}
_EXIT_S: Final = 10.0
_LAST_MOMENT_S: Final = 1.0
"""For a process that has closed its pipe and is about to exit."""


class GroupProcess:
    """A running process; create another one after it has ended.

    Args:
        setup: what it needs; its secrets go through the pipe only.
        log_path: file for the output of the process.
        program: the command.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(
        self, setup: Setup, log_path: Path, program: Sequence[str] = WORKER_PROGRAM
    ) -> None:
        self.group = setup.group
        self._log_path = log_path
        log_path.parent.mkdir(parents=True, exist_ok=True)
        with log_path.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own command, no shell
                list(program),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                env=environment_of_child(),
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._frames = Frames(self._process.stdout, self._process.stdin)
        self._numbers = itertools.count(1)
        self._replies: dict[int, Future[Message]] = {}
        self._runs: dict[int, Message] = {}
        """States in the last beat."""
        self._stopped: set[int] = set()
        self._lock = threading.Lock()
        self._reason = ""
        self._closing = False
        self._ended = threading.Event()
        self._jvm_silent_s = 0.0
        self.heard_at = time.monotonic()
        """Time of the last message."""
        self.has_answered = False
        """True once a message has come."""
        with contextlib.suppress(OSError, ValueError):  # It has ended, as `_receive` finds out.
            self._frames.send(setup.encode())
        threading.Thread(
            target=self._receive, name=f"duolog-group-{self.group}", daemon=True
        ).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        return self._ended.is_set()

    @property
    def is_closing(self) -> bool:
        """True once it was asked to end."""
        return self._closing

    def retire(self) -> None:
        """Note that it gets no more queries; call `close` next."""
        self._closing = True

    def silent_s(self, now: float) -> float:
        """Return for how long the process, or its JVM, has not answered."""
        return max(now - self.heard_at, self._jvm_silent_s)

    def end(self) -> GroupEnded:
        """Return why it has ended, as an error of its queries."""
        return GroupEnded(
            self._reason or f'the process of group "{self.group}" has ended',
            hint=f"See its log, {self._log_path}.",
        )

    def state_of(self, run: int) -> Message:
        """Return the last known state of a query: `state`, `ended` and `error`."""
        runs = self._runs
        if run in self._stopped:
            return _STOPPED
        if (known := runs.get(run)) is not None:
            return known
        # A beat lacks runs that began after it, and old ones that have ended.
        return _STOPPED if any(number > run for number in runs) else _RUNNING

    @property
    def known_runs(self) -> frozenset[int]:
        """The runs of queries in the last beat."""
        return frozenset(self._runs)

    def request(self, message: Message, timeout_s: float | None = None) -> Message:
        """Send a request and return the result.

        Raises:
            GroupEnded: the process has ended.
            QueryError: the request has failed.
            TimeoutError: there is no reply in time.
        """
        number, reply = next(self._numbers), Future[Message]()
        with self._lock:
            if self.has_ended:
                raise self.end()
            self._replies[number] = reply
        try:
            with contextlib.suppress(OSError, ValueError):  # As above.
                self._frames.send({"id": number, **message})
            return reply.result(timeout_s)
        finally:
            with self._lock:
                self._replies.pop(number, None)

    def notify(self, message: Message) -> None:
        """Send a request whose result does not matter, and do not wait for it."""
        with contextlib.suppress(OSError, ValueError):  # As above.
            self._frames.send({"id": next(self._numbers), **message})

    def stop_query(self, run: int) -> None:
        """Stop a query; returns once it has stopped, or the process has ended."""
        with contextlib.suppress(DuologError):
            self.request({"do": "stop", "run": run})
            # The next beat may have been written before.
            self._stopped.add(run)

    def kill(self, reason: str) -> None:
        """Kill the process with its JVM; `reason` is the message of its queries' errors."""
        self._reason = self._reason or reason
        if not self.has_ended:
            self._kill_all()

    def close(self, timeout_s: float) -> None:
        """End the process and its queries in order; kill it after the timeout."""
        self.retire()
        self._reason = self._reason or f'group "{self.group}" has stopped'
        with contextlib.suppress(OSError, ValueError):
            self._frames.send({"do": "close"})
        if not self._ended.wait(timeout_s):
            self._kill_all()
            self._ended.wait(timeout_s)

    def _receive(self) -> None:
        try:
            while (message := self._frames.receive()) is not None:
                self.heard_at, self.has_answered = time.monotonic(), True
                self._take(message)
        except (AttributeError, LookupError, TypeError, ValueError):
            # Without a receiver, all who wait for a reply would wait for ever.
            logger.exception("group %s has sent an invalid message", self.group)
            self.kill(f'the process of group "{self.group}" has sent an invalid message')
        self._note_end()

    def _take(self, message: Message) -> None:
        if "id" in message:
            self._take_reply(message)
        elif "ending" in message:
            self._reason = self._reason or str(message["ending"])
        else:
            self._jvm_silent_s = float(message["jvm_silent_s"])
            self._runs = {int(run): dict(state) for run, state in message["runs"].items()}

    def _take_reply(self, message: Message) -> None:
        with self._lock:
            reply = self._replies.pop(message["id"], None)
        if reply is None:
            return
        try:
            if "error" in message:
                reply.set_exception(decode_error(message["error"]))
            else:
                reply.set_result(message["result"])
        except (LookupError, TypeError):
            reply.set_exception(self.end())
            raise

    def _note_end(self) -> None:
        """Reap the process, and kill what is left of its group: its JVM, and children of that."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_EXIT_S if self._closing else _LAST_MOMENT_S)
        self._kill_all()
        status = self._process.wait()
        self._reason = self._reason or self._how(status)
        with self._lock:
            self._ended.set()
            left, self._replies = list(self._replies.values()), {}
        for reply in left:
            reply.set_exception(self.end())
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError, ValueError):
                    pipe.close()

    def _how(self, status: int) -> str:
        if status < 0:
            name = signal.Signals(-status).name
            return f'the process of group "{self.group}" was killed by {name}'
        return f'the process of group "{self.group}" has ended with exit status {status}'

    def _kill_all(self) -> None:
        with contextlib.suppress(OSError):
            if sys.platform == "win32":  # It has no process groups.
                self._process.kill()
            else:
                os.killpg(self._process.pid, signal.SIGKILL)
