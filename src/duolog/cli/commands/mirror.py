"""`duolog mirror`: copy topics, records and consumer groups to another Kafka cluster."""

import re
from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from click.core import ParameterSource

from duolog.cli.errors import MirrorConflict, MirrorIncomplete
from duolog.cli.kafka import clients
from duolog.cli.kafka.cluster import Cluster
from duolog.cli.kafka.security_options import brokers_given, client_properties_options
from duolog.cli.kafka.server_option import read_servers
from duolog.cli.options import REPLICATION_FACTOR, data_option
from duolog.cli.signals import end_by_event
from duolog.cli.terminal import output
from duolog.cli.terminal.output import Column, Row
from duolog.core.counts import counted
from duolog.runtime.errors import BrokerUnavailable
from duolog.security.clients.brokers import Brokers
from duolog.security.clients.profiles import Given, client_profile

if TYPE_CHECKING:
    from duolog.cli.mirror.plan import Plan
    from duolog.cli.mirror.session import Mirror, Result

PLAN_COLUMNS: Final = (
    Column("topic", "string", "name of the topic"),
    Column("partitions", "int", "number of its partitions"),
    Column("action", "string", "create, copy (continue), or none (nothing is new)"),
    Column("offsets", "bigint", "offsets to copy; fewer records, if some were compacted"),
    Column("settings", "string", "settings of the topic after the copy, as NAME=VALUE"),
)
COLUMNS: Final = (
    Column("topic", "string", "name of the topic"),
    Column("partition", "int", "number of the partition"),
    Column("records", "bigint", "records compared by the last verification"),
    Column("checksum", "string", "CRC32C over these records, equal on both sides"),
    Column("source_offset", "bigint", "end of the partition on the source"),
    Column("target_offset", "bigint", "target offset after the last copied record"),
)

_NEVER_MS: Final = str(2**31 - 1)
_SETTINGS: Final = {
    "log.retention.check.interval.ms": _NEVER_MS,
    "offsets.retention.check.interval.ms": _NEVER_MS,
    "log.cleaner.enable": "false",
    # The mirror waits for the transactions that a stopped broker has left open.
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}


class Expression(click.ParamType[re.Pattern[str]]):
    """A regular expression that a whole name must match."""

    name = "regex"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> re.Pattern[str]:
        try:
            return re.compile(str(value))
        except re.error as error:
            self.fail(f'"{value}" is not a regular expression: {error}', param, ctx)


def _target_options(command: Callable[..., object]) -> Callable[..., object]:
    """Add the options of the target, passed to the command as `target`.

    The environment's properties are the source's.
    """

    @click.option(
        "--to",
        "target_servers",
        required=True,
        callback=read_servers,
        metavar="HOST:PORT,…",
        help="Brokers of the cluster to copy to.",
    )
    @click.option(
        "--to-client-properties",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help="File of client properties for the target.",
    )
    @click.option(
        "--to-profile", metavar="NAME", help="Profile of client properties for the target."
    )
    @click.option(
        "--to-property",
        "target_properties",
        multiple=True,
        metavar="NAME=VALUE",
        callback=clients.read_properties,
        help="A client property for the target, like -X for the source. Repeatable.",
    )
    @wraps(command)
    def with_target(
        *args: object,
        target_servers: str,
        to_client_properties: Path | None,
        to_profile: str | None,
        target_properties: dict[str, str],
        **options: object,
    ) -> object:
        given: Given = {} if (to_client_properties or to_profile) is None else to_client_properties
        target = client_profile(given, to_profile, target_properties).brokers(target_servers)
        return command(*args, target=target, **options)

    return with_target


@click.command()
@click.option(
    "-b",
    "--bootstrap-servers",
    "--bootstrap-server",
    "source_servers",
    callback=read_servers,
    envvar="DUOLOG_BOOTSTRAP_SERVERS",
    show_envvar=True,
    metavar="HOST:PORT,…",
    help="Brokers of the cluster to copy from.",
)
@data_option(
    "Data directory of a broker or of `duolog run` to copy from; the command runs a broker on it."
)
@click.option("--topics", type=Expression(), metavar="REGEX", help="Copy only matching topics.")
@click.option("--groups", type=Expression(), metavar="REGEX", help="Move only matching groups.")
@click.option(
    "-r",
    "--replication-factor",
    default=-1,
    type=REPLICATION_FACTOR,
    help="Replication factor of new topics. Default: the target's setting.",
)
@click.option(
    "--follow",
    is_flag=True,
    help="Continue until Ctrl-C, then run without --follow to verify and finish.",
)
@click.option("--dry-run", is_flag=True, help="Print the plan; change nothing.")
@client_properties_options
@clients.properties_option
@_target_options
@output.output_option
def mirror(
    *,
    target: Brokers,
    source_servers: str | None,
    data_dir: Path | None,
    topics: re.Pattern[str] | None,
    groups: re.Pattern[str] | None,
    replication_factor: int,
    follow: bool,
    dry_run: bool,
    client_properties: Path | None,
    profile: str | None,
    properties: dict[str, str],
    form: str,
) -> None:
    """Copy topics, records and groups to another Kafka cluster, exactly once.

    Copies the committed records with keys, values, headers and timestamps to the same partitions,
    verifies them, moves the committed offsets of groups, and sets the settings of the topics. If it
    is interrupted or killed, run the same command again: it continues. The progress is stored in a
    topic of the target.

    \b
    Examples:
      duolog mirror --data ./data --to kafka.example:9092 --dry-run
      duolog mirror --data ./data --to kafka.example:9092
      duolog mirror -b 127.0.0.1:9092 --to kafka.example:9092 --follow
      duolog mirror -b 127.0.0.1:9092 --to kafka.example:9092 --topics 'shop-.*'
    """
    if form == "help":
        columns = PLAN_COLUMNS if dry_run else COLUMNS
        return click.echo(output.help_text(columns), nl=False)
    where = click.get_current_context().get_parameter_source("source_servers")
    if data_dir is not None and where is ParameterSource.ENVIRONMENT:
        source_servers = None
    if (data_dir is None) == (source_servers is None):
        raise click.UsageError("Name the source with either --bootstrap-servers or --data.")
    if follow and dry_run:
        raise click.UsageError("--follow cannot be combined with --dry-run.")
    # Imported late to keep `duolog mirror --help` fast.
    from duolog.cli.mirror.session import Mirror, Options  # noqa: PLC0415

    with ExitStack() as running:
        if data_dir is not None:
            source_servers = _broker(running, data_dir)
            _say(
                "settings of the source broker's own properties, such as log.retention.hours, are "
                "not in its data directory: set them on the target"
            )
        assert source_servers is not None
        found = Mirror(
            Cluster.of(
                _source(source_servers, client_properties, profile, properties, data_dir), "source"
            ),
            Cluster.of(target, "target", "--to"),
            Options(topics, groups, replication_factor),
            _say,
        )
        if dry_run:
            return _print_plan(found, form)
        with end_by_event() as stopping:
            if follow:
                _say("copying until Ctrl-C")
                return found.follow(stopping)
            result = found.run(stopping)
    return _print_result(found, result, form)


