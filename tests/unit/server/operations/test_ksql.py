"""ksqlDB's endpoints over a connection: statuses, streams of rows, clients that leave."""

import asyncio
import json
import logging
import re
import threading
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import wraps
from typing import Any

import pytest

from duolog.runtime.sql.answers import Rows
from duolog.runtime.sql.fanout.positions import Place
from duolog.runtime.sql.fanout.row_buffer import BufferLimits, Emitted, RowBuffer
from duolog.runtime.sql.fanout.shared_readers import SharedRows
from duolog.runtime.sql.fanout.tokens import Tokens
from duolog.runtime.sql.reply.row_source import PushedRows
from duolog.server.access.client import NOBODY
from duolog.server.limits import Limits
from duolog.server.messages import Request, Streamed
from duolog.server.operations import ksql as operations
from duolog.server.operations.workers import Workers
from unit.registry.turns import until
from unit.server.ksql.sessions import Catalog, OneRow, answer
from unit.server.memory import MemoryServer, Reply, context
from unit.server.users import BOB, Rules, access_with_users
from waiting import DEADLINE_S

STREAM = "CREATE STREAM s (id STRING KEY, n INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');"
COLUMNS = (("ID", "STRING"), ("N", "INTEGER"))


def in_loop(test: Callable[[], Coroutine[None, None, None]]) -> Callable[[], None]:
    """Run a test in an event loop."""

    @wraps(test)
    def run() -> None:
        asyncio.run(test())

    return run


def server(catalog: Catalog) -> MemoryServer:
    return MemoryServer(context(ksql=catalog.endpoints()))


def body(sql: str) -> bytes:
    return json.dumps({"ksql": sql}).encode()


@in_loop
async def test_statements_and_the_status_of_their_command() -> None:
    client = server(Catalog()).client()

    created = await client.ask("POST", "/ksql", body(STREAM))
    status = await client.ask("GET", "/status/stream/%60S%60/create")
    unquoted = await client.ask("GET", "/status/stream/S/create")
    statuses = await client.ask("GET", "/status")
    unknown = await client.ask("GET", "/status/stream/X/create")

    assert (created.status, created.headers["content-type"]) == (
        200,
        "application/vnd.ksql.v1+json",
    )
    assert json.loads(created.body)[0]["commandId"] == "stream/`S`/create"
    assert json.loads(status.body) == {
        "status": "SUCCESS",
        "message": "Stream created",
        "queryId": None,
    }
    assert unquoted.body == status.body
    assert json.loads(statuses.body) == {"commandStatuses": {"stream/`S`/create": "SUCCESS"}}
    assert unknown.status == 404


@in_loop
async def test_an_error_of_a_statement_has_its_status() -> None:
    client = server(Catalog()).client()

    refused = await client.ask("POST", "/ksql", body("DROP STREAM x;"))

    assert refused.status == 400
    assert json.loads(refused.body)["@type"] == "statement_error"


@pytest.mark.parametrize(
    ("path", "member", "code"), [("/ksql", "ksql", "40001"), ("/query-stream", "sql", "40001")]
)
def test_the_access_log_has_the_code_of_an_error(
    caplog: pytest.LogCaptureFixture, path: str, member: str, code: str
) -> None:
    async def run() -> None:
        sent = json.dumps({member: "SELECT FROM;"}).encode()
        assert (await server(Catalog()).client().ask("POST", path, sent)).status == 400

    with caplog.at_level(logging.INFO, logger="duolog.server.access"):
        asyncio.run(run())

    (record,) = (vars(one) for one in caplog.records if one.name == "duolog.server.access")
    assert (record["status"], record["error_code"]) == (400, code)


@in_loop
async def test_rows_of_a_query_are_sent_in_chunks() -> None:
    catalog = Catalog()
    client = server(catalog).client()
    await client.ask("POST", "/ksql", body(STREAM))
    catalog.answers.append(answer(COLUMNS, [("a", 1)], query_id="q"))

    client.send(_post("/query", body("SELECT * FROM s;")))
    await client.until(lambda: client.transport.written.endswith(b"0\r\n\r\n"))

    written = client.transport.written
    assert b"transfer-encoding: chunked" in written.lower()
    assert b'{"row":{"columns":["a",1]}}' in written


@in_loop
async def test_a_push_query_sends_each_row_at_once_and_ends_with_its_client() -> None:
    catalog, source = Catalog(), OneRow()
    served = server(catalog)
    client = served.client()
    await client.ask("POST", "/ksql", body(STREAM))
    catalog.answers.append(Rows(COLUMNS, PushedRows(source), unbounded=True, query_id="q"))

    client.send(
        _post("/query-stream", json.dumps({"sql": "SELECT * FROM s EMIT CHANGES;"}).encode())
    )
    await client.until(lambda: b'["a",1]' in client.transport.written)
    client.transport.close()

    await asyncio.to_thread(source.closed.wait, DEADLINE_S)
    assert source.closed.is_set()
    assert served.context.ksql is not None
    assert served.context.ksql.running.ids() == []


