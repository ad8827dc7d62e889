"""Whether the brokers of a cluster answer, from those that are played and one that is real."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest

from duolog.runtime.broker_watch import BrokerWatch, Looked, look_at
from duolog.testing import EmbeddedCluster

_API_VERSIONS, _METADATA = 18, 3


class PlayedBroker:
    """Answers ApiVersions and Metadata; or accepts connections and says nothing, as one that is stopped."""

    def __init__(self) -> None:
        self.server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.server.getsockname()[1]}"
        self.is_frozen = False
        self.authenticates = False
        self.knows: list[str] = [self.address]
        self.held: list[socket.socket] = []

    def serve(self) -> None:
        with suppress(OSError):  # It has gone.
            while True:
                connection, _ = self.server.accept()
                if self.is_frozen:
                    self.held.append(connection)
                else:
                    with connection, suppress(EOFError):
                        self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        with connection.makefile("rb") as requests:
            while size := requests.read(4):
                request = requests.read(struct.unpack(">i", size)[0])
                key, _, correlation_id = struct.unpack_from(">hhi", request)
                if key == _METADATA and self.authenticates:
                    return
                body = b"" if key == _API_VERSIONS else struct.pack(">ii", 0, len(self.knows))
                for number, broker in enumerate(self.knows if key == _METADATA else ()):
                    host, _, port = broker.rpartition(":")
                    rack = struct.pack(">h", -1) if number else struct.pack(">h1s", 1, b"r")
                    body += struct.pack(">ih", number, len(host)) + host.encode()
                    body += struct.pack(">i", int(port)) + rack
                connection.sendall(struct.pack(">ii", 4 + len(body), correlation_id) + body)

    def end(self) -> None:
        # Else the thread that accepts keeps the port open.
        with suppress(OSError):
            self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()
        for connection in self.held:
            connection.close()


@pytest.fixture
def broker() -> Iterator[Callable[[], PlayedBroker]]:
    with ExitStack() as ends:

        def begin() -> PlayedBroker:
            return ends.enter_context(serving())

        yield begin


@contextmanager
def serving() -> Iterator[PlayedBroker]:
    broker = PlayedBroker()
    threading.Thread(target=broker.serve, daemon=True).start()
    yield broker
    broker.end()


def test_a_broker_that_takes_connections_and_answers_nothing_is_reported(
    broker: Callable[[], PlayedBroker],
) -> None:
    """The kernel accepts connections for a process that was stopped."""
    one = broker()
    watch = BrokerWatch(one.address, "it waits", lambda servers: look_at(servers, 0.1))
    answering = BrokerWatch(one.address, "it waits")
    assert answering.look() == []

    one.is_frozen = True
    frozen = watch.look()
    one.is_frozen = False

    assert frozen == [
        f"no broker answers at {one.address}: {one.address}: takes connections and does not answer; it waits"
    ]
    assert not watch.answers
    assert answering.look() == []


def test_a_cluster_whose_bootstrap_broker_was_removed_answers(
    broker: Callable[[], PlayedBroker],
) -> None:
    """It was told to be away, as its bootstrap addresses only were asked."""
    removed, other = broker(), broker()
    removed.knows = [removed.address, other.address]
    watch = BrokerWatch(removed.address, "it waits")
    assert watch.look() == []

    removed.end()
    while_one_is_left = watch.look()
    other.end()
    without_any = watch.look()

    assert while_one_is_left == []
    assert without_any[0].startswith(f"no broker answers at {removed.address}: ")
    assert f"{other.address}: connection refused" in without_any[0]


def test_a_cluster_that_authenticates_its_clients_answers(
    broker: Callable[[], PlayedBroker],
) -> None:
    one = broker()
    one.authenticates = True

    assert look_at(one.address) == Looked("")


def test_a_real_broker_reports_where_it_is() -> None:
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        assert look_at(cluster.bootstrap_servers) == Looked("", (cluster.bootstrap_servers,))
