"""The HTTP endpoint, with a loop that a test turns."""

import errno
import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from duolog.broker.metrics.http import MetricsEndpoint
from duolog.core.listening import Address, open_listener
from duolog.log.errors import LogDirOffline


@pytest.fixture
def endpoint() -> Iterator[MetricsEndpoint]:
    endpoint = MetricsEndpoint(open_listener(Address("127.0.0.1", 0), insecure=False))
    yield endpoint
    assert closes(endpoint)


def closes(endpoint: MetricsEndpoint) -> bool:
    """Close an endpoint; return whether that ends."""
    closing = threading.Thread(target=endpoint.close, daemon=True)
    closing.start()
    closing.join(60)
    return not closing.is_alive()


def get(endpoint: MetricsEndpoint, path: str, harness: Any = None) -> tuple[int, bytes]:
    """Ask on another thread while this one turns the loop."""
    found: list[tuple[int, bytes]] = []

    def ask() -> None:
        try:
            with urllib.request.urlopen(f"http://{endpoint.address}{path}", timeout=60) as answer:
                found.append((answer.status, answer.read()))
        except urllib.error.HTTPError as error:
            with error:
                found.append((error.code, error.read()))

    thread = threading.Thread(target=ask)
    thread.start()
    while thread.is_alive():
        if harness is not None:
            harness.turn()
        else:
            thread.join()
    return found[0]


def test_an_endpoint_closes_where_its_listening_socket_cannot_be_shut_down(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On macOS, a broker with `metrics.listen` did not end."""

    def refuse(_socket: socket.socket, _how: int) -> None:
        raise OSError(errno.ENOTCONN, "not connected")

    endpoint = MetricsEndpoint(open_listener(Address("127.0.0.1", 0), insecure=False))
    monkeypatch.setattr(socket.socket, "shutdown", refuse)

    assert closes(endpoint)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(endpoint.address, timeout=60)


@pytest.mark.parametrize("start", [b"", b"GET /health HTTP/1.0\r\nX: "])
def test_clients_that_never_finish_keep_no_supervisor_out(
    endpoint: MetricsEndpoint, start: bytes
) -> None:
    """A supervisor without an answer restarts the broker."""
    slow = [socket.create_connection(endpoint.address, timeout=60) for _ in range(20)]
    for client in slow:
        client.sendall(start)

    assert get(endpoint, "/health")[0] == 200

    for client in slow[:12]:
        assert client.recv(100) == b"", "the oldest give way"
    for client in slow:
        client.close()


def test_no_more_requests_are_answered_at_a_time_than_there_are_places(
    endpoint: MetricsEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flood of scrapes must not queue up for the broker's loop."""
    goes_on, asked = threading.Event(), threading.Semaphore(0)

    def slow() -> bool:
        asked.release()
        return goes_on.wait(60)

    monkeypatch.setattr(endpoint, "alive", slow)
    clients = [socket.create_connection(endpoint.address, timeout=60) for _ in range(8)]
    for client in clients:
        client.sendall(b"GET /health HTTP/1.0\r\n\r\n")
    for _ in clients:
        assert asked.acquire(timeout=60)

    with socket.create_connection(endpoint.address, timeout=60) as late:
        assert late.recv(100) == b""
    goes_on.set()

    for client in clients:
        assert client.recv(12) == b"HTTP/1.0 200"
        client.close()


def test_during_recovery_the_process_is_alive_but_not_ready(endpoint: MetricsEndpoint) -> None:
    assert get(endpoint, "/health")[0] == 200
    assert get(endpoint, "/metrics")[0] == 503
    status, body = get(endpoint, "/ready")
    assert (status, json.loads(body)) == (503, {"ready": False, "recovered": False})


def test_a_broker_is_ready_when_its_coordinators_are_and_its_directory_is_online(
    endpoint: MetricsEndpoint, harness: Any
) -> None:
    endpoint.attach(harness.broker)
    assert get(endpoint, "/ready", harness)[0] == 503

    broker = harness.broker
    coordinators = broker.groups, broker.transactions
    broker.groups = broker.transactions = SimpleNamespace(
        loading=False, stop=int, topic_deleted=int, list_groups=list
    )
    assert get(endpoint, "/ready", harness)[0] == 200
    harness.broker.rounds.failure = LogDirOffline("sync failed")
    status, body = get(endpoint, "/ready", harness)
    harness.broker.rounds.failure = None
    broker.groups, broker.transactions = coordinators

    assert status == 503
    assert json.loads(body) == {
        "ready": False,
        "recovered": True,
        "log_dir_online": False,
        "coordinators_loaded": True,
    }


def test_a_scrape_is_made_on_the_loop_in_turns(endpoint: MetricsEndpoint, harness: Any) -> None:
    harness.topic("orders", 100)
    endpoint.attach(harness.broker)

    status, body = get(endpoint, "/metrics", harness)

    assert status == 200
    assert body.count(b"kafka_log_log_logendoffset{") == 100
    assert body.endswith(b"\n")


def test_a_loop_that_does_not_answer_is_not_alive(
    endpoint: MetricsEndpoint, harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duolog.broker.metrics.http._ALIVE_TIMEOUT_S", 0.05)
    endpoint.attach(harness.broker)
    assert get(endpoint, "/health", harness)[0] == 200

    assert get(endpoint, "/health")[0] == 503


def test_other_paths_return_a_list_of_valid_paths(endpoint: MetricsEndpoint) -> None:
    assert get(endpoint, "/") == (404, b"/metrics, /health, /ready\n")
