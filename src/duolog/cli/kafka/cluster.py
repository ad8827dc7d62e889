"""Connect a command to a Kafka cluster and wait for its answers.

Each command first checks that a broker is reachable (`connection`). It reports a missing answer
after two seconds and gives up after ten.
"""

import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from duolog.cli.kafka import clients
from duolog.cli.kafka.connection import Connection, ensure_reachable
from duolog.cli.kafka.security_options import brokers_given, client_properties_options
from duolog.core.errors import KafkaError
from duolog.security.clients.brokers import Brokers
from duolog.security.clients.client_security import ClientSecurity

_ASK_S: Final = 1.8
_TIMED_OUT: Final = -185
_NO_ANSWER: Final = frozenset({-195, _TIMED_OUT})

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Cluster:
    """Addresses of a cluster and the properties of its clients."""

    bootstrap_servers: str
    own: dict[str, str] = field(repr=False)
    """Properties except those of security."""
    role: str = ""
    """A name for error messages, if a command uses two clusters."""
    option: str = "-b"
    """The option that names the addresses."""
    security: ClientSecurity | None = None

    @classmethod
    def of(cls, brokers: Brokers, role: str = "", option: str = "-b") -> "Cluster":
        """Return the cluster of some brokers."""
        return cls(brokers.servers, dict(brokers.properties), role, option, brokers.security)

    @property
    def brokers(self) -> Brokers:
        return Brokers(self.bootstrap_servers, self.security, tuple(self.own.items()))

    @property
    def properties(self) -> dict[str, Any]:
        """Properties of clients, with secrets: pass them to clients only."""
        return self.own | ({} if self.security is None else self.security.librdkafka())

    def admin(self) -> AdminClient:
        """Return a client for topics, configs and groups.

        Raises:
            KafkaError: no broker can be reached.
            ConfigError: a property is unknown, or its value is not allowed.
        """
        ensure_reachable(self.brokers, self.option)
        return clients.admin(self.bootstrap_servers, self.properties)

    def producer(self, connection: Connection, **defaults: Any) -> Producer:
        """Return a producer that reports its errors to `connection`; raises as `admin`."""
        ensure_reachable(self.brokers, self.option)
        defaults |= {"error_cb": connection.suspect}
        return clients.producer(self.bootstrap_servers, self.properties, **defaults)

    def consumer(self, connection: Connection, **defaults: Any) -> Consumer:
        """Return a consumer that reports its errors to `connection`; raises as `admin`."""
        ensure_reachable(self.brokers, self.option)
        defaults |= {"error_cb": connection.suspect}
        return clients.consumer(self.bootstrap_servers, self.properties, **defaults)

    def connection(self) -> Connection:
        return Connection(self.brokers, option=self.option)

    def errors(self, doing: str) -> AbstractContextManager[None]:
        """Convert the client's errors to `KafkaError`; `doing` names the failed action."""
        where = f"{doing} ({self.role})" if self.role else doing
        return clients.kafka_errors(where, self.bootstrap_servers)

    def ask(self, call: Callable[[float], T]) -> T:
        """Return the result of `call(timeout_s)`, retrying while no answer arrives.

        Raises:
            KafkaError: no broker is reachable any more, or none answers.
            KafkaException: any other error of the client.
        """
        deadline = time.monotonic() + clients.REQUEST_TIMEOUT_S
        told = False
        while True:
            try:
                return call(_ASK_S)
            except KafkaException as error:
                if error.args[0].code() not in _NO_ANSWER:
                    raise
            except TimeoutError:
                pass
            ensure_reachable(self.brokers, self.option)
            if time.monotonic() >= deadline:
                raise self._no_answer()
            if not told:
                click.echo(f"waiting for an answer from {self.bootstrap_servers} …", err=True)
                told = True

    def first_result(self, futures: Iterable[Future[T]]) -> T:
        """Return the result of the first future; raises as `ask`."""
        return self.ask(next(iter(futures)).result)

    def _no_answer(self) -> KafkaError:
        return KafkaError(
            f"the broker at {self.bootstrap_servers} accepts connections but does not answer",
            code=_TIMED_OUT,
            retriable=True,
            hint="Check that it is a Kafka broker, and read its log. If it requires TLS or a "
            "login, give --client-properties.",
        )


def cluster_options(command: Callable[..., object]) -> Callable[..., object]:
    """Add the options of a cluster to a command, passed to it as `cluster`.

    These are `--bootstrap-servers`, `--client-properties`, `--profile` and `-X`.
    """

    @clients.bootstrap_option
    @client_properties_options
    @clients.properties_option
    @wraps(command)
    def with_cluster(
        *args: object,
        bootstrap_servers: str,
        client_properties: Path | None,
        profile: str | None,
        properties: dict[str, str],
        **options: object,
    ) -> object:
        brokers = brokers_given(bootstrap_servers, client_properties, profile, properties)
        return command(*args, cluster=Cluster.of(brokers), **options)

    return with_cluster
