"""Statements, rows and queries over HTTP, on a real broker; push queries of a server that stops."""

import http.client
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.server.processes import TIMEOUT_S, SqlServerProcess, ask
from duolog.testing.cluster import EmbeddedCluster

STREAM = (
    "CREATE STREAM orders (id STRING KEY, n INT) "
    "WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='JSON', PARTITIONS=1);"
)
TABLE = (
    "CREATE TABLE items (id STRING PRIMARY KEY, n INT) "
    "WITH (KAFKA_TOPIC='items', VALUE_FORMAT='JSON', PARTITIONS=1);"
)
EARLIEST = {"auto.offset.reset": "earliest"}


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
        status, found, _ = run(running, TABLE)
        assert status == 200, found
        yield running


def run(server: SqlServerProcess, sql: str, path: str = "/ksql", **given: Any) -> Any:
    body = {"ksql": sql, "streamsProperties": given}
    return ask(server, path, method="POST", body=json.dumps(body).encode())


def test_an_inserted_row_is_in_the_next_answer(server: SqlServerProcess) -> None:
    for number in range(3):
        row = f"('a', {number})"
        status, entities, _ = run(server, f"INSERT INTO items VALUES {row};")  # noqa: S608
        assert (status, entities) == (200, [])

        status, parts, _ = run(server, "SELECT * FROM items WHERE id = 'a';", "/query")

        assert status == 200
        assert parts[0]["header"]["schema"] == "`ID` STRING KEY, `N` INTEGER"
        assert parts[1:] == [{"row": {"columns": ["a", number]}}]


def test_a_deleted_row_is_reported_to_push_queries(server: SqlServerProcess) -> None:
    run(server, "INSERT INTO items VALUES ('gone', 1); DELETE FROM items WHERE id = 'gone';")

    query = "SELECT n, id FROM items WHERE id = 'gone' EMIT CHANGES LIMIT 2;"
    _, parts, _ = run(server, query, "/query", **EARLIEST)

    assert parts[1:] == [
        {"row": {"columns": [1, "gone"]}},
        {"row": {"columns": [None, "gone"], "tombstone": True}},
        {"finalMessage": "Limit Reached"},
    ]


def test_statements_of_a_refused_request_have_not_run(server: SqlServerProcess) -> None:
    status, error, _ = run(server, "CREATE TYPE code AS INT; DROP STREAM missing;")
    _, types, _ = run(server, "SHOW TYPES;")

    assert (status, error["error_code"]) == (400, 40001)
    assert types[0]["types"] == {}


def test_a_command_number_can_be_waited_for(server: SqlServerProcess) -> None:
    _, (entity,), _ = run(server, "CREATE TYPE kind AS STRING;")
    number = entity["commandSequenceNumber"]
    body = json.dumps({"ksql": "DROP TYPE kind;", "commandSequenceNumber": number}).encode()

    status, (dropped,), _ = ask(server, "/ksql", method="POST", body=body)

    assert status == 200
    assert dropped["commandSequenceNumber"] == number + 1


def test_a_server_that_stops_ends_its_push_queries(broker: EmbeddedCluster, tmp_path: Path) -> None:
    with SqlServerProcess(broker.bootstrap_servers, tmp_path, "--service-id", "stops_") as server:
        _stop_while_a_client_reads(server)


def _stop_while_a_client_reads(server: SqlServerProcess) -> None:
    run(server, STREAM)
    run(server, "INSERT INTO orders VALUES ('x', 1);")
    connection = http.client.HTTPConnection(*server.address, timeout=TIMEOUT_S)
    query = {"ksql": "SELECT * FROM orders EMIT CHANGES;", "streamsProperties": EARLIEST}
    connection.request("POST", "/query", json.dumps(query).encode())
    response = connection.getresponse()
    header, row = response.readline(), response.readline()
    assert b'"header"' in header
    assert b'"columns":["x",1]' in row

    server.signal(signal.SIGTERM)
    rest = response.read()
    connection.close()

    assert server.wait() == 0
    whole = json.loads(header + row + rest)
    assert whole[-1] == {"finalMessage": "Query Completed"}
