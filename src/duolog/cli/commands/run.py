"""`duolog run`: the topology that a Python file defines."""

import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, cast

import click

from duolog.cli.options import data_option, mode_option, read_assignments, set_option
from duolog.cli.paths import default_data_dir
from duolog.cli.signals import end_in_order_on_signals
from duolog.core.errors import DuologError, StatementError
from duolog.runtime.errors import BrokerUnavailable

if TYPE_CHECKING:
    from duolog.dsl.topology import Topology
    from duolog.runtime.application import Application, Mode

_PROGRESS_EVERY_S = 5.0


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
    data_dir: Path | None,
    quiet: bool,
    assignments: tuple[str, ...],
) -> None:
    """Run the topology that a Python file defines, until Ctrl-C.

    The file has `topology = Topology(…)`, or a function `topology()` that returns one. Topics that
    are missing are made; on another cluster (-b) its source topics must exist, without
    --create-topics. A second run goes on where the first one stopped.

    \b
    Examples:
      duolog run totals.py --explain
      duolog run totals.py --data ./data
      duolog run totals.py --bootstrap-servers 127.0.0.1:9092 --mode real-time
    """
    topology = load_topology(path)
    # Imported here: `duolog run --help` needs none of it.
    from duolog.runtime.application import Application  # noqa: PLC0415
    from duolog.runtime.supervisor import BrokerProcess  # noqa: PLC0415

    directory = data_dir or default_data_dir(topology.name)
    end_in_order_on_signals()
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
        application = Application(
            topology,
            bootstrap_servers=bootstrap_servers or listen,
            data_dir=directory,
            mode=cast("Mode", mode),
            settings=read_assignments(assignments),
        )
        if explain:
            return click.echo(application.explain())
        running.enter_context(application)
        for topic in application.create_source_topics() if create_topics else ():
            click.echo(f'created source topic "{topic}", which was missing', err=True)
        application.check()
        application.open()
        end_in_order_on_signals()
        running.callback(click.echo, "stopping …", err=True)
        watch(application, quiet=quiet)
    return None


def watch(application: "Application", *, quiet: bool) -> None:
    """Run until the query ends, with a line about progress every few seconds.

    Raises:
        QueryError: the query failed.
    """
    query = application.start()
    click.echo(f'application "{application.application_id}" runs', err=True)
    while not query.wait(_PROGRESS_EVERY_S):
        if not quiet:
            now = query.progress()
            click.echo(
                f"{now.mode}, {now.state}: {now.records_in:,} records in, {now.records_out:,} out, "
                f"lag {now.lag_records_total:,}{_skipped(now.skipped)}"
                + (f"; waits for its next start: {now.trouble}" if now.trouble else ""),
                err=True,
            )


def _skipped(skipped: Mapping[str, int]) -> str:
    """Return the end of a line about progress.

    Example:
        >>> _skipped({"deserialization": 1200, "processing": 1}), _skipped({})
        (', skipped 1,201 (deserialization 1,200, processing 1)', '')
    """
    if not skipped:
        return ""
    parts = ", ".join(f"{stage} {count:,}" for stage, count in sorted(skipped.items()))
    return f", skipped {sum(skipped.values()):,} ({parts})"


def load_topology(path: Path) -> "Topology":
    """Return what the file calls `topology`, calling it if it is a function.

    Raises:
        StatementError: the file has none, or raises.
    """
    from duolog.dsl.topology import Topology  # noqa: PLC0415

    found = getattr(_load_module(path), "topology", None)
    topology = _call(path, found) if callable(found) and not isinstance(found, Topology) else found
    if not isinstance(topology, Topology):
        raise StatementError(
            f'file "{path}" defines no topology',
            detail="" if found is None else f"Its `topology` is {type(topology).__name__}.",
            hint='Write `topology = Topology("name")`, or a function `topology()` that returns one.',
        )
    return topology


def _load_module(path: Path) -> ModuleType:
    spec = spec_from_file_location("duolog_run_file", path)
    if spec is None or spec.loader is None:
        raise StatementError(
            f'file "{path}" is not Python', hint="Give it a name that ends in .py."
        )
    module = module_from_spec(spec)
    # As for `python FILE`: what lies beside the file can be imported.
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except DuologError:
        raise
    except Exception as error:
        raise _failed_file(path, error) from error
    return module


def _call(path: Path, define: Callable[[], object]) -> object:
    try:
        return define()
    except DuologError:
        raise
    except Exception as error:
        raise _failed_file(path, error) from error


def _failed_file(path: Path, error: Exception) -> StatementError:
    """Return what is wrong with the file, and where in it: the frames of ours are left out."""
    if isinstance(error, SyntaxError):
        line = error.lineno
    else:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame.lineno for frame in frames if Path(frame.filename) == path]
        line = own[-1] if own else None
    at = f", line {line}" if line else ""
    return StatementError(
        f'file "{path}"{at} cannot be run: {type(error).__name__}: {error}',
        hint=f"`python {path}` shows the whole trace.",
    )
