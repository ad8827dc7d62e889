"""Limits of one server: sizes, times and numbers that a client must not exceed."""

from dataclasses import dataclass, replace
from typing import Final

from duolog.core.units import KIB, MIB


@dataclass(frozen=True, slots=True)
class Limits:
    """All limits; times in seconds.

    Attributes:
        head_bytes_max: the target and the headers of a request together.
        body_bytes_max: a body.
        bodies_bytes_max: the bodies of all requests that are being received or answered.
        connections_max: open connections; one that waits for its client makes room.
        requests_max: requests that are being answered, push queries included.
        streams_max: requests of one HTTP/2 connection at once. zttp announces 128 to each client;
            with a lower limit, requests that a client may send would be refused.
        idle_s: a connection without a request is closed.
        head_s: from the first byte of a request to the last byte of its headers.
        body_s: from the headers to the last byte of the body.
        linger_s: a client that is refused while it sends has this time to read why.
        write_s: a client that accepts no byte of its response for so long is disconnected.
        handshake_s: TLS.
        ping_s: between two pings of a WebSocket; a client that does not answer one is disconnected.
        grace_s: requests in progress may finish when the server stops.
        workers: threads that run statements.
        waiting_max: statements that wait for such a thread. All requests may wait: clients that
            subscribe at the same moment, for instance after a restart, get their turns.
        readers: threads for responses that block between their pieces.
        topic_readers_max: followers and exports of topics at once. Each has a Kafka client with
            threads of its own; a process that can start no more of them ends.
        unending_max: push queries with joins, groups or windows, and PRINT: each has such a thread.
    """

    head_bytes_max: int = 32 * KIB
    body_bytes_max: int = 4 * MIB
    bodies_bytes_max: int = 64 * MIB
    connections_max: int = 2000
    requests_max: int = 1000
    streams_max: int = 128
    idle_s: float = 75.0
    head_s: float = 10.0
    body_s: float = 30.0
    linger_s: float = 2.0
    write_s: float = 30.0
    handshake_s: float = 10.0
    ping_s: float = 30.0
    grace_s: float = 5.0
    workers: int = 16
    waiting_max: int = 1000
    readers: int = 200
    unending_max: int = 150
    topic_readers_max: int = 24


DEFAULT_LIMITS: Final = Limits()
_CONNECTIONS_LEAST: Final = 16


def within_descriptors(limits: Limits, descriptors: int | None) -> Limits:
    """Return limits with at most half of the process's file descriptors for connections.

    Kafka clients, checkpoints and the JVM need the others. A server without descriptors could not
    accept connections, not even to refuse them.

    Example:
        >>> within_descriptors(Limits(), 1024).connections_max
        512
        >>> within_descriptors(Limits(), None).connections_max
        2000
    """
    if descriptors is None:
        return limits
    most = max(descriptors // 2, _CONNECTIONS_LEAST)
    return replace(limits, connections_max=min(limits.connections_max, most))
