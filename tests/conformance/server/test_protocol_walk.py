"""A walk over ksqlDB's endpoints: each request has the same answer over HTTP/1.1 and HTTP/2.

Source: ksqlDB's documentation of its HTTP API.
"""

import http.client
import json
import re
import socket
from collections.abc import Iterator
from typing import Any, NamedTuple

import h2.config
import h2.connection
import h2.events
import pytest

from conformance.server.processes import TIMEOUT_S, SqlServerProcess
from conformance.server.test_statements import EARLIEST, STREAM, TABLE, run
from duolog.testing.cluster import EmbeddedCluster

JSON = "application/json"
KSQL = "application/vnd.ksql.v1+json"
LINES = "application/vnd.ksqlapi.delimited.v1"
PROTOBUF = "application/vnd.ksql.v1+protobuf"
PRINTED = "text/plain; charset=utf-8"
_VARIABLE = re.compile(rb'"(query_|transient_ORDERS_)\d+"|"[a-zA-Z]*Ms":\d+')
"""Ids of queries and times, which differ between two answers."""


class Reply(NamedTuple):
    """A response; its body has no ids and times."""

    status: int
    content_type: str
    body: bytes


class Case(NamedTuple):
    """A request, the status and the content type of its answer, and a part of the body."""

    path: str
    body: object
    accept: str
    status: int
    content_type: str
    part: str


def get(path: str, status: int, content_type: str, part: str, accept: str = "") -> Case:
    return Case(path, None, accept, status, content_type, part)


def ksql(sql: object, status: int, part: str, **more: object) -> Case:
    content_type = KSQL if status == 200 else JSON
    return Case("/ksql", {"ksql": sql, **more}, "", status, content_type, part)


def query(sql: str, accept: str, content_type: str, part: str) -> Case:
    body = {"ksql": sql, "streamsProperties": EARLIEST}
    return Case("/query", body, accept, 200, content_type, part)


def stream(sql: str, accept: str, content_type: str, part: str) -> Case:
    body = {"sql": sql, "properties": EARLIEST}
    return Case("/query-stream", body, accept, 200, content_type, part)


def refused(path: str, body: object, status: int, part: str) -> Case:
    return Case(path, body, "", status, JSON, part)


_ITEM = "SELECT * FROM items WHERE id = 'a';"
_PUSH = "SELECT * FROM orders EMIT CHANGES LIMIT 2;"
_PRINT = "PRINT 'orders' FROM BEGINNING LIMIT 1;"
_ROW = '{"row":{"columns":["a",1]}}'
_OBJECT = '[{"header":{"queryId":ID,"schema":"`ID` STRING KEY, `N` INTEGER"}},\n' + _ROW + "]\n"
_HEADER = '{"queryId":ID,"columnNames":["ID","N"],"columnTypes":["STRING","INTEGER"]}'

