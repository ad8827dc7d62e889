"""Servers on this machine that others can reach although it is not safe; `duolog top` shows them.

    <directory of local_registry>/<pid>.insecure     one line for each address

The server holds a lock on its file as long as it runs, however it ends. A file without a lock is of
a server that has ended, and is removed.

Threads: any.
"""

import atexit
import contextlib
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from duolog.core.operating_system.locks import try_lock
from duolog.runtime.metrics.local_registry import directory

logger = logging.getLogger(__name__)

_SUFFIX: Final = ".insecure"
_held: Final[list[int]] = []
"""Descriptors of the files of this process, which keep their locks."""


def note_insecure(addresses: Sequence[str]) -> None:
    """Show the addresses of this process in `duolog top`; failures are only logged."""
    try:
        path = directory() / f"{os.getpid()}{_SUFFIX}"
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        _held.append(descriptor)
        try_lock(descriptor)
        os.write(descriptor, "\n".join(addresses).encode())
    except OSError as error:
        logger.debug("this server is not visible to duolog top", extra={"reason": str(error)})
        return
    atexit.register(path.unlink, missing_ok=True)


def insecure_servers() -> list[str]:
    """Return the addresses of all running servers of this user, each with its process id."""
    try:
        paths = sorted(directory().glob(f"*{_SUFFIX}"))
    except OSError:
        return []
    found = []
    for path in paths:
        with contextlib.suppress(OSError, ValueError):
            found += [f"{line} (process {path.stem})" for line in _lines(path)]
    return found


def _lines(path: Path) -> list[str]:
    with path.open("rb") as file:
        try:
            try_lock(file.fileno())
        except BlockingIOError:
            return file.read().decode().splitlines()
    path.unlink(missing_ok=True)
    return []
