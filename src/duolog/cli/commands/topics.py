"""`duolog topics`: list, create, describe and delete topics; see also `topic_changes`."""

from collections.abc import Mapping

import click
from confluent_kafka import TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from duolog.cli.commands.topic_changes import alter, delete_records, show_configs
from duolog.cli.kafka.cluster import Cluster, cluster_options
from duolog.cli.kafka.name_completion import complete_topics
from duolog.cli.kafka.topics import (
    EARLIEST,
    LATEST,
    confirm,
    folder_of,
    read_assignment,
    read_metadata,
    read_offsets,
    read_topic_id,
    show_equivalent,
)
from duolog.cli.options import PARTITIONS, REPLICATION_FACTOR
from duolog.cli.terminal import output
from duolog.cli.terminal.output import Column
from duolog.core.counts import counted
from duolog.core.errors import KafkaError

LIST_COLUMNS = (
    Column("topic", "string", "name of the topic"),
    Column("partitions", "int", "number of its partitions"),
)
DESCRIBE_COLUMNS = (
    Column("partition", "int", "number of the partition"),
    Column("leader", "int", "id of the leader node; -1 if none"),
    Column("log_start_offset", "bigint", "first retained offset; empty without a leader"),
    Column("high_watermark", "bigint", "offset after the last readable record"),
    Column("records", "bigint", "high_watermark - log_start_offset; fewer remain after compaction"),
    Column("topic_id", "string | null", "id of the topic; not shown in tables"),
    Column("configs", "object", "settings that differ from the default; not shown in tables"),
)
_NOT_IN_A_TABLE = {"topic_id", "configs"}
_ALREADY_EXISTS = 36
_STORAGE_ERROR = 56


@click.group()
def topics() -> None:
    """List, create, describe, alter and delete topics.

    \b
    Examples:
      duolog topics list -o json
      duolog topics create orders --partitions 4 --config retention.ms=-1
      duolog topics describe orders
      duolog topics alter orders --partitions 8 --config retention.ms=86400000
      duolog topics configs orders
      duolog topics delete-records orders --before 1000
      duolog topics delete orders --yes
    """


topics.add_command(alter)
topics.add_command(show_configs)
topics.add_command(delete_records)


@topics.command("list")
@click.option(
    "--internal", is_flag=True, help="Include topics whose names start with two underscores."
)
@output.output_option
@cluster_options
def list_topics(*, internal: bool, form: str, cluster: Cluster) -> None:
    """List topics by name."""
    if form == "help":
        return click.echo(output.help_text(LIST_COLUMNS), nl=False)
    metadata = read_metadata(cluster.admin(), cluster)
    rows = [
        {"topic": name, "partitions": len(topic.partitions)}
        for name, topic in sorted(metadata.topics.items())
        if internal or not name.startswith("__")
    ]
    return output.write_rows(rows, LIST_COLUMNS, form)


@topics.command()
@click.argument("topic", shell_complete=complete_topics)
@click.option(
    "-p",
    "--partitions",
    default=1,
    show_default=True,
    type=PARTITIONS,
    help="Number of partitions.",
)
@click.option(
    "-r",
    "--replication-factor",
    default=-1,
    type=REPLICATION_FACTOR,
    help="Replication factor. Default: the cluster's setting.",
)
@click.option(
    "-c",
    "--config",
    "configs",
    multiple=True,
    metavar="NAME=VALUE",
    help="A topic setting, such as retention.ms=3600000. Repeatable. `duolog topics configs TOPIC` "
    "lists the names.",
)
@click.option("--if-not-exists", is_flag=True, help="Do nothing if the topic exists.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Let the broker validate the request without creating the topic.",
)
@cluster_options
def create(
    *,
    topic: str,
    partitions: int,
    replication_factor: int,
    configs: tuple[str, ...],
    if_not_exists: bool,
    dry_run: bool,
    cluster: Cluster,
) -> None:
    """Create a topic."""
    config = dict(read_assignment(text) for text in configs)
    new = NewTopic(topic, partitions, replication_factor, config=config)
    if dry_run:
        show_equivalent(*_create_command(topic, partitions, config, cluster))
    client = cluster.admin()
    try:
        with cluster.errors(f'create topic "{topic}"'):
            cluster.first_result(client.create_topics([new], validate_only=dry_run).values())
    except KafkaError as error:
        if not (if_not_exists and error.code == _ALREADY_EXISTS):
            raise
        click.echo(f'topic "{topic}" already exists', err=True)
        return
    verb = "would create" if dry_run else "created"
    click.echo(f'{verb} topic "{topic}" with {counted(partitions, "partition")}', err=True)