CASES = (
    get("/info", 200, KSQL, '"serverStatus":"RUNNING"'),
    get("/info", 200, KSQL, '"ksqlServiceId":"default_"', accept="text/html"),
    get("/healthcheck", 200, KSQL, '"commandRunner":{"isHealthy":true}'),
    get("/clusterStatus", 200, KSQL, '"hostAlive":true'),
    get("/status", 200, KSQL, '"table/`ITEMS`/create":"SUCCESS"'),
    get("/status/table/%60ITEMS%60/create", 200, KSQL, '"message":"Table created"'),
    get("/status/table/ITEMS/create", 200, KSQL, '"message":"Table created"'),
    get("/status/table/nope/create", 404, JSON, '"error_code":40400'),
    get("/v1/metadata", 200, JSON, '"ksql-cluster":"default_"'),
    get("/v1/metadata/id", 200, JSON, '"scope":{"path":[]'),
    get("/is_valid_property/auto.offset.reset", 200, KSQL, "true"),
    get("/is_valid_property/ksql.service.id", 400, JSON, '"error_code":40000'),
    get("/chc/live", 200, JSON, "{}"),
    get("/chc/ready", 200, JSON, "{}"),
    get("/ws/query", 426, JSON, '"error_code":42600'),
    get("/nope", 404, JSON, '"error_code":40400'),
    get("/ksql", 405, JSON, '"error_code":40500'),
    Case("/heartbeat", {}, "", 200, KSQL, '{"isOk":true}'),
    Case("/lag", {}, "", 200, KSQL, '{"isOk":true}'),
    ksql("", 200, "[]"),
    ksql("SHOW TYPES;", 200, '"@type":"type_list","statementText":"SHOW TYPES;"'),
    ksql("SHOW VARIABLES;", 200, '"name":"A","value":"b"', sessionVariables={"a": "b"}),
    ksql("SHOW TYPES;", 200, "type_list", requestProperties={"any": 1}, commandSequenceNumber=0),
    ksql("DROP TYPE nope;", 400, '"error_code":40001,"message":"Type NOPE does not exist."'),
    ksql("SHOW TYPES;", 400, "[ksql.service.id]", streamsProperties={"ksql.service.id": "x"}),
    ksql("SHOW TYPES;", 400, "nope", streamsProperties={"nope": "x"}),
    ksql("DESCRIBE ${a};", 400, "2 statements of one", sessionVariables={"a": "b; DROP STREAM c"}),
    ksql(_ITEM, 400, '"error_code":40002'),
    ksql("ASSERT TOPIC nope TIMEOUT 0 SECONDS;", 417, '"error_code":41700'),
    ksql("SHOW CONNECTORS;", 500, '"error_code":50000'),
    ksql("DROP STREAM commands DELETE TOPIC;", 400, "Cannot delete the reserved Kafka topic"),
    ksql(5, 400, "'ksql' must be a string"),
    refused("/ksql", "", 400, "Invalid JSON in request"),
    refused("/ksql", '{"ksql": "SHOW \\ud800;"}', 400, "Invalid JSON in request"),
    refused("/ksql", " " * 5_000_000, 413, '"error_code":41300'),
    query(_ITEM, "", KSQL, _OBJECT),
    query(_ITEM, JSON, KSQL, _OBJECT),
    query(_ITEM, f"{JSON};q=0.1, {LINES};q=0.2", LINES, f'{_HEADER}\n["a",1]\n'),
    query(_ITEM, PROTOBUF, PROTOBUF, '{"row":{"protobufBytes":"CgFhEAE="}}'),
    query("SELECT * FROM items;", "", KSQL, _OBJECT),
    query(_PUSH, "", KSQL, '{"row":{"columns":["x",1]}},\n{"row":{"columns":["y",2]}},\n{"final'),
    query(_PRINT, "", PRINTED, "Key format: KAFKA_STRING\nValue format: JSON\nrowtime: "),
    Case("/query", {"sql": _PUSH, "streamsProperties": EARLIEST}, "", 200, KSQL, '["y",2]'),
    stream(_ITEM, "", LINES, f'{_HEADER}\n["a",1]\n'),
    stream(_ITEM, "application/*", LINES, f'{_HEADER}\n["a",1]\n'),
    stream(_ITEM, f"{KSQL}; q=0.9, {JSON}; q=0.5", KSQL, _OBJECT),
    stream("SELECT * FROM items;", JSON, JSON, f'[{_HEADER},\n["a",1]]\n'),
    stream(_PUSH, "", LINES, f'{_HEADER}\n["x",1]\n["y",2]\n'),
    refused("/query", {"ksql": " "}, 400, "found 0 instead"),
    refused("/query", {"ksql": f"{_ITEM}{_ITEM}"}, 400, "found 2 instead"),
    refused("/query-stream", {"ksql": _ITEM}, 400, "Missing required property 'sql'"),
    refused("/query-stream", {"sql": "SELECT * FROM nope;"}, 400, '"@type":"statement_error"'),
    refused("/close-query", {"queryId": "nope"}, 400, "No query with id nope"),
    refused("/inserts-stream", '{"target":"nope"}\n', 400, "unknown stream: NOPE"),
    Case("/inserts-stream", '{"target":"orders"}\n', "", 200, LINES, ""),
    Case("/inserts-stream", '{"target":"orders"}\n{"n":"x"}\n', JSON, 200, JSON, '"seq":0'),
    refused("/ksql/terminate", {"deleteTopicList": ["("]}, 400, "Invalid pattern: ("),
)  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlServerProcess]:
    path = tmp_path_factory.mktemp("walk")
    commands = (
        "CREATE STREAM commands (id STRING KEY) WITH "
        "(KAFKA_TOPIC='_duolog-ksql-default__command_topic', VALUE_FORMAT='JSON');"
    )
    rows = "".join(
        f"INSERT INTO {name} VALUES ('{key}', {n});"  # noqa: S608
        for name, key, n in (("items", "a", 1), ("orders", "x", 1), ("orders", "y", 2))
    )
    with (
        EmbeddedCluster(path / "broker") as broker,
        SqlServerProcess(broker.bootstrap_servers, path) as running,
    ):
        for text in (TABLE + STREAM, commands, rows):
            status, found, _ = run(running, text)
            assert status == 200, found
        yield running


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.path} {case.part}"[:50])
def test_each_request_has_one_answer_over_both_versions_of_http(
    server: SqlServerProcess, case: Case
) -> None:
    one, two = by_http1(server, case), by_http2(server, case)

    assert (one.status, one.content_type) == (case.status, case.content_type), one.body
    assert case.part in one.body.decode()
    assert two == one
    if case.content_type == JSON and case.status >= 400:
        error = json.loads(one.body)
        assert error["error_code"] // 100 == case.status
        assert (error["@type"] == "statement_error") == ("statementText" in error)


