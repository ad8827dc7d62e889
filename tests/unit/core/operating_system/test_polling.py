"""Both pollers report the same readiness."""

import os
import select
import selectors
import socket
import sys
from collections.abc import Iterator

import pytest

from duolog.core.operating_system import polling
from duolog.core.operating_system.polling import (
    HANG_UP,
    READ,
    WRITE,
    Poller,
    PortablePoller,
    open_poller,
    open_wake_fds,
)
from duolog.core.operating_system.portable import PORTABLE

SECONDS = 60.0
"""How long a poll may take on a busy machine."""
EVENTS_MAX = 512


@pytest.fixture(params=[False, True], ids=["native", "portable"])
def poller(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Poller]:
    monkeypatch.setattr(polling, "PORTABLE", request.param or PORTABLE)
    poller = open_poller()
    yield poller
    poller.close()


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, peer = socket.socketpair()
    with ours, peer:
        yield ours, peer


@pytest.mark.skipif(sys.platform != "linux" or PORTABLE, reason="Linux has epoll")
def test_linux_uses_epoll_itself_with_nothing_in_between() -> None:
    poller = open_poller()

    assert type(poller) is select.epoll
    poller.close()


def test_the_setting_hides_epoll(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "PORTABLE", True)

    poller = open_poller()

    assert type(poller) is PortablePoller
    poller.close()


def test_the_numbers_of_events_are_those_of_poll() -> None:
    assert (READ, WRITE, HANG_UP) == (
        select.POLLIN,
        select.POLLOUT,
        select.POLLERR | select.POLLHUP,
    )


def test_a_socket_is_reported_as_long_as_it_is_ready(
    poller: Poller, pair: tuple[socket.socket, socket.socket]
) -> None:
    ours, peer = pair
    poller.register(ours.fileno(), READ)

    assert poller.poll(0, EVENTS_MAX) == []
    peer.send(b"x")
    assert poller.poll(SECONDS, EVENTS_MAX) == [(ours.fileno(), READ)]
    assert poller.poll(SECONDS, EVENTS_MAX) == [(ours.fileno(), READ)], "it is level-triggered"
    ours.recv(1)
    assert poller.poll(0, EVENTS_MAX) == []


def test_a_socket_without_events_is_not_reported_until_it_has_some(
    poller: Poller, pair: tuple[socket.socket, socket.socket]
) -> None:
    ours, peer = pair
    peer.send(b"x")
    poller.register(ours.fileno(), 0)

    assert poller.poll(0, EVENTS_MAX) == []
    poller.modify(ours.fileno(), 0)
    assert poller.poll(0, EVENTS_MAX) == []
    poller.modify(ours.fileno(), READ)
    assert poller.poll(SECONDS, EVENTS_MAX) == [(ours.fileno(), READ)]
    poller.modify(ours.fileno(), WRITE)
    assert poller.poll(SECONDS, EVENTS_MAX) == [(ours.fileno(), WRITE)]
    poller.modify(ours.fileno(), READ | WRITE)
    assert poller.poll(SECONDS, EVENTS_MAX) == [(ours.fileno(), READ | WRITE)]
    poller.modify(ours.fileno(), 0)
    assert poller.poll(0, EVENTS_MAX) == []


def test_a_socket_that_kqueue_reports_twice_is_reported_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Kqueue(selectors.SelectSelector):
        def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            ready = super().select(timeout)
            each = (selectors.EVENT_READ, selectors.EVENT_WRITE)
            return [(key, events & one) for key, events in ready for one in each if events & one]

    monkeypatch.setattr(polling, "_selector", Kqueue)
    poller = PortablePoller()
    ours, peer = socket.socketpair()
    with ours, peer:
        peer.send(b"x")
        poller.register(ours.fileno(), READ | WRITE)

        assert poller.poll(SECONDS, EVENTS_MAX) == [(ours.fileno(), READ | WRITE)]
    poller.close()


@pytest.mark.parametrize("events", [0, READ])
def test_a_descriptor_can_be_registered_again_after_it_was_removed(
    poller: Poller, pair: tuple[socket.socket, socket.socket], events: int
) -> None:
    ours, peer = pair
    peer.send(b"x")
    poller.register(ours.fileno(), events)

    poller.unregister(ours.fileno())
    assert poller.poll(0, EVENTS_MAX) == []
    poller.register(ours.fileno(), READ)

    assert poller.poll(SECONDS, EVENTS_MAX) == [(ours.fileno(), READ)]


@pytest.mark.parametrize("events", [READ, WRITE])
def test_a_peer_that_has_gone_is_reported_with_the_watched_events(
    poller: Poller, pair: tuple[socket.socket, socket.socket], events: int
) -> None:
    ours, peer = pair
    poller.register(ours.fileno(), events)

    peer.close()

    ((descriptor, reported),) = poller.poll(SECONDS, EVENTS_MAX)
    assert descriptor == ours.fileno()
    assert reported & events


@pytest.mark.parametrize("portable", [False, True])
def test_wakes_end_a_wait_and_one_read_takes_them_all(
    monkeypatch: pytest.MonkeyPatch, *, portable: bool
) -> None:
    monkeypatch.setattr(polling, "PORTABLE", portable or PORTABLE)
    woken, waking = open_wake_fds()
    poller = open_poller()
    poller.register(woken, READ)

    for _ in range(3):
        os.write(waking, (1).to_bytes(8, "little"))
    assert poller.poll(SECONDS, EVENTS_MAX) == [(woken, READ)]
    os.read(woken, 4096)

    assert poller.poll(0, EVENTS_MAX) == []
    with pytest.raises(BlockingIOError):
        os.read(woken, 4096)
    poller.close()
    for descriptor in {woken, waking}:
        os.close(descriptor)
