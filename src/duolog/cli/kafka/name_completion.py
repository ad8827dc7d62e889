"""Complete names of topics and groups on the command line, and reject `--topic`."""

from collections.abc import Callable
from typing import Final, TypeVar

import click
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from duolog.cli.kafka import clients
from duolog.cli.kafka.cluster import Cluster
from duolog.cli.kafka.security_options import brokers_given
from duolog.core.errors import DuologError

_WAIT_S: Final = 1.0

Command = TypeVar("Command", bound=Callable[..., object])
Complete = Callable[[click.Context, click.Parameter, str], list[str]]


def reject_topic_option(command: Command) -> Command:
    """Reject --topic, an option of Kafka's console tools, with the correct syntax."""

    def refuse(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
        del parameter
        if value is not None:
            raise click.UsageError(
                f"--topic is not an option here. Write: {context.command_path} {value}", ctx=context
            )

    return click.option(
        "--topic", "given_topic", hidden=True, expose_value=False, is_eager=True, callback=refuse
    )(command)


def _topics(client: AdminClient) -> list[str]:
    return list(client.list_topics(timeout=_WAIT_S).topics)


def _groups(client: AdminClient) -> list[str]:
    listed = client.list_consumer_groups().result(_WAIT_S).valid
    return [group.group_id for group in listed or ()]


def _completing(read: Callable[[AdminClient], list[str]]) -> Complete:
    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        del parameter
        servers = context.params.get("bootstrap_servers") or clients.DEFAULT_BOOTSTRAP_SERVERS
        try:
            params = context.params
            options = (params.get("client_properties"), params.get("profile"))
            cluster = Cluster.of(brokers_given(servers, *options, params.get("properties") or {}))
            names = read(cluster.admin())
        except (DuologError, KafkaException, TimeoutError):
            return []
        return sorted(
            name
            for name in names
            if name.startswith(incomplete) and (incomplete or not name.startswith("__"))
        )

    return complete


complete_topics: Final = _completing(_topics)
complete_groups: Final = _completing(_groups)
