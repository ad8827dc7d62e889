"""Processes that match patterns for this one, and can be killed meanwhile.

A process is started by the first pattern that may take long, and kept for the next; several
threads have several. Both sides send lines of JSON: `[NAME, ARGUMENTS]` and `{"found": …}`,
`{"failed": true}` or `{"unsupported": …}`. A process ends when its input does, so that it does not
outlive this one.

Threads: any.
"""

import atexit
import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from duolog.plan.sql.time_patterns import Unsupported
from duolog.runtime.sql.functions.call_limits import CallLimit, CallStopped

PROGRAM: Final = (sys.executable, "-P", "-m", "duolog.runtime.sql.functions.pattern_worker")
IDLE_MAX: Final = 2
"""Processes that are kept when they have nothing to do."""
_END_S: Final = 5.0


class _Matcher:
    """One process; used by one thread at a time."""

    def __init__(self) -> None:
        self.is_killed = False
        self._process = subprocess.Popen(  # noqa: S603 - our own command, no shell
            PROGRAM,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    def ask(self, name: str, args: Sequence[Any]) -> dict[str, Any] | None:
        """Return the answer; None if the process has ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps([name, args]).encode() + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError:
            return None
        found: dict[str, Any] | None = json.loads(line) if line.endswith(b"\n") else None
        return found

    def kill(self) -> None:
        """End the process at once; any thread may call this."""
        self.is_killed = True
        self._process.kill()

    def close(self) -> None:
        """End the process."""
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with suppress(OSError):
                stream.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


_idle: Final[list[_Matcher]] = []
_lock: Final = threading.Lock()


def matched(name: str, args: Sequence[Any], limit: CallLimit | None) -> Any:
    """Return the result of a function of `bounded_patterns`.

    Raises:
        CallStopped: the call was stopped.
        Unsupported: the pattern has syntax without an equivalent.
        ValueError: it cannot be computed, for instance because the pattern is not valid.
    """
    found = _asked(name, args, limit)
    if found is None:
        # Something else has ended the process, such as the system for want of memory.
        found = _asked(name, args, limit, is_new=True)
    if found is None:
        raise CallStopped
    if "unsupported" in found:
        raise Unsupported(found["unsupported"])
    if "failed" in found:
        raise ValueError(name)
    return found["found"]


def _asked(
    name: str, args: Sequence[Any], limit: CallLimit | None, *, is_new: bool = False
) -> dict[str, Any] | None:
    """Return the answer of a process; None if it has ended. Raises CallStopped."""
    with _lock:
        matcher = _idle.pop() if _idle and not is_new else None
    matcher = matcher or _Matcher()
    found: dict[str, Any] | None = None
    try:
        if limit is None:
            found = matcher.ask(name, args)
        else:
            with limit.killing(matcher.kill):
                found = matcher.ask(name, args)
    finally:
        _give_back(matcher, reusable=found is not None and not matcher.is_killed)
    return found


def _give_back(matcher: _Matcher, *, reusable: bool) -> None:
    with _lock:
        if reusable and len(_idle) < IDLE_MAX:
            _idle.append(matcher)
            return
    if not reusable:
        matcher.kill()
    matcher.close()


@atexit.register
def close_idle() -> None:
    """End the processes that have nothing to do."""
    with _lock:
        ended = [*_idle]
        _idle.clear()
    for one in ended:
        one.close()
