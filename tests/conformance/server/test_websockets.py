"""/ws/query of a server process: the client of the library websockets, and the one of Node."""

import json
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.frames import Close
from websockets.sync.client import ClientConnection, connect

from conformance.server.processes import TIMEOUT_S, SqlServerProcess, ask, ask_by_http2
from conformance.server.test_statements import EARLIEST, STREAM, TABLE, run
from duolog.testing.cluster import EmbeddedCluster
from waiting import wait_until

ROWS = 3_000
NODE = """
const socket = new WebSocket(process.argv[1]);
const messages = [];
socket.onmessage = (event) => messages.push(JSON.parse(event.data));
socket.onclose = (event) =>
  console.log(JSON.stringify({ messages, code: event.code, reason: event.reason }));
"""


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(tmp_path_factory.mktemp("broker")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def server(
    broker: EmbeddedCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SqlServerProcess]:
    path = tmp_path_factory.mktemp("server")
    with SqlServerProcess(broker.bootstrap_servers, path) as running:
        status, found, _ = run(running, TABLE + STREAM)
        assert status == 200, found
        rows = b"".join(b'\n{"id": "k", "n": %d}' % number for number in range(ROWS))
        body = b'{"target": "orders"}' + rows
        _, acks, _ = ask(running, "/inserts-stream", method="POST", body=body)
        assert acks.count('"ok"') == ROWS
        run(running, "INSERT INTO items VALUES ('a', 1);")
        yield running


def address(server: SqlServerProcess, sql: str, **properties: str) -> str:
    host, port = server.address
    request = quote(json.dumps({"ksql": sql, "streamsProperties": properties}))
    return f"ws://{host}:{port}/ws/query?request={request}"


def opened(server: SqlServerProcess, sql: str, **properties: str) -> ClientConnection:
    return connect(address(server, sql, **properties), open_timeout=TIMEOUT_S, max_queue=None)


def everything(socket: ClientConnection) -> tuple[list[Any], int, str]:
    """Return the messages of a WebSocket, and code and reason of its end."""
    found = []
    end: Close | None = None
    while end is None:
        try:
            found.append(json.loads(socket.recv(TIMEOUT_S)))
        except ConnectionClosed as closed:
            end = closed.rcvd or Close(1006, "the connection was cut off")
    return found, end.code, end.reason


def test_a_pull_query_is_answered(server: SqlServerProcess) -> None:
    with opened(server, "SELECT * FROM items WHERE id = 'a';") as socket:
        (columns, *rest), code, reason = everything(socket)

    assert [(one["name"], one.get("type")) for one in columns] == [("ID", "KEY"), ("N", None)]
    assert rest == [{"row": {"columns": ["a", 1]}}, {"error": "done"}]
    assert (code, reason) == (1000, "done")


def test_a_push_query_ends_at_its_limit(server: SqlServerProcess) -> None:
    query = f"SELECT n FROM orders EMIT CHANGES LIMIT {ROWS};"  # noqa: S608
    with opened(server, query, **EARLIEST) as socket:
        (_, *rows, end), code, _ = everything(socket)

    assert [one["row"]["columns"] for one in rows] == [[number] for number in range(ROWS)]
    assert (end, code) == ({"error": "done"}, 1000)


def test_a_topic_is_printed(server: SqlServerProcess) -> None:
    with opened(server, "PRINT orders FROM BEGINNING LIMIT 2;") as socket:
        found, code, _ = everything(socket)

    assert found[:2] == ["Key format: KAFKA_STRING", "Value format: JSON"]
    assert [one.partition(", key: ")[2] for one in found[2:4]] == [
        f'k, value: {{"N":{number}}}, partition: 0' for number in range(2)
    ]
    assert (found[4:], code) == ([{"error": "done"}], 1000)


def test_a_push_query_ends_with_its_client(server: SqlServerProcess) -> None:
    with opened(server, "SELECT * FROM orders EMIT CHANGES;", **EARLIEST) as socket:
        assert len(json.loads(socket.recv(TIMEOUT_S))) == 2
        assert _in_progress(server) == 2

    wait_until(lambda: _in_progress(server) == 1, "the query has ended")


def test_an_invalid_query_is_reported_whole(server: SqlServerProcess) -> None:
    name = "x" * 200
    with opened(server, f"SELECT {name} FROM items;") as socket:  # noqa: S608
        ((message,), code, reason) = everything(socket)

    assert (code, len(reason.encode())) == (1003, 123)
    assert "X" * 200 in message["error"]


def test_http2_is_served_next_to_websockets(server: SqlServerProcess) -> None:
    with opened(server, "SELECT * FROM orders EMIT CHANGES;"):
        assert [status for status, _ in ask_by_http2(server, ["/info", "/ws/query"])] == [200, 426]


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
def test_the_client_of_node_reads_a_query(server: SqlServerProcess) -> None:
    query = "SELECT id, n FROM orders EMIT CHANGES LIMIT 2;"
    command = ["node", "--no-warnings", "--experimental-websocket", "-e", NODE]

    printed = subprocess.run(
        [*command, address(server, query, **EARLIEST)],
        capture_output=True,
        check=True,
        timeout=TIMEOUT_S,
    )

    found = json.loads(printed.stdout)
    assert found["messages"][1:] == [
        {"row": {"columns": ["k", 0]}},
        {"row": {"columns": ["k", 1]}},
        {"error": "done"},
    ]
    assert (found["code"], found["reason"]) == (1000, "done")


def test_a_client_learns_that_the_server_stops(broker: EmbeddedCluster, tmp_path: Path) -> None:
    with SqlServerProcess(broker.bootstrap_servers, tmp_path) as server:
        with opened(server, "SELECT * FROM orders EMIT CHANGES;", **EARLIEST) as socket:
            assert len(json.loads(socket.recv(TIMEOUT_S))) == 2

            server.signal(signal.SIGTERM)

            found, code, reason = everything(socket)
        assert server.wait() == 0

    assert (code, reason) == (1001, "The server is shutting down")
    assert found[-1] == {"error": reason}


def _in_progress(server: SqlServerProcess) -> int:
    """Return the number of requests, that for the metrics included."""
    _, metrics, _ = ask(server, "/metrics")
    (line,) = (one for one in metrics.splitlines() if one.startswith("duolog_server_requests_in"))
    return int(float(line.rpartition(" ")[2]))
