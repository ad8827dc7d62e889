"""Check within two seconds that a broker is reachable.

librdkafka retries for as long as a request may take, and reports nothing meanwhile. A plain
connection is refused at once if no process listens, and its error gives the reason. If a process
accepts the connection but stays silent, it may be a busy broker: the wait is logged, and ends with
an error after ten seconds.
"""

import logging
import socket
import ssl
import struct
import time
from collections.abc import Callable
from functools import partial
from queue import Empty, Queue
from threading import Thread
from typing import Final

from duolog.core.addresses import split_address, whole_servers
from duolog.runtime.broker_login import ensure_login
from duolog.runtime.errors import BrokerUnavailable
from duolog.security.clients.brokers import Brokers
from duolog.security.clients.client_security import PLAINTEXT

logger: Final = logging.getLogger(__name__)

REACH_S: Final = 1.5
PATIENCE_S: Final = 10.0
_SPEAK_S: Final = 0.5
SILENT: Final = "accepts connections but does not answer"
ENCRYPTS: Final = "answers with TLS"
CLOSES: Final = "closes the connection, unlike a Kafka broker without TLS"
LOGIN: Final = "closes the connection of a client that has not logged in"
MISFITS: Final = (ENCRYPTS, CLOSES, LOGIN)
"""Problems of a client without TLS and login at a listener that requires one of them."""

# Length, API key, version, correlation id, client id. Brokers answer ApiVersions before
# authentication.
# Type of a TLS record, and the first byte of its version.
_SIZE_BYTES: Final = 4
_STEP_BYTES: Final = 65536
_TLS_ALERT: Final = b"\x15\x03"
_CORRELATION_ID: Final = 0x6475
_API_VERSIONS: Final = struct.pack(">ihhih", 10, 18, 0, _CORRELATION_ID, -1)
METADATA: Final = struct.pack(">ihhihiB", 15, 3, 4, 0x6476, -1, 0, 0)
"""A request for no topics, without creating any; no broker answers it before a login."""


def _nothing(_connection: socket.socket) -> str:
    return ""


def speak(connection: socket.socket, within_s: float = _SPEAK_S) -> str:
    """Send ApiVersions; return the problem with the response, or an empty string."""
    connection.settimeout(within_s)
    connection.sendall(_API_VERSIONS)
    try:
        answer = connection.recv(8, socket.MSG_PEEK)  # A later reader reads it completely.
    except TimeoutError:
        return SILENT
    except ConnectionResetError:
        return CLOSES
    if not answer:
        return CLOSES
    if answer.startswith(_TLS_ALERT):
        return ENCRYPTS
    # The first bytes may arrive alone.
    expected = struct.pack(">i", _CORRELATION_ID)
    return "" if expected.startswith(answer[4:8]) and answer[0] == 0 else "is not a Kafka broker"


def speak_plainly(connection: socket.socket, within_s: float = _SPEAK_S) -> str:
    """Send ApiVersions and Metadata; return the problem with the responses, or an empty string.

    A listener that requires a login answers the first and closes the connection at the second.
    """
    if problem := speak(connection, within_s):
        return problem
    try:
        connection.sendall(METADATA)
        unread = int.from_bytes(connection.recv(_SIZE_BYTES, socket.MSG_WAITALL))
        while unread > 0 and (data := connection.recv(min(unread, _STEP_BYTES))):
            unread -= len(data)
        return "" if not unread and connection.recv(1) else LOGIN
    except TimeoutError:
        return ""  # It speaks Kafka's protocol, and is busy.
    except ConnectionError:
        return LOGIN


