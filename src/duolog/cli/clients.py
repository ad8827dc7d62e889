"""Kafka clients for commands: how they are set up, and their errors as Duolog's.

The clients are librdkafka's, through confluent-kafka.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import click
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from duolog.core.errors import KafkaError

DEFAULT_BOOTSTRAP_SERVERS: Final = "127.0.0.1:9092"
REQUEST_TIMEOUT_S: Final = 10.0

# Kafka's own partitioner; librdkafka would take CRC32 and put a key elsewhere than Java clients do.
PARTITIONER: Final = "murmur2_random"

T = TypeVar("T")
Command = TypeVar("Command", bound=Callable[..., object])


def bootstrap_option(command: Command) -> Command:
    """Add `--bootstrap-servers` to a command."""
    return click.option(
        "-b",
        "--bootstrap-servers",
        "--bootstrap-server",
        "bootstrap_servers",
        envvar="DUOLOG_BOOTSTRAP_SERVERS",
        default=DEFAULT_BOOTSTRAP_SERVERS,
        show_default=True,
        show_envvar=True,
        metavar="HOST:PORT,…",
        help="Brokers to start from.",
    )(command)


def properties_option(command: Command) -> Command:
    """Add `-X NAME=VALUE` to a command: a property of the client as librdkafka names it."""
    return click.option(
        "-X",
        "--property",
        "properties",
        multiple=True,
        metavar="NAME=VALUE",
        callback=_read_properties,
        help="A property of the Kafka client, as librdkafka names it.",
    )(command)


def admin(bootstrap_servers: str, properties: Mapping[str, str]) -> AdminClient:
    return AdminClient(_config(bootstrap_servers, properties))


def producer(bootstrap_servers: str, properties: Mapping[str, str], **defaults: Any) -> Producer:
    settings = {"partitioner": PARTITIONER, "enable.idempotence": "true", **defaults}
    return Producer(_config(bootstrap_servers, settings | dict(properties)))


def consumer(bootstrap_servers: str, properties: Mapping[str, str], **defaults: Any) -> Consumer:
    return Consumer(_config(bootstrap_servers, {**defaults, **properties}))


@contextmanager
def kafka_errors(doing: str, bootstrap_servers: str) -> Iterator[None]:
    """Turn the client's errors into `KafkaError`, with what was being done.

    Raises:
        KafkaError: the broker or the client refused; the code is Kafka's or librdkafka's.
    """
    try:
        yield
    except KafkaException as error:
        raise as_kafka_error(error.args[0], doing, bootstrap_servers) from error


def as_kafka_error(error: Any, doing: str, bootstrap_servers: str) -> KafkaError:
    """Return Duolog's form of confluent-kafka's error object."""
    code = int(error.code())
    unreachable = code in {-195, -193, -192, -187, -185}
    return KafkaError(
        f"could not {doing}",
        code=code,
        retriable=bool(error.retriable()),
        detail=f"{error.name()}: {error.str()}",
        hint=f"Is a broker there, at {bootstrap_servers}? `duolog broker` starts one."
        if unreachable
        else "",
    )


def first_result(futures: Iterable[Future[T]]) -> T:
    """Return what the first future brings, waiting for it."""
    return next(iter(futures)).result(REQUEST_TIMEOUT_S)


def _config(
    bootstrap_servers: str, properties: Mapping[str, str | float]
) -> dict[str, str | float]:
    return {
        "bootstrap.servers": bootstrap_servers,
        # Errors come back from the calls; librdkafka's own lines would repeat them.
        "log_level": 0 if not os.environ.get("DUOLOG_DEBUG") else 7,
        "broker.address.family": "v4" if bootstrap_servers.startswith("127.") else "any",
        **properties,
    }


def _read_properties(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, str]:
    pairs = [value.partition("=") for value in values]
    if wrong := [name for name, equals, _ in pairs if not equals]:
        raise click.BadParameter(f'"{wrong[0]}" is not NAME=VALUE')
    return {name: value for name, _, value in pairs}
