"""`duolog run`: run the topology defined in a Python file."""

import shlex
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from duolog.cli.applications.acls import acl_tool_option, print_acls, read_principal
from duolog.cli.applications.following import FileRunner, StartOptions, follow, load_until_valid
from duolog.cli.applications.topology_file import TopologyFile
from duolog.cli.errors import CONFLICT
from duolog.cli.kafka.security_options import optional_brokers
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
from duolog.security.clients.brokers import Brokers

if TYPE_CHECKING:
    from duolog.cli.applications.fresh_start import FreshStart
    from duolog.dsl.topology import Topology
    from duolog.engine.upgrades.upgrade_plan import How
    from duolog.runtime.application import Application, Mode


@click.command()
@click.argument(
    "path", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option("--explain", is_flag=True, help="Print the execution plan without running it.")
@click.option(
    "--explain-upgrade",
    is_flag=True,
    help="Print how an upgrade treats each store of the checkpoint; run nothing.",
)
@click.option(
    "--print-acls",
    "principal",
    metavar="USER",
    callback=read_principal,
    help="Print the commands that give a user of the cluster, such as User:totals, the rights that "
    "the topology needs; run nothing.",
)
@acl_tool_option
@click.option(
    "--upgrade",
    type=click.Choice(["keep", "rebuild", "from-now"]),
    help="Resume a changed topology with its state. keep: only if every store can be kept. "
    "rebuild: recompute the other stores while the old version keeps running. from-now: "
    "start the other stores empty.",
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
    help="Kafka cluster to use. By default the command starts a Duolog broker.",
)
@click.option(
    "--create-topics",
    is_flag=True,
    help="Create missing source topics. Always on with the broker that the command starts.",
)
@click.option(
    "--listen",
    default="127.0.0.1:9092",
    show_default=True,
    metavar="HOST:PORT",
    help="Listen address of the broker that the command starts.",
)
@click.option(
    "--watch",
    is_flag=True,
    help="Restart when FILE, or a module it imports from its own directory, changes.",
)
@click.option(
    "--fresh",
    is_flag=True,
    help="If the state does not match the topology, delete state and results and start from "
    "scratch. Not with -b.",
)
@data_option("Directory for state.  [default: $XDG_DATA_HOME/duolog/<topology>]", urls=True)
@click.option("-q", "--quiet", is_flag=True, help="Do not report progress.")
@metrics_option
@log_format_option
@engine_options
@optional_brokers
def run(
    *,
    path: Path,
    explain: bool,
    explain_upgrade: bool,
    principal: str | None,
    upgrade: str | None,
    mode: str,
    brokers: Brokers | None,
    create_topics: bool,
    listen: str,
    watch: bool,
    fresh: bool,
    data_dir: Path | None,
    quiet: bool,
    assignments: tuple[str, ...],
) -> None:
    """Run the topology defined in a Python file until Ctrl-C.

    The file defines `topology = Topology(…)`, or a function `topology()` that returns one. Missing
    topics are created; with -b, missing source topics are created only if --create-topics is given.

    The next run resumes where the last one stopped. If a changed topology does not match its state,
    it does not start: --upgrade resumes it with the state that can be kept, and --fresh deletes
    state and results and recomputes them from the first record of each topic. --explain-upgrade
    shows what an upgrade keeps, and exits with status 6 if it does not keep everything. With
    --watch, a topology that cannot start waits for the next change of its file.

    \b
    Examples:
      duolog run totals.py --data ./data
      duolog run totals.py --upgrade keep --data ./data
      duolog run totals.py -b kafka.example:9093 --client-properties client.properties
      duolog run totals.py --print-acls User:totals
      duolog run totals.py --watch --fresh
      duolog run totals.py -b 127.0.0.1:9092 --mode real-time --metrics 127.0.0.1:9464
    """
    explain_only = explain or explain_upgrade
    _ensure_can_watch(explain_only=explain_only, upgrades=upgrade is not None, watch=watch)
    _ensure_can_start_fresh(fresh, upgrades=upgrade is not None, on_cluster=brokers is not None)
    file = TopologyFile(path)
    end_in_order_on_signals()
    topology = load_until_valid(file) if watch else file.load()
    settings = engine_settings() | read_assignments(assignments)
    if principal is not None:
        return print_acls(topology, principal, brokers, settings, create_topics=create_topics)
    _admit(topology, settings, mode, upgrade, watch=watch)
    directory = data_dir or default_data_dir(topology.name)
    with ExitStack() as running:
        if not explain_only:
            _ensure_engine_can_start()
        if brokers is None and not explain_only:
            create_topics = True
            brokers = Brokers.of(_broker(running, directory, listen))
        brokers = brokers or Brokers.of(listen)
        application_of = _applications(brokers, directory, mode, settings, upgrade)
        if explain_only:
            show = _print_upgrade if explain_upgrade else _print_plan
            return show(application_of(topology))
        options = StartOptions(
            create_topics=create_topics,
            fresh=_fresh_start(directory, brokers.servers) if fresh else None,
            offer=offer_of(click.get_current_context(), topology.name, data_dir),
        )
        if watch:
            return FileRunner(file, application_of, options, quiet=quiet).run(topology)
        return _run(running, application_of(topology), options, quiet=quiet)


def _print_plan(application: "Application") -> None:
    click.echo(application.explain())


def _run(
    running: ExitStack, application: "Application", options: StartOptions, *, quiet: bool
) -> None:
    """Run an application until it ends."""
    running.enter_context(application)
    query = options.start(application)
    running.callback(announce_stopping)
    follow(query, application.brokers, quiet=quiet)


def _admit(
    topology: "Topology",
    settings: Mapping[str, str],
    mode: str,
    upgrade: str | None,
    *,
    watch: bool,
) -> None:
    """Reject an invalid topology before a broker starts; with --watch, wait for a change."""
    from duolog.runtime.admission import admit  # noqa: PLC0415 - keeps `--help` fast

    if not watch:
        admit(topology.build(), topology.name, settings, mode=mode, upgrade=upgrade)


def _ensure_engine_can_start() -> None:
    """Report a missing engine or Java before a broker starts and topics are created."""
    from duolog.engine.jvm.prerequisites import ensure_can_start  # noqa: PLC0415 - keeps `--help` fast

    ensure_can_start()


def _applications(
    servers: Brokers, directory: Path, mode: str, settings: Mapping[str, str], upgrade: str | None
) -> Callable[["Topology"], "Application"]:
    """Return a factory that creates the application of a topology."""
    # Imported late to keep `duolog run --help` fast.
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
            f"--data {directory} can hold checkpoints, but not the log of a broker. Name a cluster "
            "with --bootstrap-servers, or a local directory."
        )


