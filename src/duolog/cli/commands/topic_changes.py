"""`duolog topics alter`, `configs` and `delete-records`: change existing topics."""

from typing import Final

import click
from confluent_kafka import TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    ResourceType,
)

from duolog.cli.kafka import clients
from duolog.cli.kafka.cluster import Cluster, cluster_options
from duolog.cli.kafka.name_completion import complete_topics
from duolog.cli.kafka.topics import confirm, read_assignment, read_metadata, show_equivalent
from duolog.cli.options import OFFSET, PARTITION, PARTITIONS
from duolog.cli.terminal import output
from duolog.cli.terminal.output import Column
from duolog.core.counts import counted

CONFIG_COLUMNS: Final = (
    Column("config", "string", "name of the setting"),
    Column("value", "string", "effective value"),
    Column("source", "string", "where the value is set: topic, broker or default"),
)
_SOURCES: Final = {
    ConfigSource.DYNAMIC_TOPIC_CONFIG.value: "topic",
    ConfigSource.DEFAULT_CONFIG.value: "default",
}
_ALL_RECORDS: Final = -1


@click.command()
@click.argument("topic", shell_complete=complete_topics)
@click.option(
    "-c", "--config", "configs", multiple=True, metavar="NAME=VALUE", help="Set a setting."
)
@click.option(
    "--unset", multiple=True, metavar="NAME", help="Revert a setting to the broker's value."
)
@click.option("-p", "--partitions", type=PARTITIONS, help="New number of partitions.")
@click.option(
    "--dry-run", is_flag=True, help="Let the broker validate the change without applying it."
)
@cluster_options
def alter(
    *,
    topic: str,
    configs: tuple[str, ...],
    unset: tuple[str, ...],
    partitions: int | None,
    dry_run: bool,
    cluster: Cluster,
) -> None:
    """Set or unset settings of a topic, or add partitions.

    \b
    Examples:
      duolog topics alter orders --config retention.ms=86400000 --unset segment.ms
      duolog topics alter orders --partitions 8
    """
    changes = dict(read_assignment(text) for text in configs)
    if not (changes or unset or partitions):
        raise click.UsageError("Use --config, --unset or --partitions.")
    client = cluster.admin()
    read_metadata(client, cluster, topic)
    verb = "would change" if dry_run else "changed"
    if changes or unset:
        _alter_configs(client, topic, changes, unset, cluster, dry_run=dry_run)
        click.echo(f'{verb} settings of topic "{topic}"', err=True)
    if partitions is not None:
        _add_partitions(client, topic, partitions, cluster, dry_run=dry_run)
        click.echo(f'{verb} topic "{topic}" to {counted(partitions, "partition")}', err=True)


def _alter_configs(
    client: AdminClient,
    topic: str,
    changes: dict[str, str],
    unset: tuple[str, ...],
    cluster: Cluster,
    *,
    dry_run: bool,
) -> None:
    if dry_run:
        pairs = ",".join(f"{name}={value}" for name, value in changes.items())
        show_equivalent(
            *("kafka-configs.sh", "--bootstrap-server", cluster.bootstrap_servers, "--alter"),
            *("--entity-type", "topics", "--entity-name", topic),
            *(("--add-config", pairs) if pairs else ()),
            *(("--delete-config", ",".join(unset)) if unset else ()),
        )
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in changes.items()
    ]
    entries += [
        ConfigEntry(name, None, incremental_operation=AlterConfigOpType.DELETE) for name in unset
    ]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    with cluster.errors(f'change settings of topic "{topic}"'):
        futures = client.incremental_alter_configs([resource], validate_only=dry_run)
        cluster.first_result(futures.values())


def _add_partitions(
    client: AdminClient, topic: str, partitions: int, cluster: Cluster, *, dry_run: bool
) -> None:
    if dry_run:
        show_equivalent(
            *("kafka-topics.sh", "--bootstrap-server", cluster.bootstrap_servers, "--alter"),
            *("--topic", topic, "--partitions", str(partitions)),
        )
    with cluster.errors(f'add partitions to topic "{topic}"'):
        futures = client.create_partitions(
            [NewPartitions(topic, partitions)], validate_only=dry_run
        )
        cluster.first_result(futures.values())


@click.command("configs")
@click.argument("topic", shell_complete=complete_topics)
@output.output_option
@cluster_options
def show_configs(*, topic: str, form: str, cluster: Cluster) -> None:
    """Show every setting of a topic and where its value is set."""
    if form == "help":
        return click.echo(output.help_text(CONFIG_COLUMNS), nl=False)
    client = cluster.admin()
    read_metadata(client, cluster, topic)
    with cluster.errors(f'read settings of topic "{topic}"'):
        futures = client.describe_configs([ConfigResource(ResourceType.TOPIC, topic)])
        entries = cluster.first_result(futures.values())
    rows = [
        {"config": name, "value": entry.value, "source": _SOURCES.get(entry.source, "broker")}
        for name, entry in sorted(entries.items())
    ]
    return output.write_rows(rows, CONFIG_COLUMNS, form)


@click.command("delete-records")
@click.argument("topic", shell_complete=complete_topics)
@click.option("--before", "offset", type=OFFSET, help="Delete the records before this offset.")
@click.option("--all", "everything", is_flag=True, help="Delete all existing records.")
@click.option("-p", "--partition", type=PARTITION, help="Default: every partition.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--dry-run", is_flag=True, help="Show what would be deleted; delete nothing.")
@cluster_options
def delete_records(
    *,
    topic: str,
    offset: int | None,
    everything: bool,
    partition: int | None,
    yes: bool,
    dry_run: bool,
    cluster: Cluster,
) -> None:
    """Delete the records of a topic before an offset, or all of them.

    \b
    Examples:
      duolog topics delete-records orders --before 1000 --partition 2
      duolog topics delete-records orders --all --yes
    """
    if (offset is None) != everything:
        raise click.UsageError("Use either --before or --all.")
    client = cluster.admin()
    metadata = read_metadata(client, cluster, topic)
    numbers = sorted(metadata.topics[topic].partitions) if partition is None else [partition]
    wanted = _ALL_RECORDS if offset is None else offset
    what = "all records" if everything else f"all records before offset {wanted}"
    where = f'topic "{topic}", partition{"s" * (len(numbers) != 1)} {", ".join(map(str, numbers))}'
    if dry_run:
        click.echo(f"would delete {what} of {where}", err=True)
        return
    if not yes:
        confirm(f"Delete {what} of {where}?")
    asked = [TopicPartition(topic, number, wanted) for number in numbers]
    with cluster.errors(f'delete records of topic "{topic}"'):
        futures = client.delete_records(asked, request_timeout=clients.REQUEST_TIMEOUT_S)
    for place, future in futures.items():
        with cluster.errors(f'delete records of "{topic}-{place.partition}"'):
            deleted = cluster.first_result([future])
        start = deleted.low_watermark
        click.echo(f'"{topic}-{place.partition}" now starts at offset {start}', err=True)
