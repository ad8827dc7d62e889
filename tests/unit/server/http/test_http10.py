"""HTTP/1.0: responses without chunks."""

import asyncio
import json

from duolog.runtime.sql.answers import Rows
from duolog.runtime.sql.reply.row_source import PushedRows
from unit.registry.turns import until
from unit.server.ksql.sessions import Catalog, OneRow, answer
from unit.server.operations.test_ksql import COLUMNS, STREAM, _post, _push, body, in_loop, server
from waiting import DEADLINE_S


@in_loop
async def test_a_client_of_http_1_0_gets_rows_without_chunks() -> None:
    catalog = Catalog()
    client = server(catalog).client()
    await client.ask("POST", "/ksql", body(STREAM))
    catalog.answers.append(answer(COLUMNS, [("a", 1), ("b", 2)], query_id="q"))

    content = body("SELECT * FROM s;").replace(b'"ksql"', b'"sql"')
    client.send(_post("/query-stream", content).replace(b"HTTP/1.1", b"HTTP/1.0"))
    await client.closed()

    head, _, rows = client.transport.written.partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head.lower()
    assert b"connection: close" in head.lower()
    header, *values = map(json.loads, rows.splitlines())
    assert (header["queryId"], values) == ("q", [["a", 1], ["b", 2]])


@in_loop
async def test_a_client_of_http_1_0_gets_a_length_if_it_is_known() -> None:
    client = server(Catalog()).client()

    client.send(_post("/ksql", body("SHOW STREAMS;")).replace(b"HTTP/1.1", b"HTTP/1.0"))
    await client.closed()

    head, _, content = client.transport.written.partition(b"\r\n\r\n")
    assert f"content-length: {len(content)}".encode() in head.lower()


@in_loop
async def test_the_query_of_a_client_of_http_1_0_ends_when_it_leaves() -> None:
    catalog, source = Catalog(), OneRow()
    client = (served := server(catalog)).client()
    await client.ask("POST", "/ksql", body(STREAM))
    catalog.answers.append(Rows(COLUMNS, PushedRows(source), unbounded=True, query_id="q"))
    client.send(_push().replace(b"HTTP/1.1", b"HTTP/1.0"))
    await client.until(lambda: b'["a",1]' in client.transport.written)

    client.transport.close()

    assert await asyncio.to_thread(source.closed.wait, DEADLINE_S)
    await until(lambda: served.context.counts.in_progress == 0)
