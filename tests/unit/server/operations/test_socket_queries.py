"""/ws/query: the messages of a query, its end, and who may ask."""

import asyncio
import json
from typing import Any

import pytest

from duolog.runtime.sql.answers import DeletedRow, Rows
from duolog.runtime.sql.reply.row_source import PushedRows
from duolog.server.ksql.endpoints import Endpoints
from unit.server.ksql.sessions import Catalog, OneRow, answer
from unit.server.memory import MemoryServer, context
from unit.server.operations.test_ksql import COLUMNS, STREAM, Shared, body, in_loop, server
from unit.server.sockets import SocketClient, target
from unit.server.users import ANN, BOB, access_with_users
from waiting import DEADLINE_S

PUSH = "SELECT * FROM s EMIT CHANGES;"
FIELDS = [
    {"name": "ID", "schema": {"type": "STRING", "fields": None, "memberSchema": None}},
    {"name": "N", "schema": {"type": "INTEGER", "fields": None, "memberSchema": None}},
]


def with_stream(*answers: Rows) -> Catalog:
    catalog = Catalog()
    assert catalog.endpoints().ksql(body(STREAM)).status == 200
    catalog.answers += answers
    return catalog


@in_loop
async def test_the_columns_come_first_then_each_row_then_the_end() -> None:
    rows = [("a", 1), ("b", None), DeletedRow(("c", None))]
    served = server(with_stream(answer(COLUMNS, rows)))

    client = SocketClient(served, target("SELECT * FROM s;"))
    ended = await client.end()

    assert client.values[0] == FIELDS
    assert client.texts[1:] == [
        '{"row":{"columns":["a",1]}}',
        '{"row":{"columns":["b",null]}}',
        '{"row":{"columns":["c",null],"tombstone":true}}',
        '{"error":"done"}',
    ]
    assert ended == (1000, "done")


@in_loop
async def test_properties_and_variables_of_the_request_are_those_of_the_query() -> None:
    catalog = with_stream(answer(COLUMNS, []))
    path = target(
        "SELECT * FROM ${name};",
        streamsProperties={"auto.offset.reset": "latest"},
        sessionVariables={"name": "s"},
    )

    assert await SocketClient(server(catalog), path).end() == (1000, "done")

    ((text, given),) = catalog.selected
    assert text == "SELECT * FROM s;"
    assert given["auto.offset.reset"] == "latest"


@in_loop
async def test_rows_of_a_push_query_arrive_at_once_and_it_ends_with_its_client() -> None:
    source = OneRow()
    rows = Rows(COLUMNS, PushedRows(source), unbounded=True, query_id="q")
    served = server(with_stream(rows))
    client = SocketClient(served, target(PUSH))
    assert (await client.until_texts(2))[1] == {"row": {"columns": ["a", 1]}}
    assert _endpoints(served).running.ids() == ["q"]

    client.protocol.send_close(1000)
    client.flush()

    assert await client.end() == (1000, "")
    assert await asyncio.to_thread(source.closed.wait, DEADLINE_S)
    assert _endpoints(served).running.ids() == []


@in_loop
async def test_a_client_that_vanishes_leaves_no_query() -> None:
    source = OneRow()
    rows = Rows(COLUMNS, PushedRows(source), unbounded=True, query_id="q")
    client = SocketClient(server(with_stream(rows)), target(PUSH))
    await client.until_texts(2)

    client.http.transport.abort()

    assert await asyncio.to_thread(source.closed.wait, DEADLINE_S)


@in_loop
async def test_a_push_query_over_a_shared_reader_waits_without_a_thread() -> None:
    shared = Shared()
    served = server(with_stream(shared.rows))
    served.context.readers.close()
    client = SocketClient(served, target(PUSH))
    await shared.offer(1)
    await client.until_texts(2)

    await shared.offer(500)
    found = await client.until_texts(502)
    client.http.transport.close()

    assert [one["row"]["columns"][1] for one in found[1:]] == list(range(501))
    assert await asyncio.to_thread(shared.left.wait, DEADLINE_S)


