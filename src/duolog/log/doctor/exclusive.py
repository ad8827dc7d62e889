"""Keep brokers away from a data directory while the doctor works on it."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from duolog.core.operating_system.files import CLOEXEC, pread
from duolog.core.operating_system.locks import try_lock
from duolog.log.errors import DataDirInUse, DataDirRefused
from duolog.log.files.disk import LockHeld, RealLock

_LOCK: Final = ".lock"
_PID_BYTES_MAX: Final = 20
_NOT_WRITABLE: Final = {errno.EACCES, errno.EPERM, errno.EROFS}


@contextmanager
def exclusive(data_dir: str, *, read_only: bool) -> Iterator[None]:
    """Hold the lock of the data directory.

    With `read_only` nothing is written: a lock file that is missing stays missing.

    Raises:
        DataDirInUse: a broker runs on the directory.
        DataDirRefused: it is not writable.
        OSError: the file system refused.
    """
    path = f"{data_dir}/{_LOCK}"
    try:
        held = _ReadOnlyLock(path) if read_only else RealLock(path)
    except FileNotFoundError:
        held = None
    except BlockingIOError as error:
        pid = getattr(error, "pid", None)
        holder = "A broker" if pid is None else f"The broker in process {pid}"
        raise DataDirInUse(
            f'data directory "{data_dir}" is in use',
            detail=f"{holder} holds its lock.",
            hint="Stop the broker, or examine a copy of the directory.",
        ) from None
    except OSError as error:
        if error.errno not in _NOT_WRITABLE:
            raise
        raise DataDirRefused(
            f'data directory "{data_dir}" cannot be locked: {(error.strerror or "").lower()}',
            detail="Its lock keeps a broker from starting meanwhile.",
            hint="Use --read-only, which writes nothing, or run the command as the broker's user.",
        ) from error
    try:
        yield
    finally:
        if held is not None:
            held.release()


class _ReadOnlyLock:
    """The same lock through a file that is open for reading."""

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | CLOEXEC)
        try:
            try_lock(self._descriptor)
        except BlockingIOError as error:
            holder = pread(self._descriptor, _PID_BYTES_MAX, 0).strip()
            os.close(self._descriptor)
            raise LockHeld(path, int(holder) if holder.isdigit() else None) from error
        except OSError:
            os.close(self._descriptor)
            raise

    def release(self) -> None:
        os.close(self._descriptor)