def _source(
    servers: str,
    client_properties: Path | None,
    profile: str | None,
    more: dict[str, str],
    data_dir: Path | None,
) -> Brokers:
    if data_dir is not None:
        return client_profile({}, None, more).brokers(servers)
    return brokers_given(servers, client_properties, profile, more, "source_servers")


def _broker(running: ExitStack, directory: Path) -> str:
    """Start a broker on an existing data directory; return its address.

    It deletes nothing: its settings need not be those that the directory was written with.
    """
    from duolog.runtime.broker_process import BrokerProcess  # noqa: PLC0415

    kept = next(
        (at for at in (directory, directory / "broker") if (at / "meta.properties").is_file()), None
    )
    if kept is None:
        raise click.BadParameter(
            f'"{directory}" does not contain the data of a broker', param_hint="'--data'"
        )
    try:
        broker = BrokerProcess(kept, settings=_SETTINGS)
        return running.enter_context(broker).bootstrap_servers
    except BrokerUnavailable as error:
        error.hint += " If a broker is running on this directory, name it with -b instead."
        raise


def _print_plan(mirror: "Mirror", form: str) -> None:
    plan = mirror.plan()
    output.write_rows(_plan_rows(plan), PLAN_COLUMNS, form)
    for name, owner in sorted(plan.left_out.items()):
        _say(f'would leave out internal topic "{name}" of {owner}')
    for note in plan.notes():
        _say(note)
    for (name, number), count in sorted(mirror.open_offsets(plan).items()):
        _say(
            f'partition {number} of topic "{name}": {counted(count, "offset")} in or after an open '
            "transaction"
        )
    names = {topic.topic for topic in plan.topics}
    for group, offsets in mirror.groups().items():
        if any(name in names for name, _ in offsets):
            _say(f'would move group "{group}"')


def _plan_rows(plan: "Plan") -> list[Row]:
    return [
        {
            "topic": topic.topic,
            "partitions": len(topic.ends),
            "action": topic.action,
            "offsets": 0 if topic.action == "none" else topic.offsets_to_copy,
            "settings": " ".join(f"{name}={value}" for name, value in topic.settings.items()),
        }
        for topic in plan.topics
    ]


def _print_result(mirror: "Mirror", result: "Result", form: str) -> None:
    output.write_rows(list(mirror.rows(result)), COLUMNS, form)
    if result.raised_timestamps:
        _say(
            f"{counted(result.raised_timestamps, 'record')} with timestamp 0 copied with "
            f"timestamp 1"
        )
    for group, count in result.groups.moved.items():
        _say(f'moved group "{group}" in {counted(count, "partition")}')
    for group in result.groups.started:
        _say(f'group "{group}" has started on the target; its offsets there are unchanged')
    _say(f"copied {counted(result.records, 'record')}")
    _ensure_complete(mirror, result)
    if blocked := result.groups.with_members:
        raise MirrorConflict(
            f"offsets not set of {counted(len(blocked), 'group')} with members on the target",
            detail=", ".join(blocked),
            hint="Stop the members and run the same command again.",
        )


def _ensure_complete(mirror: "Mirror", result: "Result") -> None:
    """Report what the source deleted before it was copied, in this run or an earlier one."""
    lost = mirror.lost(result)
    if lost or result.gone:
        parts = [
            f"{topic}-{number} from {first} to {end - 1}"
            for (topic, number), ranges in lost.items()
            for first, end in ranges
        ]
        parts += [f'all of topic "{topic}" after the last run' for topic in result.gone]
        raise MirrorIncomplete(
            "the source deleted offsets before they were copied; all others were copied and "
            "verified",
            detail=f"Deleted: {', '.join(parts)}.",
            hint="To start over with what the source has now, delete the topic on the target and "
            "run the same command again. Otherwise, leave it out with --topics.",
        )


def _say(text: str) -> None:
    click.echo(text, err=True)
