"""Shares of clients in the places of a server: by user, or by address without users."""

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from duolog.runtime.sql.answers import Rows
from duolog.runtime.sql.reply.row_source import PushedRows
from duolog.security.identity.principal import USER, Identity, Principal
from duolog.server.access.client import NOBODY, Client, Login
from duolog.server.errors import OVERLOADED, TOO_MANY_REQUESTS, RequestRefused
from duolog.server.operations.shares import HOLDER, Shares, holder_of
from duolog.server.operations.workers import Workers
from unit.registry.turns import turns, until
from unit.server.http.test_http1 import ECHO, LATE, post, run, with_deadline
from unit.server.ksql.sessions import Catalog, OneRow
from unit.server.memory import Client as Connection
from unit.server.memory import MemoryServer, context
from unit.server.operations.test_ksql import STREAM, body
from unit.server.users import ANN, BOB, access_with_users
from waiting import DEADLINE_S

T = TypeVar("T")


def places(most: int) -> Shares:
    return Shares(most, full="no place is free", noun="places", hint="Wait.")


def taken_by(holder: str, shares: Shares) -> tuple[list[Callable[[], None]], RequestRefused]:
    """Take places until it is refused; return what gives them back, and the refusal."""
    HOLDER.set(holder)
    given: list[Callable[[], None]] = []
    while True:
        try:
            given.append(shares.take())
        except RequestRefused as refused:
            return given, refused


def test_one_client_may_have_two_thirds_and_each_further_one_finds_places() -> None:
    shares = places(150)

    taken = {name: taken_by(name, shares)[0] for name in ("ann", "bob", "eve")}

    assert [len(some) for some in taken.values()] == [100, 34, 11]
    assert shares.taken < 150


def test_two_clients_that_take_places_in_turn_have_equal_shares() -> None:
    shares, counts = places(150), {"ann": 0, "bob": 0}
    for _ in range(150):
        for name in counts:
            HOLDER.set(name)
            try:
                shares.take()
                counts[name] += 1
            except RequestRefused:
                pass

    assert counts == {"ann": 60, "bob": 60}


def test_the_refusal_names_the_limit_and_others_are_not_refused() -> None:
    shares = places(3)

    _, refused = taken_by("ann", shares)
    other, full = taken_by("bob", shares)

    assert refused.code == TOO_MANY_REQUESTS
    assert refused.message == (
        "You have 2 of the server's 3 places. One client may have 2 times as many as are free, "
        "and 1 are. Wait."
    )
    assert len(other) == 1
    assert (full.code, full.message) == (OVERLOADED, "no place is free")


def test_a_place_is_given_back_once_also_from_the_task_of_another_client() -> None:
    shares = places(3)
    given, _ = taken_by("ann", shares)

    HOLDER.set("bob")
    for _ in range(2):
        given[0]()

    assert shares.taken == 1
    assert len(taken_by("ann", shares)[0]) == 1


def test_nothing_is_kept_of_clients_that_have_left() -> None:
    shares = places(10)
    for number in range(100):
        HOLDER.set(f"address 10.0.0.{number}")
        shares.take()()

    assert shares.holders == 0


def test_a_client_is_a_user_or_without_users_an_address() -> None:
    ann = Client(Identity(Principal(USER, "ann"), "10.0.0.1"), login=Login.PASSWORD)

    assert holder_of(ann, "10.0.0.1") == holder_of(ann, "10.0.0.2")
    assert holder_of(NOBODY, "10.0.0.1") != holder_of(NOBODY, "10.0.0.2")
    assert holder_of(ann, "10.0.0.1") != holder_of(ann._replace(login=Login.NONE), "10.0.0.1")


def test_calls_of_clients_run_in_turn() -> None:
    order: list[str] = []

    async def scenario() -> None:
        workers, go = Workers(1, 20), threading.Event()
        started: list[asyncio.Task[Any]] = [
            await started_by("ann", workers.run(go.wait, DEADLINE_S))
        ]
        started += [
            await started_by(name, workers.run(order.append, name))
            for name in ["ann"] * 4 + ["bob"] * 2
        ]
        go.set()
        await asyncio.gather(*started)
        workers.close()

    asyncio.run(scenario())

    assert order == ["ann", "bob", "ann", "bob", "ann", "ann"]


def test_one_client_leaves_threads_to_others() -> None:
    async def scenario() -> str:
        workers, go = Workers(4, 20), threading.Event()
        long = [await started_by("ann", workers.run(go.wait, DEADLINE_S)) for _ in range(8)]
        HOLDER.set("bob")
        async with asyncio.timeout(DEADLINE_S / 2):
            answer = await workers.run(lambda: "served")
        go.set()
        assert await asyncio.gather(*long) == [True] * 8
        await until(lambda: workers.calls == 0)
        workers.close()
        return answer

    assert asyncio.run(scenario()) == "served"


