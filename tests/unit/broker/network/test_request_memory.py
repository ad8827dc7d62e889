"""Unfinished requests share one budget, and always move on."""

import logging
from contextlib import suppress
from threading import Event
from time import monotonic
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
    assert {
        row.error_code for answer in answers for row in answer.responses[0].partition_responses
    } == {0}
    assert most <= MAX + FRAME + 2 * MIB
    assert not harness.broker.request_memory.pressed


def test_unfinished_frames_that_fill_the_budget_do_not_block_others(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(request_memory, "_LOOK_S", 0.01)
    monkeypatch.setattr(request_memory, "_PROGRESS_S", 0.05)
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


def test_frames_that_trickle_let_others_through(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight of 100 MB kept large requests of all others waiting for 70 s and more."""
    monkeypatch.setattr(request_memory, "_LOOK_S", 0.01)
    monkeypatch.setattr(request_memory, "_PROGRESS_S", 0.05)
    slow = [harness.client() for _ in range(6)]
    rest = [memoryview(frame(harness, client)) for client in slow]
    for number, client in enumerate(slow):
        for _ in range(5):
            rest[number] = push(harness, client, rest[number][: FRAME - MIB])
    client = harness.client()
    waiting = memoryview(frame(harness, client))
    until = monotonic() + 60

    while not client.whole_answer():
        assert monotonic() < until
        waiting = push(harness, client, waiting)
        for one in slow:
            with suppress(OSError):
                one.socket.send(b"0")
        harness.broker.loop.run_once(0.001)

    assert client.receive().responses[0].partition_responses[0].error_code == 0
    assert any(one.connection.closed for one in slow)


def test_a_connection_served_ahead_of_others_queues_again(harness: Harness) -> None:
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
    """The part of a connection that the memory budget uses."""

    def __init__(self) -> None:
        self.received_bytes = 0
        self.handled = 0
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
        self.holder = FakeReader()
        self.memory.hold(self.holder, 100)
        self.first, self.second = FakeReader(), FakeReader()
        assert self.memory.hold(self.first, 50)  # It goes ahead.
        assert not self.memory.hold(self.second, 50)

    def pass_time(self, seconds: int, received: dict[FakeReader, int]) -> None:
        """Advance the clock; in each second, readers receive the given number of bytes."""
        for _ in range(seconds):
            for reader, size_bytes in received.items():
                reader.received_bytes += size_bytes
            self.clock.advance(1)
            self.timers.run_due()


@pytest.fixture
def line() -> Line:
    return Line()


def test_a_connection_with_memory_that_receives_nothing_is_closed(line: Line) -> None:
    line.pass_time(7, {line.holder: MIB})

    assert line.first.closed
    assert not line.holder.closed


def test_a_slow_sender_that_holds_memory_is_closed_while_others_wait(line: Line) -> None:
    """Only the first reader used to be checked, and 64 KiB in 10 s were enough: others waited for hours."""
    line.pass_time(7, {line.first: MIB, line.holder: 100_000})

    assert line.holder.closed
    assert not line.first.closed


def test_a_request_that_takes_too_long_as_a_whole_is_closed(line: Line) -> None:
    closed = []
    for seconds in (29, 3):
        line.pass_time(seconds, {line.first: MIB, line.holder: MIB})
        closed.append((line.holder.closed, line.first.closed))

    assert closed == [(False, False), (True, True)]


def test_a_client_that_completes_requests_keeps_its_connection(line: Line) -> None:
    """The connection used to be closed if its buffer had not grown since the last check: between two requests."""
    for _ in range(20):
        line.first.handled += 1
        line.holder.handled += 1
        line.pass_time(4, {line.first: 100, line.holder: MIB})

    assert not line.first.closed
    assert not line.holder.closed


def test_a_request_that_is_whole_and_waits_for_us_is_not_stalled(line: Line) -> None:
    line.first.waits_for_client = line.holder.waits_for_client = False

    line.pass_time(100, {})

    assert not line.first.closed
    assert not line.holder.closed


def test_no_connection_is_closed_if_none_waits(line: Line) -> None:
    line.memory.release(line.second)

    line.pass_time(100, {})

    assert not line.first.closed
    assert not line.holder.closed


def test_each_queued_request_waits_equally_long(line: Line) -> None:
    """The periodic checks end when no request waits, and start again later."""
    line.memory.release(line.second)
    line.pass_time(100, {})
    assert not line.memory.hold(line.second, 50)

    line.pass_time(7, {line.first: MIB})

    assert line.holder.closed


def test_requests_that_wait_to_be_decoded_count(open_harness: Any) -> None:
    harness = open_harness(queued_max_request_bytes=str(4 * MIB))
    go_on = Event()
    background = harness.broker.beside
    background.call(go_on.wait, lambda *_: None)
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
    waiting = background._thread._calls.qsize()  # noqa: SLF001
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
