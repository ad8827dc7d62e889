"""`duolog demo`: the options of the command, and the order in which its parts start, run and stop.

    broker ─▶ topics ─▶ tables ∥ JVM ─▶ query ─▶ the year ─▶ caught up ─▶ live flights ─▶ compared

However the run ends, everything is stopped in the opposite order.
"""

import os
import shutil
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import click
from click.core import ParameterSource

from duolog.cli.demo.dataset import YEARS_MAX, ensure_extra_installed
from duolog.cli.demo.options import DemoOptions
from duolog.cli.kafka.security_options import optional_brokers
from duolog.cli.kafka.server_option import read_servers
from duolog.cli.options import data_option, engine_options, mode_option, read_assignments
from duolog.cli.signals import announce_stopping, end_in_order_on_signals
from duolog.runtime.data_dirs import default_data_dir
from duolog.security.clients.profiles import PROFILE_VARIABLE, PROPERTIES_VARIABLE

if TYPE_CHECKING:
    from duolog.runtime.application import Mode
    from duolog.security.clients.brokers import Brokers

_OWN_ENTRIES: Final = (
    "broker",
    "broker.log",
    "checkpoints",
    "clusters",
    "dataset",
    "engine.log",
    "registry.log",
    "start",
    "start.log",
)
_NOT_SERVED: Final = {
    "rate": "--rate",
    "value_format": "--format",
    "mode": "--mode",
    "bootstrap_servers": "--bootstrap-servers",
    "assignments": "--set",
}
"""Options that have no effect on the queries of a SQL server."""
# Limit micro-batches so that the tables change visibly while catching up.
_SETTINGS: Final = {"max.offsets.per.trigger": "100000"}


@click.command()
@click.option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True),
    help="Play all flights live, at this many events per second.",
)
@click.option("--limit", type=click.IntRange(min=1), help="Stop after this many flights.")
@click.option(
    "--years",
    type=click.IntRange(min=1, max=YEARS_MAX),
    default=1,
    show_default=True,
    help="Number of times to play the year; repetitions get earlier dates.",
)
@click.option(
    "--format",
    "value_format",
    type=click.Choice(("json", "avro")),
    default="json",
    show_default=True,
    help="Format of the topics' values. avro: also run a schema registry.",
)
@click.option(
    "--server",
    is_flag=True,
    help="Run the demo in SQL on `duolog start`, and read its tables with clients over HTTP.",
)
@mode_option
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON line per update and one for the result."
)
@data_option("Data directory.  [default: $XDG_DATA_HOME/duolog/demo]")
@click.option("--fresh", is_flag=True, help="Delete the data of earlier runs first.")
@click.option(
    "--yes", is_flag=True, help="With --fresh: also delete the topics on your own cluster."
)
@click.option(
    "-b",
    "--bootstrap-servers",
    "--bootstrap-server",
    "bootstrap_servers",
    callback=read_servers,
    metavar="HOST:PORT,…",
    help="Use this Kafka cluster instead of a Duolog broker.",
)
@engine_options
@click.option(
    "--set-broker",
    "broker_assignments",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting of the demo's broker. Repeatable.",
)
@optional_brokers
def demo(
    *,
    rate: float | None,
    limit: int | None,
    years: int,
    value_format: str,
    server: bool,
    mode: str,
    as_json: bool,
    data_dir: Path | None,
    fresh: bool,
    yes: bool,
    brokers: "Brokers | None",
    assignments: tuple[str, ...],
    broker_assignments: tuple[str, ...],
) -> int:
    """Run the demo: flights joined and counted live.

    Writes 336,776 real flights out of New York to a broker, in the order of their schedule. Duolog
    joins each flight with its airline and its destination and counts delays by both. When it has
    caught up with the year, the last 1,500 flights arrive live, 100 per second, and the demo
    measures the time from produce to result. At the end it compares the tables with the same
    computation in one batch; the exit status is 1 if they differ.

    With --server, the same demo runs in SQL: `duolog start` runs the queries, and curl, two clients
    of ksqlDB and pandas read the tables. Clients that are missing are installed in the data
    directory, or skipped.

    The next run resumes where the last one stopped.

    \b
    Examples:
      duolog demo
      duolog demo --rate 200 --mode real-time
      duolog demo --fresh --limit 50000 --json
      duolog demo --format avro
      duolog demo --server
      duolog demo --bootstrap-servers 127.0.0.1:9092
      duolog demo -b kafka.example:9093 --client-properties client.properties

    \b
    The last line of --json:
      {"events", "matches_batch", "seconds_to_first_row", "events_per_second", "p50_ms", "p99_ms"}
      p50_ms and p99_ms measure the live flights, events_per_second all others.
      With --server: {"events", "matches_batch", "clients"}
    """
    started_at = time.monotonic()
    if server:
        _ensure_served_options()
    ensure_extra_installed()
    _ensure_engine_can_start()
    if fresh and brokers and not yes:
        raise click.UsageError(
            "--fresh deletes the demo's topics on your cluster (flights, airlines, airports, "
            "planes, flights-by-airline, flights-by-destination). To confirm, add --yes."
        )
    options = DemoOptions(
        data_dir=_data_dir(data_dir, "server" if server else value_format),
        mode=cast("Mode", mode),
        rate=rate,
        limit=limit,
        years=years,
        brokers=brokers,
        settings=_SETTINGS | read_assignments(assignments),
        broker_settings=read_assignments(broker_assignments),
        format=value_format,
        registry_arguments=_login_options() if brokers else (),
        server=server,
    )
    return play(options, started_at, fresh=fresh, as_json=as_json)