@in_loop
async def test_a_client_that_reads_nothing_leaves_no_query() -> None:
    catalog, source = Catalog(), OneRow()
    endpoints = catalog.endpoints()
    endpoints.ksql(body(STREAM))
    catalog.answers.append(Rows(COLUMNS, PushedRows(source), unbounded=True, query_id="q"))
    request = Request(NOBODY, body=body("SELECT * FROM s EMIT CHANGES;"))

    streamed = await operations.query(request, context(ksql=endpoints))
    assert isinstance(streamed, Streamed)
    pieces: Any = streamed.pieces
    await pieces.aclose()

    assert source.closed.is_set()
    assert endpoints.running.ids() == []


class SlowEnd(OneRow):
    """A source that ends when a test lets it."""

    def __init__(self) -> None:
        super().__init__()
        self.ending = threading.Event()
        self.may_end = threading.Event()

    def close(self) -> None:
        self.ending.set()
        assert self.may_end.wait(DEADLINE_S)
        super().close()


@in_loop
async def test_a_query_that_takes_long_to_end_delays_no_other_client() -> None:
    catalog, source = Catalog(), SlowEnd()
    served = server(catalog)
    client, other = served.client(), served.client()
    await client.ask("POST", "/ksql", body(STREAM))
    catalog.answers.append(Rows(COLUMNS, PushedRows(source), unbounded=True, query_id="q"))
    client.send(
        _post("/query-stream", json.dumps({"sql": "SELECT * FROM s EMIT CHANGES;"}).encode())
    )
    await client.until(lambda: b'["a",1]' in client.transport.written)

    client.transport.close()
    assert await asyncio.to_thread(source.ending.wait, DEADLINE_S)
    answered = await other.ask("GET", "/info")
    source.may_end.set()

    assert answered.status == 200
    assert await asyncio.to_thread(source.closed.wait, DEADLINE_S)


@in_loop
async def test_push_queries_above_the_limit_are_refused_and_others_are_answered() -> None:
    catalog = Catalog()
    served = server(catalog)
    push = _post("/query-stream", json.dumps({"sql": "SELECT * FROM s EMIT CHANGES;"}).encode())
    clients = [served.client() for _ in range(2)]
    await clients[0].ask("POST", "/ksql", body(STREAM))
    sources = [OneRow() for _ in range(4)]
    catalog.answers += [Rows(COLUMNS, PushedRows(one), unbounded=True) for one in sources[:3]]
    for client in clients:
        client.send(push)
        await client.until(lambda one=client: b'["a",1]' in one.transport.written)  # type: ignore[misc]

    refused = await served.client().ask("POST", "/query", body("SELECT * FROM s EMIT CHANGES;"))
    catalog.answers.append(answer(COLUMNS, [("b", 2)], query_id="q"))
    pull = served.client()
    pull.send(_post("/query", body("SELECT * FROM s;")))
    await pull.until(lambda: b'{"row":{"columns":["b",2]}}' in pull.transport.written)
    clients[0].transport.close()
    assert await asyncio.to_thread(sources[0].closed.wait, DEADLINE_S)
    await until(lambda: served.context.counts.in_progress == 1)
    catalog.answers.append(Rows(COLUMNS, PushedRows(sources[3]), unbounded=True))
    late = served.client()
    late.send(push)
    await late.until(lambda: b'["a",1]' in late.transport.written)

    assert (refused.status, json.loads(refused.body)["error_code"]) == (503, 50300)
    assert "at most 2 push queries with joins" in json.loads(refused.body)["message"]
    assert sources[2].closed.is_set()
    assert not sources[1].closed.is_set()


@in_loop
async def test_close_query_ends_the_response_of_another_connection() -> None:
    catalog, source = Catalog(), OneRow()
    served = server(catalog)
    client, other = served.client(), served.client()
    await client.ask("POST", "/ksql", body(STREAM))
    catalog.answers.append(Rows(COLUMNS, PushedRows(source), unbounded=True, query_id="q"))
    client.send(
        _post("/query-stream", json.dumps({"sql": "SELECT * FROM s EMIT CHANGES;"}).encode())
    )
    await client.until(lambda: b'["a",1]' in client.transport.written)

    closed = await other.ask("POST", "/close-query", b'{"queryId": "q"}')
    await client.until(lambda: client.transport.written.endswith(b"0\r\n\r\n"))

    assert closed.status == 200
    assert await asyncio.to_thread(source.closed.wait, DEADLINE_S)