@in_loop
async def test_a_client_that_is_too_slow_is_told_why_its_query_ended() -> None:
    shared = Shared()
    served = server(with_stream(shared.rows))
    for _ in range(3):
        await shared.offer(1_000)

    client = SocketClient(served, target(PUSH))
    code, reason = await client.end()

    assert code == 1011
    assert reason.startswith("the client read too slowly: 1,000 rows waited")
    assert len(reason.encode()) <= 123
    assert client.values[-1]["error"].startswith(reason.removesuffix("..."))


@in_loop
async def test_a_query_that_ends_because_the_server_stops_says_so() -> None:
    shared = Shared()
    served = server(with_stream(shared.rows))
    client = SocketClient(served, target(PUSH))
    await shared.offer(1)
    await client.until_texts(2)

    served.context.stopping.set()
    _endpoints(served).running.interrupt_all()

    assert await client.end() == (1001, "The server is shutting down")
    assert client.values[2:] == [{"error": "The server is shutting down"}]


@in_loop
async def test_lines_of_print_are_strings_and_a_record_is_one_message() -> None:
    columns = [(name, "STRING") for name in ("rowtime", "key", "value", "partition")]
    formats = [("key format", "STRING"), ("value format", "STRING")]
    rows = [("t0", "k", 'two\nlines "x"', 0, "KAFKA_STRING", "KAFKA_STRING")]
    served = server(with_stream(answer([*columns, *formats], rows)))

    client = SocketClient(served, target("PRINT s LIMIT 1;"))

    assert await client.end() == (1000, "done")
    assert client.values == [
        "Key format: KAFKA_STRING",
        "Value format: KAFKA_STRING",
        'rowtime: t0, key: k, value: two\nlines "x", partition: 0',
        {"error": "done"},
    ]


@pytest.mark.parametrize(
    ("path", "code", "reason"),
    [
        ("/ws/query", 1003, "Error parsing request: missing request parameter"),
        ("/ws/query?request=", 1003, "Error parsing request: missing request parameter"),
        ("/ws/query?request=%7B", 1003, "Error parsing request: Invalid JSON"),
        ("/ws/query?request=%7B%7D", 1003, "Missing required property 'ksql'"),
        (target(" "), 1003, '"ksql" field of "request" must be populated'),
        (target(PUSH) + "&api-version=2", 1003, "Received invalid api version: 2"),
        (target("SELECT * FROM nope;"), 1003, "NOPE"),
        (target("SELEC 1;"), 1003, "SELEC"),
        (target("SHOW STREAMS;"), 1003, "not supported for this resource"),
        (target(PUSH + PUSH), 1003, "found 2 instead"),
        (target(PUSH, streamsProperties={"nope": 1}), 1003, "nope"),
        (target(PUSH, commandSequenceNumber=7), 1013, "command sequence number: 7"),
    ],
)
def test_a_request_that_cannot_run_is_refused_after_the_handshake(
    path: str, code: int, reason: str
) -> None:
    class Failing(Catalog):
        def session(self, properties: Any, variables: Any, checks: Any) -> Any:
            session = super().session(properties, variables, checks)
            if not self.answers:
                session.select = session.perform  # type: ignore[method-assign, assignment]
            return session

    async def run() -> tuple[int, str, list[Any]]:
        catalog = Failing()
        catalog.endpoints().ksql(body(STREAM))
        client = SocketClient(server(catalog), path)
        return *(await client.end()), client.values

    found, told, messages = asyncio.run(run())

    assert found == code
    assert reason in messages[-1]["error"]
    assert messages[-1]["error"].startswith(told.removesuffix("..."))
    assert len(messages) == 1


@in_loop
async def test_a_version_of_the_interface_may_be_named() -> None:
    served = server(with_stream(answer(COLUMNS, [])))

    path = target("SELECT * FROM s;")
    client = SocketClient(served, f"{path}&api-version=1")

    assert await client.end() == (1000, "done")


