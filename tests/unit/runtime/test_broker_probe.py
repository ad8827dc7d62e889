"""Probing the address of a broker."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread

import pytest

from duolog.runtime.broker_probe import ensure_reachable
from duolog.runtime.errors import BrokerUnavailable


@contextmanager
def listening(*answers: Callable[[socket.socket], object]) -> Iterator[str]:
    """Listen, and pass each connection to the next function."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):  # The test is over.
                for answer in answers:
                    connection, _ = server.accept()
                    with connection:
                        answer(connection)

        Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"


def closes(connection: socket.socket) -> None:
    connection.recv(100)


def greets(connection: socket.socket) -> None:
    connection.sendall(b"SSH-2.0-OpenSSH")
    connection.recv(100)


def answers_as_the_web(connection: socket.socket) -> None:
    connection.recv(100)
    connection.sendall(b"HTTP/1.1 400 Bad Request")


def answers_as_a_broker(connection: socket.socket) -> None:
    correlation_id = connection.recv(100)[8:12]
    connection.sendall(b"\0\0\0\x0a" + correlation_id + b"\0" * 6)
    connection.recv(100)
    connection.sendall(b"\0\0\0\x04\0\0\0\0")


def requires_a_login(connection: socket.socket) -> None:
    correlation_id = connection.recv(100)[8:12]
    connection.sendall(b"\0\0\0\x0a" + correlation_id + b"\0" * 6)
    connection.recv(100)


def resets(connection: socket.socket) -> None:
    connection.recv(1)  # To close with unread bytes resets the connection.


def never_answers(connection: socket.socket) -> None:
    connection.recv(100)
    connection.recv(100)


@pytest.mark.parametrize(
    ("peer", "message"),
    [
        (closes, "closes the connection"),
        (resets, "closes the connection"),
        (requires_a_login, "closes the connection of a client that has not logged in"),
        (greets, "is not a Kafka broker"),
        (answers_as_the_web, "is not a Kafka broker"),
    ],
)
def test_a_listener_that_does_not_fit_is_reported_at_once(
    peer: Callable[[socket.socket], object], message: str
) -> None:
    """A client tried for fifteen seconds: a port that a proxy holds open, or the wrong one."""
    began = time.monotonic()

    with listening(peer) as address, pytest.raises(BrokerUnavailable) as caught:
        ensure_reachable(address)

    assert caught.value.detail.startswith(f"{address}: {message}")
    assert time.monotonic() - began < 14


def test_a_busy_broker_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    with listening(never_answers, answers_as_a_broker) as address:
        ensure_reachable(address)

    assert caplog.messages == [f"waiting for an answer from {address} …"]


def test_a_silent_port_is_reported_as_such() -> None:
    """`run` used to print nothing for sixteen seconds before it reported that no broker answers."""
    with listening(*[never_answers] * 4) as address, pytest.raises(BrokerUnavailable) as caught:
        ensure_reachable(address, patience_s=0.6)

    assert caught.value.detail == f"{address}: accepts connections but does not answer"
