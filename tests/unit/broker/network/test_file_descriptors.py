"""Connections and segments share the descriptors of the process."""

import contextlib
import errno
import gc
import os
import resource
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from duolog.broker.network.endpoints import endpoints, open_endpoints
from duolog.broker.network.file_descriptors import connections_max, open_files_max
from duolog.broker.network.listener import Listener
from duolog.log.files.spare_descriptors import SpareDescriptors


@pytest.mark.parametrize(
    ("limits", "wanted", "expected"),
    [
        ((1024, 20_000), 0, 4096),
        ((1024, 1024), 0, 512),
        ((1024, 20_000), 100, 100),
        ((1024, 2000), 5000, 1000),
        ((1024, resource.RLIM_INFINITY), 0, 4096),
    ],
)
def test_half_of_the_descriptors_are_left_to_connections(
    monkeypatch: pytest.MonkeyPatch, limits: tuple[int, int], wanted: int, expected: int
) -> None:
    raised: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda _, to: raised.append(to))

    assert open_files_max(wanted) == expected
    assert raised == ([] if limits[0] == limits[1] else [(limits[1], limits[1])])


@pytest.mark.parametrize(
    ("limit", "segments", "connections"), [(64, 32, 24), (1024, 512, 384), (20_000, 4096, 15_776)]
)
def test_segments_connections_and_all_else_fit_into_the_limit(
    monkeypatch: pytest.MonkeyPatch, limit: int, segments: int, connections: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, limit))

    assert open_files_max(0) == segments
    assert connections_max(0) == connections


@pytest.fixture
def few_descriptors() -> Iterator[Callable[[int], None]]:
    """Limit the process to the given number of descriptors in addition to the open ones.

    Threads and garbage of earlier tests may still close some of these: then there are a few more.
    """
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    fill: list[int] = []

    def leave(count: int) -> None:
        gc.collect()
        highest = max(int(path.name) for path in Path("/dev/fd").iterdir())
        while not fill or fill[-1] < highest:
            fill.append(os.open(os.devnull, os.O_RDONLY))
        resource.setrlimit(resource.RLIMIT_NOFILE, (fill[-1] + 1 + count, limits[1]))

    yield leave
    for descriptor in fill:
        os.close(descriptor)
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.fixture
def opened() -> Iterator[contextlib.ExitStack]:
    """Close what is entered, also if the test fails.

    Else the sockets are found by the garbage collector during another test, which then fails.
    """
    with contextlib.ExitStack() as stack:
        yield stack


def test_logs_continue_if_clients_use_all_descriptors(
    open_harness: Any, few_descriptors: Callable[[int], None], opened: contextlib.ExitStack
) -> None:
    """One EMFILE took the log directory offline for good."""
    harness = open_harness(durability="fsync")
    harness.topic("t", segment_bytes="1048576")
    (endpoint,) = open_endpoints(
        endpoints(harness.broker.settings, ("127.0.0.1:0",)), insecure=False
    )
    listener = Listener(harness.broker, endpoint)
    opened.callback(listener.close)
    client = harness.client()
    client.produce("t", harness.batch(bytes(900_000)))  # Loads what the first request needs.
    clients = [opened.enter_context(socket.socket()) for _ in range(200)]
    few_descriptors(40)

    for one in clients:
        accepted = len(harness.broker.connections)
        one.settimeout(0)
        one.connect_ex(endpoint.bound)
        harness.turn()
        if len(harness.broker.connections) == accepted:
            break  # No descriptor is left for it.
    spoiled = _take_all()
    answers = [client.produce("t", harness.batch(bytes(900_000))) for _ in range(3)]
    for descriptor in spoiled:
        os.close(descriptor)

    assert [answer.error_code for answer in answers] == [0] * 3
    assert [answer.base_offset for answer in answers] == [1, 2, 3]
    assert harness.broker.rounds.failure is None
    assert accepted < len(clients), "there were descriptors for all"
    for one in clients:
        one.close()
    late = opened.enter_context(socket.create_connection(endpoint.bound, timeout=60))
    late.sendall(client.frame(18, 0))
    late.settimeout(0)
    harness.turn_until(lambda: _has_received(late))


def _has_received(client: socket.socket) -> bool:
    try:
        return bool(client.recv(1024))
    except BlockingIOError:
        return False


def _take_all() -> list[int]:
    taken = []
    with contextlib.suppress(OSError):
        while True:
            taken.append(os.open(os.devnull, os.O_RDONLY))
    return taken


def test_spare_descriptors_are_used_once_and_filled_again() -> None:
    spare = SpareDescriptors(2)
    assert spare.refill()
    refusals = [OSError(errno.EMFILE, "none left")] * 2

    def open_file() -> int:
        if refusals:
            raise refusals.pop()
        return 99

    assert spare.use(open_file) == 99
    refusals.append(OSError(errno.EMFILE, "none left"))
    with pytest.raises(OSError, match="none left"):
        spare.use(open_file)
    assert spare.refill()
    spare.close()
