"""List applications of this user's processes on this machine, over a socket per process.

    $XDG_RUNTIME_DIR/duolog/<pid>.sock     or <temporary directory>/duolog-<user id>/<pid>.sock

If that is longer than the system allows, the temporary directory is /tmp.

A client that connects receives the metrics once, as JSON. Nothing is collected in advance, so an
unused socket costs nothing. Only the user can access the directory. A client removes the socket of
a process that has exited.

Threads: one, which serves one client after the other.
"""

import atexit
import contextlib
import json
import logging
import os
import socket
import stat
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from duolog.core.operating_system.processes import user_id

if TYPE_CHECKING:
    from duolog.engine.query.metrics import Metrics

ApplicationJson = Mapping[str, Any]
"""Metrics of an application (`Metrics.to_json`), and its `pid`."""

logger = logging.getLogger(__name__)

_LOOK_TIMEOUT_S: Final = 10.0
_CHUNK_BYTES: Final = 1 << 16
_PATH_BYTES_MAX: Final = 103
"""The longest path of a socket on macOS; Linux allows 107 bytes."""
_NAME_BYTES: Final = len("/4194304.sock")
_SHORT: Final = Path("/tmp")  # noqa: S108 - the directory in it must belong to this user
_lock: Final = threading.Lock()
_sockets: list[Path] = []


def local_applications() -> "list[Metrics]":
    """Return the applications that run in this process, by name."""
    # Imported here: a process with queries has loaded them, a client need not.
    from duolog.engine.query.metrics import metrics_of  # noqa: PLC0415
    from duolog.engine.query.query_registry import running_queries  # noqa: PLC0415

    return [metrics_of(query) for query in running_queries()]


def register_process() -> None:
    """Make the applications of this process visible to others; failures are only logged."""
    with _lock:
        if _sockets:
            return
        try:
            path = directory() / f"{os.getpid()}.sock"
            path.unlink(missing_ok=True)
            listening = _listen(path)
        except (
            OSError
        ) as error:  # The path is too long, or the disk is full: applications run anyway.
            logger.debug("this process is not visible to duolog top", extra={"reason": str(error)})
            return
        _sockets.append(path)
        atexit.register(path.unlink, missing_ok=True)
        threading.Thread(target=_answer, args=(listening,), name="duolog-top", daemon=True).start()


def list_applications() -> list[ApplicationJson]:
    """Return the applications of all processes of this user: `Metrics.to_json`, and `pid`.

    Processes that do not answer in time are left out.
    """
    found: list[ApplicationJson] = []
    try:
        paths = sorted(directory().glob("*.sock"))
    except OSError:
        return found
    for path in paths:
        with contextlib.suppress(OSError, ValueError):
            found += [{**one, "pid": int(path.stem)} for one in _ask(path)]
    return found


def directory() -> Path:
    """Return the directory of this user's processes, which no other user can access.

    Raises:
        OSError: it cannot be created, or other users can access it.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR") or ""
    base = Path(runtime) if Path(runtime).is_absolute() and Path(runtime).is_dir() else None
    path = base / "duolog" if base else Path(tempfile.gettempdir()) / f"duolog-{user_id()}"
    if len(os.fsencode(path)) + _NAME_BYTES > _PATH_BYTES_MAX:
        path = _SHORT / f"duolog-{user_id()}"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = path.lstat()
    # In a directory that is writable for all, another user may have created it.
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != user_id() or found.st_mode & 0o077:
        raise PermissionError(f"{path} is accessible to other users")
    return path


def _listen(path: Path) -> socket.socket:
    listening = _socket_in_adirectory()
    try:
        listening.bind(str(path))
        listening.listen()
    except OSError:
        listening.close()
        raise
    return listening


def _socket_in_adirectory() -> socket.socket:
    if sys.platform == "win32":
        raise OSError("Python on Windows has no sockets in directories")
    return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)


def _ask(path: Path) -> list[ApplicationJson]:
    with _socket_in_adirectory() as asking:
        asking.settimeout(_LOOK_TIMEOUT_S)
        try:
            asking.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            raise
        pieces = list(iter(lambda: asking.recv(_CHUNK_BYTES), b""))
    received: list[ApplicationJson] = json.loads(b"".join(pieces))
    return received


def _answer(listening: socket.socket) -> None:
    while True:
        accepted, _ = listening.accept()
        with accepted:
            accepted.settimeout(_LOOK_TIMEOUT_S)
            try:
                received = json.dumps([one.to_json() for one in local_applications()])
                accepted.sendall(received.encode())
            except Exception as error:  # noqa: BLE001 - a query that ends now fails in py4j
                logger.debug("could not send metrics to a client", extra={"reason": str(error)})
