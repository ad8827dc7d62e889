"""`duolog state reset`: delete the state of an application, as if it had never run."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from duolog.cli.applications.states import below, future_state, maybe_find_state, no_state
from duolog.cli.kafka.cluster import Cluster, cluster_options
from duolog.cli.kafka.topics import EARLIEST, LATEST, confirm, read_metadata, read_offsets
from duolog.cli.options import data_option
from duolog.cli.terminal import output
from duolog.cli.terminal.output import Column, Row
from duolog.cli.text.times import read_duration, read_time

if TYPE_CHECKING:
    from duolog.runtime.states import KeptState

COLUMNS: Final = (
    Column("kind", "string", "checkpoint, internal topic, or input topic"),
    Column("name", "string", "directory, topic name, or TOPIC-PARTITION"),
    Column(
        "action",
        "string",
        "deleted, or where the next run starts: an offset, or as the topology specifies",
    ),
)


@click.command()
@click.argument("application")
@click.option(
    "--to-earliest", is_flag=True, help="Read input topics from the first retained record."
)
@click.option("--to-latest", is_flag=True, help="Read input topics from their current end.")
@click.option(
    "--to-time",
    "--to-datetime",
    "to_time",
    metavar="TIME",
    help="Read from the first record at or after a time: ms, RFC 3339 or an age such as 10m.",
)
@click.option(
    "--by-duration", metavar="AGE", help="Read from this long before now: 10m, 2h, 7d or PT10M."
)
@click.option("--dry-run", is_flag=True, help="Show the result without changing anything.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@data_option("Data directory of `duolog run`.  [default: all in $XDG_DATA_HOME/duolog]", urls=True)
@output.output_option
@cluster_options
def reset(
    *,
    application: str,
    to_earliest: bool,
    to_latest: bool,
    to_time: str | None,
    by_duration: str | None,
    dry_run: bool,
    yes: bool,
    data_dir: Path | None,
    form: str,
    cluster: Cluster,
) -> None:
    """Delete an application's checkpoint and internal topics.

    The application must be stopped. The next run reads the input topics from where the topology or
    an option specifies. Result topics are kept and receive the results again. Corresponds to Kafka
    Streams' application reset tool together with `cleanUp()`. Works without a checkpoint, if
    internal topics exist.

    \b
    Examples:
      duolog state reset totals --data ./data --dry-run
      duolog state reset totals --data ./data --by-duration 2h --yes
    """
    if form == "help":
        return click.echo(output.help_text(COLUMNS), nl=False)
    ways = [to_earliest, to_latest, to_time is not None, by_duration is not None]
    if sum(ways) > 1:
        raise click.UsageError(
            "Use only one of --to-earliest, --to-latest, --to-time, --by-duration."
        )
    spec = EARLIEST if to_earliest else LATEST if to_latest else _at_time(to_time, by_duration)
    on_disk = maybe_find_state(application, data_dir)
    found = on_disk or future_state(application, data_dir)
    found.ensure_stopped()
    client = cluster.admin()
    topics, sources = _topics_of(application, on_disk, data_dir, cluster, client)
    starts = {} if spec is None else _starts(client, cluster, sources, spec)
    rows = [] if on_disk is None else [_row("checkpoint", str(found.directory), "deleted")]
    rows += [_row("internal topic", topic, "deleted") for topic in topics]
    for topic in sources:
        if topic not in starts:
            rows.append(_row("input topic", topic, "as the topology specifies"))
        for number, offset in sorted(starts.get(topic, {}).items()):
            rows.append(_row("input topic", f"{topic}-{number}", f"offset {offset}"))
    output.write_rows(rows, COLUMNS, form)
    if not dry_run:
        if not yes:
            sys.stdout.flush()  # Show the rows before asking, even through a pipe.
            confirm(f'Delete the state of application "{application}"?')
            found.ensure_stopped()
        # Delete the topics first: a start can continue from a checkpoint without them, but would
        # restore from them alone.
        with cluster.errors(f'delete the internal topics of "{application}"'):
            for future in client.delete_topics(topics).values() if topics else ():
                cluster.first_result([future])
        found.remove()
        if starts:
            found.checkpoint.give_starts(starts)
    verb = "would reset" if dry_run else "reset"
    click.echo(f'{verb} application "{application}"', err=True)
    return None


def _row(kind: str, name: str, action: str) -> Row:
    return {"kind": kind, "name": name, "action": action}


def _topics_of(
    application: str,
    on_disk: "KeptState | None",
    data_dir: Path | None,
    cluster: Cluster,
    client: AdminClient,
) -> tuple[list[str], list[str]]:
    """Return the existing internal topics of an application, and its input topics.

    If the checkpoint is missing or damaged, the commit topic provides the information.

    Raises:
        StateMissing: the application has neither a checkpoint nor internal topics.
        CheckpointInUse: there is no checkpoint here, and the application is running with another
            data directory.
    """
    # Imported late to keep `--help` fast.
    from duolog.engine.settings import EngineConfig  # noqa: PLC0415
    from duolog.runtime.orphaned_topics import ensure_not_running, find_orphaned_topics  # noqa: PLC0415

    there = set(read_metadata(client, cluster).topics)
    config = EngineConfig.of_brokers(cluster.brokers, Path("checkpoints"))
    left = find_orphaned_topics(config, application, there)
    if on_disk is None:
        if not left.internal_topics:
            nor = f" and no internal topics on {cluster.bootstrap_servers}"
            raise no_state(application, data_dir, nor=nor)
        ensure_not_running(application)
        click.echo(
            f'application "{application}" has no checkpoint {below(data_dir)}; resetting its '
            "internal topics in Kafka",
            err=True,
        )
        return left.internal_topics, left.source_topics
    known = [topic for topic in on_disk.internal_topics if topic in there]
    return list(dict.fromkeys([*known, *left.internal_topics])), (
        on_disk.source_topics or left.source_topics
    )


def _at_time(to_time: str | None, by_duration: str | None) -> OffsetSpec | None:
    """Return the offset spec of a time; None if no time is given."""
    now_ms = time.time_ns() // 1_000_000
    if to_time is not None:
        time_ms = read_time(to_time, now_ms)
    elif by_duration is not None:
        try:
            time_ms = max(0, now_ms - read_duration(by_duration))
        except ValueError as error:
            raise click.BadParameter(str(error)) from None
    else:
        return None
    at_time: OffsetSpec = OffsetSpec.for_timestamp(time_ms)
    return at_time


def _starts(
    client: AdminClient, cluster: Cluster, sources: list[str], spec: OffsetSpec
) -> dict[str, dict[int, int]]:
    """Return the start offset of each partition of the existing input topics."""
    metadata = read_metadata(client, cluster).topics
    places = [
        TopicPartition(topic, number)
        for topic in sources
        if topic in metadata
        for number in metadata[topic].partitions
    ]
    starts: dict[str, dict[int, int]] = {}
    with cluster.errors("look up the offsets of its input topics"):
        offsets = read_offsets(client, cluster, places, spec)
        ends = read_offsets(client, cluster, places, LATEST)
    for (topic, number), offset in offsets.items():
        starts.setdefault(topic, {})[number] = ends[topic, number] if offset < 0 else offset
    return starts
