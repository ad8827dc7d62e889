"""What the commands about topics share: metadata, NAME=VALUE, and the same with Kafka's tools."""

import shlex
from typing import Final

import click
from confluent_kafka.admin import AdminClient, ClusterMetadata

from duolog.cli.clients import REQUEST_TIMEOUT_S, kafka_errors
from duolog.core.errors import KafkaError

_UNKNOWN_TOPIC: Final = 3


def read_metadata(
    client: AdminClient, bootstrap_servers: str, topic: str | None = None
) -> ClusterMetadata:
    """Return the metadata of all topics, and see that `topic` is among them.

    Raises:
        KafkaError: no broker answers, or the topic does not exist.
    """
    # All topics even for one: a request that names a topic may create it.
    with kafka_errors("read the list of topics", bootstrap_servers):
        metadata = client.list_topics(timeout=REQUEST_TIMEOUT_S)
    if topic is not None and topic not in metadata.topics:
        raise KafkaError(
            f'topic "{topic}" does not exist',
            code=_UNKNOWN_TOPIC,
            hint="`duolog topics list` shows what is there.",
        )
    return metadata


def read_assignment(text: str) -> tuple[str, str]:
    """Return NAME and VALUE of `NAME=VALUE`."""
    name, equals, value = text.partition("=")
    if not equals:
        raise click.BadParameter(f'"{text}" is not NAME=VALUE')
    return name, value


def show_equivalent(*words: str) -> None:
    """Tell how the same is done with one of Kafka's own tools."""
    click.echo(f"the same with Kafka's tool: {shlex.join(words)}", err=True)
