"""Requests as a client would send them: over h2c, HTTP/1.1, or either with TLS."""

import http.client
import json
import os
import socket
import ssl
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

import h2.config
import h2.connection
import h2.events

URL = urlsplit(os.environ["SQL_URL"])
LIMIT_S = 120


def login() -> dict[str, str]:
    """Return the header of the user of the server under test; empty if it has no logins."""
    if "SQL_USER" not in os.environ:
        return {}
    user = f"{os.environ['SQL_USER']}:{os.environ['SQL_PASSWORD']}"
    return {"authorization": f"Basic {b64encode(user.encode()).decode()}"}


class Answer(NamedTuple):
    """A whole response."""

    status: int
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body) if self.body else None


class Http2:
    """One request at a time on a connection of its own."""

    def __init__(self) -> None:
        self._socket = socket.create_connection((URL.hostname, URL.port), LIMIT_S)
        if URL.scheme == "https":
            context = ssl.create_default_context(cafile=os.environ["SQL_CA_FILE"])
            context.set_alpn_protocols(["h2"])
            self._socket = context.wrap_socket(self._socket, server_hostname=URL.hostname)
        self._h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
        self._h2.initiate_connection()
        self.status = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._socket.close()

    def frames(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Iterator[bytes]:
        """Send a request; yield the data of its response as it arrives, after `status` is set."""
        head = {":method": method, ":path": path, ":scheme": URL.scheme, ":authority": URL.netloc}
        number = self._h2.get_next_available_stream_id()
        self._h2.send_headers(number, [*head.items(), *(headers or {}).items()], not body)
        if body:
            self._h2.send_data(number, body, end_stream=True)
        while True:
            self._socket.sendall(self._h2.data_to_send())
            data = self._socket.recv(65536)
            assert data, "the server has closed the connection"
            for event in self._h2.receive_data(data):
                match event:
                    case h2.events.ResponseReceived(headers=found):
                        self.status = int(dict(found)[b":status"])
                        yield b""
                    case h2.events.DataReceived(data=piece):
                        size = event.flow_controlled_length
                        self._h2.acknowledge_received_data(size, number)
                        yield piece
                    case h2.events.StreamEnded():
                        return
                    case h2.events.StreamReset():
                        raise AssertionError("the server has reset the request")
                    case _:
                        pass

    def lines(
        self, path: str, body: bytes, headers: Mapping[str, str] | None = None
    ) -> Iterator[str]:
        """Send a POST; yield the lines of its response as they arrive."""
        rest = b""
        for piece in self.frames("POST", path, body, headers):
            *whole, rest = (rest + piece).split(b"\n")
            yield from (line.decode() for line in whole)
        if rest:
            yield rest.decode()


def by_http2(
    method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
) -> Answer:
    """Send a request over HTTP/2; return the whole response."""
    with Http2() as client:
        content = b"".join(client.frames(method, path, body, headers))
        return Answer(client.status, content)


def by_http1(
    method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Send a request over HTTP/1.1; yield the lines of the response as they arrive."""
    if URL.scheme == "https":
        context = ssl.create_default_context(cafile=os.environ["SQL_CA_FILE"])
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(
            str(URL.hostname), URL.port, timeout=LIMIT_S, context=context
        )
    else:
        connection = http.client.HTTPConnection(str(URL.hostname), URL.port, timeout=LIMIT_S)
    try:
        connection.request(method, path, body, dict(headers or {}))
        response = connection.getresponse()
        while line := response.readline():
            yield line.decode()
    finally:
        connection.close()
