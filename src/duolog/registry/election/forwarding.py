"""Send a request to the leader, over connections that are kept open.

Thread: any; a call blocks until the leader has answered.
"""

import http.client
import selectors
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

CONNECT_S: Final = 5.0
TIMEOUT_S: Final = 12.0
"""Time for an answer. A leader that was paused is replaced in less, see `Election`."""
_IDLE_MAX: Final = 16
_FORWARDED: Final = (
    "content-type",
    "accept",
    "authorization",
    "x-request-id",
    "confluent-accept-unknown-properties",
)
MARK: Final = ("X-Forward", "true")
"""The header of a forwarded request, which is not forwarded again."""
OFFSET_HEADER: Final = "X-Registry-Offset"
"""The leader reports how far it had read, so that a follower can catch up before it answers."""


class ForwardingFailed(Exception):
    """The leader could not be reached; `sent` is True if it may have received the request."""

    def __init__(self, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent


@dataclass(frozen=True, slots=True)
class LeaderAnswer:
    """The leader's answer, and the offset up to which the leader had read the topic."""

    status: int
    body: bytes
    content_type: str
    offset: int | None


class Forwarder:
    """Sends requests to one or another leader.

    With `encrypted`, only over HTTPS: requests contain the passwords of clients, which came
    encrypted, and the leader's address is what a member of the group says.
    """

    def __init__(self, timeout_s: float = TIMEOUT_S, *, encrypted: bool = False) -> None:
        self._encrypted = encrypted
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._idle: dict[str, list[http.client.HTTPConnection]] = {}

    def send(
        self, url: str, method: str, target: str, given: Mapping[str, str], body: bytes
    ) -> LeaderAnswer:
        """Send one request and return the answer.

        Raises:
            ForwardingFailed: the leader cannot be reached.
        """
        if self._encrypted and not url.startswith("https://"):
            raise ForwardingFailed(f'the leader "{url}" has no HTTPS', sent=False)
        passed = {name: given[name] for name in _FORWARDED if name in given}
        passed[MARK[0]] = MARK[1]
        connection = self._idle_connection(url) or _connection(url)
        sent = False
        try:
            if connection.sock is None:
                connection.connect()
            connection.sock.settimeout(self._timeout_s)
            sent = True
            connection.request(method, target, body or None, passed)
            response = connection.getresponse()
            headers = response.headers
            offset = headers.get(OFFSET_HEADER, "")
            answer = LeaderAnswer(
                response.status,
                response.read(),
                headers.get("Content-Type", ""),
                int(offset) if offset.isdecimal() else None,
            )
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise ForwardingFailed(f"{type(error).__name__}: {error}", sent=sent) from error
        if response.will_close:
            connection.close()
        else:
            self._keep(url, connection)
        return answer

    def close(self) -> None:
        """Close all connections that are not in use."""
        with self._lock:
            for connections in self._idle.values():
                for connection in connections:
                    connection.close()
            self._idle.clear()

    def _idle_connection(self, url: str) -> http.client.HTTPConnection | None:
        while True:
            with self._lock:
                idle = self._idle.get(url)
                if not idle:
                    return None
                connection = idle.pop()
            if not _closed_by_peer(connection):
                return connection
            connection.close()

    def _keep(self, url: str, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            idle = self._idle.setdefault(url, [])
            if len(idle) < _IDLE_MAX:
                idle.append(connection)
                return
        connection.close()


def _connection(url: str) -> http.client.HTTPConnection:
    # For https, the leader's certificate must be one that this system trusts, or SSL_CERT_FILE.
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    try:
        return kind(parts.hostname or "", parts.port, timeout=CONNECT_S)
    except ValueError as error:
        raise ForwardingFailed(f'"{url}" is not the URL of a registry', sent=False) from error


def _closed_by_peer(connection: http.client.HTTPConnection) -> bool:
    """Return whether an idle connection has something to read, which can only be its end."""
    if connection.sock is None:
        return True
    with selectors.DefaultSelector() as selector:
        selector.register(connection.sock, selectors.EVENT_READ)
        return bool(selector.select(0))
