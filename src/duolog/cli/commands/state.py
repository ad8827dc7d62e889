"""`duolog state`: inspect and restore the state of applications; `state_reset` deletes it."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from duolog.cli.applications.following import report_restored
from duolog.cli.applications.states import below, find_state, states_below
from duolog.cli.applications.topology_file import TopologyFile
from duolog.cli.commands.state_reset import reset
from duolog.cli.errors import CONFLICT, StateMissing
from duolog.cli.kafka.security_options import application_brokers, client_properties_options
from duolog.cli.kafka.server_option import read_servers
from duolog.cli.kafka.topics import confirm
from duolog.cli.options import data_option, read_assignments, set_option
from duolog.cli.sql.values import json_of
from duolog.cli.terminal import output
from duolog.cli.terminal.output import Column, Row
from duolog.core.counts import counted
from duolog.runtime.data_dirs import default_data_dir
from duolog.security.clients.brokers import Brokers

if TYPE_CHECKING:
    from duolog.engine.changelog.commit_topic import Committed
    from duolog.engine.restore_plan import RestorePlan
    from duolog.runtime.application import Application
    from duolog.runtime.states import KeptState

LIST_COLUMNS: Final = (
    Column("application", "string", "application id"),
    Column(
        "condition", "string", "running, stopped, new (nothing committed), damaged, other format"
    ),
    Column("epoch", "bigint | null", "number of the last commit; null: none"),
    Column("committed_at", "string | null", "time of the last commit"),
    Column("tasks", "int | null", "number of tasks"),
    Column("stores", "int", "number of stores"),
    Column(
        "changelogs",
        "boolean | null",
        "whether its state can be restored from changelogs; null: not known yet",
    ),
    Column("bytes", "bigint", "size on disk"),
    Column("directory", "string", "directory of the checkpoint"),
)
STORE_COLUMNS: Final = (
    Column("store", "string", "name of the store"),
    Column("of", "string", "node that uses the store"),
    Column("place", "string | null", "sub-topology and level of the store"),
    Column("changelog", "string | null", "changelog topic; null: none"),
)
POSITION_COLUMNS: Final = (
    Column("topic", "string", "name of the source topic"),
    Column("partition", "int", "number of the partition"),
    Column("offset", "bigint", "next offset to read after the last commit"),
)
ROW_COLUMNS: Final = (
    Column("key", "json", "the key; an array if it has several columns or a window"),
    Column("value", "json", "columns of the row, as an object"),
    Column("timestamp", "bigint", "timestamp of the row in ms since 1970 UTC"),
)
_servers_option = click.option(
    "-b",
    "--bootstrap-servers",
    "--bootstrap-server",
    "bootstrap_servers",
    callback=read_servers,
    envvar="DUOLOG_BOOTSTRAP_SERVERS",
    show_envvar=True,
    default="127.0.0.1:9092",
    show_default=True,
    metavar="HOST:PORT,…",
    help="Kafka cluster of the application.",
)
_file_argument = click.argument(
    "path", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
_DATA: Final = "Data directory of `duolog run`.  [default: all in $XDG_DATA_HOME/duolog]"
_DATA_OF_FILE: Final = (
    "Data directory of `duolog run`.  [default: $XDG_DATA_HOME/duolog/<topology>]"
)


@click.group()
def state() -> None:
    """Inspect, restore and reset application state.

    \b
    Examples:
      duolog state list
      duolog state describe totals --data ./data --positions
      duolog state dump totals.py aggregate-3-store --data ./data -o jsonl
      duolog state restore totals.py --data ./data --dry-run
      duolog state reset totals --data ./data --to-earliest --dry-run
    """


state.add_command(reset)


@state.command("list")
@data_option(_DATA, urls=True)
@output.output_option
def list_states(*, data_dir: Path | None, form: str) -> None:
    """List the applications with a checkpoint on this machine. Needs no broker."""
    if form == "help":
        return click.echo(output.help_text(LIST_COLUMNS), nl=False)
    rows = [_state_row(of) for of in states_below(data_dir)]
    if data_dir is not None and not data_dir.is_dir():
        raise StateMissing(
            f'directory "{data_dir}" does not exist',
            hint="Use the directory of `duolog run --data`.",
        )
    if not rows:
        click.echo(f"no application has a checkpoint {below(data_dir)}", err=True)
    return output.write_rows(rows, LIST_COLUMNS, form)


@state.command()
@click.argument("application")
@click.option("--positions", is_flag=True, help="Show the next offset of each source partition.")
@data_option(_DATA, urls=True)
@output.output_option
def describe(*, application: str, positions: bool, data_dir: Path | None, form: str) -> None:
    """Show the stores or the committed positions of an application. Needs no broker."""
    columns = POSITION_COLUMNS if positions else STORE_COLUMNS
    if form == "help":
        return click.echo(output.help_text(columns), nl=False)
    found = find_state(application, data_dir)
    fixed = found.fixed
    versions = " ".join(f"{name}={number}" for name, number in fixed.get("versions", {}).items())
    click.echo(
        f"condition={found.condition} epoch={_or_dash(found.epoch)} "
        f"committed_at={_or_dash(_moment(found.committed_at_ms))} tasks={fixed.get('tasks', '-')} "
        f"format={_or_dash(found.format)} {versions} bytes={found.bytes} "
        f"directory={found.directory}",
        err=True,
    )
    if positions:
        places = sorted(
            (topic, partition, offset)
            for topic, offsets in found.positions().items()
            for partition, offset in offsets.items()
        )
        rows: list[Row] = [
            dict(zip(("topic", "partition", "offset"), at, strict=True)) for at in places
        ]
        return output.write_rows(rows, columns, form)
    return output.write_rows(_store_rows(found), columns, form)


@state.command()
@_file_argument
@click.argument("store")
@data_option(_DATA_OF_FILE, urls=True)
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(("jsonl", "help")),
    default="jsonl",
    show_default=True,
    help="Output format. help: describe the columns.",
)
@set_option("An engine setting. Repeatable.")
def dump(
    *, path: Path, store: str, data_dir: Path | None, form: str, assignments: tuple[str, ...]
) -> None:
    """Print the stored rows of a table as JSON lines.

    Shows the rows as of the last commit. FILE defines the topology. The application may be running.
    Takes some seconds to start a JVM.
    """
    if form == "help":
        return click.echo(output.help_text(ROW_COLUMNS), nl=False)
    with _application(path, data_dir, Brokers.of("127.0.0.1:9092"), assignments) as application:
        rows = application.store(store).all()
        for key, value in rows.items():
            row = {"key": key, "value": value, "timestamp": rows.timestamp_ms(key)}
            click.echo(json_of(row))
    return None


@state.command()
@_file_argument
@click.option(
    "--dry-run", is_flag=True, help="Show what would be moved and restored; change nothing."
)
@click.option("--yes", is_flag=True, help="Replace an intact checkpoint without asking.")
@data_option(_DATA_OF_FILE, urls=True)
@_servers_option
@client_properties_options
@set_option("An engine setting. Repeatable.")
def restore(
    *,
    path: Path,
    dry_run: bool,
    yes: bool,
    data_dir: Path | None,
    bootstrap_servers: str,
    client_properties: Path | None,
    profile: str | None,
    assignments: tuple[str, ...],
) -> None:
    """Restore the stores of an application from changelogs.

    Restores the state of the last commit. `duolog run` does this automatically if the checkpoint is
    missing or unreadable. FILE defines the topology. An existing checkpoint is moved to
    `spark.before-restore`. With --dry-run, shows what would be restored, where reading would
    resume, and what is missing or does not match; in the last case the exit status is 6.
    """
    brokers = application_brokers(bootstrap_servers, client_properties, profile)
    with _application(path, data_dir, brokers, assignments) as application:
        name = application.application_id
        _ensure_stopped(application)
        kept = application.what_is_kept()
        if kept is None:
            click.echo(
                f'application "{name}" has no changelogs with a commit; '
                "run a new application with `duolog run --set state.changelog=on` to write them",
                err=True,
            )
            raise click.exceptions.Exit(3)
        click.echo(f'application "{name}": {_last_commit(kept.committed)}', err=True)
        asks = application.has_whole_checkpoint and not yes
        if dry_run or asks:
            plan = application.restore_plan(kept)
            for line in _what_a_restore_does(application, plan):
                click.echo(line, err=True)
            if dry_run and plan.problems:
                raise click.exceptions.Exit(CONFLICT)
        if dry_run:
            return
        if asks:
            confirm(f'The checkpoint of "{name}" is intact. Move it aside and restore?')
        application.on_restore = report_restored
        application.restore()


def _application(
    path: Path,
    data_dir: Path | None,
    bootstrap_servers: Brokers,
    assignments: tuple[str, ...],
) -> "Application":
    topology = TopologyFile(path).load()
    from duolog.runtime.application import Application  # noqa: PLC0415 - takes half a second

    return Application(
        topology,
        bootstrap_servers=bootstrap_servers,
        data_dir=data_dir or default_data_dir(topology.name),
        settings=read_assignments(assignments),
    )


def _ensure_stopped(application: "Application") -> None:
    """Raise CheckpointInUse if the application runs here, before `restore` starts a JVM."""
    from duolog.runtime.states import KeptState  # noqa: PLC0415 - as in `_application`

    KeptState(application.checkpoint_dir).ensure_stopped()


def _last_commit(committed: "Committed") -> str:
    """Describe the commit that a restore returns to.

    The number is that of the checkpoint, as shown by `list`. The numbers in the commit topic
    restart with each start.
    """
    moment = _moment(committed.committed_at_ms)
    told = f"last commit: number {committed.number}" + (f", at {moment}" if moment else "")
    has_committed = committed.epoch >= 0
    return told if has_committed else f"{told}; it was started since then, without a commit"


def _what_a_restore_does(application: "Application", plan: "RestorePlan") -> Iterator[str]:
    from duolog.engine.changelog.logged_checkpoint import LoggedCheckpoint  # noqa: PLC0415
    from duolog.engine.checkpoint.checkpoint import Checkpoint  # noqa: PLC0415 - as in `_application`

    logged = LoggedCheckpoint(Checkpoint(application.checkpoint_dir))
    for spark_dir, aside in logged.moves_of_restore():
        if logged.is_half_restored:
            yield f"would remove {spark_dir}, left by an unfinished restore"
        else:
            replaces = ", replacing the existing one" if aside.exists() else ""
            yield f"would move {spark_dir} to {aside.name}{replaces}"
    for store, topic in sorted(plan.changelogs.items()):
        entries = plan.entries.get(topic)
        many = "" if entries is None else f": at most {counted(entries, 'entry', 'entries')}"
        yield f'would restore store "{store}" from topic "{topic}"{many}'
    for topic, offsets in sorted(plan.positions.items()):
        places = ", ".join(f"partition {of} at {at}" for of, at in sorted(offsets.items()))
        yield f'would resume topic "{topic}": {places}'
    for problem in plan.problems:
        yield f"does not match: {problem}"


def _state_row(of: "KeptState") -> Row:
    return {
        "application": of.application_id,
        "condition": of.condition,
        "epoch": of.epoch,
        "committed_at": _moment(of.committed_at_ms),
        "tasks": of.fixed.get("tasks"),
        "stores": len(of.stores),
        "changelogs": of.has_changelogs,
        "bytes": of.bytes,
        "directory": str(of.directory),
    }


def _store_rows(of: "KeptState") -> list[Row]:
    changelogs = of.changelogs
    return [
        {
            "store": name,
            "of": layout.get("called"),
            "place": layout.get("place"),
            "changelog": changelogs.get(name),
        }
        for name, layout in sorted(of.stores.items())
    ]


def _moment(time_ms: int | None) -> str | None:
    if time_ms is None:
        return None
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="seconds")


def _or_dash(value: object) -> object:
    return "-" if value is None else value
