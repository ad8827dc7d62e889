"""Abort a JVM that is still starting, whatever it is doing.

PySpark waits for seconds until the JVM answers, and does not expose the process meanwhile. A thread
of ours inspects the frames of the waiting thread, finds the process there and kills it; PySpark
then reports that it has ended.

Thread rule: created, entered and left by the thread that starts the JVM; any thread may set
`given_up`.
"""

import subprocess
import sys
import threading
from types import FrameType, TracebackType
from typing import Final, Self

_LOOK_S: Final = 0.1


class JvmStartAbort:
    """Kills the JVM that the block starts, as soon as `given_up` is set.

    The process is `process`, or a local variable of a function called within the block.
    """

    def __init__(self, given_up: threading.Event) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        """The JVM, once it is known."""
        self._given_up = given_up
        self._ended = threading.Event()
        self._starter = threading.get_ident()
        self._outside: FrameType | None = None
        self._thread = threading.Thread(target=self._watch, name="duolog-giving-up", daemon=True)

    def __enter__(self) -> Self:
        self._outside = sys._getframe(1)  # noqa: SLF001 - frames outside of the block are not ours
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()
        self._outside = None

    def _watch(self) -> None:
        while not self._ended.wait(_LOOK_S):
            if self._given_up.is_set():
                for process in self._found():
                    process.kill()

    def _found(self) -> list[subprocess.Popen[bytes]]:
        if self.process is not None:
            return [self.process]
        frame = sys._current_frames().get(self._starter)  # noqa: SLF001 - there is no public way
        found: list[subprocess.Popen[bytes]] = []
        while frame is not None and frame is not self._outside:
            values = list(frame.f_locals.values())
            found += [one for one in values if isinstance(one, subprocess.Popen) and one.pid]
            frame = frame.f_back
        return found
