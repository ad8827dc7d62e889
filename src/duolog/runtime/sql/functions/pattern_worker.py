"""The program of `pattern_process`: match patterns until the input ends.

A match that lasts a minute ends the process by SIGALRM: if the process that asked has been killed,
nothing else would end it, as the end of the input is read after the match.
"""

import json
import signal
import sys
from typing import Final

from duolog.plan.sql.time_patterns import Unsupported
from duolog.runtime.sql.functions.bounded_patterns import CALLS

MATCH_S: Final = 60.0
"""Longest time of one match."""


def main() -> None:
    """Answer each line of standard input by one of standard output."""
    for line in sys.stdin.buffer:
        name, args = json.loads(line)
        _end_after(MATCH_S)
        answer: dict[str, object]
        try:
            answer = {"found": CALLS[name](*args)}
        except Unsupported as error:
            answer = {"unsupported": str(error)}
        except Exception:  # noqa: BLE001 - as in ksqlDB, any failure is null
            answer = {"failed": True}
        _end_after(0)
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
        sys.stdout.buffer.flush()


def _end_after(seconds: float) -> None:
    """Make the system end this process after some seconds; 0 for never. No handler is needed."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_REAL, seconds)


if __name__ == "__main__":
    main()
