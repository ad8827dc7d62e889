"""A guard outside: kills a JVM whose Python is killed before that JVM can see to it itself.

`ParentWatch` runs in the JVM, and so begins seconds after its process did, on a busy machine half a minute. Until then
a shell waits at a pipe that only this process holds open:

    a line        the JVM watches for itself, or has ended: the guard ends
    end of file   this process is gone: whatever works in the scratch directory is killed

The guard is there before the JVM is, and no process id is handed around: who belongs to a start is told by where it works.

Thread rule: one thread, that of the start.
"""

import contextlib
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Final, Self

# More than once: a process may just be on its way between fork and exec.
_SCRIPT: Final = """
read -r told && exit
for again in 1 2 3; do
  for process in /proc/[0-9]*; do
    [ "$process/cwd" -ef "$1" ] && kill -9 "${process#/proc/}"
  done
  sleep 0.5
done
"""


class JvmGuard:
    """Guards the processes that work in a directory, from its beginning to `dismiss`."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._shell: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        # A group of its own: Ctrl-C is meant for others.
        self._shell = subprocess.Popen(  # noqa: S603 - a text of ours, and a path that is no text of it
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
        """End the guard. Does nothing when it has ended."""
        shell, self._shell = self._shell, None
        if shell is not None:
            with contextlib.suppress(OSError):
                shell.communicate(b"\n")
