"""A network with latency between a client and a broker, for tests of clients that expect some.

On one core, a broker on loopback may answer before the client's system call returns.
"""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_BYTES = 65536
_TIMEOUT_S = 60


@contextmanager
def delayed(address: str, seconds: float) -> Iterator[str]:
    """Yield an address whose connections lead to `address`, with a delay in both directions."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        ended = threading.Event()
        thread = threading.Thread(target=_accept, args=(server, address, seconds, ended))
        thread.start()
        try:
            yield f"127.0.0.1:{server.getsockname()[1]}"
        finally:
            ended.set()
            thread.join()


def _accept(server: socket.socket, address: str, seconds: float, ended: threading.Event) -> None:
    host, _, port = address.rpartition(":")
    while not ended.is_set():
        try:
            near, _ = server.accept()
        except TimeoutError:
            continue
        far = socket.create_connection((host, int(port)), timeout=_TIMEOUT_S)
        near.settimeout(_TIMEOUT_S)
        for source, target in ((near, far), (far, near)):
            threading.Thread(target=_copy, args=(source, target, seconds), daemon=True).start()


def _copy(source: socket.socket, target: socket.socket, seconds: float) -> None:
    with suppress(OSError):
        while data := source.recv(_BYTES):
            time.sleep(seconds)
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
