"""Check that a broker is reachable when a command starts, and report lost connections later."""

import socket
import time
from collections.abc import Callable
from typing import Final

import click

from duolog.core.errors import KafkaError
from duolog.runtime.broker_login import ensure_login
from duolog.runtime.broker_probe import SILENT, hint_about, probe, speak_plainly
from duolog.runtime.broker_watch import ANSWER_S, look_at
from duolog.security.clients.brokers import Brokers
from duolog.security.clients.client_security import PLAINTEXT

LOST_S: Final = 30.0
"""Time for which a command waits for a lost broker; longer than a broker restart."""
_LOOK_S: Final = 0.5
_TRANSPORT: Final = -195
_ALL_BROKERS_DOWN: Final = -187
_TIMED_OUT: Final = -185


def ensure_reachable(bootstrap_servers: Brokers | str, option: str = "-b") -> None:
    """Ensure that at least one of the servers accepts connections, and the client's login.

    Args:
        bootstrap_servers: the addresses given by the user.
        option: the option that names them, for the hint.

    Raises:
        KafkaError: none does; the detail lists the reason for each.
        LoginRefused: a broker refuses the client, or the client refuses its certificate.
        BrokerUnavailable: a broker does not complete a login in time.
        ConfigError: an address is invalid.
    """
    brokers = Brokers.of(bootstrap_servers)
    logs_in = brokers.security is not None and brokers.security.protocol != PLAINTEXT
    # Clients with TLS or a login learn the reason of a refusal from `ensure_login`.
    if problems := probe(brokers.servers, _accepts if logs_in else _fits):
        raise _unreachable(brokers.servers, problems, option, hint_about(brokers, problems))
    ensure_login(brokers)


def _accepts(_connection: socket.socket) -> str:
    return ""


def _fits(connection: socket.socket) -> str:
    """Return why the listener is none for clients without TLS and login, or an empty string.

    librdkafka tries such a listener again and again, and reports nothing.
    """
    problem = speak_plainly(connection)
    return "" if problem == SILENT else problem  # A busy broker.


def _unreachable(bootstrap_servers: str, problems: str, option: str, hint: str = "") -> KafkaError:
    return KafkaError(
        f"no broker answers at {bootstrap_servers}",
        code=_TRANSPORT,
        retriable=True,
        detail=problems,
        hint=hint or f"Start one with `duolog broker --data DIR`, or name another with {option}.",
    )


class Connection:
    """Reports when the connection is lost and when it is back, and gives up after `LOST_S`.

    `suspect` is librdkafka's error callback; the command calls `look` regularly. A broker that
    hangs also counts as lost, although the system still accepts its connections.

    Args:
        bootstrap_servers: the addresses given by the user.
        option: as for `ensure_reachable`.
    """

    def __init__(
        self,
        bootstrap_servers: Brokers | str,
        clock: Callable[[], float] = time.monotonic,
        answer_s: float = ANSWER_S,
        *,
        option: str = "-b",
    ) -> None:
        brokers = Brokers.of(bootstrap_servers)
        self._bootstrap_servers = brokers.servers
        self._security = brokers.security
        self._clock = clock
        self._answer_s = answer_s
        self._option = option
        self._suspected = False
        self._lost_at: float | None = None
        self._next_look_at = 0.0

    @property
    def is_suspected(self) -> bool:
        """True if an error suggests that no broker answers; `look` checks it."""
        return self._suspected

    def suspect(self, error: object) -> None:
        """Handle an error of the client; connection errors make `look` check the broker."""
        code = getattr(error, "code", lambda: None)()
        self._suspected = self._suspected or code in {_TRANSPORT, _ALL_BROKERS_DOWN, _TIMED_OUT}

    def look(self) -> None:
        """Check whether a broker answers, if an error suggests that it might not.

        Raises:
            KafkaError: no broker has answered for `LOST_S`.
        """
        now = self._clock()
        if not self._suspected or now < self._next_look_at:
            return
        self._next_look_at = now + _LOOK_S
        if problems := self._problems():
            self._still_lost(now, _unreachable(self._bootstrap_servers, problems, self._option))
        else:
            self._suspected = False
            if self._lost_at is not None:
                self._lost_at = None
                click.echo(f"a broker answers again at {self._bootstrap_servers}", err=True)

    def _problems(self) -> str:
        return look_at(self._bootstrap_servers, self._answer_s, self._security).problems

    def _still_lost(self, now: float, error: KafkaError) -> None:
        if self._lost_at is None:
            self._lost_at = now
            click.echo(
                f"lost the connection: {error.detail}; retrying for {LOST_S:.0f} s", err=True
            )
        elif now - self._lost_at >= LOST_S:
            raise error
