"""Show a status line in a notebook or at a prompt while a start takes seconds.

    counts: starting Spark and the query … 4 s
    counts: running after 9 s

Scripts and tests do not print it. Threads: one that counts the seconds.
"""

import sys
import threading
import time
from types import TracebackType
from typing import Final, Self, TextIO

_EVERY_S: Final = 1.0


def is_interactive() -> bool:
    """Return true at an interactive prompt or in a notebook."""
    ipython = sys.modules.get("IPython")
    return hasattr(sys, "ps1") or (ipython is not None and ipython.get_ipython() is not None)


class Waiting:
    """Writes the line while its block runs, then the time it took.

    Without a stream it writes nothing.
    """

    def __init__(self, name: str, stream: TextIO | None, *, every_s: float = _EVERY_S) -> None:
        self._name = name
        self._stream = stream
        self._every_s = every_s
        self._began_s = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._count, name="duolog-waiting", daemon=True)
        self._width = 0

    @classmethod
    def for_a_person(cls, name: str) -> Self:
        """Create one that writes to stderr in an interactive session."""
        return cls(name, sys.stderr if is_interactive() else None)

    def __enter__(self) -> Self:
        if self._stream is not None:
            self._write("starting Spark and the query …")
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._stream is not None:
            self._ended.set()
            self._thread.join()
            outcome = "running" if kind is None else "not started,"
            self._write(f"{outcome} after {self._seconds()} s", end="\n")

    def _count(self) -> None:
        while not self._ended.wait(self._every_s):
            self._write(f"starting Spark and the query … {self._seconds()} s")

    def _seconds(self) -> int:
        return round(time.monotonic() - self._began_s)

    def _write(self, status: str, end: str = "") -> None:
        assert self._stream is not None
        line = f"{self._name}: {status}"
        # Overwrite the previous line, which may have been longer.
        self._stream.write(f"\r{line.ljust(self._width)}{end}")
        self._stream.flush()
        self._width = len(line)
