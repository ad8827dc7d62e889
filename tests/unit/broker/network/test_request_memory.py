"""Unfinished requests share one budget, and always move on."""

import logging
from contextlib import suppress
from threading import Event
from typing import Any

import pytest

from duolog.broker.network import request_memory
from duolog.broker.network.receive_buffer import BUFFER_BYTES
from duolog.core.units import MIB
from unit.broker.conftest import PRODUCE, Client, Harness, produce_fields

MAX = 20 * MIB
FRAME = 8 * MIB
DESCRIBE_GROUPS = 15


@pytest.fixture
def harness(open_harness: Any) -> Harness:
    made: Harness = open_harness(queued_max_request_bytes=str(MAX), log_segment_bytes=str(64 * MIB))
    made.topic("t", max_message_bytes=str(64 * MIB))
    return made


def frame(harness: Harness, client: Client, size: int = FRAME) -> bytes:
    client.expect(PRODUCE, 9)
    return client.frame(PRODUCE, 9, **produce_fields("t", harness.batch(bytes(size))))


def push(harness: Harness, client: Client, data: memoryview) -> memoryview:
    """Send what the broker takes."""
    for _ in range(10):
        try:
            data = data[client.socket.send(data[: 4 * MIB]) :]
        except BlockingIOError:
            harness.broker.loop.run_once(0.001)
    return data


def held(harness: Harness) -> int:
    return sum(
        connection._received.room - BUFFER_BYTES  # noqa: SLF001
        for connection in harness.broker.connections
    )


def test_a_large_frame_is_held_once(harness: Harness) -> None:
    client = harness.client()
    rest = memoryview(frame(harness, client, 16 * MIB))

    most = 0
    while len(rest) > MIB:
        rest = push(harness, client, rest)
        most = max(most, harness.broker.request_memory.used)
    client.send_bytes(bytes(rest))

    assert client.receive().responses[0].partition_responses[0].error_code == 0
    assert most <= 18 * MIB


def test_unfinished_frames_of_all_connections_stay_within_the_budget(harness: Harness) -> None:
    clients = [harness.client() for _ in range(8)]
    rest = [memoryview(frame(harness, client)) for client in clients]
    most = 0

    while any(rest):
        for number, client in enumerate(clients):
            rest[number] = push(harness, client, rest[number])
            most = max(most, held(harness))
            assert held(harness) == harness.broker.request_memory.used

    answers = [client.receive() for client in clients]
    assert {row.error_code for answer in answers
            for row in answer.responses[0].partition_responses} == {0}  # fmt: skip
    assert most <= MAX + FRAME + 2 * MIB
    assert not harness.broker.request_memory.pressed


def test_a_budget_filled_by_frames_that_are_never_finished_lets_others_through(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(request_memory, "_STALLED_S", 0.05)
    stuck = [harness.client() for _ in range(6)]
    for client in stuck:
        rest = memoryview(frame(harness, client))[: FRAME - MIB]
        for _ in range(5):
            rest = push(harness, client, rest)
    client = harness.client()

    with caplog.at_level(logging.WARNING):
        answer = client.produce("t", harness.batch(bytes(FRAME)))

    assert answer.error_code == 0
    assert held(harness) <= MAX + FRAME + 2 * MIB


def test_requests_that_wait_to_be_decoded_count(open_harness: Any) -> None:
    harness = open_harness(queued_max_request_bytes=str(4 * MIB))
    go_on = Event()
    beside = harness.broker.beside
    beside.call(go_on.wait, lambda *_: None)
    groups = ["g" * 30_000] * (2 * MIB // 30_000)
    clients = [harness.client() for _ in range(8)]
    rest = []
    for client in clients:
        client.expect(DESCRIBE_GROUPS, 0)
        rest.append(memoryview(client.frame(DESCRIBE_GROUPS, 0, groups=groups)))

    def push_all(times: int) -> None:
        for _ in range(times):
            for number, client in enumerate(clients):
                with suppress(BlockingIOError):
                    rest[number] = rest[number][client.socket.send(rest[number]) :]
            harness.broker.loop.run_once(0.001)

    push_all(200)
    waiting = beside._thread._calls.qsize()  # noqa: SLF001
    go_on.set()
    while any(rest):
        push_all(1)

    assert waiting <= 3
    assert {len(client.receive().groups) for client in clients} == {len(groups)}
    assert harness.broker.request_memory.used <= 4 * MIB


def test_small_requests_need_no_budget(harness: Harness) -> None:
    stuck = [harness.client() for _ in range(4)]
    for client in stuck:
        rest = memoryview(frame(harness, client))[: FRAME - MIB]
        for _ in range(5):
            rest = push(harness, client, rest)

    assert harness.client().produce("t", harness.batch(b"small")).error_code == 0


def test_memory_is_given_back_with_the_connection(harness: Harness) -> None:
    client = harness.client()
    rest = memoryview(frame(harness, client))
    for _ in range(3):
        rest = push(harness, client, rest)
    assert harness.broker.request_memory.used > MIB

    client.connection.close()

    assert harness.broker.request_memory.used == 0


def test_without_a_limit_everything_is_read(open_harness: Any) -> None:
    harness = open_harness(queued_max_request_bytes="-1", log_segment_bytes=str(64 * MIB))
    harness.topic("t", max_message_bytes=str(64 * MIB))

    assert harness.client().produce("t", harness.batch(bytes(FRAME))).error_code == 0