def test_a_cancelled_call_that_waits_neither_runs_nor_stays() -> None:
    async def scenario() -> list[str]:
        workers, go, ran = Workers(1, 20), threading.Event(), list[str]()
        first = await started_by("ann", workers.run(go.wait, DEADLINE_S))
        second = await started_by("ann", workers.run(ran.append, "second"))
        second.cancel()
        await until(lambda: workers.calls == 1)
        assert workers.waiting == 0
        go.set()
        assert await first
        workers.close()
        return ran

    assert asyncio.run(scenario()) == []


def test_calls_that_wait_when_the_server_stops_do_not_run() -> None:
    async def scenario() -> list[str]:
        workers, go, ran = Workers(1, 20), threading.Event(), list[str]()
        first = await started_by("ann", workers.run(go.wait, DEADLINE_S))
        second = await started_by("ann", workers.run(ran.append, "second"))
        workers.close()
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await second
        assert await first
        return ran

    assert asyncio.run(scenario()) == []


def test_unending_queries_of_one_address_leave_places_to_another() -> None:
    """One client's PRINTs took all the places, so that other clients got 503."""

    async def scenario() -> None:
        catalog, sources = Catalog(), [PrintedRow() for _ in range(6)]
        readers = Workers(10, 100, reserved_max=6)
        served = MemoryServer(replace(context(ksql=catalog.endpoints()), readers=readers))
        catalog.answers += [one.answer for one in sources]
        for _ in range(4):
            await printing(served.client("10.0.0.1"))

        reply = await served.client("10.0.0.1").ask("POST", "/query", body("PRINT 's';"))
        await printing(served.client("10.0.0.2"))
        created = await served.client("10.0.0.2").ask("POST", "/ksql", body(STREAM))

        assert (reply.status, json.loads(reply.body)["error_code"]) == (429, 42900)
        assert "You have 4 of the server's 6 places for push queries" in reply.body.decode()
        assert sources[4].closed.is_set(), "the refused query has not ended"
        assert created.status == 200
        assert served.context.ksql is not None
        await asyncio.to_thread(served.context.ksql.running.interrupt_all)
        await until(lambda: served.context.counts.in_progress == 0)
        assert readers.reserved == 0

    run(scenario())


def test_requests_of_one_user_leave_places_to_another() -> None:
    async def scenario() -> None:
        limits = with_deadline(LATE, requests_max=6)
        server = MemoryServer(context(access_with_users()), limits=limits, endpoints=ECHO)
        busy = [server.client() for _ in range(4)]
        for one in busy:
            one.send(head_of("/count", ANN))
        await turns(20)

        refused = await server.client("10.0.0.2").ask("POST", "/count", Authorization=ANN)
        other = await server.client().ask("POST", "/count", Authorization=BOB)
        for one in busy:
            one.send(b"x")
        served = [(await one.reply()).status for one in busy]
        again = await server.client().ask("POST", "/count", Authorization=ANN)

        assert (refused.status, json.loads(refused.body)["error_code"]) == (429, 42900)
        assert "You have 4 of the server's 6 places for requests" in refused.body.decode()
        assert (other.status, served, again.status) == (200, [200] * 4, 200)

    run(scenario())


class PrintedRow(OneRow):
    """A row of PRINT, after which the source waits."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = [("2026/01/02", "a", "1", 0, "KAFKA_STRING", "JSON")]

    @property
    def answer(self) -> Rows:
        """Return the answer of the session to PRINT."""
        names = ("rowtime", "key", "value", "partition", "key format", "value format")
        columns = tuple((name, "STRING") for name in names)
        return Rows(columns, PushedRows(self), unbounded=True)


async def printing(client: Connection) -> None:
    """Start PRINT, and wait for its first line."""
    content = body("PRINT 's';")
    client.send(post(content, path=b"/query"))
    await client.until(lambda: b"rowtime: " in client.transport.written)


async def started_by(holder: str, call: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
    """Start a call as a client, up to its first wait."""
    HOLDER.set(holder)
    task = asyncio.ensure_future(call)
    await turns()
    return task


def head_of(path: str, authorization: str) -> bytes:
    """Return the start of a request whose body of one byte is missing."""
    lines = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {authorization}\r\n"
    return f"{lines}Content-Length: 1\r\n\r\n".encode()
