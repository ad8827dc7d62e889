"""How the JVM of this process ends, once Spark has stopped in it."""

import contextlib
import os
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from duolog.engine.class_archive import ClassArchive

# What is left of a JVM does nothing that anybody waits for.
_END_TIMEOUT_S: Final = 3
_LAST_PRIORITY: Final = 19


@dataclass(slots=True)
class JavaEnd:
    """Ends the JVM: in order, at once, or by leaving it to itself while it writes its archive.

    At once where its start failed, where somebody is in a hurry, and where it would write an archive
    that lacks what a query needs, with which all later starts had to live. The archive takes ten seconds of
    processor time, which are minutes on a busy machine, and nobody waits for them.
    """

    process: Any
    archive: ClassArchive | None
    """What it writes as it ends; None where it writes none."""
    ran_query: bool = False

    @property
    def keeps_archive(self) -> bool:
        return self.archive is not None and self.ran_query

    def __call__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        process = self.process
        if process is None or process.poll() is not None:
            return
        if kind is None and self.keeps_archive:
            _yield_to_others(process.pid)
            # The gateway ends when its standard input does.
            process.stdin.close()
            threading.Thread(target=self._take_over, name="class-archive", daemon=True).start()
            return
        process.stdin.close()
        try:
            if kind is None and self.archive is None:
                process.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            pass
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()

    def _take_over(self) -> None:
        """Take what was written once the JVM has ended; where this process ends first, the next start does it."""
        assert self.archive is not None
        self.process.wait()
        self.archive.take_over()


def _yield_to_others(pid: int) -> None:
    """Let a process have only what others leave of the machine: each of its threads has a priority of its own."""
    for thread in Path(f"/proc/{pid}/task").glob("*"):
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, int(thread.name), _LAST_PRIORITY)
