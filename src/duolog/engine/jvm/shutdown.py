"""Shut down the JVM of this process after Spark has stopped in it."""

import contextlib
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Final

from duolog.core.operating_system.free_memory import free_memory_bytes
from duolog.core.operating_system.proc_files import thread_ids
from duolog.core.operating_system.processes import load_average
from duolog.core.units import MIB
from duolog.engine.jvm import archive_watch
from duolog.engine.jvm.class_archive import ClassArchive

logger: Final = logging.getLogger(__name__)

# What a JVM still does after Spark has stopped is of no use to anyone.
_END_TIMEOUT_S: Final = 3
_LAST_PRIORITY: Final = 19
_ROOM_BYTES_MIN: Final = archive_watch.GROWTH_BYTES_MAX + 512 * MIB


@dataclass(slots=True)
class ArchiveLimits:
    """When to skip or abort writing an archive. Programs that wait for their archive raise both."""

    load_max: float = 2.0
    """Load average per processor. Above 1: the application has just kept all busy."""
    write_s: float = archive_watch.WRITE_S


ARCHIVE_LIMITS: Final = ArchiveLimits()


def is_busy(load: float | None = None) -> bool:
    """Return whether processors are so busy that writing an archive would take minutes."""
    now = load_average() if load is None else load
    return now > ARCHIVE_LIMITS.load_max * (os.cpu_count() or 1)


@dataclass(slots=True)
class JvmShutdown:
    """Ends the JVM: orderly, at once, or in the background while it writes its archive.

    At once if its start failed, if the program is being interrupted, or if the archive would lack
    what a query needs, which all later starts would suffer from. The archive takes ten seconds of
    processor time, which no caller waits for. On a busy machine it would take minutes: none is
    written if other processes already wait for a processor or memory is short, and writing is
    aborted after a minute (`archive_watch`).
    """

    process: subprocess.Popen[bytes]
    archive: ClassArchive | None
    """What it writes as it ends; None if it writes none."""
    ran_query: bool = False
    load: Callable[[], float] = load_average
    room: Callable[[], int | None] = free_memory_bytes
    _lacks: str | None = None
    """The resource that is too short to write an archive; empty if none is."""

    @property
    def keeps_archive(self) -> bool:
        return self.archive is not None and self.ran_query and not self._what_lacks()

    def _what_lacks(self) -> str:
        """Return why no archive can be written, or an empty string; computed once, at shutdown."""
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
                logger.info("%s: a later run will write the class archive", self._lacks)
        return self._lacks

    def __call__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        process = self.process
        if process is None or process.poll() is not None:
            if process is not None:
                _close_input(process)
            return
        if kind is None and self.keeps_archive:
            self._leave_to_itself()
            return
        _close_input(process)
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
        # The gateway process exits when its standard input closes.
        _close_input(self.process)
        logger.info(
            "the JVM (process %d) writes a class archive, %s, so that later runs start "
            "faster: takes some seconds%s; class.archive=false turns it off",
            pid,
            archive.kept,
            f", at most {ARCHIVE_LIMITS.write_s:.0f} s and "
            f"{archive_watch.GROWTH_BYTES_MAX // MIB} MiB of additional memory"
            if watch
            else "",
        )
        threading.Thread(
            target=self._take_over, args=[archive, watch], name="class-archive", daemon=True
        ).start()

    def _take_over(self, archive: ClassArchive, watch: "subprocess.Popen[bytes] | None") -> None:
        """Take over what was written once the JVM has ended.

        If this process ends first, the next start does it.
        """
        self.process.wait()
        archive.take_over()
        if watch is not None:
            watch.wait()


def _close_input(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None, "PySpark opens a pipe to the gateway process"
    with contextlib.suppress(OSError):  # It has ended.
        process.stdin.close()


def _yield_to_others(pid: int) -> None:
    """Give every thread of a process the lowest priority: Linux keeps one for each thread."""
    if sys.platform == "linux":
        for thread in thread_ids(pid):
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, thread, _LAST_PRIORITY)
