"""Speed of inserts into the SQL server over HTTP, each acknowledged when it is durable.

    stream      /inserts-stream: all rows in one body, which arrives in pieces
    one by one  /inserts-stream: the next row is sent after the acknowledgement of the last one
    statements  a request of /ksql with INSERT … VALUES for each row

Rows of `plain` have a number; those of `composite` a STRUCT and BYTES.
"""

import argparse
import http.client
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.common.results_file import write_result

from duolog.runtime.server_process import ServerProcess
from duolog.testing.cluster import EmbeddedCluster

_STREAMS = (
    "CREATE STREAM plain (id STRING KEY, n INT) "
    "WITH (KAFKA_TOPIC='plain', VALUE_FORMAT='JSON', PARTITIONS=4);"
    "CREATE STREAM composite (id STRING KEY, at STRUCT<n INT, name STRING>, raw BYTES) "
    "WITH (KAFKA_TOPIC='composite', VALUE_FORMAT='JSON', PARTITIONS=4);"
)
_ROWS = {
    "plain": lambda number: {"id": f"k{number}", "n": number},
    "composite": lambda number: {
        "id": f"k{number}",
        "at": {"n": number, "name": "a name"},
        "raw": "AAECAwQFBgc=",
    },
}
_VALUES = {
    "plain": lambda number: f"('k{number}', {number})",
    "composite": lambda number: (
        f"('k{number}', STRUCT(n := {number}, name := 'a name'), TO_BYTES('AAEC', 'base64'))"
    ),
}


class SqlServer(ServerProcess):
    """`duolog server` over the brokers of a cluster."""

    kind = "SQL server"
    ready_line = re.compile(rb"^duolog server ready on http://(\S+:\d+)$")

    def __init__(self, servers: str, path: Path) -> None:
        super().__init__("127.0.0.1:0", path / "server.log")
        self._options = ["-b", servers, "--data", str(path / "sql"), "--stop-with-stdin"]

    def command(self) -> list[str]:
        program = [sys.executable, "-P", "-m", "duolog", "server"]
        return [*program, "--listen", self._listen, *self._options]

    def connect(self) -> http.client.HTTPConnection:
        """Return a connection that is not open yet."""
        host, _, port = self._address.rpartition(":")
        return http.client.HTTPConnection(host, int(port))

    def post(self, path: str, body: bytes) -> bytes:
        """Return the body of a response."""
        connection = self.connect()
        connection.request("POST", path, body)
        response = connection.getresponse()
        found = response.read()
        assert response.status == 200, found
        connection.close()
        return found


def streamed(server: SqlServer, target: str, rows: int) -> float:
    lines = b"".join(json.dumps(_ROWS[target](number)).encode() + b"\n" for number in range(rows))
    started = time.perf_counter()
    acks = server.post("/inserts-stream", _first(target) + lines)
    took_s = time.perf_counter() - started
    assert acks.count(b'"ok"') == rows, acks[-300:]
    return took_s


def one_by_one(server: SqlServer, target: str, rows: int) -> float:
    connection = server.connect()
    connection.putrequest("POST", "/inserts-stream")
    connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders()
    socket = connection.sock
    assert socket is not None
    reader = socket.makefile("rb")

    def send(data: bytes) -> None:
        socket.sendall(b"%x\r\n%b\r\n" % (len(data), data))

    def acknowledged() -> Iterator[bytes]:
        while True:
            line = reader.readline()
            assert b"error" not in line, line
            if line.startswith(b'{"status"'):
                yield line

    send(_first(target))
    acks = acknowledged()
    started = time.perf_counter()
    for number in range(rows):
        send(json.dumps(_ROWS[target](number)).encode() + b"\n")
        next(acks)
    took_s = time.perf_counter() - started
    connection.close()
    return took_s


def by_statements(server: SqlServer, target: str, rows: int) -> float:
    started = time.perf_counter()
    for number in range(rows):
        sql = f"INSERT INTO {target} VALUES {_VALUES[target](number)};"  # noqa: S608 - our own
        server.post("/ksql", json.dumps({"ksql": sql}).encode())
    return time.perf_counter() - started


def _first(target: str) -> bytes:
    return json.dumps({"target": target}).encode() + b"\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--single", type=int, default=500)
    given = parser.parse_args()
    found: list[dict[str, Any]] = []
    with (
        tempfile.TemporaryDirectory() as directory,
        EmbeddedCluster(Path(directory) / "broker") as cluster,
        SqlServer(cluster.bootstrap_servers, Path(directory)) as server,
    ):
        server.post("/ksql", json.dumps({"ksql": _STREAMS}).encode())
        for target in _ROWS:
            by_statements(server, target, 3)  # Connects the producer.
            for name, run, rows in (
                ("stream", streamed, given.rows),
                ("one by one", one_by_one, given.single),
                ("statements", by_statements, given.single),
            ):
                took_s = run(server, target, rows)
                found.append(
                    {
                        "rows": target,
                        "by": name,
                        "count": rows,
                        "ms_each": round(took_s / rows * 1000, 3),
                        "rows_per_s": round(rows / took_s),
                    }
                )
    write_result("inserts", {"cases": found})


if __name__ == "__main__":
    main()
