"""Watching whether brokers answer, with fake brokers and a real one."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from duolog.runtime.broker_watch import BrokerWatch, ProbeResult, look_at
from duolog.testing import EmbeddedCluster
from unit.runtime.fake_broker import FakeBroker, serving


@pytest.fixture
def broker() -> Iterator[Callable[[], FakeBroker]]:
    with ExitStack() as ends:

        def begin() -> FakeBroker:
            return ends.enter_context(serving())

        yield begin


def test_a_broker_that_takes_connections_and_answers_nothing_is_reported(
    broker: Callable[[], FakeBroker],
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
        f"no broker answers at {one.address}: {one.address}: accepts connections but does not answer; it waits"
    ]
    assert not watch.answers
    assert answering.look() == []


def test_a_cluster_whose_bootstrap_broker_was_removed_answers(
    broker: Callable[[], FakeBroker],
) -> None:
    """It used to be reported as unreachable, because only its bootstrap addresses were asked."""
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
    broker: Callable[[], FakeBroker],
) -> None:
    one = broker()
    one.authenticates = True

    assert look_at(one.address) == ProbeResult("")


def test_a_real_broker_reports_where_it_is() -> None:
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        assert look_at(cluster.bootstrap_servers) == ProbeResult("", (cluster.bootstrap_servers,))
