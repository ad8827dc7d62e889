"""Report when all brokers of a cluster stop answering, and when one answers again.

    bootstrap addresses ─┐
    brokers of the last  ├─▶ one connection each ─▶ ApiVersions ─▶ a response: the cluster is up
    Metadata response   ─┘                                     └─▶ Metadata: its brokers

An accepted connection proves little: the kernel accepts it for a process that is stopped or hangs.
A bootstrap address may belong to a broker that has been removed while others serve.
"""

import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO, Final

from duolog.core.addresses import whole_servers
from duolog.core.counts import counted
from duolog.core.errors import ConfigError
from duolog.runtime.broker_probe import METADATA, probe, speak, speak_tls
from duolog.security.clients.brokers import Brokers
from duolog.security.clients.client_security import ClientSecurity

ANSWER_S: Final = 3.0
"""Time limit for a broker's response.

With the pause between two checks, silence is reported within 5 s.
"""
_BROKERS_MAX: Final = 10
_ANSWER_BYTES_MAX: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """Result of checking some addresses.

    Args:
        problems: why none of them answers; empty if one does.
        brokers: addresses of all brokers of the cluster, if a broker has returned them.
    """

    problems: str
    brokers: tuple[str, ...] = ()


def look_at(
    servers: str, answer_s: float = ANSWER_S, security: ClientSecurity | None = None
) -> ProbeResult:
    """Ask all servers in parallel; return when one has answered, or none has in time.

    With TLS, a handshake is the answer, and brokers are not listed.
    """
    brokers: list[str] = []
    ask = partial(_ask, answer_s=answer_s, brokers=brokers)
    if security is not None and security.encrypts:
        ask = partial(speak_tls, within_s=answer_s)
    problems = probe(servers, ask, answer_s)
    return ProbeResult(problems, tuple(brokers))


class BrokerWatch:
    """Reports when the brokers of a cluster become unreachable and when one is back.

    Args:
        bootstrap: the addresses given by the user.
        meanwhile: what happens until a broker is back, for the log line.
    """

    def __init__(
        self,
        bootstrap: Brokers | str,
        meanwhile: str,
        look_at: Callable[[str], ProbeResult] | None = None,
    ) -> None:
        brokers = Brokers.of(bootstrap)
        self._bootstrap = brokers.servers
        self._meanwhile = meanwhile
        self._look_at = look_at or _looking(brokers.security)
        self._brokers: tuple[str, ...] = ()
        self.answers = True

    def look(self) -> list[str]:
        """Check once; return a line if the state has changed since the last check."""
        given = whole_servers(self._bootstrap).split(",")
        others = [broker for broker in self._brokers if broker not in given]
        looked = self._look_at(",".join(given + others[:_BROKERS_MAX]))
        # If no broker answers, keep the known addresses.
        self._brokers = looked.brokers or self._brokers
        before, self.answers = self.answers, not looked.problems
        if before == self.answers:
            return []
        if looked.problems:
            return [f"no broker answers at {self._bootstrap}: {looked.problems}; {self._meanwhile}"]
        return [f"a broker answers again at {self._bootstrap}"]


def _looking(security: ClientSecurity | None) -> Callable[[str], ProbeResult]:
    return partial(look_at, security=security)


def _ask(connection: socket.socket, *, answer_s: float, brokers: list[str]) -> str:
    """Return the problem with a broker.

    If there is none, store the brokers of its cluster in `brokers`.
    """
    began = time.monotonic()
    if problem := speak(connection, answer_s):
        return problem
    try:
        connection.settimeout(max(0.01, answer_s - (time.monotonic() - began)))
        with connection.makefile("rb") as answers:
            _next_of(answers)
            connection.sendall(METADATA)
            brokers[:] = _brokers_in(_next_of(answers))
    except (OSError, EOFError, ValueError, struct.error, ConfigError):
        pass  # The broker is up; it does not list brokers before authentication.
    return ""


def _next_of(answers: BinaryIO) -> bytes:
    (size,) = struct.unpack(">i", answers.read(4))
    if not 0 <= size <= _ANSWER_BYTES_MAX:
        raise ValueError(f"an answer of {counted(size, 'byte')}")
    answer = answers.read(size)
    if len(answer) < size:
        raise EOFError("the connection was closed")
    return answer


def _brokers_in(answer: bytes) -> list[str]:
    """Return the addresses in a Metadata response, version 4.

    Source: Kafka MetadataResponse.json.
    """
    at = 8  # Correlation id and throttle time.
    (count,) = struct.unpack_from(">i", answer, at)
    at += 4
    found: list[str] = []
    for _ in range(count):
        (host_bytes,) = struct.unpack_from(">h", answer, at + 4)
        at += 6
        host = answer[at : at + host_bytes].decode()
        port, rack_bytes = struct.unpack_from(">ih", answer, at + host_bytes)
        at += host_bytes + 6 + max(0, rack_bytes)
        found.append(whole_servers(f"[{host}]:{port}" if ":" in host else f"{host}:{port}"))
    return found
