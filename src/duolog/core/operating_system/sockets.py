"""Options of sockets, and sending a range of a file.

Linux sends from the page cache by sendfile. macOS has a call of that name; Duolog reads and sends
there, because it has not been tested on that system, and a laptop sends fast enough so.

Source: Linux `sendfile(2)`, `tcp(7)`, `send(2)`, `socket(7)`; macOS `setsockopt(2)`.
"""

import errno
import os
import socket
import sys
from collections.abc import Callable
from typing import Final

from duolog.core.operating_system.files import pread
from duolog.core.operating_system.portable import PORTABLE

_UNPACED: Final = b"reno"
"""Built into every Linux and allowed to every user."""
_CHUNK_BYTES: Final = 256 * 1024
_BUFFER_BYTES_MIN: Final = 4096


def send_by_reading(out_fd: int, in_fd: int, offset: int, count: int, /) -> int:
    """Send up to `count` bytes of a file at `offset`; return how many, 0 at the end of the file.

    Raises:
        BlockingIOError: the socket takes nothing now.
    """
    data = pread(in_fd, min(count, _CHUNK_BYTES), offset)
    return os.write(out_fd, data) if data else 0


MORE = 0
"""Flag of `send`: more data follows at once, so it may leave in the same packet."""
send_file: Callable[[int, int, int, int], int] = send_by_reading
"""Send a range of a file: socket, file, offset, bytes at most; return how many bytes were sent."""
if sys.platform == "linux" and not PORTABLE:
    MORE, send_file = socket.MSG_MORE, os.sendfile


def unpace(connected: socket.socket) -> None:
    """Let a connection over loopback send without pacing; Linux only, see `Listener`."""
    if sys.platform == "linux" and not PORTABLE:
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, _UNPACED)


def set_buffer_size(connected: socket.socket, option: int, size_bytes: int) -> int:
    """Set the size of a socket's buffer; return the size that the system has accepted.

    Linux silently lowers a size above its maximum. macOS refuses it with ENOBUFS
    (`sysctl kern.ipc.maxsockbuf`): then the size is halved until it is accepted.

    Raises:
        OSError: the connection is broken.
    """
    while True:
        try:
            connected.setsockopt(socket.SOL_SOCKET, option, size_bytes)
        except OSError as error:
            if error.errno != errno.ENOBUFS or size_bytes <= _BUFFER_BYTES_MIN:
                raise
            size_bytes //= 2
        else:
            return size_bytes


def reuse_address(listening: socket.socket) -> None:
    """Allow listening on a port right after its last listener has ended.

    A second listener on the same address and port is refused. On macOS, one address can still be
    used while another program listens on all addresses, and then gets that address's connections.
    """
    if sys.platform == "win32":  # There SO_REUSEADDR lets two programs share a port.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
    else:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
