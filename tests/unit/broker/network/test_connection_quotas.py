"""Limits of connections, idle ones, and clients that do not read."""

import contextlib
import errno
import logging
import os
import socket
import struct
import sys
from typing import Any

import pytest

from duolog.broker.network.connection_quotas import per_ip_overrides
from duolog.broker.network.endpoints import endpoints, open_endpoints
from duolog.broker.network.listener import Listener
from duolog.broker.settings import BrokerSettings
from duolog.core.errors import ConfigError
from duolog.core.limited_log import LINES_MAX
from duolog.core.operating_system.portable import PORTABLE

METADATA, FETCH = 3, 1
API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 7, -1)


def listen(harness: Any) -> tuple[Listener, tuple[str, int]]:
    (endpoint,) = open_endpoints(
        endpoints(harness.broker.settings, ("127.0.0.1:0",)), insecure=False
    )
    return Listener(harness.broker, endpoint), endpoint.bound


def connect(harness: Any, address: tuple[str, int], *, silent: bool = False) -> socket.socket:
    """Connect a client, and let it send a request unless it is silent."""
    client = socket.create_connection(address, timeout=60)
    harness.turn()
    if not silent:
        with contextlib.suppress(ConnectionError):  # Refused, which the test looks for.
            client.sendall(API_VERSIONS)
            harness.turn()
    return client


def test_a_connection_without_an_address_is_dropped_and_the_next_one_served(
    harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """macOS accepts a connection that its client has reset already, and names no address."""
    listener, address = listen(harness)
    accept = socket.socket.accept
    reset = [True]

    def accept_on_macos(listening: socket.socket) -> tuple[socket.socket, object]:
        accepted, peer = accept(listening)
        return accepted, None if reset.pop() else peer

    monkeypatch.setattr(socket.socket, "accept", accept_on_macos)
    with connect(harness, address) as gone:
        assert gone.recv(1) == b""
    reset.append(False)
    client = connect(harness, address)

    assert len(harness.broker.connections) == 1
    listener.close()
    client.close()


@pytest.mark.parametrize("half", [b"", API_VERSIONS[:9]], ids=["silent", "half a request"])
def test_at_the_limit_the_oldest_client_without_a_request_makes_room(
    open_harness: Any, half: bytes
) -> None:
    harness = open_harness(max_connections="3")
    listener, address = listen(harness)
    known = connect(harness, address)
    first, second = (connect(harness, address, silent=True) for _ in range(2))
    for client in (first, second):
        client.sendall(half)
        harness.turn()
    new = connect(harness, address)

    assert first.recv(1) == b""
    for client in (known, new):
        assert len(client.recv(4)) == 4
    assert (harness.broker.connections.evicted, harness.broker.connections.refused) == (1, 0)
    assert len(harness.broker.connections) == 3
    listener.close()
    for client in (known, first, second, new):
        client.close()


@pytest.mark.parametrize(
    "settings",
    [
        {"max_connections": "2"},
        {"max_connections_per_ip": "2"},
        {
            "max_connections_per_ip": "9",
            "max_connections_per_ip_overrides": "::ffff:127.0.0.1:2,::1:5",
        },
    ],
)
def test_connections_above_a_limit_are_closed_until_one_is_free(
    open_harness: Any, settings: dict[str, str]
) -> None:
    harness = open_harness(**settings)
    listener, address = listen(harness)
    kept = [connect(harness, address) for _ in range(2)]

    with connect(harness, address) as third:
        assert third.recv(1) == b""
    assert (len(harness.broker.connections), harness.broker.connections.refused) == (2, 1)
    kept.pop().close()
    harness.turn()
    kept.append(connect(harness, address))

    assert len(harness.broker.connections) == 2
    assert harness.broker.connections.accepted["PLAINTEXT"] == 4
    listener.close()
    for client in kept:
        client.close()


def test_sockets_get_no_delay_and_the_buffers_that_are_asked_for(open_harness: Any) -> None:
    harness = open_harness(socket_send_buffer_bytes="65536", socket_receive_buffer_bytes="32768")
    listener, address = listen(harness)
    client = connect(harness, address)

    (connection,) = harness.broker.connections
    taken = connection._socket  # noqa: SLF001
    factor = 2 if sys.platform == "linux" else 1  # Linux doubles what it is asked for.
    assert taken.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) == factor * 65536
    assert taken.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) == factor * 32768
    assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    listener.close()
    client.close()


