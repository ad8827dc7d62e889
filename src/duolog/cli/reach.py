"""Whether a broker can be reached, told within two seconds.

librdkafka tries for as long as a request may take, and says nothing meanwhile. A connection of our
own is refused at once where nobody listens, and its error says why.
"""

import socket
import time
from collections.abc import Callable
from queue import Empty, Queue
from threading import Thread
from typing import Final

import click

from duolog.core.errors import ConfigError, KafkaError

REACH_S: Final = 1.5
LOST_S: Final = 30.0
"""How long a command goes on without a broker: a restart of one takes less."""
_LOOK_S: Final = 0.5
_TRANSPORT: Final = -195
_ALL_BROKERS_DOWN: Final = -187
_DEFAULT_PORT: Final = "9092"


def ensure_reachable(bootstrap_servers: str) -> None:
    """See that one of the servers takes connections.

    Raises:
        KafkaError: none does; the detail says why of each.
        ConfigError: an address cannot be read.
    """
    servers = [server.strip() for server in bootstrap_servers.split(",") if server.strip()]
    if not servers:
        raise ConfigError("no broker is named", hint="Write -b HOST:PORT.")
    answers: Queue[tuple[str, str]] = Queue()
    for server in servers:
        host, port = split_address(server)
        # A look-up of a name cannot be bounded, so nobody waits for the thread.
        Thread(target=_knock, args=(server, host, port, answers), daemon=True).start()
    problems = dict.fromkeys(servers, f"no answer within {REACH_S} s")
    deadline = time.monotonic() + REACH_S
    for _ in servers:
        try:
            server, problem = answers.get(timeout=max(0.0, deadline - time.monotonic()))
        except Empty:
            break
        if not problem:
            return
        problems[server] = problem
    raise KafkaError(
        f"no broker answers at {bootstrap_servers}",
        code=_TRANSPORT,
        retriable=True,
        detail="; ".join(f"{server}: {problem}" for server, problem in problems.items()),
        hint="`duolog broker --data DIR` starts one; -b names another.",
    )


def split_address(server: str) -> tuple[str, int]:
    """Return host and port of `[PROTOCOL://]HOST[:PORT]`.

    Example:
        >>> split_address("PLAINTEXT://kafka:9093"), split_address("[::1]:9092")
        (('kafka', 9093), ('::1', 9092))

    Raises:
        ConfigError: it is no such address.
    """
    rest = server.rpartition("://")[2]
    host, colon, port = rest.rpartition(":")
    if not colon or rest.endswith("]"):
        host, port = rest, _DEFAULT_PORT
    if not host or not port.isdecimal() or int(port) > 65535:
        raise ConfigError(
            f'"{server}" is no address of a broker', value=server, hint="Write HOST:PORT."
        )
    return host.strip("[]"), int(port)


class Connection:
    """Tells a person when a connection is lost, when there is one again, and gives up at last.

    `suspect` is librdkafka's callback for errors; `look` is called in between, at any rate.
    """

    def __init__(self, bootstrap_servers: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._clock = clock
        self._suspected = False
        self._lost_at: float | None = None
        self._next_look_at = 0.0

    def suspect(self, error: object) -> None:
        """Take an error of the client: after some the connection is looked at."""
        code = getattr(error, "code", lambda: None)()
        self._suspected = self._suspected or code in {_TRANSPORT, _ALL_BROKERS_DOWN}

    def look(self) -> None:
        """See whether a broker answers, if there is reason to doubt it.

        Raises:
            KafkaError: none has for `LOST_S`.
        """
        now = self._clock()
        if not self._suspected or now < self._next_look_at:
            return
        self._next_look_at = now + _LOOK_S
        try:
            ensure_reachable(self._bootstrap_servers)
        except KafkaError as error:
            self._still_lost(now, error)
        else:
            self._suspected = False
            if self._lost_at is not None:
                self._lost_at = None
                click.echo(f"a broker answers again at {self._bootstrap_servers}", err=True)

    def _still_lost(self, now: float, error: KafkaError) -> None:
        if self._lost_at is None:
            self._lost_at = now
            click.echo(
                f"lost the connection: {error.detail}; trying again for {LOST_S:.0f} s", err=True
            )
        elif now - self._lost_at >= LOST_S:
            raise error


def _knock(server: str, host: str, port: int, answers: Queue[tuple[str, str]]) -> None:
    try:
        socket.create_connection((host, port), timeout=REACH_S).close()
    except OSError as error:
        answers.put((server, (error.strerror or str(error)).lower()))
    else:
        answers.put((server, ""))
