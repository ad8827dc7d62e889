"""A proxy that a test can cut: the connections of a browser end as if the network had failed."""

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

_PIECE = 65_536


class CutProxy:
    """Forwards bytes between loopback connections and a server."""

    def __init__(self, url: str) -> None:
        at = urlsplit(url)
        assert at.hostname is not None
        assert at.port is not None
        self._server = (at.hostname, at.port)
        self._listening = socket.create_server(("127.0.0.1", 0))
        port = self._listening.getsockname()[1]
        self.url = url.replace(f":{at.port}", f":{port}", 1)
        """The same address, through the proxy."""
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        self._refuses = False
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.cut()
        self._thread.join()

    def cut(self) -> None:
        """End all connections, and refuse new ones until `restore`."""
        with self._lock:
            self._refuses = True
            ended, self._open = self._open, []
        for one in ended:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def restore(self) -> None:
        """Accept connections again."""
        with self._lock:
            self._refuses = False

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            with self._lock:
                if self._refuses:
                    client.close()
                    continue
                server = socket.create_connection(self._server)
                self._open += client, server
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=_copy, args=(source, target), daemon=True).start()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(_PIECE):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
