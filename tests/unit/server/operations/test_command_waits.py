"""Requests that wait for a command: they hold no thread, share one reader, and end in time."""

import asyncio
import json
import threading

import pytest

from duolog.runtime.errors import BrokerUnavailable
from duolog.server.errors import SHUT_DOWN, RequestRefused
from duolog.server.operations.command_waits import CommandWaits
from unit.registry.turns import until
from unit.server.ksql.sessions import Catalog
from unit.server.memory import MemoryServer, Reply, context
from unit.server.operations.test_ksql import in_loop
from unit.server.sockets import SocketClient, target
from waiting import DEADLINE_S

SOON = 0.2


class Commands:
    """A command topic in memory."""

    def __init__(self, last: int = 0) -> None:
        self.last_command = last
        self.reads = 0
        self.written: list[int] = []
        """The last command after each of the next reads."""
        self.error: BrokerUnavailable | None = None

    def follow(self) -> None:
        self.reads += 1
        if self.error is not None:
            raise self.error
        if self.written:
            self.last_command = self.written.pop(0)


class SlowCommands(Commands):
    """A command topic whose read takes as long as a test wants."""

    def __init__(self) -> None:
        super().__init__()
        self.began, self.may_end = threading.Event(), threading.Event()

    def follow(self) -> None:
        self.began.set()
        assert self.may_end.wait(DEADLINE_S)
        super().follow()


def served(commands: Commands, wait_s: float, known_to: int = 0) -> MemoryServer:
    waits = CommandWaits(commands, lambda: None, wait_s)
    return MemoryServer(context(ksql=Catalog().endpoints(known_to), commands=waits))


def body(number: int, **more: object) -> bytes:
    return json.dumps({"ksql": "SHOW TYPES;", "commandSequenceNumber": number, **more}).encode()


def code(reply: Reply) -> int:
    return int(json.loads(reply.body)["error_code"])


@pytest.mark.parametrize("path", ["/ksql", "/query"])
def test_a_command_that_is_not_known_in_time_is_error_50301(path: str) -> None:
    async def ask() -> Reply:
        return await served(Commands(6), SOON).client().ask("POST", path, body(7))

    refused = asyncio.run(ask())

    assert (refused.status, code(refused)) == (503, 50301)
    assert json.loads(refused.body)["message"].endswith("command sequence number: 7")


@in_loop
async def test_statements_run_as_soon_as_the_command_is_read() -> None:
    commands = Commands(5)
    commands.written = [5, 6, 7, 8]

    reply = await served(commands, DEADLINE_S, known_to=7).client().ask("POST", "/ksql", body(7))

    assert reply.status == 200
    assert commands.reads == 3


@in_loop
async def test_a_command_that_is_known_is_not_waited_for() -> None:
    commands = Commands(7)

    reply = await served(commands, SOON, known_to=7).client().ask("POST", "/ksql", body(7))

    assert reply.status == 200
    assert commands.reads == 0


@in_loop
async def test_requests_that_wait_leave_the_threads_to_other_clients() -> None:
    """The server has two threads, and one client has room for two calls that wait for one."""
    commands = Commands()
    server = served(commands, DEADLINE_S, known_to=1)
    waiting = [
        asyncio.ensure_future(server.client().ask("POST", "/ksql", body(1))) for _ in range(4)
    ]
    await until(lambda: commands.reads > 0)

    other = await server.client().ask("POST", "/ksql", b'{"ksql": "SHOW TYPES;"}')
    assert other.status == 200
    assert not any(one.done() for one in waiting)

    commands.last_command = 1
    assert [one.status for one in await asyncio.gather(*waiting)] == [200] * 4


@in_loop
async def test_requests_that_wait_at_once_share_a_read() -> None:
    commands = SlowCommands()
    commands.written = [1]
    waits = CommandWaits(commands, lambda: None, DEADLINE_S)
    waiting = [asyncio.ensure_future(waits.wait_for(1)) for _ in range(9)]
    await until(commands.began.is_set)

    waiting[0].cancel()
    commands.may_end.set()
    await asyncio.gather(*waiting[1:])

    assert commands.reads == 1


@in_loop
async def test_a_broker_that_does_not_answer_is_reported_to_all_that_wait() -> None:
    commands = Commands()
    commands.error = BrokerUnavailable("no broker answers")
    client = served(commands, DEADLINE_S).client()

    refused = await client.ask("POST", "/ksql", body(1))

    assert (refused.status, code(refused)) == (503, 50302)


@in_loop
async def test_a_terminated_service_is_not_read() -> None:
    commands = Commands()

    def ended() -> None:
        raise RequestRefused("The server is shut down", SHUT_DOWN)

    with pytest.raises(RequestRefused, match="shut down"):
        await CommandWaits(commands, ended).wait_for(1)
    assert commands.reads == 0


@pytest.mark.parametrize("given", [b'{"commandSequenceNumber":', b'{"commandSequenceNumber": 9}'])
def test_a_request_that_is_not_valid_is_refused_at_once(given: bytes) -> None:
    commands = Commands()

    async def ask() -> Reply:
        return await served(commands, DEADLINE_S).client().ask("POST", "/ksql", given)

    refused = asyncio.run(ask())

    assert (refused.status, code(refused)) == (400, 40000)
    assert commands.reads == 0


@in_loop
async def test_a_query_over_a_websocket_waits_too() -> None:
    server = served(Commands(), SOON)
    client = SocketClient(server, target("SELECT * FROM s;", commandSequenceNumber=1))

    (message,) = await client.until_texts(1)
    ended, _ = await client.end()

    assert message["error"].startswith("Timed out while waiting for a previous command")
    assert ended == 1013