class Shared:
    """A push query whose rows another thread offers, as the reader of a topic does."""

    def __init__(self) -> None:
        self.buffer = RowBuffer(BufferLimits(rows_max=1_000), Place({0: 0}))
        self.left = threading.Event()
        self._next = 0
        source = SharedRows(self.buffer, Tokens("test_", "q"), self.left.set)
        self.rows = Rows(COLUMNS, PushedRows(source), unbounded=True, query_id="q")

    async def offer(self, count: int) -> None:
        await asyncio.to_thread(self._offer, count)

    def _offer(self, count: int) -> None:
        before, after = self._next, self._next + count
        marks = [(0, offset) for offset in range(before, after)]
        emitted = Emitted([("a", offset) for _, offset in marks], marks, count)
        self.buffer.offer(emitted, Place({0: before}), Place({0: after}))
        self._next = after


def _places(written: bytes | bytearray) -> list[Place | None]:
    """Return the places of the tokens in a response."""
    found = re.findall(rb'{"continuationToken":"([^"]+)"}', written)
    return [Tokens("test_", "q").place(one.decode()) for one in found]


def _push(**properties: object) -> bytes:
    request = {"sql": "SELECT * FROM s EMIT CHANGES;", "properties": properties}
    return _post("/query-stream", json.dumps(request).encode())


@in_loop
async def test_a_push_query_over_a_shared_reader_waits_without_a_thread() -> None:
    catalog, shared = Catalog(), Shared()
    served = server(catalog)
    served.context.readers.close()
    client = served.client()
    await client.ask("POST", "/ksql", body(STREAM))
    catalog.answers.append(shared.rows)
    client.send(_push())
    await shared.offer(1)
    await client.until(lambda: b'["a",0]' in client.transport.written)

    await shared.offer(500)
    await client.until(lambda: b'["a",500]' in client.transport.written)
    client.transport.close()

    assert await asyncio.to_thread(shared.left.wait, DEADLINE_S)
    assert served.context.ksql is not None
    assert served.context.ksql.running.ids() == []
    assert client.transport.written.count(b'["a",') == 501
    assert b"continuationToken" not in client.transport.written


@in_loop
async def test_many_clients_that_subscribe_at_the_same_moment_are_all_served() -> None:
    """All clients of a server do so after its restart."""
    catalog, limits = Catalog(), Limits()
    served = MemoryServer(
        replace(
            context(ksql=catalog.endpoints()), workers=Workers(limits.workers, limits.waiting_max)
        )
    )
    clients = [served.client() for _ in range(400)]
    await clients[0].ask("POST", "/ksql", body(STREAM))
    sources = [Shared() for _ in clients]
    catalog.answers += [one.rows for one in sources]

    for client in clients:
        client.send(_push())
    for client in clients:
        await client.until(lambda one=client: b"\r\n\r\n" in one.transport.written)  # type: ignore[misc]

    refused = [one for one in clients if not one.transport.written.startswith(b"HTTP/1.1 200")]
    for client in clients:
        client.transport.close()
    await until(lambda: served.context.counts.in_progress == 0)
    assert not refused
    assert all(one.left.is_set() for one in sources)


@in_loop
async def test_a_client_that_asks_for_tokens_gets_one_with_rows_and_one_at_the_end() -> None:
    catalog, shared = Catalog(), Shared()
    client, other = (served := server(catalog)).client(), served.client()
    await client.ask("POST", "/ksql", body(STREAM))
    catalog.answers.append(shared.rows)
    client.send(_push(**{"ksql.query.push.v2.continuation.tokens.enabled": True}))
    await shared.offer(3)
    await client.until(lambda: b'["a",2]' in client.transport.written)

    await other.ask("POST", "/close-query", b'{"queryId": "q"}')
    await client.until(lambda: client.transport.written.endswith(b"0\r\n\r\n"))

    assert _places(client.transport.written)[-1] == Place({0: 3})
    assert b"error_code" not in client.transport.written
    assert shared.left.is_set()


@in_loop
async def test_a_client_that_asks_for_tokens_gets_one_before_the_first_row() -> None:
    catalog, shared = Catalog(), Shared()
    client = server(catalog).client()
    await client.ask("POST", "/ksql", body(STREAM))
    catalog.answers.append(shared.rows)

    client.send(_push(**{"ksql.query.push.v2.continuation.tokens.enabled": True}))
    await client.until(lambda: b"continuationToken" in client.transport.written)

    assert _places(client.transport.written) == [Place({0: 0})]


