"""Helpers for commands about topics and groups: metadata, offsets, confirmation, NAME=VALUE."""

import base64
import shlex
import sys
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final
from uuid import UUID

import click
from confluent_kafka import TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, ClusterMetadata, OffsetSpec

from duolog.cli.kafka.cluster import Cluster
from duolog.core.errors import KafkaError

_UNKNOWN_TOPIC: Final = 3
_NO_ID: Final = UUID(int=0)

EARLIEST: Final[OffsetSpec] = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
LATEST: Final[OffsetSpec] = OffsetSpec.latest()  # type: ignore[no-untyped-call]

Place = tuple[str, int]
"""A topic and a partition."""
Offsets = dict[Place, int]


def read_metadata(
    client: AdminClient, cluster: Cluster, topic: str | None = None
) -> ClusterMetadata:
    """Return the metadata of all topics; ensure that `topic` is among them.

    Raises:
        KafkaError: no broker answers, or the topic does not exist.
    """
    # Request all topics: a request that names a topic may create it.
    with cluster.errors("read the list of topics"):
        metadata = cluster.ask(lambda timeout_s: client.list_topics(timeout=timeout_s))
    if topic is not None and topic not in metadata.topics:
        raise no_topic(topic, metadata.topics)
    return metadata


def read_topic_id(client: AdminClient, cluster: Cluster, topic: str) -> str | None:
    """Return the id of a topic in Kafka's notation; None if the broker does not return one.

    Raises:
        KafkaError: no broker answers, or it refuses.
    """
    with cluster.errors(f'describe topic "{topic}"'):
        futures = client.describe_topics(TopicCollection([topic]))
        topic_id = str(cluster.first_result(futures.values()).topic_id)
    return None if UUID(bytes=_bytes_of(topic_id)) == _NO_ID else topic_id


def folder_of(topic_id: str) -> str:
    """Return the directory of a topic, relative to the data directory of a Duolog broker.

    Example:
        >>> folder_of("AAAAAAAAAAAAAAAAAAAAAg")
        'topics/00000000-0000-0000-0000-000000000002'
    """
    return f"topics/{UUID(bytes=_bytes_of(topic_id))}"


def _bytes_of(topic_id: str) -> bytes:
    return base64.urlsafe_b64decode(f"{topic_id}==")


def no_topic(topic: str, known: Iterable[str]) -> KafkaError:
    """Return the error for a topic that does not exist; the hint suggests a similar name."""
    return KafkaError(
        f'topic "{topic}" does not exist',
        code=_UNKNOWN_TOPIC,
        hint=f"{like(topic, known)}List the topics with `duolog topics list`.",
    )


def like(name: str, known: Iterable[str]) -> str:
    """Return a suggestion of the most similar known name, or an empty string.

    Example:
        >>> like("oders", ["orders", "visits"])
        'Did you mean "orders"? '
    """
    nearest = get_close_matches(name, list(known), n=1)
    return f'Did you mean "{nearest[0]}"? ' if nearest else ""


def read_offsets(
    client: AdminClient, cluster: Cluster, places: Iterable[TopicPartition], spec: OffsetSpec
) -> Offsets:
    """Return the offset that `spec` selects in each partition; -1 if no record has the time."""
    futures = client.list_offsets(dict.fromkeys(places, spec))
    return {
        (place.topic, place.partition): cluster.first_result([future]).offset
        for place, future in futures.items()
    }


def confirm(question: str) -> None:
    """Ask for confirmation of a destructive action.

    Raises:
        click.UsageError: standard input is closed.
        click.exceptions.Exit: the answer is no.
    """
    if sys.stdin is None:
        raise click.UsageError("Cannot ask for confirmation without a terminal. Add --yes.")
    try:
        agreed = click.confirm(question, err=True)
    except click.Abort as abort:
        if isinstance(abort.__context__, EOFError):
            click.echo(err=True)  # The question has no line break.
            raise click.UsageError(
                "Cannot ask for confirmation without a terminal. Add --yes."
            ) from None
        raise
    if not agreed:
        click.echo("nothing was changed", err=True)
        raise click.exceptions.Exit(1)


def read_assignment(text: str) -> tuple[str, str]:
    """Split `NAME=VALUE`."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise click.BadParameter(f'"{text}" is not NAME=VALUE')
    return name, value


def show_equivalent(*words: str) -> None:
    """Print the equivalent command of Kafka's own tools."""
    click.echo(f"equivalent Kafka command: {shlex.join(words)}", err=True)
