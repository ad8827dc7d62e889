"""Clients that mean harm: the server answers others meanwhile, and its memory stays bounded."""

import contextlib
import re
import select
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.server.processes import SqlServerProcess, ask, ask_by_http2
from duolog.core.operating_system.limits import raise_descriptors_max
from duolog.core.units import KIB, MIB
from duolog.runtime.broker_process import BrokerProcess
from waiting import DEADLINE_S

DESCRIPTORS = 300
"""Of the server: half of them are for connections."""
GROWTH_BYTES_MAX = 64 * MIB
HEAD = b"Host: localhost\r\n"


class FewDescriptors(SqlServerProcess):
    """A server that may open few files."""

    def command(self) -> list[str]:
        return ["bash", "-c", f'ulimit -n {DESCRIPTORS}; exec "$@"', "server", *super().command()]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlServerProcess]:
    path = tmp_path_factory.mktemp("server")
    with (
        BrokerProcess(path / "data", "127.0.0.1:0", {"durability": "os"}) as broker,
        FewDescriptors(broker.bootstrap_servers, path) as running,
    ):
        yield running


def resident_bytes(server: SqlServerProcess) -> int:
    status = Path(f"/proc/{server.pid}/status")
    if not status.exists():
        pytest.skip("reads the memory of a process from /proc")
    found = re.search(r"^VmRSS:\s+(\d+) kB$", status.read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1]) * KIB


def sent_until_refused(server: SqlServerProcess, head: bytes, piece: bytes) -> tuple[int, bytes]:
    """Send a head and then pieces until the server answers; return the bytes and the answer."""
    sent = 0
    with socket.create_connection(server.address, timeout=DEADLINE_S) as client:
        client.sendall(head)
        while sent < 1024 * MIB:
            readable, writable, _ = select.select([client], [client], [], DEADLINE_S)
            if readable:
                return sent, client.recv(65536)
            assert writable
            sent += client.send(piece)
    pytest.fail("the server has received a body of a gigabyte")


@pytest.mark.parametrize(
    "half",
    [b"", b"GET /info HTTP/1.1\r\nHost: lo", b"PRI * HTTP/2.0\r\n", b"\x16\x03\x01"],
    ids=["nothing", "half a request", "half a preface", "half a handshake"],
)
def test_more_connections_than_descriptors_do_not_keep_others_out(
    server: SqlServerProcess, half: bytes
) -> None:
    raise_descriptors_max()
    before = resident_bytes(server)
    with contextlib.ExitStack() as opened:
        for _ in range(2 * DESCRIPTORS):
            client = opened.enter_context(
                socket.create_connection(server.address, timeout=DEADLINE_S)
            )
            with contextlib.suppress(ConnectionError):  # It is closed to make room.
                client.sendall(half)

        assert ask(server, "/info")[0] == 200
        assert ask_by_http2(server, ["/info"])[0][0] == 200
        assert ask(server, "/healthcheck")[1]["isHealthy"] is True

    assert resident_bytes(server) - before < GROWTH_BYTES_MAX
    assert "out of system resource" not in server.log_path.read_text()


def test_a_body_of_a_gigabyte_is_refused_while_it_is_sent(server: SqlServerProcess) -> None:
    before = resident_bytes(server)
    head = b"POST /ksql HTTP/1.1\r\n%bTransfer-Encoding: chunked\r\n\r\n" % HEAD
    piece = b"10000\r\n" + b"x" * 65536 + b"\r\n"

    sent, answer = sent_until_refused(server, head, piece)

    assert answer.startswith(b"HTTP/1.1 413 ")
    assert sent < 64 * MIB, "what the sockets hold, and the limit"
    assert resident_bytes(server) - before < GROWTH_BYTES_MAX


def test_a_gigabyte_of_headers_is_refused_while_it_is_sent(server: SqlServerProcess) -> None:
    before = resident_bytes(server)

    sent, answer = sent_until_refused(server, b"GET /info HTTP/1.1\r\n", b"X-A: b\r\n" * 1000)

    assert answer.startswith(b"HTTP/1.1 431 ")
    assert sent < 64 * MIB
    assert resident_bytes(server) - before < GROWTH_BYTES_MAX


def test_a_flood_of_requests_is_answered_one_after_another(server: SqlServerProcess) -> None:
    before = resident_bytes(server)
    request = b"GET /info HTTP/1.1\r\n%b\r\n" % HEAD
    deadline = time.monotonic() + DEADLINE_S
    with socket.create_connection(server.address, timeout=DEADLINE_S) as client:
        client.settimeout(0)
        while time.monotonic() < deadline:
            select.select([], [client], [], DEADLINE_S)
            try:
                client.send(request * 1000)
            except BlockingIOError:
                continue
            except ConnectionError:
                break
        else:
            pytest.fail("the server keeps requests whose answers are not read")

    assert ask(server, "/info")[0] == 200
    assert resident_bytes(server) - before < GROWTH_BYTES_MAX
