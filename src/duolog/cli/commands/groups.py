"""`duolog groups`: list, describe and delete consumer groups; see also `group_reset`."""

from typing import Final

import click
from confluent_kafka import TopicPartition
from confluent_kafka.admin import ConsumerGroupDescription, MemberDescription

from duolog.cli.commands.group_reset import reset
from duolog.cli.kafka.cluster import Cluster, cluster_options
from duolog.cli.kafka.groups import (
    committed_offsets,
    describe_group,
    ensure_idle,
    partitions_of_topics,
    read_groups,
)
from duolog.cli.kafka.name_completion import complete_groups
from duolog.cli.kafka.topics import LATEST, Offsets, Place, confirm, read_offsets, show_equivalent
from duolog.cli.terminal import output
from duolog.cli.terminal.output import Column, Row

LIST_COLUMNS: Final = (
    Column("group", "string", "name of the group"),
    Column("state", "string", "stable, empty (no members), preparing_rebalancing, assigning, …"),
    Column("protocol", "string", "classic, or consumer (KIP-848)"),
)
OFFSET_COLUMNS: Final = (
    Column("topic", "string", "name of the topic"),
    Column("partition", "int", "number of the partition"),
    Column("committed_offset", "bigint | null", "offset of the next record to read; null: none"),
    Column(
        "log_end_offset", "bigint | null", "offset after the last record; null: no such partition"
    ),
    Column("lag", "bigint | null", "log_end_offset - committed_offset"),
    Column("member", "string | null", "client id of the member that reads it"),
    Column("host", "string | null", "address of that member"),
)
MEMBER_COLUMNS: Final = (
    Column("member", "string", "client id of the member"),
    Column("host", "string", "address of the member"),
    Column("member_id", "string", "member id, chosen by the broker or the client"),
    Column("partitions", "string", "assigned partitions, as TOPIC-PARTITION"),
)


@click.group()
def groups() -> None:
    """List, describe, reset and delete consumer groups.

    \b
    Examples:
      duolog groups list
      duolog groups describe billing
      duolog groups describe billing --members
      duolog groups reset billing --topic orders --to-earliest --dry-run
      duolog groups reset billing --all-topics --by-duration 2h
      duolog groups delete billing --yes
    """


groups.add_command(reset)


@groups.command("list")
@output.output_option
@cluster_options
def list_groups(*, form: str, cluster: Cluster) -> None:
    """List groups by name, with their states."""
    if form == "help":
        return click.echo(output.help_text(LIST_COLUMNS), nl=False)
    found = read_groups(cluster.admin(), cluster)
    rows = [
        {"group": name, "state": group.state.name.lower(), "protocol": group.type.name.lower()}
        for name, group in sorted(found.items())
    ]
    return output.write_rows(rows, LIST_COLUMNS, form)


@groups.command()
@click.argument("group", shell_complete=complete_groups)
@click.option("--members", is_flag=True, help="Show the members instead of the offsets.")
@output.output_option
@cluster_options
def describe(*, group: str, members: bool, form: str, cluster: Cluster) -> None:
    """Show the committed offsets, lag and assigned members of a group."""
    columns = MEMBER_COLUMNS if members else OFFSET_COLUMNS
    if form == "help":
        return click.echo(output.help_text(columns), nl=False)
    client = cluster.admin()
    found = describe_group(client, cluster, group)
    click.echo(
        f"state={found.state.name.lower()} members={len(found.members)} "
        f"assignor={found.partition_assignor or '-'} "
        f"coordinator={found.coordinator.host}:{found.coordinator.port}",
        err=True,
    )
    if members:
        return output.write_rows(_member_rows(found), columns, form)
    committed = committed_offsets(client, cluster, group)
    owners = {
        (place.topic, place.partition): member
        for member in found.members
        for place in member.assignment.topic_partitions
    }
    places = sorted({*committed, *owners})
    known = partitions_of_topics(client, cluster)
    with cluster.errors("read the end offsets of its topics"):
        wanted = [TopicPartition(*place) for place in places if place in known]
        ends = read_offsets(client, cluster, wanted, LATEST)
    rows = [_offset_row(place, committed.get(place), ends, owners.get(place)) for place in places]
    return output.write_rows(rows, columns, form)


@groups.command()
@click.argument("names", nargs=-1, required=True, shell_complete=complete_groups, metavar="GROUP…")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--dry-run", is_flag=True, help="Show what would be deleted; delete nothing.")
@cluster_options
def delete(*, names: tuple[str, ...], yes: bool, dry_run: bool, cluster: Cluster) -> None:
    """Delete groups without members, and their offsets."""
    client = cluster.admin()
    for name in names:
        ensure_idle(client, cluster, name)
        if dry_run:
            show_equivalent(
                *("kafka-consumer-groups.sh", "--bootstrap-server", cluster.bootstrap_servers),
                *("--delete", "--group", name),
            )
    if dry_run:
        return
    if not yes:
        confirm(f"Delete {', '.join(names)} and their offsets?")
    for name, future in client.delete_consumer_groups(list(names)).items():
        with cluster.errors(f'delete group "{name}"'):
            cluster.first_result([future])
        click.echo(f'deleted group "{name}"', err=True)


def _offset_row(
    place: Place, committed: int | None, ends: Offsets, member: MemberDescription | None
) -> Row:
    end = ends.get(place)
    return {
        "topic": place[0],
        "partition": place[1],
        "committed_offset": committed,
        "log_end_offset": end,
        "lag": None if end is None or committed is None else end - committed,
        "member": member.client_id if member else None,
        "host": member.host if member else None,
    }


def _member_rows(found: ConsumerGroupDescription) -> list[Row]:
    return [
        {
            "member": member.client_id,
            "host": member.host,
            "member_id": member.member_id,
            "partitions": " ".join(
                f"{place.topic}-{place.partition}"
                for place in sorted(
                    member.assignment.topic_partitions,
                    key=lambda place: (place.topic, place.partition),
                )
            ),
        }
        for member in sorted(found.members, key=lambda member: (member.client_id, member.member_id))
    ]
