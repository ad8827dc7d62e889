"""Child processes and their parents, priorities, users, and whether a process is alive."""

import os
import select
import signal
import sys
import threading
from contextlib import suppress
from typing import Final

from duolog.core.operating_system.portable import PORTABLE

_PR_SET_PDEATHSIG: Final = 1
_PARENT_LOOK_S: Final = 0.5
_ADOPTS_ORPHANS: Final = 1


def kill_with_parent() -> None:
    """Make the kernel kill this process when the thread ends that started it; Linux only."""
    if sys.platform == "linux" and not PORTABLE:
        _set_parent_death_signal(signal.SIGKILL)


def outlive_parent() -> None:
    """Undo `kill_with_parent`."""
    if sys.platform == "linux" and not PORTABLE:
        _set_parent_death_signal(0)


def _set_parent_death_signal(number: int) -> None:
    with suppress(ImportError, OSError, AttributeError):
        import ctypes  # noqa: PLC0415 - not each Python has it

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)


def end_with(parent: int) -> None:
    """End this process when the process `parent` exits.

    On Linux, the kernel kills it at once. Elsewhere a thread ends it within a second, so that it
    does not keep writing to the files of a broker that has been killed and started again.

    Raises:
        SystemExit: the parent has already exited.
    """
    kill_with_parent()
    if os.getppid() != parent:
        raise SystemExit(1)
    if sys.platform != "linux" or PORTABLE:
        threading.Thread(target=_exit_with, args=(parent,), daemon=True).start()


def _exit_with(parent: int) -> None:
    _await_end_of_parent(parent)
    os._exit(1)


def await_end_of(pipe: int) -> None:
    """Return when no process can write to a pipe any more, even if unread data is left in it.

    Except on Linux it returns when the parent process has ended: poll(2) of macOS reports a hang-up
    only together with data that can be read.
    """
    if sys.platform == "linux" and not PORTABLE:
        ended = select.poll()
        ended.register(pipe, 0)  # Without events, poll reports only a hang-up.
        ended.poll()
    else:
        _await_end_of_parent(os.getppid())


def _await_end_of_parent(parent: int) -> None:
    pause = threading.Event()
    # An orphan gets process 1 as its parent, perhaps before the caller looked for it.
    while os.getppid() == parent != _ADOPTS_ORPHANS:
        pause.wait(_PARENT_LOOK_S)


def is_alive(pid: int) -> bool:
    """Return whether a process of this machine runs; true if that cannot be known."""
    if sys.platform == "win32":  # `os.kill` would end it.
        return _is_alive_on_windows(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def yield_to_others(niceness: int, *, batch: bool = False) -> None:
    """Lower the priority of this process. `batch`: it computes for long, and no user waits."""
    if sys.platform == "win32":
        return
    os.nice(niceness)
    if batch and sys.platform == "linux" and not PORTABLE:
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def load_average() -> float:
    """Return how many processes ran or waited for a processor in the last minute; 0 if unknown."""
    if sys.platform == "win32":
        return 0.0
    return os.getloadavg()[0]


def user_id() -> int | None:
    """Return the number of the user; None on Windows."""
    if sys.platform == "win32":
        return None
    return os.getuid()


def is_own(status: os.stat_result) -> bool:
    """Return whether a file belongs to the user of this process; always true on Windows."""
    return sys.platform == "win32" or status.st_uid == os.geteuid()


if sys.platform == "win32":
    import ctypes

    _QUERY: Final = 0x1000  # PROCESS_QUERY_LIMITED_INFORMATION
    _STILL_ACTIVE: Final = 259
    _ACCESS_DENIED: Final = 5

    def _is_alive_on_windows(pid: int) -> bool:
        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        handle = kernel.OpenProcess(_QUERY, False, pid)  # noqa: FBT003 - bInheritHandle
        if not handle:
            return ctypes.get_last_error() == _ACCESS_DENIED
        try:
            status = ctypes.c_ulong()
            found = kernel.GetExitCodeProcess(handle, ctypes.byref(status))
            return not found or status.value == _STILL_ACTIVE
        finally:
            kernel.CloseHandle(handle)
