"""Delayed responses leave in order, each after its own delay; requests take effect at once."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from duolog.testing.local_broker.faults import Delay, DelayedConnection, ShiftedClock
from unit.broker.conftest import Client, Harness, produce_fields

PRODUCE, LIST_OFFSETS, METADATA = 0, 2, 3
HOUR_MS: Final = 3_600_000


@pytest.fixture
def clock() -> ShiftedClock:
    return ShiftedClock()


@pytest.fixture
def harness(tmp_path: Path, clock: ShiftedClock) -> Iterator[Harness]:
    made = Harness(tmp_path / "data", {"durability": "os"}, clock)
    made.topic("orders")
    yield made
    made.stop()


@pytest.fixture
def delay() -> Delay:
    return Delay()


@pytest.fixture
def client(harness: Harness, delay: Delay) -> Client:
    return harness.client(connection_type=partial(DelayedConnection, delay=delay))


def produce(harness: Harness, client: Client) -> None:
    client.send(PRODUCE, 9, **produce_fields("orders", harness.batch(b"1")))


def written(harness: Harness) -> int:
    return harness.broker.log("orders", 0).log_end_offset


def test_each_response_leaves_after_its_own_delay(
    harness: Harness, client: Client, delay: Delay, clock: ShiftedClock
) -> None:
    delay.change(3600)
    produce(harness, client)
    harness.turn_until(lambda: delay.waiting == 1)
    clock.advance(HOUR_MS // 2, timers=True)
    client.send(METADATA, 12, topics=None)
    harness.turn_until(lambda: delay.waiting == 2)

    clock.advance(HOUR_MS // 2, timers=True)
    first = client.receive()
    client.receive_nothing()
    clock.advance(HOUR_MS // 2, timers=True)

    assert first.responses
    assert client.receive().brokers


def test_requests_take_effect_while_earlier_responses_wait(
    harness: Harness, client: Client, delay: Delay
) -> None:
    """The produce request waits for the schema of the other, then for its turn."""
    delay.change(3600)
    client.send(LIST_OFFSETS, 7, replica_id=-1, isolation_level=0, topics=[])
    produce(harness, client)

    harness.turn_until(lambda: written(harness) == 1)

    client.receive_nothing()


def test_the_end_of_the_delay_sends_what_waits_in_order(
    harness: Harness, client: Client, delay: Delay
) -> None:
    delay.change(3600)
    produce(harness, client)
    client.send(METADATA, 12, topics=None)
    harness.turn_until(lambda: delay.waiting == 2)

    delay.change(0)

    assert client.receive().responses
    assert client.receive().brokers
    assert delay.waiting == 0


def test_a_connection_that_closes_leaves_nothing_that_waits(
    harness: Harness, client: Client, delay: Delay, clock: ShiftedClock
) -> None:
    delay.change(3600)
    produce(harness, client)
    harness.turn_until(lambda: delay.waiting == 1)

    client.connection.close()
    clock.advance(2 * HOUR_MS, timers=True)
    harness.turn()

    assert delay.waiting == 0
    assert harness.broker.loop.timers.failures == 0
