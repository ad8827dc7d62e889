"""`duolog groups reset`: move the committed offsets of a group."""

import time
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final, NamedTuple

import click
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from duolog.cli.kafka.cluster import Cluster, cluster_options
from duolog.cli.kafka.groups import (
    commit_offsets,
    committed_offsets,
    ensure_idle,
    partitions_of_topics,
    read_groups,
)
from duolog.cli.kafka.name_completion import complete_groups
from duolog.cli.kafka.topics import (
    EARLIEST,
    LATEST,
    Offsets,
    Place,
    no_topic,
    read_offsets,
    show_equivalent,
)
from duolog.cli.options import OFFSET
from duolog.cli.terminal import output
from duolog.cli.terminal.output import Column, Row
from duolog.cli.text.times import read_duration, read_time
from duolog.core.counts import counted
from duolog.core.errors import KafkaError

COLUMNS: Final = (
    Column("topic", "string", "name of the topic"),
    Column("partition", "int", "number of the partition"),
    Column("old_offset", "bigint | null", "committed offset before the reset; null: none"),
    Column("new_offset", "bigint", "committed offset after the reset"),
    Column("records", "bigint", "number of offsets from new_offset to the end"),
)
_WAYS_IN_WORDS: Final = (
    "--to-earliest, --to-latest, --to-current, --to-offset, --to-time, --by-duration or --shift-by"
)


@click.command()
@click.argument("group", shell_complete=complete_groups)
@click.option(
    "--topic",
    "scopes",
    multiple=True,
    metavar="TOPIC[:N,N…]",
    help="A topic, or some of its partitions. Repeatable.",
)
@click.option("--all-topics", is_flag=True, help="Every topic with committed offsets of the group.")
@click.option("--to-earliest", is_flag=True, help="Move to the first retained record.")
@click.option("--to-latest", is_flag=True, help="Move to the end, after the last record.")
@click.option(
    "--to-current", is_flag=True, help="Keep the committed offset, moved into the retained range."
)
@click.option("--to-offset", type=OFFSET, metavar="N", help="Move to this offset.")
@click.option(
    "--to-time",
    "--to-datetime",
    "to_time",
    metavar="TIME",
    help="Move to the first record at or after a time: ms, RFC 3339 or an age such as 10m.",
)
@click.option(
    "--by-duration", metavar="AGE", help="Move to this long before now: 10m, 2h, 7d or PT10M."
)
@click.option("--shift-by", type=int, metavar="N", help="Shift by N records; back if negative.")
@click.option("--dry-run", is_flag=True, help="Show the result without changing anything.")
@output.output_option
@cluster_options
def reset(
    *,
    group: str,
    scopes: tuple[str, ...],
    all_topics: bool,
    dry_run: bool,
    form: str,
    cluster: Cluster,
    **way: str | int | None,
) -> None:
    """Move the committed offsets of a group that has no members.

    An offset out of range is replaced by the nearest retained one. Prints the offsets before and
    after the reset, so that you can undo it.

    \b
    Examples:
      duolog groups reset billing --topic orders --to-earliest --dry-run
      duolog groups reset billing --topic orders:0,1 --to-offset 1000
      duolog groups reset billing --all-topics --to-time 2013-01-01T10:15:00Z
      duolog groups reset billing --all-topics --by-duration 2h
    """
    if form == "help":
        return click.echo(output.help_text(COLUMNS), nl=False)
    chosen = {name: value for name, value in way.items() if value not in (None, False)}
    if len(chosen) != 1:
        raise click.UsageError(f"Use one of {_WAYS_IN_WORDS}.")
    if all_topics == bool(scopes):
        raise click.UsageError("Use either --topic or --all-topics.")
    target = _read_target(*chosen.popitem())
    client = cluster.admin()
    if group in read_groups(client, cluster):
        ensure_idle(client, cluster, group)
    else:
        click.echo(f'group "{group}" does not exist yet', err=True)
    old = committed_offsets(client, cluster, group)
    places = _places(client, cluster, old, scopes)
    if not places:
        click.echo(f'group "{group}" has no committed offsets; name topics with --topic', err=True)
        return output.write_rows([], COLUMNS, form)
    with cluster.errors(f'look up the offsets of group "{group}"'):
        first = _read(client, cluster, places, EARLIEST)
        last = _read(client, cluster, places, LATEST)
        if target.time_ms is not None:
            spec = OffsetSpec.for_timestamp(target.time_ms)
            found = _read(client, cluster, places, spec)
            wanted = {place: last[place] if found[place] < 0 else found[place] for place in places}
        else:
            wanted = _wanted(target, old, first, last)
    new = {place: min(max(wanted[place], first[place]), last[place]) for place in wanted}
    _report_bounds(wanted, new)
    if dry_run:
        show_equivalent(*_equivalent(group, scopes, target, cluster))
    else:
        commit_offsets(client, cluster, group, new)
    rows = [_row(place, old.get(place), new[place], last[place]) for place in sorted(new)]
    output.write_rows(rows, COLUMNS, form)
    verb = "would move" if dry_run else "moved"
    click.echo(f'{verb} group "{group}" in {counted(len(new), "partition")}', err=True)
    return None


