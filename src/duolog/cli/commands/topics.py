"""`duolog topics`: topics of any Kafka cluster; what changes them is in `topic_changes`."""

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
from duolog.core.errors import KafkaError

LIST_COLUMNS = (
    Column("topic", "string", "name of the topic"),
    Column("partitions", "int", "number of its partitions"),
)
DESCRIBE_COLUMNS = (
    Column("partition", "int", "number of the partition"),
    Column("leader", "int", "node that leads it; -1 for none"),
    Column("log_start_offset", "bigint", "first offset that is kept; nothing without a leader"),
    Column("high_watermark", "bigint", "offset after the last record that can be read"),
    Column("records", "bigint", "high_watermark - log_start_offset; compaction may leave fewer"),
    Column(
        "topic_id", "string | null", "id of the topic, the same for each partition; not in a table"
    ),
    Column(
        "configs", "object", "settings of the topic that differ from the default; not in a table"
    ),
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
    "--internal", is_flag=True, help="Also topics whose names start with two underscores."
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
    help="How many partitions.",
)
@click.option(
    "-r",
    "--replication-factor",
    default=-1,
    type=REPLICATION_FACTOR,
    help="Default: the cluster's own.",
)
@click.option(
    "-c",
    "--config",
    "configs",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting of the topic, retention.ms=3600000 say; may be given several times. "
    "`duolog topics configs TOPIC` lists the names.",
)
@click.option("--if-not-exists", is_flag=True, help="Be content with a topic that is there.")
@click.option("--dry-run", is_flag=True, help="Let the broker check, and create nothing.")
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
        click.echo(f'topic "{topic}" is there', err=True)
        return
    verb = "would create" if dry_run else "created"
    click.echo(f'{verb} topic "{topic}" with {partitions} partition(s)', err=True)


@topics.command()
@click.argument("topic", shell_complete=complete_topics)
@output.output_option
@cluster_options
def describe(*, topic: str, form: str, cluster: Cluster) -> None:
    """Show the partitions of a topic, its id, and the configs that differ from the default."""
    if form == "help":
        return click.echo(output.help_text(DESCRIBE_COLUMNS), nl=False)
    client = cluster.admin()
    metadata = read_metadata(client, cluster, topic)
    leaders = {number: part.leader for number, part in metadata.topics[topic].partitions.items()}
    # Nobody could say it of a partition without a leader.
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
        click.echo(f"topic id {topic_id}: in {folder_of(topic_id)} of a Duolog broker", err=True)
    for name, value in configs.items():
        click.echo(f"{name}={value}", err=True)
    hidden = _NOT_IN_A_TABLE if form == "table" else ()
    columns = [column for column in DESCRIBE_COLUMNS if column.name not in hidden]
    return output.write_rows(rows, columns, form)


@topics.command()
@click.argument("names", nargs=-1, required=True, shell_complete=complete_topics, metavar="TOPIC…")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Say what would be deleted, and delete nothing.")
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
    where = f" The topic's own files are in {folder_of(topic_id)}." if topic_id else ""
    return (
        "The broker cannot write to its disk, which may be full; its log says what failed. Free space there by "
        f"removing or moving what is not the broker's, restart the broker, then delete the topic again.{where} Do not remove files of the "
        "broker while it runs."
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
