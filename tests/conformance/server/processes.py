"""A SQL server as a process, and clients of HTTP/1.1 and HTTP/2 that judge it."""

import http.client
import json
import re
import signal
import socket
import ssl
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import h2.config
import h2.connection
import h2.events

from duolog.runtime.server_process import ServerProcess

TIMEOUT_S = 120
PROGRAM = (sys.executable, "-P", "-m", "duolog", "server")


class SqlServerProcess(ServerProcess):
    """`duolog server` over some brokers."""

    kind = "SQL server"
    ready_line = re.compile(rb"^duolog server ready on https?://([^/\s]+:\d+)\S*$")

    def __init__(
        self, bootstrap_servers: str, path: Path, *arguments: str, listen: str = "127.0.0.1:0"
    ) -> None:
        self.log_path = path / "server.log"
        super().__init__(listen, self.log_path)
        self._arguments = (
            *("-b", bootstrap_servers, "--data", str(path / "sql"), "--stop-with-stdin"),
            *arguments,
        )

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of the last start."""
        host, _, port = self._address.rpartition(":")
        return host, int(port)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        assert self._process is not None, "the server does not run"
        self._process.send_signal(number)

    def wait(self) -> int:
        """Wait until it has ended; return its exit status."""
        assert self._process is not None, "the server does not run"
        return self._process.wait(TIMEOUT_S)

    def command(self) -> list[str]:
        return [*PROGRAM, "--listen", self._listen, *self._arguments]


def ask(
    server: SqlServerProcess,
    path: str,
    authorization: str | None = None,
    *,
    method: str = "GET",
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    tls: ssl.SSLContext | None = None,
) -> tuple[int, Any, dict[str, str]]:
    """Send a request by HTTP/1.1; return the status, the JSON or text, and the headers."""
    host, port = server.address
    given = dict(headers or {})
    if authorization is not None:
        given["Authorization"] = authorization
    connection = (
        http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
        if tls is None
        else http.client.HTTPSConnection(host, port, timeout=TIMEOUT_S, context=tls)
    )
    try:
        connection.request(method, path, body, given)
        response = connection.getresponse()
        content = response.read()
        found = {name.lower(): value for name, value in response.getheaders()}
        try:
            value = json.loads(content) if content else None
        except ValueError:
            value = content.decode()
        return response.status, value, found
    finally:
        connection.close()


def ask_by_http2(
    server: SqlServerProcess, paths: Sequence[str], tls: ssl.SSLContext | None = None
) -> list[tuple[int, Any]]:
    """Send requests on one connection of HTTP/2, with prior knowledge unless over TLS."""
    host, port = server.address
    with socket.create_connection((host, port), timeout=TIMEOUT_S) as plain:
        if tls is None:
            return _asked(plain, host, paths)
        with tls.wrap_socket(plain, server_hostname="localhost") as stream:
            assert stream.selected_alpn_protocol() == "h2"
            return _asked(stream, host, paths)


def _asked(stream: socket.socket, host: str, paths: Sequence[str]) -> list[tuple[int, Any]]:
    client = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    client.initiate_connection()
    numbers = []
    for path in paths:
        number = client.get_next_available_stream_id()
        head = [(":method", "GET"), (":path", path), (":scheme", "http"), (":authority", host)]
        client.send_headers(number, head, end_stream=True)
        numbers.append(number)
    statuses: dict[int, int] = {}
    bodies = dict.fromkeys(numbers, b"")
    open_streams = set(numbers)
    while open_streams:
        stream.sendall(client.data_to_send())
        data = stream.recv(65536)
        assert data, "the server has closed the connection"
        for event in client.receive_data(data):
            match event:
                case h2.events.ResponseReceived(stream_id=number, headers=headers):
                    statuses[number] = int(dict(headers)[b":status"])
                case h2.events.DataReceived(stream_id=number, data=piece):
                    bodies[number] += piece
                case h2.events.StreamEnded(stream_id=number):
                    open_streams.discard(number)
                case _:
                    pass
    return [(statuses[number], json.loads(bodies[number] or b"null")) for number in numbers]
