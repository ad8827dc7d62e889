"""A file is sent by reads and sends where the system's own call is not used; sizes of buffers."""

import errno
import os
import socket
from pathlib import Path

import pytest

from duolog.core.operating_system.sockets import (
    reuse_address,
    send_by_reading,
    send_file,
    set_buffer_size,
)


class SmallBuffers(socket.socket):
    """A socket of a system that refuses large buffers, as macOS does."""

    allowed_bytes = 100_000

    def setsockopt(self, *option: int) -> None:  # type: ignore[override]
        if option[2] > self.allowed_bytes:
            raise OSError(errno.ENOBUFS, os.strerror(errno.ENOBUFS))
        super().setsockopt(*option)


@pytest.mark.parametrize("send", [send_file, send_by_reading])
def test_a_range_of_a_file_is_sent_and_its_end_is_reported(tmp_path: Path, send: object) -> None:
    assert callable(send)
    (tmp_path / "file").write_bytes(b"0123456789")
    ours, peer = socket.socketpair()
    with ours, peer, (tmp_path / "file").open("rb") as file:
        assert send(ours.fileno(), file.fileno(), 2, 5) == 5
        assert send(ours.fileno(), file.fileno(), 7, 100) == 3
        assert send(ours.fileno(), file.fileno(), 10, 100) == 0

        assert peer.recv(100) == b"23456789"


def test_a_socket_that_is_full_takes_a_part_and_then_refuses(tmp_path: Path) -> None:
    content = os.urandom(4 << 20)
    (tmp_path / "file").write_bytes(content)
    ours, peer = socket.socketpair()
    with ours, peer, (tmp_path / "file").open("rb") as file:
        ours.setblocking(False)  # noqa: FBT003
        sent, full = 0, False
        while not full:
            try:
                sent += send_by_reading(ours.fileno(), file.fileno(), sent, len(content) - sent)
            except BlockingIOError:
                full = True

        assert 0 < sent < len(content)
        ours.close()
        received = b""
        while data := peer.recv(1 << 20):
            received += data
        assert received == content[:sent]


def test_a_port_is_free_right_after_its_connections_have_closed() -> None:
    with socket.socket() as listening:
        reuse_address(listening)
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        address = listening.getsockname()
        client = socket.create_connection(address)
        accepted, _ = listening.accept()
        accepted.close()  # The side that closes first keeps the port in TIME_WAIT.
        client.close()

    with socket.socket() as listening:
        reuse_address(listening)
        listening.bind(address)


def test_a_buffer_that_the_system_refuses_is_halved_until_it_fits() -> None:
    with SmallBuffers() as small:
        before = small.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)

        assert set_buffer_size(small, socket.SO_SNDBUF, 300_000) == 75_000
        assert set_buffer_size(small, socket.SO_SNDBUF, 90_000) == 90_000

        set_bytes = small.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
        assert set_bytes in {90_000, 180_000}  # Linux doubles what it is asked for.
        assert small.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) == before


def test_a_system_that_has_no_room_for_any_buffer_is_reported() -> None:
    with SmallBuffers() as small:
        small.allowed_bytes = 0

        with pytest.raises(OSError, match="buffer space"):
            set_buffer_size(small, socket.SO_SNDBUF, 300_000)
