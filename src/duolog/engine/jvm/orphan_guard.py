"""Kill a JVM whose Python process dies before the JVM can watch for that itself.

`ParentWatch` runs in the JVM and starts seconds after its process did, half a minute on a busy
machine. Until then a shell waits on a pipe that only this process holds open:

    a line        the JVM watches for itself, or has ended: the guard exits
    end of file   this process has died: kill each process whose working directory is scratch

The guard starts before the JVM and needs no process id: the working directory identifies the
processes of a start.

Thread rule: one thread, that of the start.
"""

import contextlib
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Final, Self

# Repeated, because a process may be between fork and exec.
_SCRIPT: Final = """
read -r line && exit
for again in 1 2 3; do
  for process in /proc/[0-9]*; do
    [ "$process/cwd" -ef "$1" ] && kill -9 "${process#/proc/}"
  done
  sleep 0.5
done
"""


class OrphanGuard:
    """Guards the processes that run in a directory, from entering the block until `dismiss`."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._shell: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        if sys.platform == "win32":  # It has neither this shell nor /proc.
            return self
        # A process group of its own: Ctrl-C must not reach it.
        self._shell = subprocess.Popen(  # noqa: S603 - our own script, with a path as its argument
            ["/bin/sh", "-c", _SCRIPT, "duolog-guard", str(self._scratch)],
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.dismiss()

    def dismiss(self) -> None:
        """End the guard. Does nothing if it has ended."""
        shell, self._shell = self._shell, None
        if shell is not None:
            with contextlib.suppress(OSError):
                shell.communicate(b"\n")
