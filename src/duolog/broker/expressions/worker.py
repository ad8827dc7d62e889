"""The process that matches regular expressions of clients.

It reads lines of JSON from standard input and answers each with one line:

    {"pattern": "a.*", "processor_s": 10.0}  →  null, or the reason why the pattern is invalid
    ["ab", "ba"]                             →  [0]: the positions of the texts that match

A job may use `processor_s` of processor time in all to compile and to match; then the kernel ends
this process with SIGPROF, also in the middle of a compilation. A limit by the wall clock would
depend on what else the machine does. The timer stops while a line is read: what a job has left must
not end the next one.

The broker starts this file as a script: importing the package `duolog.broker` would take longer
than most jobs.
"""

import json
import signal
import sys
from contextlib import suppress
from typing import Final

import re2

from duolog.core.operating_system.processes import end_with, yield_to_others

_NICENESS: Final = 5
_TIMER_S_MIN: Final = 0.001
_MEMORY_BYTES_MAX: Final = 2 * 1024 * 1024
"""Memory limit of RE2 for one expression. A larger cache makes expensive expressions slower."""


def compile_expression(pattern: str) -> "re2._Regexp[str]":
    """Compile `pattern`.

    Raises:
        re2.error: it is not valid, or its program is too large.
    """
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True  # Groups are not used, and captures need a slower algorithm.
    options.max_mem = _MEMORY_BYTES_MAX
    re2.purge()  # Else the last 128 expressions are kept, each with its own memory.
    return re2.compile(pattern, options)


def main(parent: int) -> None:
    """Serve the process `parent` until standard input ends."""
    if sys.platform == "win32":
        raise AssertionError("the broker does not run on Windows")
    end_with(parent)
    yield_to_others(_NICENESS)
    expression, left_s = None, 0.0
    with suppress(KeyboardInterrupt, BrokenPipeError):
        while line := sys.stdin.readline():
            asked = json.loads(line)
            answer: object = None
            if isinstance(asked, dict):
                left_s = asked["processor_s"]
            # Zero would stop the timer.
            signal.setitimer(signal.ITIMER_PROF, max(left_s, _TIMER_S_MIN))
            if isinstance(asked, dict):
                try:
                    expression = compile_expression(asked["pattern"])
                except re2.error as error:
                    answer = error.args[0].decode(errors="replace")
            else:
                assert expression is not None
                matches = expression.fullmatch
                answer = [index for index, text in enumerate(asked) if matches(text)]
            left_s, _ = signal.setitimer(signal.ITIMER_PROF, 0)
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]))