class Target(NamedTuple):
    """Target of a reset: the name of Kafka's option, its value, and the time if it is one."""

    option: str
    value: str = ""
    time_ms: int | None = None
    number: int = 0


def _read_target(name: str, value: str | int) -> Target:
    """Parse the target option, before any request to a broker."""
    now_ms = time.time_ns() // 1_000_000
    if name == "to_time" and isinstance(value, str):
        time_ms = read_time(value, now_ms)
        return Target("--to-datetime", _moment(time_ms), time_ms)
    if name == "by_duration" and isinstance(value, str):
        try:
            age_ms = read_duration(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None
        return Target("--by-duration", f"PT{age_ms / 1000:g}S", max(0, now_ms - age_ms))
    option = f"--{name.replace('_', '-')}"
    return Target(option) if value is True else Target(option, str(value), number=int(value))


def _moment(time_ms: int) -> str:
    """Return a time in the format of Kafka's tool, or in ms if it is out of range for a date."""
    try:
        return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError):
        return str(time_ms)


def _places(
    client: AdminClient, cluster: Cluster, old: Offsets, scopes: tuple[str, ...]
) -> list[Place]:
    known = partitions_of_topics(client, cluster)
    if not scopes:
        return sorted(place for place in old if place in known)
    found: set[Place] = set()
    for scope in scopes:
        found |= _in_scope(scope, known)
    return sorted(found)


def _in_scope(scope: str, known: Iterable[Place]) -> set[Place]:
    topic, colon, numbers = scope.partition(":")
    there = {place for place in known if place[0] == topic}
    if not there:
        raise no_topic(topic, {name for name, _ in known})
    if not colon:
        return there
    if not all(number.isdecimal() for number in numbers.split(",")):
        raise click.BadParameter(f'"{scope}" is not TOPIC:N,N…')
    asked = {(topic, int(number)) for number in numbers.split(",")}
    if missing := sorted(asked - there):
        raise KafkaError(f'partition {missing[0][1]} of topic "{topic}" does not exist', code=3)
    return asked


def _wanted(target: Target, old: Offsets, first: Offsets, last: Offsets) -> Offsets:
    """Return the requested offset of each partition for which the target determines one."""
    match target.option:
        case "--to-earliest":
            return first
        case "--to-latest":
            return last
        case "--to-offset":
            return dict.fromkeys(first, target.number)
    if without := [place for place in first if place not in old]:
        click.echo(f"no committed offset for {_names(without)}; left unchanged", err=True)
    return {place: old[place] + target.number for place in first if place in old}


def _report_bounds(wanted: Offsets, new: Offsets) -> None:
    if cut := [place for place in sorted(wanted) if wanted[place] != new[place]]:
        click.echo(f"out of range; using the nearest retained offset: {_names(cut)}", err=True)


def _row(place: Place, old: int | None, new: int, end: int) -> Row:
    return {
        "topic": place[0],
        "partition": place[1],
        "old_offset": old,
        "new_offset": new,
        "records": end - new,
    }


def _equivalent(group: str, scopes: tuple[str, ...], target: Target, cluster: Cluster) -> list[str]:
    words = ["kafka-consumer-groups.sh", "--bootstrap-server", cluster.bootstrap_servers]
    words += ["--reset-offsets", "--group", group]
    for scope in scopes:
        words += ["--topic", scope]
    words += [] if scopes else ["--all-topics"]
    return [*words, target.option, *([target.value] if target.value else [])]


def _names(places: Iterable[Place]) -> str:
    return ", ".join(f"{topic}-{number}" for topic, number in places)


def _read(client: AdminClient, cluster: Cluster, places: list[Place], spec: OffsetSpec) -> Offsets:
    return read_offsets(client, cluster, [TopicPartition(*place) for place in places], spec)
