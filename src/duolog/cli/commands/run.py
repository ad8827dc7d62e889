"""`duolog run`: the topology that a Python file defines."""

import shlex
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from duolog.cli.applications.following import FileRunner, StartOptions, follow, load_until_valid
from duolog.cli.applications.topology_file import TopologyFile
from duolog.cli.errors import CONFLICT
from duolog.cli.kafka.server_option import read_servers
from duolog.cli.options import (
    data_option,
    engine_options,
    metrics_option,
    mode_option,
    read_assignments,
)
from duolog.cli.signals import announce_stopping, end_in_order_on_signals
from duolog.cli.terminal.command_again import command_again, sentences
from duolog.cli.terminal.logging_setup import emit, engine_settings, log_format_option
from duolog.core.errors import DuologError
from duolog.engine.errors import StoresNotKept, TopologyChanged
from duolog.runtime.data_dirs import default_data_dir, is_url
from duolog.runtime.errors import BrokerUnavailable

if TYPE_CHECKING:
    from duolog.cli.applications.fresh_start import FreshStart
    from duolog.dsl.topology import Topology
    from duolog.engine.upgrades.upgrade import How
    from duolog.runtime.application import Application, Mode


@click.command()
@click.argument(
    "path", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option("--explain", is_flag=True, help="Print levels, stores and mode; run nothing.")
@click.option(
    "--explain-upgrade",
    is_flag=True,
    help="Print what becomes of each store of the checkpoint; run nothing.",
)
@click.option(
    "--upgrade",
    type=click.Choice(["keep", "rebuild", "from-now"]),
    help="Go on with the state of a topology that has changed: where all of it can be kept, with stores that are "
    "rebuilt beside the process that runs it, which then stops, or with such that begin empty.",
)
@mode_option
@click.option(
    "-b",
    "--bootstrap-servers",
    "--bootstrap-server",
    "bootstrap_servers",
    callback=read_servers,
    envvar="DUOLOG_BOOTSTRAP_SERVERS",
    show_envvar=True,
    metavar="HOST:PORT,…",
    help="The Kafka cluster to use. Without it a broker of Duolog's is started.",
)
@click.option(
    "--create-topics",
    is_flag=True,
    help="Make source topics that are missing, as is always done on the broker that is started.",
)
@click.option(
    "--listen",
    default="127.0.0.1:9092",
    show_default=True,
    metavar="HOST:PORT",
    help="Where the broker that is started takes connections.",
)
@click.option(
    "--watch",
    is_flag=True,
    help="Start anew when FILE changes, or what it imports from its own directory.",
)
@click.option(
    "--fresh",
    is_flag=True,
    help="Start from nothing if the state does not fit the topology: delete its state and results. Needs the broker that the "
    "command starts.",
)
@data_option("Where state is kept.  [default: $XDG_DATA_HOME/duolog/<topology>]", urls=True)
@click.option("-q", "--quiet", is_flag=True, help="No lines about progress.")
@metrics_option
@log_format_option
@engine_options
def run(
    *,
    path: Path,
    explain: bool,
    explain_upgrade: bool,
    upgrade: str | None,
    mode: str,
    bootstrap_servers: str | None,
    create_topics: bool,
    listen: str,
    watch: bool,
    fresh: bool,
    data_dir: Path | None,
    quiet: bool,
    assignments: tuple[str, ...],
) -> None:
    """Run the topology that a Python file defines, until Ctrl-C.

    The file has `topology = Topology(…)`, or a function `topology()` that returns one. Topics that
    are missing are made; on another cluster (-b) its source topics must exist, without
    --create-topics. A second run goes on where the first one stopped; so does each start of
    --watch, if what the stores hold is as before. If it is not, that is said, and nothing runs
    until the next change; with --fresh, the state and the results are deleted, and all is computed
    from the first record of each topic on. A topology that has changed goes on with --upgrade; --explain-upgrade
    tells before what it keeps, and ends with status 6 where that is not all.

    \b
    Examples:
      duolog run totals.py --data ./data
      duolog run totals.py --explain-upgrade --data ./data
      duolog run totals.py --upgrade keep --data ./data
      duolog run totals.py --watch
      duolog run totals.py --watch --fresh
      duolog run totals.py -b 127.0.0.1:9092 --mode real-time --metrics 127.0.0.1:9464
    """
    looks_only = explain or explain_upgrade
    _ensure_can_watch(looks_only=looks_only, upgrades=upgrade is not None, watch=watch)
    _ensure_can_start_fresh(fresh, upgrades=upgrade is not None, servers=bootstrap_servers)
    file = TopologyFile(path)
    end_in_order_on_signals()
    topology = load_until_valid(file) if watch else file.load()
    settings = engine_settings() | read_assignments(assignments)
    _admit(topology, settings, mode, upgrade, watch=watch)
    directory = data_dir or default_data_dir(topology.name)
    with ExitStack() as running:
        if bootstrap_servers is None and not looks_only:
            _ensure_broker_has_a_disk(directory)
            create_topics = True
            bootstrap_servers = _broker(running, directory, listen)

        servers = bootstrap_servers or listen
        application_of = _applications(servers, directory, mode, settings, upgrade)
        if explain_upgrade:
            return _tell_upgrade(application_of(topology))
        if explain:
            return click.echo(application_of(topology).explain())
        begins = StartOptions(
            create_topics=create_topics,
            fresh=_fresh_start(directory, servers) if fresh else None,
            offer=offer_of(click.get_current_context(), topology.name, data_dir),
        )
        if watch:
            return FileRunner(file, application_of, begins, quiet=quiet).run(topology)
        application = running.enter_context(application_of(topology))
        query = begins.begin(application)
        running.callback(announce_stopping)
        return follow(query, application.bootstrap_servers, quiet=quiet)


def _admit(
    topology: "Topology",
    settings: Mapping[str, str],
    mode: str,
    upgrade: str | None,
    *,
    watch: bool,
) -> None:
    """Refuse what a start refuses before a broker is started for it; --watch waits for a change instead."""
    from duolog.runtime.admission import admit  # noqa: PLC0415 - as above

    if not watch:
        admit(topology.build(), topology.name, settings, mode=mode, upgrade=upgrade)


def _applications(
    servers: str, directory: Path, mode: str, settings: Mapping[str, str], upgrade: str | None
) -> Callable[["Topology"], "Application"]:
    """Return what makes the application of a topology."""
    # Imported here: `duolog run --help` needs none of it.
    from duolog.runtime.application import Application  # noqa: PLC0415

    return lambda topology: Application(
        topology,
        bootstrap_servers=servers,
        data_dir=directory,
        mode=cast("Mode", mode),
        settings=settings,
        upgrade=cast("How | None", upgrade),
    )


def _ensure_broker_has_a_disk(directory: Path) -> None:
    if is_url(directory):
        raise click.UsageError(
            f"--data {directory} is for checkpoints: what a broker keeps stays on its own disk. Name a cluster by "
            "--bootstrap-servers, or a directory."
        )


def _broker(running: ExitStack, directory: Path, listen: str) -> str:
    """Start a broker that ends with the command; return where it is."""
    from duolog.runtime.supervisor import BrokerProcess  # noqa: PLC0415

    try:
        broker = running.enter_context(BrokerProcess(directory / "broker", listen))
    except BrokerUnavailable as error:
        error.hint += f" Where a broker runs already, -b uses it: -b {listen}."
        raise
    emit(f"broker on {broker.bootstrap_servers}")
    return broker.bootstrap_servers


def _ensure_can_watch(*, looks_only: bool, upgrades: bool, watch: bool) -> None:
    if not watch:
        return
    if looks_only:
        raise click.UsageError("--explain runs nothing that --watch could start anew.")
    if upgrades:
        raise click.UsageError("--upgrade is one step, and --watch would take it at each change.")


def _ensure_can_start_fresh(fresh: bool, *, upgrades: bool, servers: str | None) -> None:  # noqa: FBT001
    if not fresh:
        return
    if upgrades:
        raise click.UsageError("--upgrade goes on with the state that --fresh would delete.")
    if servers is not None:
        raise click.UsageError(
            "--fresh deletes result topics, which others may read on the cluster of -b. Without -b a broker is started for it."
        )


def _fresh_start(directory: Path, bootstrap_servers: str) -> "FreshStart":
    from duolog.cli.applications.fresh_start import FreshStart  # noqa: PLC0415 - `--help` needs none of it

    return FreshStart(directory, bootstrap_servers)


def offer_of(
    context: click.Context, application: str, data_dir: Path | None
) -> Callable[[DuologError], None]:
    """Return what adds the complete commands that go on to a refusal of changed state."""

    def again(*more: str) -> str:
        return command_again(context, *more, without={"watch", "fresh", "upgrade"})

    def offer(error: DuologError) -> None:
        ways: list[tuple[str, str]] = []
        match error:
            case StoresNotKept():
                ways = [
                    ("To read their topics again", again("--upgrade", "rebuild")),
                    ("To let them start empty", again("--upgrade", "from-now")),
                    ("To see what becomes of each store", again("--explain-upgrade")),
                ]
            case TopologyChanged():
                ways = [
                    ("To see what an upgrade keeps", again("--explain-upgrade")),
                    ("To keep the state", again("--upgrade", "keep")),
                ]
                if context.params["bootstrap_servers"] is None:
                    fresh = ("--watch", "--fresh") if context.params["watch"] else ("--fresh",)
                    ways.append(("To start from nothing", again(*fresh)))
                else:
                    ways.append(("To start from nothing", _reset(context, application, data_dir)))
        if ways:
            error.hint = sentences(*ways)

    return offer


def _reset(context: click.Context, application: str, data_dir: Path | None) -> str:
    """Return the command that deletes the state of an application on another cluster."""
    words = ["duolog", "state", "reset", application]
    if data_dir is not None:
        words += ["--data", str(data_dir)]
    return shlex.join([*words, "-b", str(context.params["bootstrap_servers"])])


def _tell_upgrade(application: "Application") -> None:
    found = application.explain_upgrade()
    click.echo(found)
    if not found.keeps_all:
        raise SystemExit(CONFLICT)
