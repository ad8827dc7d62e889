"""Clients of a broker with TLS, over a socket pair that the test's loop serves."""

import socket
import ssl
from contextlib import suppress
from typing import Any, cast

from certificates import Certificates
from duolog.broker.network.tls_connection import TlsConnection
from duolog.security.tls.reloading import ListenerTls
from duolog.security.tls.settings import TlsSettings
from unit.broker.conftest import Client, Harness


class TlsSocket:
    """The client's end: as a socket that does not block, but encrypted."""

    def __init__(
        self,
        near: socket.socket,
        context: ssl.SSLContext,
        host: str,
        session: ssl.SSLSession | None = None,
    ) -> None:
        self.tls = context.wrap_socket(
            near, server_hostname=host, do_handshake_on_connect=False, session=session
        )

    def send(self, data: bytes | memoryview) -> int:
        try:
            return self.tls.send(data)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None

    def recv(self, size: int) -> bytes:
        try:
            return self.tls.recv(size)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None

    def close(self) -> None:
        self.tls.close()


def listener_tls(files: Certificates, client_auth: str = "none", **more: Any) -> ListenerTls:
    settings = TlsSettings(
        str(files.server), truststore_location=str(files.ca), client_auth=client_auth, **more
    )
    return ListenerTls("SSL", lambda: settings)


def connect(harness: Harness, tls: ListenerTls) -> tuple[socket.socket, TlsConnection[Any]]:
    """Return a client's socket that has sent nothing, and the broker's connection of it."""
    near, far = socket.socketpair()
    near.settimeout(0)
    far.settimeout(0)
    connection = TlsConnection(harness.broker, far, "127.0.0.1:1", None, "SSL", tls=tls)
    harness.broker.connections.add(connection)
    harness.broker.connections.unauthenticated.add(connection)
    return near, connection


def client_of(
    harness: Harness,
    tls: ListenerTls,
    context: ssl.SSLContext,
    host: str = "localhost",
    session: ssl.SSLSession | None = None,
) -> Client:
    """Return a client whose handshake is finished; it offers to resume a session.

    Raises:
        SSLError: the client or the broker refuses the other.
    """
    near, connection = connect(harness, tls)
    client = TlsSocket(near, context, host, session)
    harness._sockets.append(client.tls)  # noqa: SLF001  Closed with the others.
    done = False
    for _ in range(100):
        harness.turn()
        with suppress(ssl.SSLWantReadError):
            if not done:
                client.tls.do_handshake()
                done = True
            harness.turn()
            failed = connection._failure  # noqa: SLF001
            if not connection.handshaking or failed or connection.closed:
                break
    # It has the methods of a socket that a client of the harness calls.
    return Client(harness, cast("socket.socket", client), connection)
