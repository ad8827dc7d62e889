"""Clients that close their side of a connection and wait for the answers to what they sent."""

import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from duolog.broker.network import last_answers
from unit.broker.conftest import FETCH, PRODUCE, Client, fetch_fields, produce_fields
from unit.broker.transactional_producer import coordinate

METADATA, OFFSET_COMMIT, JOIN_GROUP = 3, 8, 11
BATCH_BYTES = 900_000
BATCHES = 3
FOREVER_MS = 600_000


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """In each round, the broker checks whether a client that closed its side makes progress."""
    monkeypatch.setattr(last_answers, "_CHECK_S", 0.0)


@pytest.fixture
def stall(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], threading.Event]]:
    """Return a function that stalls the disk until the event that it returns is set."""
    resumed = threading.Event()

    def begin() -> threading.Event:
        monkeypatch.setattr("duolog.log.files.disk.sync_data", lambda _descriptor: resumed.wait())
        return resumed

    yield begin
    resumed.set()


def close_side(client: Client) -> None:
    client.socket.shutdown(socket.SHUT_WR)


@pytest.mark.usefixtures("impatient")
def test_a_half_closed_client_gets_its_answers_however_long_the_disk_stalls(
    open_harness: Any, stall: Callable[[], threading.Event]
) -> None:
    harness = open_harness(durability="fsync")
    harness.topic("orders")
    client = harness.client()
    resumed = stall()
    for _ in range(3):
        client.send(PRODUCE, 9, **produce_fields("orders", harness.batch(b"v")))
    close_side(client)

    client.receive_nothing()
    assert not client.connection.closed
    resumed.set()
    offsets = [client.receive().responses[0].partition_responses[0].base_offset for _ in range(3)]

    assert offsets == [0, 1, 2]
    assert client.closed_by_broker


@pytest.mark.usefixtures("impatient")
def test_a_request_whose_turn_comes_when_the_disk_resumes_is_answered(
    open_harness: Any, stall: Callable[[], threading.Event]
) -> None:
    harness = open_harness(durability="fsync")
    harness.topic("orders")
    client = harness.client()
    resumed = stall()
    client.send_bytes(
        client.frame(PRODUCE, 9, **produce_fields("orders", harness.batch(b"v"), acks=0))
    )
    client.send(METADATA, 12, topics=[])
    close_side(client)

    client.receive_nothing()
    assert not client.connection.closed
    resumed.set()

    assert client.receive().topics == ()
    assert client.closed_by_broker


@pytest.mark.usefixtures("impatient")
def test_a_half_closed_client_learns_that_its_offsets_are_durable(
    open_harness: Any, stall: Callable[[], threading.Event]
) -> None:
    harness = coordinate(open_harness(durability="fsync"))
    harness.topic("orders")
    client = harness.client()
    row = {"partition_index": 0, "committed_offset": 5, "committed_metadata": ""}
    fields = {
        "group_id": "g",
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "topics": [{"name": "orders", "partitions": [row]}],
    }
    client.ask(OFFSET_COMMIT, 8, **fields)
    resumed = stall()
    client.send(OFFSET_COMMIT, 8, **fields)
    close_side(client)

    client.receive_nothing()
    assert not client.connection.closed
    resumed.set()

    assert client.receive().topics[0].partitions[0].error_code == 0
    assert client.closed_by_broker


def test_a_long_poll_of_a_client_that_closed_its_side_is_answered_at_once(harness: Any) -> None:
    harness.topic("orders")
    client = harness.client()
    client.send(FETCH, 11, **fetch_fields("orders", 0, max_wait_ms=FOREVER_MS))
    client.receive_nothing()

    close_side(client)

    assert client.receive().responses[0].partitions[0].error_code == 0
    assert client.closed_by_broker
    assert harness.broker.timers.seconds_to_next() is None


@pytest.mark.usefixtures("impatient")
def test_a_long_poll_that_begins_to_wait_after_its_client_closed_its_side_is_ended(
    open_harness: Any, stall: Callable[[], threading.Event]
) -> None:
    class Poll:
        def expire(self) -> None:
            client.connection.parked.discard(self)

        def cancel(self) -> None:
            pytest.fail("it should be answered")

    harness = open_harness(durability="fsync")
    harness.topic("orders")
    client = harness.client()
    stall()
    client.send(PRODUCE, 9, **produce_fields("orders", harness.batch(b"v")))
    close_side(client)
    client.receive_nothing()

    client.connection.parked.add(Poll())

    harness.turn_until(lambda: not client.connection.parked)
    assert not client.connection.closed


@pytest.mark.usefixtures("impatient")
def test_a_half_closed_member_does_not_wait_for_the_others_of_its_group(
    harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness.broker.groups, "join", lambda _request, _answer: None)
    client = harness.client()
    client.send(JOIN_GROUP, 3, group_id="g", session_timeout=10_000, rebalance_timeout=FOREVER_MS,
                member_id="", protocol_type="consumer",
                protocols=[{"name": "range", "metadata": b""}])  # fmt: skip
    close_side(client)

    harness.turn_until(lambda: client.connection.closed)


def poll_all(harness: Any) -> Client:
    """Return a client that waits for more records than there are, and has closed its side."""
    harness.topic("orders")
    client: Client = harness.client()
    for _ in range(BATCHES):
        client.produce("orders", harness.batch(b"v" * BATCH_BYTES))
    client.send(
        FETCH, 11, **fetch_fields("orders", 0, min_bytes=1 << 30, max_wait_ms=FOREVER_MS,
                                  partition_max_bytes=1 << 26)
    )  # fmt: skip
    client.receive_nothing()
    close_side(client)
    return client


@pytest.mark.usefixtures("impatient")
def test_a_half_closed_client_that_reads_on_gets_all_of_a_large_answer(harness: Any) -> None:
    client = poll_all(harness)

    while not client.whole_answer():
        assert not client.connection.closed
        harness.turn()  # The socket takes as much as has been read,
        harness.turn()  # and then nothing.
    records = client.receive().responses[0].partitions[0].records

    assert len(records) > BATCHES * BATCH_BYTES
    assert client.closed_by_broker


@pytest.mark.usefixtures("impatient")
def test_a_half_closed_client_that_does_not_read_is_disconnected(harness: Any) -> None:
    client = poll_all(harness)

    harness.turn_until(lambda: client.connection.closed)

    assert not client.whole_answer()