@topics.command()
@click.argument("topic", shell_complete=complete_topics)
@output.output_option
@cluster_options
def describe(*, topic: str, form: str, cluster: Cluster) -> None:
    """Show the partitions of a topic, its id, and the settings that differ from the default."""
    if form == "help":
        return click.echo(output.help_text(DESCRIBE_COLUMNS), nl=False)
    client = cluster.admin()
    metadata = read_metadata(client, cluster, topic)
    leaders = {number: part.leader for number, part in metadata.topics[topic].partitions.items()}
    # A partition without a leader has no known offsets.
    places = [TopicPartition(topic, number) for number in sorted(leaders) if leaders[number] >= 0]
    with cluster.errors(f'describe topic "{topic}"'):
        first = read_offsets(client, cluster, places, EARLIEST)
        last = read_offsets(client, cluster, places, LATEST)
        configs = _configs(client, cluster, topic)
        topic_id = read_topic_id(client, cluster, topic)
    rows = [
        _partition_row(
            number, leaders[number], first.get((topic, number)), last.get((topic, number))
        )
        | {"topic_id": topic_id, "configs": configs}
        for number in sorted(leaders)
    ]
    if topic_id is not None:
        click.echo(
            f"topic id {topic_id}; directory on a Duolog broker: {folder_of(topic_id)}", err=True
        )
    for name, value in configs.items():
        click.echo(f"{name}={value}", err=True)
    hidden = _NOT_IN_A_TABLE if form == "table" else ()
    columns = [column for column in DESCRIBE_COLUMNS if column.name not in hidden]
    return output.write_rows(rows, columns, form)


@topics.command()
@click.argument("names", nargs=-1, required=True, shell_complete=complete_topics, metavar="TOPIC…")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--dry-run", is_flag=True, help="Show what would be deleted; delete nothing.")
@cluster_options
def delete(
    *,
    names: tuple[str, ...],
    yes: bool,
    dry_run: bool,
    cluster: Cluster,
) -> None:
    """Delete topics and all their records."""
    client = cluster.admin()
    for name in names:
        read_metadata(client, cluster, name)
        if dry_run:
            show_equivalent(
                *("kafka-topics.sh", "--bootstrap-server", cluster.bootstrap_servers),
                *("--delete", "--topic", name),
            )
    if dry_run:
        return
    if not yes:
        confirm(f"Delete {', '.join(names)} and all their records?")
    ids = {name: read_topic_id(client, cluster, name) for name in names}
    for name, future in client.delete_topics(list(names)).items():
        try:
            with cluster.errors(f'delete topic "{name}"'):
                cluster.first_result([future])
        except KafkaError as error:
            if error.code == _STORAGE_ERROR:
                error.hint = _how_to_free_space(ids[name])
            raise
        click.echo(f'deleted topic "{name}"', err=True)


def _how_to_free_space(topic_id: str | None) -> str:
    where = f" The files of the topic are in {folder_of(topic_id)}." if topic_id else ""
    return (
        "The broker cannot write to its disk, which may be full; its log says what failed. Free "
        "space by removing or moving files of other programs, restart the broker, then delete the "
        f"topic again.{where} Never remove files of a running broker."
    )


def _partition_row(
    number: int, leader: int, low: int | None, high: int | None
) -> dict[str, object]:
    return {
        "partition": number,
        "leader": leader,
        "log_start_offset": low,
        "high_watermark": high,
        "records": None if low is None or high is None else high - low,
    }


def _configs(client: AdminClient, cluster: Cluster, topic: str) -> dict[str, str]:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    entries = cluster.first_result(client.describe_configs([resource]).values())
    return {name: entry.value for name, entry in sorted(entries.items()) if not entry.is_default}


def _create_command(
    topic: str, partitions: int, config: Mapping[str, str], cluster: Cluster
) -> list[str]:
    words = ["kafka-topics.sh", "--bootstrap-server", cluster.bootstrap_servers, "--create"]
    words += ["--topic", topic, "--partitions", str(partitions)]
    for name, value in config.items():
        words += ["--config", f"{name}={value}"]
    return words
