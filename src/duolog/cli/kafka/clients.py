"""Configure Kafka clients for the commands and translate their errors to Duolog's.

The clients are librdkafka's, used through confluent-kafka.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import click
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka import KafkaError as ClientError
from confluent_kafka.admin import AdminClient

from duolog.cli.kafka.server_option import read_servers
from duolog.core.errors import ConfigError, KafkaError
from duolog.runtime.administration.rights import rights_hint
from duolog.security.clients.properties import SECRET_NAMES

DEFAULT_BOOTSTRAP_SERVERS: Final = "127.0.0.1:9092"
REQUEST_TIMEOUT_S: Final = 10.0

# Kafka's partitioner. librdkafka's default, CRC32, would select other partitions than Java clients
# do.
PARTITIONER: Final = "murmur2_random"

_INVALID_ARG: Final = -186
_MSG_TIMED_OUT: Final = -192
_NO_BROKER: Final = frozenset({-195, -193, -187, -185})
_HINTS: Final = {
    -188: "List the topics with `duolog topics list`. A topic name consists of at most 249 "
    "letters, digits, dots, underscores and hyphens.",
    -190: "List the partitions with `duolog topics describe TOPIC`.",
}
"""Hints for an unknown topic or partition."""

Command = TypeVar("Command", bound=Callable[..., object])


def bootstrap_option(command: Command) -> Command:
    """Add `--bootstrap-servers` to a command."""
    return click.option(
        "-b",
        "--bootstrap-servers",
        "--bootstrap-server",
        "bootstrap_servers",
        callback=read_servers,
        envvar="DUOLOG_BOOTSTRAP_SERVERS",
        default=DEFAULT_BOOTSTRAP_SERVERS,
        show_default=True,
        show_envvar=True,
        metavar="HOST:PORT,…",
        help="Brokers for the initial connection.",
    )(command)


def properties_option(command: Command) -> Command:
    """Add `-X NAME=VALUE`, a librdkafka client property, to a command."""
    return click.option(
        "-X",
        "--property",
        "properties",
        multiple=True,
        metavar="NAME=VALUE",
        callback=read_properties,
        help="A Kafka client property, by its librdkafka name. Repeatable.",
    )(command)


def admin(bootstrap_servers: str, properties: Mapping[str, str]) -> AdminClient:
    with _client_errors():
        return AdminClient(_config(bootstrap_servers, properties))


def producer(bootstrap_servers: str, properties: Mapping[str, str], **defaults: Any) -> Producer:
    settings = {"partitioner": PARTITIONER, "enable.idempotence": "true", **defaults}
    with _client_errors():
        return Producer(_config(bootstrap_servers, settings | dict(properties)))


def consumer(bootstrap_servers: str, properties: Mapping[str, str], **defaults: Any) -> Consumer:
    with _client_errors():
        return Consumer(_config(bootstrap_servers, {**defaults, **properties}))


@contextmanager
def _client_errors() -> Iterator[None]:
    """Convert the client's error about a property to `ConfigError`.

    Raises:
        ConfigError: a property is unknown, or its value is not allowed.
    """
    try:
        yield
    except (KafkaException, TypeError, ValueError) as error:
        told = error.args[0]
        raise ConfigError(
            "the Kafka client rejected a property",
            detail=told.str() if isinstance(error, KafkaException) else str(told),
            hint="Use librdkafka's names and values, which differ from the Java "
            "client's in places: "
            "https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md",
        ) from error


@contextmanager
def kafka_errors(doing: str, bootstrap_servers: str) -> Iterator[None]:
    """Convert the client's errors to `KafkaError`; `doing` names the failed action.

    Raises:
        KafkaError: the broker or the client refused; the code is Kafka's or librdkafka's.
    """
    try:
        yield
    except KafkaException as error:
        raise as_kafka_error(error.args[0], doing, bootstrap_servers) from error
    except ValueError as error:
        # The client validates some arguments itself before it sends a request.
        raise KafkaError(f"could not {doing}", code=_INVALID_ARG, detail=str(error)) from error


def as_kafka_error(error: ClientError, doing: str, bootstrap_servers: str) -> KafkaError:
    """Convert an error object of confluent-kafka to `KafkaError`."""
    code = int(error.code())
    if code == _MSG_TIMED_OUT:
        hint = (
            f"Check that a broker is running at {bootstrap_servers}. If it is, its log says why it "
            "cannot write (a full disk, a damaged partition)."
        )
    elif code in _NO_BROKER:
        hint = f"Check that a broker is running at {bootstrap_servers}. `duolog broker` starts one."
    else:
        hint = _HINTS.get(code) or rights_hint(code, error.str())
    return KafkaError(
        f"could not {doing}",
        code=code,
        retriable=bool(error.retriable()),
        detail=f"{error.name()}: {error.str()}".removesuffix(": "),
        hint=hint,
    )


def _config(
    bootstrap_servers: str, properties: Mapping[str, str | float]
) -> dict[str, str | float]:
    return {
        "bootstrap.servers": bootstrap_servers,
        "client.id": "duolog",
        # Calls return their errors; librdkafka's log would repeat them.
        "log_level": 7 if os.environ.get("DUOLOG_DEBUG") or "debug" in properties else 0,
        **properties,
    }


def read_properties(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, str]:
    """Return the values of an option `NAME=VALUE` as client properties."""
    pairs = [value.partition("=") for value in values]
    if wrong := [name for name, equals, _ in pairs if not (name and equals)]:
        raise click.BadParameter(f'"{wrong[0]}" is not NAME=VALUE')
    if secret := next((name for name, _, _ in pairs if name in SECRET_NAMES), None):
        raise click.BadParameter(
            f'"{secret}" is a secret: every user of the machine can read command lines. Write it '
            "to a file that only you can read, and give --client-properties FILE."
        )
    return {name: value for name, _, value in pairs}
