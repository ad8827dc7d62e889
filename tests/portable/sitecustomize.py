"""Hide from each Python process what macOS does not have, when `DUOLOG_PORTABLE=1`.

Python imports this module at its start if its directory is in PYTHONPATH. Code that uses a call of
Linux then fails as it would on a Mac: with an AttributeError, or because /proc does not exist. It
also hides calls that macOS has in another form, and that Duolog must not use there. A listening
socket cannot be shut down, as on macOS.
"""

import errno
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Sequence
from types import ModuleType
from typing import Final

_PREFIXES: Final = {
    os: (
        "eventfd",
        "EFD_",
        "fdatasync",
        "sendfile",
        "preadv",
        "pwritev",
        "posix_fadvise",
        "posix_fallocate",
        "pidfd_open",
        "memfd_create",
        "copy_file_range",
        "splice",
        "sched_set",
        "sched_get",
        "SCHED_BATCH",
        "pipe2",
        "O_DIRECT",
        "O_TMPFILE",
        "O_PATH",
        "O_NOATIME",
        "O_LARGEFILE",
        "O_RSYNC",
        "getrandom",
        "getres",
        "setres",
        "setns",
        "timerfd",
        "unshare",
        "waitid",
    ),
    select: ("epoll", "EPOLL", "POLLRDHUP"),
    signal: ("pidfd_send_signal", "sigwaitinfo", "sigtimedwait", "SIGRTM", "SIGPWR", "SIGPOLL"),
    resource: ("prlimit",),
    time: ("CLOCK_BOOTTIME", "CLOCK_TAI"),
}
_OF_SOCKET: Final = (
    "MSG_MORE",
    "TCP_CONGESTION",
    "TCP_USER_TIMEOUT",
    "TCP_QUICKACK",
    "TCP_CORK",
    "TCP_DEFER_ACCEPT",
    "TCP_INFO",
    "SOCK_CLOEXEC",
    "SOCK_NONBLOCK",
    "SO_BINDTODEVICE",
    "SO_DOMAIN",
    "SO_MARK",
    "SO_PASSCRED",
    "SO_PEERCRED",
    "SO_PRIORITY",
    "SO_PROTOCOL",
    "SO_INCOMING_CPU",
    "AF_NETLINK",
    "AF_PACKET",
)
_KEPT: Final = {"O_DIRECTORY"}
_PROC: Final = "/proc"


def _hide(module: ModuleType, prefixes: Sequence[str]) -> None:
    for name in list(vars(module)):
        if name.startswith(tuple(prefixes)) and name not in _KEPT:
            delattr(module, name)


def _refuse_proc(event: str, arguments: tuple[object, ...]) -> None:
    if event in {"open", "os.listdir", "os.scandir"} and arguments:
        path = arguments[0]
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        if isinstance(path, str) and (path == _PROC or path.startswith(f"{_PROC}/")):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


if os.environ.get("DUOLOG_PORTABLE") == "1":
    for _module, _names in _PREFIXES.items():
        _hide(_module, _names)
    # It imports `selectors`, which must not find epoll.
    import socket

    _hide(socket, _OF_SOCKET)
    _shutdown = socket.socket.shutdown

    def _refuse_listening(self: socket.socket, how: int) -> None:
        if self.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            raise OSError(errno.ENOTCONN, os.strerror(errno.ENOTCONN))
        _shutdown(self, how)

    socket.socket.shutdown = _refuse_listening  # type: ignore[assignment,method-assign]
    sys.addaudithook(_refuse_proc)
