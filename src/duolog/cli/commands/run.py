"""`duolog run`: the topology that a Python file defines."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from duolog.cli.following import FileRunner, begin, follow, load_when_right
from duolog.cli.options import data_option, mode_option, read_assignments, set_option
from duolog.cli.signals import end_in_order_on_signals, say_stopping
from duolog.cli.topology_file import TopologyFile
from duolog.runtime.data_dirs import default_data_dir
from duolog.runtime.errors import BrokerUnavailable

if TYPE_CHECKING:
    from duolog.dsl.topology import Topology
    from duolog.runtime.application import Application, Mode


@click.command()
@click.argument(
    "path", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option("--explain", is_flag=True, help="Print levels, stores and mode; run nothing.")
@mode_option
@click.option(
    "-b",
    "--bootstrap-servers",
    "--bootstrap-server",
    "bootstrap_servers",
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
@data_option("Where state is kept.  [default: $XDG_DATA_HOME/duolog/<topology>]")
@click.option("-q", "--quiet", is_flag=True, help="No lines about progress.")
@set_option("An engine setting; may be given several times.")
def run(
    *,
    path: Path,
    explain: bool,
    mode: str,
    bootstrap_servers: str | None,
    create_topics: bool,
    listen: str,
    watch: bool,
    data_dir: Path | None,
    quiet: bool,
    assignments: tuple[str, ...],
) -> None:
    """Run the topology that a Python file defines, until Ctrl-C.

    The file has `topology = Topology(…)`, or a function `topology()` that returns one. Topics that
    are missing are made; on another cluster (-b) its source topics must exist, without
    --create-topics. A second run goes on where the first one stopped; so does each start of
    --watch, if what the stores hold is as before. If it is not, that is said, and nothing runs
    until the next change.

    \b
    Examples:
      duolog run totals.py --explain
      duolog run totals.py --data ./data
      duolog run totals.py --watch
      duolog run totals.py --bootstrap-servers 127.0.0.1:9092 --mode real-time
    """
    if watch and explain:
        raise click.UsageError("--explain runs nothing that --watch could start anew.")
    file = TopologyFile(path)
    end_in_order_on_signals()
    topology = load_when_right(file) if watch else file.load()
    # Imported here: `duolog run --help` needs none of it.
    from duolog.runtime.application import Application  # noqa: PLC0415
    from duolog.runtime.supervisor import BrokerProcess  # noqa: PLC0415

    directory = data_dir or default_data_dir(topology.name)
    with ExitStack() as running:
        if bootstrap_servers is None and not explain:
            create_topics = True
            broker = BrokerProcess(directory / "broker", listen)
            try:
                bootstrap_servers = running.enter_context(broker).bootstrap_servers
            except BrokerUnavailable as error:
                error.hint += f" Where a broker runs already, -b uses it: -b {listen}."
                raise
            click.echo(f"broker on {bootstrap_servers}", err=True)

        def application_of(topology: "Topology") -> "Application":
            return Application(
                topology,
                bootstrap_servers=bootstrap_servers or listen,
                data_dir=directory,
                mode=cast("Mode", mode),
                settings=read_assignments(assignments),
            )

        if explain:
            return click.echo(application_of(topology).explain())
        if watch:
            runner = FileRunner(file, application_of, create_topics=create_topics, quiet=quiet)
            return runner.run(topology)
        application = running.enter_context(application_of(topology))
        query = begin(application, create_topics=create_topics)
        running.callback(say_stopping)
        follow(query, quiet=quiet)
    return None