def speak_tls(connection: socket.socket, within_s: float = _SPEAK_S) -> str:
    """Shake hands; return the problem with the response, or an empty string.

    Only checks that a process answers, so that any certificate is accepted: nothing is sent that
    a client would send. Clients verify the certificate.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    connection.settimeout(within_s)
    try:
        with context.wrap_socket(connection):
            return ""
    except TimeoutError:
        return f"{SILENT} a TLS handshake"
    except (ssl.SSLError, ConnectionResetError) as error:
        reason = getattr(error, "reason", None) or error.strerror
        return f"does not speak TLS ({reason})"


def speaker_of(brokers: Brokers, within_s: float = _SPEAK_S) -> Callable[[socket.socket], str]:
    """Return the check of a connection that fits the protocol of the brokers' clients."""
    encrypts = brokers.security is not None and brokers.security.encrypts
    if encrypts:
        return partial(speak_tls, within_s=within_s)
    logs_in = brokers.security is not None and brokers.security.protocol != PLAINTEXT
    return partial(speak if logs_in else speak_plainly, within_s=within_s)


def ensure_reachable(bootstrap_servers: Brokers | str, *, patience_s: float = PATIENCE_S) -> None:
    """Wait until one of the servers answers like a broker, and accepts the client's login.

    A silent server may be a busy broker, so it is asked again for `patience_s`.

    Raises:
        BrokerUnavailable: no broker answers; the detail has the reason for each server.
        LoginRefused: a broker refuses the client, or the client refuses its certificate.
        ConfigError: an address cannot be parsed.
    """
    brokers = Brokers.of(bootstrap_servers)
    deadline = time.monotonic() + patience_s
    logged = False
    while problems := probe(brokers.servers, then=speaker_of(brokers)):
        if SILENT not in problems or time.monotonic() >= deadline:
            raise BrokerUnavailable(
                f"no broker answers at {bootstrap_servers}",
                detail=problems,
                hint=hint_about(brokers, problems)
                or "Check the address, or start a broker with `duolog broker --data DIR`.",
            )
        if not logged:
            logger.warning("waiting for an answer from %s …", bootstrap_servers)
            logged = True
    ensure_login(brokers, within_s=patience_s)


def hint_about(brokers: Brokers, problems: str) -> str:
    """Return what to do if a client's security does not fit the listener; empty if it may."""
    security = brokers.security
    if security is not None and security.encrypts:
        return (
            f"Check the address, and security.protocol{security.where}, which is "
            f"{security.protocol}: it must be that of the listener."
        )
    if not any(problem in problems for problem in MISFITS):
        return ""
    if security is None:
        return (
            "If the broker requires TLS or a login, give the client's settings: "
            "--client-properties FILE, or the variable DUOLOG_CLIENT_PROPERTIES."
        )
    return (
        f"Set security.protocol{security.where} to that of the listener; it is {security.protocol}."
    )


def probe(
    bootstrap_servers: str,
    then: Callable[[socket.socket], str] = _nothing,
    speak_s: float = _SPEAK_S,
) -> str:
    """Connect to all servers; return why none accepts a connection, or an empty string if one does.

    `then` checks a connection within `speak_s`, and returns the problem.

    Raises:
        ConfigError: an address cannot be parsed.
    """
    servers = whole_servers(bootstrap_servers).split(",")
    addresses = [split_address(server) for server in servers]
    answers: Queue[tuple[str, str]] = Queue()
    for server, (host, port) in zip(servers, addresses, strict=True):
        # A name lookup has no time limit, so the thread is not joined.
        words = (server, host, port, then, answers)
        Thread(target=_knock, args=words, daemon=True).start()
    problems = dict.fromkeys(servers, f"no answer within {REACH_S} s")
    deadline = time.monotonic() + REACH_S + speak_s
    for _ in servers:
        try:
            server, problem = answers.get(timeout=max(0.0, deadline - time.monotonic()))
        except Empty:
            break
        if not problem:
            return ""
        problems[server] = problem
    return "; ".join(f"{server}: {problem}" for server, problem in problems.items())


def _knock(
    server: str,
    host: str,
    port: int,
    then: Callable[[socket.socket], str],
    answers: Queue[tuple[str, str]],
) -> None:
    try:
        with socket.create_connection((host, port), timeout=REACH_S) as connection:
            answers.put((server, then(connection)))
    except (OSError, UnicodeError) as error:  # invalid host names raise UnicodeError
        problem = getattr(error, "strerror", None) or str(error)
        answers.put((server, problem.lower()))