def with_users() -> MemoryServer:
    catalog = with_stream(answer(COLUMNS, [("a", 1)]))
    return MemoryServer(context(access_with_users(), ksql=catalog.endpoints()))


@pytest.mark.parametrize(
    ("headers", "more"),
    [
        ({"Authorization": ANN}, ""),
        ({}, "&access_token=token-of-ann"),
        ({}, "&access_token=no&access_token=token%2Dof-ann"),
    ],
)
def test_a_user_logs_in_by_a_header_or_by_a_token_in_the_address(
    headers: dict[str, str], more: str
) -> None:
    async def run() -> tuple[int, str]:
        return await SocketClient(with_users(), target("SELECT * FROM s;") + more, **headers).end()

    assert asyncio.run(run()) == (1000, "done")


@pytest.mark.parametrize(
    ("headers", "more", "status"),
    [
        ({}, "", 401),
        ({}, "&access_token=no", 401),
        ({"Authorization": "Basic YW5uOm5v"}, "&access_token=token-of-ann", 401),
        ({"Authorization": ANN, "Origin": "http://evil.example"}, "", 403),
        ({"Authorization": ANN, "Origin": "null"}, "", 403),
        ({"Authorization": ANN, "Origin": "http://127.0.0.1:8088"}, "", 101),
    ],
)
def test_a_stranger_gets_no_handshake(headers: dict[str, str], more: str, status: int) -> None:
    async def run() -> tuple[Any, bytes]:
        served = with_users()
        client = SocketClient(served, target("SELECT * FROM s;") + more, **headers)
        await client.http.until(lambda: b"\r\n\r\n" in client.http.transport.written)
        return await client.http.reply(), client.http.transport.written

    reply, _ = asyncio.run(run())

    assert reply.status == status
    if status != 101:
        assert json.loads(reply.body)["error_code"] // 100 == status
        assert reply.headers["connection"] == "close"
        assert "x-request-id" in reply.headers
    if status == 401:
        assert "www-authenticate" in reply.headers


@in_loop
async def test_a_session_needs_the_header_origin() -> None:
    served = with_users()
    begun = await served.client().ask("POST", "/session", Authorization=ANN)
    cookie = begun.headers["set-cookie"].partition(";")[0]

    refused = SocketClient(served, target("SELECT * FROM s;"), Cookie=cookie)
    reply = await refused.http.reply()
    origin = {"Cookie": cookie, "Origin": "http://127.0.0.1:8088"}
    client = SocketClient(served, target("SELECT * FROM s;"), **origin)

    assert reply.status == 403
    assert await client.end() == (1000, "done")


@in_loop
async def test_a_user_without_rights_reads_nothing() -> None:
    client = SocketClient(with_users(), target("SELECT * FROM s;"), Authorization=BOB)

    assert await client.end() == (1003, "You are forbidden from using this cluster.")
    assert len(client.texts) == 1


def test_statement_and_token_in_the_address_are_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def run() -> None:
        path = "/ws/query?access_token=other&request=x&access_token=token-of-ann"
        await SocketClient(with_users(), path).end()

    with caplog.at_level("INFO", "duolog.server.access"):
        asyncio.run(run())

    (record,) = (one for one in caplog.records if one.message == "answered")
    logged: Any = record
    assert logged.path == "/ws/query"
    assert "access_token" not in caplog.text
    assert (logged.status, logged.user) == (101, "ann")


@in_loop
async def test_a_request_without_an_upgrade_is_told_that_the_path_is_a_websocket() -> None:
    reply = await server(Catalog()).client().ask("GET", "/ws/query")

    assert (reply.status, reply.headers["upgrade"]) == (426, "websocket")
    assert json.loads(reply.body)["error_code"] == 42600


@in_loop
async def test_a_token_in_the_address_of_another_path_is_not_a_login() -> None:
    reply = await with_users().client().ask("GET", "/info?access_token=token-of-ann")

    assert reply.status == 401


def _endpoints(served: MemoryServer) -> Endpoints:
    assert served.context.ksql is not None
    return served.context.ksql
