"""New connections above a rate: of an address, and of all together (KIP-612)."""

import socket
from typing import Any

import pytest

from duolog.broker.network.endpoints import endpoints, open_endpoints
from duolog.broker.network.listener import Listener
from duolog.broker.quotas.connection_rates import ConnectionRates
from duolog.broker.settings import BrokerSettings
from duolog.testing.clock import FakeClock

RATE = "connection_creation_rate"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def rates(clock: FakeClock, **settings: str) -> ConnectionRates:
    texts = {name.replace("_", "."): text for name, text in settings.items()}
    return ConnectionRates(BrokerSettings(texts), clock)


def test_an_address_above_its_quota_is_refused_until_it_may_come_again(clock: FakeClock) -> None:
    found = rates(clock)
    found.update({(("ip", "10.0.0.1"),): {RATE: 1.0}})

    served = 0
    while not (wait_s := found.of_address("10.0.0.1")):
        served += 1
    others = [found.of_address("10.0.0.2") for _ in range(50)]
    clock.advance(5.0)
    refused = [found.of_address("10.0.0.1") for _ in range(50)]
    clock.advance(6.0)

    assert served == 10
    assert wait_s == 1.0
    assert not any(others)
    assert all(refused)
    assert found.of_address("10.0.0.1") == 0.0, "what was refused has not counted"
    assert found.throttled == 51


def test_each_address_without_a_quota_has_the_default_for_itself(clock: FakeClock) -> None:
    found = rates(clock)
    found.update({(("ip", None),): {RATE: 1.0}, (("ip", "10.0.0.9"),): {RATE: 100.0}})

    waits = {
        host: [found.of_address(host) > 0 for _ in range(11)]
        for host in ("10.0.0.1", "10.0.0.2", "10.0.0.9")
    }

    assert waits["10.0.0.1"] == waits["10.0.0.2"] == [False] * 10 + [True]
    assert waits["10.0.0.9"] == [False] * 11


@pytest.mark.parametrize(
    ("entity", "host"),
    [
        ("localhost", "127.0.0.1"),
        ("localhost", "::1"),
        ("FE80:0::1", "fe80::1"),
        ("::ffff:10.0.0.7", "10.0.0.7"),
    ],
)
def test_an_address_may_be_written_in_several_ways(
    clock: FakeClock, entity: str, host: str
) -> None:
    found = rates(clock)
    found.update({(("ip", entity),): {RATE: 1.0}})

    assert [found.of_address(host) > 0 for _ in range(11)][-1]


def test_a_quota_that_is_removed_holds_no_more(clock: FakeClock) -> None:
    found = rates(clock)
    found.update({(("ip", None),): {RATE: 1.0}})
    while not found.of_address("10.0.0.1"):
        pass

    found.update({})

    assert found.of_address("10.0.0.1") == 0.0


def test_many_addresses_that_came_once_are_forgotten(clock: FakeClock) -> None:
    found = rates(clock)
    found.update({(("ip", None),): {RATE: 1.0}})

    for index in range(5000):
        found.of_address(f"10.0.{index // 256}.{index % 256}")
        clock.advance(0.1)

    assert len(found._meters) <= 1000  # noqa: SLF001


def test_all_connections_together_pause_accepting(clock: FakeClock) -> None:
    found = rates(clock, max_connection_creation_rate="2", quota_window_num="3")

    pauses = [found.of_all() for _ in range(6)]

    # Four in two windows of a second; each further one is half a second too early.
    assert pauses == [0.0, 0.0, 0.0, 0.0, 0.5, 1.0]


def test_a_rate_of_zero_serves_one_connection_for_each_window(clock: FakeClock) -> None:
    assert rates(clock, max_connection_creation_rate="0").of_all() == 1.0


def test_the_rate_of_all_can_be_changed_at_run_time(timed: Any) -> None:
    """Through the API, as kafka-configs does."""
    change = {"name": "max.connection.creation.rate", "config_operation": 0, "value": "1"}
    resource = {"resource_type": 4, "resource_name": "", "configs": [change]}
    found = timed.broker.connections.rates
    before = [found.of_all() for _ in range(50)]

    answer = timed.user("admin").ask(44, 1, resources=[resource], validate_only=False)
    after = [found.of_all() for _ in range(11)]

    assert answer.responses[0].error_code == 0
    assert not any(before)
    assert after[-1] == 1.0


def listen(timed: Any) -> tuple[Listener, tuple[str, int]]:
    (endpoint,) = open_endpoints(endpoints(timed.broker.settings, ("127.0.0.1:0",)), insecure=False)
    return Listener(timed.broker, endpoint), endpoint.bound


def connect(timed: Any, address: tuple[str, int]) -> socket.socket:
    client = socket.create_connection(address, timeout=60)
    timed.turn()
    client.settimeout(0)
    return client


def closed(client: socket.socket) -> bool:
    try:
        return client.recv(1) == b""
    except BlockingIOError:
        return False


def test_a_connection_above_the_quota_is_closed_when_its_throttle_time_is_over(timed: Any) -> None:
    timed.quota({"ip": "127.0.0.1"}, connection_creation_rate=1.0)
    listener, address = listen(timed)
    before = len(timed.broker.connections)

    clients = [connect(timed, address) for _ in range(11)]
    served = len(timed.broker.connections) - before
    open_at_first = not closed(clients[-1])
    timed.wait_ms(1000)

    assert served == 10
    assert open_at_first
    timed.turn_until(lambda: closed(clients[-1]))
    assert not any(map(closed, clients[:-1]))
    listener.close()
    for client in clients:
        client.close()


def test_refused_connections_are_closed_with_the_listener_and_bounded(
    timed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duolog.broker.network.late_closes._MAX", 2)
    timed.quota({"ip": None}, connection_creation_rate=1.0)
    listener, address = listen(timed)
    clients = [connect(timed, address) for _ in range(13)]
    refused = clients[10:]

    assert [closed(client) for client in refused] == [False, False, True]
    listener.close()
    timed.turn_until(lambda: all(map(closed, refused)))
    timed.wait_ms(5000)  # The timers of those that were closed do nothing.
    assert timed.broker.timers.failures == 0
    for client in clients:
        client.close()


def test_a_listener_pauses_above_the_rate_of_all_and_loses_no_connection(open_timed: Any) -> None:
    timed = open_timed(max_connection_creation_rate="1", quota_window_num="2")
    listener, address = listen(timed)

    clients = [connect(timed, address) for _ in range(4)]
    counts = [len(timed.broker.connections)]
    for _ in range(2):
        timed.wait_ms(1001)
        timed.turn()
        timed.turn()
        counts.append(len(timed.broker.connections))

    # The second is above the rate: it is served, and the listener pauses after it.
    assert counts == [2, 3, 4]
    listener.close()
    for client in clients:
        client.close()
