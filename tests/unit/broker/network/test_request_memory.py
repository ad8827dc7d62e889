"""Unfinished requests share one budget, and always move on."""

import logging
from contextlib import suppress
from threading import Event
from typing import Any

import pytest

from duolog.broker.event_loop.loop import Timers
from duolog.broker.network import request_memory
from duolog.broker.network.receive_buffer import BUFFER_BYTES
from duolog.broker.network.request_memory import RequestMemory
from duolog.core.units import MIB
from duolog.testing.clock import FakeClock
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
    connections: Any = harness.broker.connections
    return sum(
        connection._received.room - BUFFER_BYTES  # noqa: SLF001
        for connection in connections
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


def test_who_was_served_ahead_of_others_stands_in_line_again(harness: Harness) -> None:
    for client in [harness.client() for _ in range(2)]:
        left = memoryview(frame(harness, client))[: FRAME - MIB]
        while left:
            left = push(harness, client, left)
    greedy, other = harness.client(), harness.client()
    sent = memoryview(frame(harness, greedy) * 4)
    waiting = memoryview(frame(harness, other))

    for _ in range(100):
        sent, waiting = push(harness, greedy, sent), push(harness, other, waiting)
        assert held(harness) <= MAX + FRAME + 2 * MIB
        if other.whole_answer():
            break

    assert other.whole_answer()
    assert not greedy.connection.closed


class FakeReader:
    """A connection as the memory sees it."""

    def __init__(self) -> None:
        self.received_bytes = 0
        self.waits_for_client = True
        self.closed = False
        self.reads = 0

    def read_on(self) -> None:
        self.reads += 1

    def give_back_memory(self) -> None:
        return

    def close(self, _reason: str, *, level: int) -> None:
        del level
        self.closed = True


class Line:
    """A memory that one reader fills, and two who want some of it."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.timers = Timers(self.clock)
        self.memory = RequestMemory(100, self.timers)
        self.memory.hold(FakeReader(), 100)
        self.first, self.second = FakeReader(), FakeReader()
        assert self.memory.hold(self.first, 50)  # It goes ahead.
        assert not self.memory.hold(self.second, 50)

    def pass_time(self, seconds: float, received_bytes: int = 0) -> None:
        """Let seconds pass, in each of which the first one receives so much."""
        for _ in range(round(seconds)):
            self.first.received_bytes += received_bytes
            self.clock.advance(1)
            self.timers.run_due()


def test_who_is_ahead_and_receives_nothing_is_closed() -> None:
    line = Line()
    line.pass_time(25)
    assert line.first.closed


def test_who_is_ahead_keeps_its_connection_while_it_receives() -> None:
    """It was closed when its buffer held no more than at the last look: between two requests."""
    line = Line()
    line.pass_time(100, received_bytes=100_000)
    assert not line.first.closed


def test_a_request_that_is_whole_and_waits_for_us_is_not_stalled() -> None:
    line = Line()
    line.first.waits_for_client = False
    line.pass_time(100)
    assert not line.first.closed


def test_a_look_at_an_earlier_time_ahead_closes_nobody() -> None:
    line = Line()
    line.pass_time(9)
    line.memory.release(line.first, keeps=10)
    assert line.second.reads == 1
    assert not line.memory.hold(line.first, 50)
    line.memory.release(line.second)
    assert line.first.reads == 2
    assert not line.memory.hold(FakeReader(), 50)

    line.pass_time(9)

    assert not line.first.closed


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
