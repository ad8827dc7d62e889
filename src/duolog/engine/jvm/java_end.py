"""How the JVM of this process ends, once Spark has stopped in it."""

import contextlib
import logging
import os
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from duolog.core.units import MIB
from duolog.engine.jvm import archive_watch
from duolog.engine.jvm.class_archive import ClassArchive
from duolog.engine.jvm.free_memory import free_memory_bytes

logger: Final = logging.getLogger(__name__)

# What is left of a JVM does nothing that anybody waits for.
_END_TIMEOUT_S: Final = 3
_LAST_PRIORITY: Final = 19
_ROOM_BYTES_MIN: Final = archive_watch.GROWTH_BYTES_MAX + 512 * MIB


@dataclass(slots=True)
class ArchiveLimits:
    """When an archive is not written, or given up: a program that waits for its archive raises both limits."""

    load_max: float = 2.0
    """Load average per processor: an application that has just ended has kept them all busy itself."""
    write_s: float = archive_watch.WRITE_S


ARCHIVE_LIMITS: Final = ArchiveLimits()


def is_busy(load: float | None = None) -> bool:
    """Tell if so many wait for a processor that an archive would take minutes to write."""
    now = os.getloadavg()[0] if load is None else load
    return now > ARCHIVE_LIMITS.load_max * (os.cpu_count() or 1)


@dataclass(slots=True)
class JavaEnd:
    """Ends the JVM: in order, at once, or by leaving it to itself while it writes its archive.

    At once where its start failed, where somebody is in a hurry, and where it would write an archive
    that lacks what a query needs, with which all later starts had to live. The archive takes ten seconds of
    processor time, and nobody waits for them. On a busy machine these would be minutes: none is written where others
    already wait for a processor or memory is short, and writing is given up after a minute (`archive_watch`).
    """

    process: Any
    archive: ClassArchive | None
    """What it writes as it ends; None where it writes none."""
    ran_query: bool = False
    load: Callable[[], float] = field(default=lambda: os.getloadavg()[0])
    room: Callable[[], int | None] = free_memory_bytes
    _lacks: str | None = None
    """What the machine lacks to write an archive; empty if nothing."""

    @property
    def keeps_archive(self) -> bool:
        return self.archive is not None and self.ran_query and not self._what_lacks()

    def _what_lacks(self) -> str:
        """Return why no archive is written now, if so; asked once, as of the end."""
        if self._lacks is None:
            room = self.room()
            short = room is not None and room < _ROOM_BYTES_MIN
            self._lacks = (
                "the machine is busy"
                if is_busy(self.load())
                else "memory is short"
                if short
                else ""
            )
            if self._lacks:
                logger.info("%s: a later run keeps the archive of classes", self._lacks)
        return self._lacks

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
            self._leave_to_itself()
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

    def _leave_to_itself(self) -> None:
        archive = self.archive
        assert archive is not None
        pid = self.process.pid
        _yield_to_others(pid)
        watch = archive_watch.bound(pid, archive.arriving, ARCHIVE_LIMITS.write_s)
        # The gateway ends when its standard input does.
        self.process.stdin.close()
        logger.info(
            "the JVM (process %d) keeps an archive of its classes, %s, so that later runs start sooner: some seconds%s; "
            "the setting class.archive=false leaves it out",
            pid,
            archive.kept,
            f", {ARCHIVE_LIMITS.write_s:.0f} and {archive_watch.GROWTH_BYTES_MAX // MIB} MiB more memory at most"
            if watch
            else "",
        )
        threading.Thread(
            target=self._take_over, args=[archive, watch], name="class-archive", daemon=True
        ).start()

    def _take_over(self, archive: ClassArchive, watch: "subprocess.Popen[bytes] | None") -> None:
        """Take what was written once the JVM has ended; where this process ends first, the next start does it."""
        self.process.wait()
        archive.take_over()
        if watch is not None:
            watch.wait()


def _yield_to_others(pid: int) -> None:
    """Let a process have only what others leave of the machine: each of its threads has a priority of its own."""
    for thread in Path(f"/proc/{pid}/task").glob("*"):
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, int(thread.name), _LAST_PRIORITY)