def by_http1(server: SqlServerProcess, case: Case) -> Reply:
    connection = http.client.HTTPConnection(*server.address, timeout=TIMEOUT_S)
    try:
        connection.request(_method(case), case.path, _body(case), dict(_headers(case)))
        found = connection.getresponse()
        return _reply(found.status, found.getheader("Content-Type", ""), found.read())
    finally:
        connection.close()


def by_http2(server: SqlServerProcess, case: Case) -> Reply:
    host, port = server.address
    client = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    client.initiate_connection()
    head = [(":method", _method(case)), (":path", case.path), (":scheme", "http")]
    head += [(":authority", f"{host}:{port}"), *_headers(case)]
    left = _body(case)
    client.send_headers(1, head, end_stream=not left)
    headers: dict[bytes, bytes] = {}
    content, ended = b"", False
    with socket.create_connection((host, port), timeout=TIMEOUT_S) as connected:
        while not ended:
            while left and not ended and (size := _room(client)):
                client.send_data(1, left[:size], end_stream=size >= len(left))
                left = left[size:]
            connected.sendall(client.data_to_send())
            data = connected.recv(65536)
            assert data, "the server has closed the connection"
            for event in client.receive_data(data):
                match event:
                    case h2.events.ResponseReceived(headers=given):
                        headers = dict(given)
                    case h2.events.DataReceived(data=piece):
                        content += piece
                    case h2.events.StreamEnded() | h2.events.StreamReset():
                        ended = True
                    case _:
                        pass
    content_type = headers.get(b"content-type", b"").decode()
    return _reply(int(headers[b":status"]), content_type, content)


def _room(client: Any) -> int:
    """Return how many bytes of a body the server accepts now."""
    return int(min(client.local_flow_control_window(1), client.max_outbound_frame_size))


def _method(case: Case) -> str:
    return "GET" if case.body is None else "POST"


def _body(case: Case) -> bytes:
    if case.body is None:
        return b""
    return (case.body if isinstance(case.body, str) else json.dumps(case.body)).encode()


def _headers(case: Case) -> list[tuple[str, str]]:
    body = _body(case)
    length = [("content-length", str(len(body)))] if case.body is not None else []
    return [*length, *([("accept", case.accept)] if case.accept else [])]


def _reply(status: int, content_type: str, body: bytes) -> Reply:
    return Reply(status, content_type, _VARIABLE.sub(b"ID", body))