def _login_options() -> tuple[str, ...]:
    """Return the options by which this command logs in: processes that it starts get no others."""
    given = click.get_current_context().params
    options = {
        "--client-properties": given.get("client_properties")
        or os.environ.get(PROPERTIES_VARIABLE),
        "--profile": given.get("profile") or os.environ.get(PROFILE_VARIABLE),
    }
    return tuple(word for name, value in options.items() if value for word in (name, str(value)))


def _ensure_served_options() -> None:
    """Refuse options that a SQL server does not have.

    Raises:
        UsageError: one is given.
    """
    context = click.get_current_context()
    for name, option in _NOT_SERVED.items():
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{option} cannot be combined with --server.")


def _data_dir(given: Path | None, kind: str) -> Path:
    """Return the directory of a kind of demo: topics and state of another one are not resumed."""
    directory = given or default_data_dir("demo")
    return directory if kind == "json" else directory / kind


def _ensure_engine_can_start() -> None:
    """Report a missing engine or Java before a broker starts and the year is loaded."""
    from duolog.engine.jvm.prerequisites import ensure_can_start  # noqa: PLC0415 - keeps `--help` fast

    ensure_can_start()


def play(options: DemoOptions, started_at: float, *, fresh: bool, as_json: bool) -> int:
    """Run the demo and report; return the exit status."""
    # Imported late to keep `duolog demo --help` fast.
    from duolog.cli.demo.run import DemoRun  # noqa: PLC0415
    from duolog.cli.demo.screen import screen_for  # noqa: PLC0415
    from duolog.cli.demo.served import ServedRun  # noqa: PLC0415

    end_in_order_on_signals()
    if fresh:
        delete_data(options.data_dir)
    kind = ServedRun if options.server else DemoRun
    with ExitStack() as running:
        run = kind(options, running, started_at=started_at)
        try:
            with screen_for(as_json=as_json, started_at=started_at) as screen:
                run.start(screen, fresh=fresh)
                run.watch(screen)
            click.echo("comparing with a batch computation in DuckDB …", err=True)
            return run.compare().report(as_json=as_json)
        except KeyboardInterrupt:
            click.echo(run.resume_hint(fresh=fresh), err=True)
            raise
        finally:
            announce_stopping()


def delete_data(data_dir: Path) -> None:
    """Delete the demo's files in `data_dir`, and no others."""
    for name in _OWN_ENTRIES:
        entry = data_dir / name
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink(missing_ok=True)