@pytest.mark.parametrize("tokens", [True, False])
def test_only_a_client_with_tokens_learns_that_the_server_stops(*, tokens: bool) -> None:
    async def scenario() -> bytes:
        catalog, shared = Catalog(), Shared()
        client = (served := server(catalog)).client()
        await client.ask("POST", "/ksql", body(STREAM))
        catalog.answers.append(shared.rows)
        client.send(_push(**{"ksql.query.push.v2.continuation.tokens.enabled": tokens}))
        await shared.offer(1)
        await client.until(lambda: b'["a",0]' in client.transport.written)

        assert served.context.ksql is not None
        served.context.ksql.running.interrupt_all()

        await client.until(lambda: client.transport.written.endswith(b"0\r\n\r\n"))
        return bytes(client.transport.written)

    written = asyncio.run(scenario())

    assert (b'"error_code":50302' in written) is tokens
    assert _places(written)[-1:] == [Place({0: 1})] * tokens


@in_loop
async def test_a_query_without_tokens_reports_that_the_server_stops() -> None:
    catalog, source = Catalog(), OneRow()
    client = (served := server(catalog)).client()
    await client.ask("POST", "/ksql", body(STREAM))
    catalog.answers.append(Rows(COLUMNS, PushedRows(source), unbounded=True, query_id="q"))
    client.send(_push())
    await client.until(lambda: b'["a",1]' in client.transport.written)

    served.context.stopping.set()
    assert served.context.ksql is not None
    await asyncio.to_thread(served.context.ksql.running.interrupt_all)

    await client.until(lambda: client.transport.written.endswith(b"0\r\n\r\n"))
    assert b'"error_code":50302' in client.transport.written
    assert source.closed.is_set()


@in_loop
async def test_the_response_of_a_client_that_is_too_slow_ends_with_the_reason() -> None:
    catalog, shared = Catalog(), Shared()
    client = server(catalog).client()
    await client.ask("POST", "/ksql", body(STREAM))
    catalog.answers.append(shared.rows)
    for _ in range(3):
        await shared.offer(1_000)

    client.send(_push(**{"ksql.query.push.v2.continuation.tokens.enabled": "true"}))
    await client.until(lambda: client.transport.written.endswith(b"0\r\n\r\n"))

    assert b"the client read too slowly: 1,000 rows waited" in client.transport.written
    # Clients continue after errors of this status.
    assert b'"error_code":40800' in client.transport.written
    (token,) = re.findall(rb'{"continuationToken":"([^"]+)"}', client.transport.written)
    assert Tokens("test_", "q").place(token.decode()) == Place({0: 0})
    assert shared.left.is_set()


@pytest.mark.parametrize("path", ["/ksql", "/query", "/query-stream", "/inserts-stream"])
def test_a_user_without_rights_runs_no_statement(path: str) -> None:
    catalog = Catalog()
    statement = json.dumps({"ksql": STREAM, "sql": STREAM, "target": "s"})

    async def run() -> int:
        served = MemoryServer(context(access_with_users(Rules()), ksql=catalog.endpoints()))
        origin = "http://127.0.0.1:8088"
        client = served.client()
        content = statement.encode()
        return (await client.ask("POST", path, content, Origin=origin, Authorization=BOB)).status

    assert asyncio.run(run()) in {400, 403}
    assert catalog.performed == []
    assert catalog.selected == []


@pytest.mark.parametrize(
    ("path", "sql"),
    [
        ("/ksql", "CREATE TYPE code AS INT;"),
        ("/ksql", "DROP STREAM s;"),
        ("/ksql", "DROP STREAM missing;"),
        ("/ksql", "INSERT INTO s VALUES ('a', 1);"),
        ("/query", "SELECT * FROM s;"),
        ("/query-stream", "SELECT * FROM s EMIT CHANGES;"),
        ("/query", "PRINT 's';"),
    ],
)
def test_a_user_needs_the_rights_of_a_statement(path: str, sql: str) -> None:
    catalog = Catalog()
    catalog.endpoints().ksql(body(STREAM))
    catalog.performed.clear()

    async def run() -> Reply:
        served = MemoryServer(context(access_with_users(Rules()), ksql=catalog.endpoints()))
        content = json.dumps({"ksql": sql, "sql": sql}).encode()
        origin = "http://127.0.0.1:8088"
        return await served.client().ask("POST", path, content, Origin=origin, Authorization=BOB)

    refused = asyncio.run(run())

    assert refused.status == 403
    assert json.loads(refused.body)["error_code"] == 40300
    assert catalog.performed == []
    assert catalog.selected == []


@in_loop
async def test_a_server_without_a_service_is_not_ready() -> None:
    refused = await MemoryServer().client().ask("POST", "/ksql", body("SHOW STREAMS;"))

    assert (refused.status, json.loads(refused.body)["error_code"]) == (503, 50302)


def _post(path: str, content: bytes) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:8088\r\nContent-Length: {len(content)}\r\n\r\n"
    return head.encode() + content


def _chunk(content: bytes) -> bytes:
    return f"{len(content):x}\r\n".encode() + content + b"\r\n"
