"""What a command says where no broker can be reached, at its start or later; see `runtime.reach`."""

import time
from collections.abc import Callable
from typing import Final

import click

from duolog.core.errors import KafkaError
from duolog.runtime.broker_probe import probe
from duolog.runtime.broker_watch import ANSWER_S, look_at

LOST_S: Final = 30.0
"""How long a command goes on without a broker: a restart of one takes less."""
_LOOK_S: Final = 0.5
_TRANSPORT: Final = -195
_ALL_BROKERS_DOWN: Final = -187
_TIMED_OUT: Final = -185


def ensure_reachable(bootstrap_servers: str) -> None:
    """See that one of the servers takes connections.

    Raises:
        KafkaError: none does; the detail says why of each.
        ConfigError: an address cannot be read.
    """
    if problems := probe(bootstrap_servers):
        raise _unreachable(bootstrap_servers, problems)


def _unreachable(bootstrap_servers: str, problems: str) -> KafkaError:
    return KafkaError(
        f"no broker answers at {bootstrap_servers}",
        code=_TRANSPORT,
        retriable=True,
        detail=problems,
        hint="Start one with `duolog broker --data DIR`, or name another with -b.",
    )


class Connection:
    """Tells a person when a connection is lost, when there is one again, and gives up at last.

    `suspect` is librdkafka's callback for errors; `look` is called in between, at any rate. A broker that hangs is lost
    too, though the system accepts its connections.

    Args:
        bootstrap_servers: the addresses that the user has given.
        speaks: whether brokers are asked for an answer, and not only for a connection. A broker with TLS closes the connection
            on a request that is not encrypted.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        clock: Callable[[], float] = time.monotonic,
        answer_s: float = ANSWER_S,
        *,
        speaks: bool = True,
    ) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._clock = clock
        self._answer_s = answer_s
        self._speaks = speaks
        self._suspected = False
        self._lost_at: float | None = None
        self._next_look_at = 0.0

    def suspect(self, error: object) -> None:
        """Take an error of the client: after some the connection is looked at."""
        code = getattr(error, "code", lambda: None)()
        self._suspected = self._suspected or code in {_TRANSPORT, _ALL_BROKERS_DOWN, _TIMED_OUT}

    def look(self) -> None:
        """See whether a broker answers, if there is reason to doubt it.

        Raises:
            KafkaError: none has for `LOST_S`.
        """
        now = self._clock()
        if not self._suspected or now < self._next_look_at:
            return
        self._next_look_at = now + _LOOK_S
        if problems := self._problems():
            self._still_lost(now, _unreachable(self._bootstrap_servers, problems))
        else:
            self._suspected = False
            if self._lost_at is not None:
                self._lost_at = None
                click.echo(f"a broker answers again at {self._bootstrap_servers}", err=True)

    def _problems(self) -> str:
        servers = self._bootstrap_servers
        return look_at(servers, self._answer_s).problems if self._speaks else probe(servers)

    def _still_lost(self, now: float, error: KafkaError) -> None:
        if self._lost_at is None:
            self._lost_at = now
            click.echo(
                f"lost the connection: {error.detail}; retrying for {LOST_S:.0f} s", err=True
            )
        elif now - self._lost_at >= LOST_S:
            raise error