def test_a_buffer_above_the_maximum_of_macos_is_lowered_with_one_log_line(
    open_harness: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    harness = open_harness(socket_send_buffer_bytes="65536")
    setsockopt = socket.socket.setsockopt
    refused = []

    def on_macos(taken: socket.socket, level: int, option: int, value: Any) -> None:
        if option == socket.SO_SNDBUF and level == socket.SOL_SOCKET and value > 20_000:
            refused.append(value)
            raise OSError(errno.ENOBUFS, os.strerror(errno.ENOBUFS))
        setsockopt(taken, level, option, value)

    monkeypatch.setattr(socket.socket, "setsockopt", on_macos)
    listener, address = listen(harness)
    with caplog.at_level(logging.WARNING):
        clients = [connect(harness, address) for _ in range(2)]

    assert len(harness.broker.connections) == 2
    assert refused == [65536, 32768]
    (lowered,) = caplog.records
    assert lowered.message == "the system allows only a smaller socket buffer"
    assert lowered.__dict__["setting"] == "socket.send.buffer.bytes"
    assert (lowered.__dict__["wanted_bytes"], lowered.__dict__["bytes"]) == (65536, 16384)
    listener.close()
    for client in clients:
        client.close()


@pytest.mark.skipif(sys.platform != "linux" or PORTABLE, reason="Linux paces connections")
def test_a_client_on_this_machine_is_not_paced(harness: Any) -> None:
    listener, address = listen(harness)
    client = connect(harness, address)

    (connection,) = harness.broker.connections
    taken = connection._socket  # noqa: SLF001
    used = taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    listener.close()
    client.close()

    assert used.rstrip(b"\0") == b"reno"


@pytest.mark.parametrize("text", ["127.0.0.1", "127.0.0.1:x", ":5"])
def test_a_limit_of_an_address_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="not a connection limit"):
        per_ip_overrides(BrokerSettings({"max.connections.per.ip.overrides": text}))


def test_a_connection_that_nothing_moves_on_is_closed_and_one_that_waits_for_us_is_not(
    open_harness: Any, caplog: pytest.LogCaptureFixture
) -> None:
    harness = open_harness(connections_max_idle_ms="120")
    harness.topic("orders")
    idle, waiting, busy = harness.client(), harness.client(), harness.client()
    waiting.send(FETCH, 11, max_wait=60_000, min_bytes=1, max_bytes=9, session_epoch=-1,
                 topics=[{"topic": "orders", "partitions": [{"partition": 0}]}])  # fmt: skip
    harness.broker.connections.watch_idle()

    with caplog.at_level(logging.INFO):
        for _ in range(100):
            busy.ask(METADATA, 12, topics=[])
            harness.turn()
            if idle.connection.closed:
                break

    assert idle.connection.closed
    assert not waiting.connection.closed
    assert not busy.connection.closed
    closed = [record for record in caplog.records if record.message == "closed connection"]
    assert [record.__dict__["reason"] for record in closed] == ["idle"]


def test_a_client_that_does_not_read_gets_no_more_answers_made_than_two_megabytes(
    harness: Any,
) -> None:
    for index in range(10):
        harness.topic(f"topic-{index}", 100)
    client = harness.client()
    request = client.frame(METADATA, 12, topics=None)
    answer_bytes = 10 * 100 * 20

    sent = client.socket.send(request * 200)
    assert sent == 200 * len(request)
    connection = client.connection
    while not connection.sends:
        harness.turn()
    for _ in range(20):
        harness.turn()

    held = connection._held_bytes + sum(  # noqa: SLF001
        len(piece)
        for piece in connection._queue.pieces  # noqa: SLF001
    )
    assert answer_bytes < held < 2 * 1024 * 1024
    for _ in range(200):
        client.expect(METADATA, 12)
    for _ in range(200):
        assert len(client.receive().topics) == 10


def test_a_client_that_reads_slowly_is_not_idle(harness: Any) -> None:
    harness.topic("orders", 500)
    client = harness.client()
    client.socket.send(client.frame(METADATA, 12, topics=None) * 100)
    connection = client.connection

    for _ in range(4):
        # One turn makes as many answers as its time allows, on a slow machine none.
        harness.turn_until(lambda: connection.sends)
        client.drain()
        harness.turn_until(lambda: connection.active)
        harness.broker.connections._look()  # noqa: SLF001
        harness.broker.connections._look()  # noqa: SLF001

    assert not connection.closed
    assert connection.sends


def test_a_client_of_ipv4_has_its_own_address_on_a_listener_of_ipv6(
    harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A socket for both families reports ::ffff:10.0.0.7, which no rule about 10.0.0.7 covers."""
    listener, address = listen(harness)
    accept = socket.socket.accept
    monkeypatch.setattr(
        socket.socket, "accept", lambda self: (accept(self)[0], ("::ffff:10.0.0.7", 4242, 0, 0))
    )

    client = connect(harness, address)

    (connection,) = harness.broker.connections
    assert (connection.host, connection.address) == ("10.0.0.7", "10.0.0.7:4242")
    assert connection.identity.host == "10.0.0.7"
    listener.close()
    client.close()


def test_a_flood_of_refused_and_malformed_connections_writes_few_lines(
    harness: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Each wrote a line of its own, and filled the disk."""
    for _ in range(3 * LINES_MAX):
        client = harness.client()
        client.send_bytes(b"\x7f\xff\xff\xff")
        harness.turn_until(lambda client=client: client.connection.closed)

    closed = [row for row in caplog.records if row.getMessage() == "closed connection"]
    assert len(closed) == LINES_MAX
    assert harness.broker.timers.seconds_to_next() is not None, "the others are reported later"