def _broker(running: ExitStack, directory: Path, listen: str) -> str:
    """Start a broker that stops with the command; return its address."""
    from duolog.runtime.broker_process import BrokerProcess  # noqa: PLC0415

    _ensure_broker_has_a_disk(directory)
    try:
        broker = running.enter_context(BrokerProcess(directory / "broker", listen))
    except BrokerUnavailable as error:
        error.hint += f" To use a broker that is already running, add -b {listen}."
        raise
    emit(f"broker on {broker.bootstrap_servers}")
    return broker.bootstrap_servers


def _ensure_can_watch(*, explain_only: bool, upgrades: bool, watch: bool) -> None:
    if not watch:
        return
    if explain_only:
        raise click.UsageError(
            "--explain and --explain-upgrade cannot be combined with --watch: they run nothing."
        )
    if upgrades:
        raise click.UsageError(
            "--upgrade cannot be combined with --watch: it would upgrade at every change."
        )


def _ensure_can_start_fresh(fresh: bool, *, upgrades: bool, on_cluster: bool) -> None:  # noqa: FBT001
    if not fresh:
        return
    if upgrades:
        raise click.UsageError(
            "--upgrade cannot be combined with --fresh, which deletes the state."
        )
    if on_cluster:
        raise click.UsageError(
            "--fresh cannot be combined with -b: it deletes result topics, which others may read. "
            "Leave out -b to start a broker for this topology."
        )


def _fresh_start(directory: Path, bootstrap_servers: str) -> "FreshStart":
    from duolog.cli.applications.fresh_start import FreshStart  # noqa: PLC0415 - keeps `--help` fast

    return FreshStart(directory, bootstrap_servers)


def offer_of(
    context: click.Context, application: str, data_dir: Path | None
) -> Callable[[DuologError], None]:
    """Return a function that adds to an error about changed state the commands that resolve it."""

    def again(*more: str) -> str:
        return command_again(context, *more, without={"watch", "fresh", "upgrade"})

    def offer(error: DuologError) -> None:
        ways: list[tuple[str, str]] = []
        match error:
            case StoresNotKept():
                ways = [
                    ("To rebuild them from their topics", again("--upgrade", "rebuild")),
                    ("To start them empty", again("--upgrade", "from-now")),
                    ("To see the effect on each store", again("--explain-upgrade")),
                ]
            case TopologyChanged():
                ways = [
                    ("To see what an upgrade keeps", again("--explain-upgrade")),
                    ("To keep the state", again("--upgrade", "keep")),
                ]
                if context.params["bootstrap_servers"] is None:
                    fresh = ("--watch", "--fresh") if context.params["watch"] else ("--fresh",)
                    ways.append(("To start from scratch", again(*fresh)))
                else:
                    ways.append(("To start from scratch", _reset(context, application, data_dir)))
        if ways:
            error.hint = sentences(*ways)

    return offer


def _reset(context: click.Context, application: str, data_dir: Path | None) -> str:
    """Return the command that deletes the state of an application on the cluster of -b."""
    words = ["duolog", "state", "reset", application]
    if data_dir is not None:
        words += ["--data", str(data_dir)]
    return shlex.join([*words, "-b", str(context.params["bootstrap_servers"])])


def _print_upgrade(application: "Application") -> None:
    found = application.explain_upgrade()
    click.echo(found)
    if not found.keeps_all:
        raise SystemExit(CONFLICT)
