"""`duolog demo`: options, and the order in which things start, run and stop.

    broker ─▶ topics ─▶ tables ∥ JVM ─▶ query ─▶ the year ─▶ caught up ─▶ live flights ─▶ compared

Everything is stopped in the opposite order, whatever ends it.
"""

import shutil
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import click

from duolog.cli.demo.dataset import YEARS_MAX, ensure_extra_installed
from duolog.cli.demo.options import DemoOptions
from duolog.cli.kafka.server_option import read_servers
from duolog.cli.options import data_option, engine_options, mode_option, read_assignments
from duolog.cli.signals import announce_stopping, end_in_order_on_signals
from duolog.runtime.data_dirs import default_data_dir

if TYPE_CHECKING:
    from duolog.runtime.application import Mode

_OWN_ENTRIES: Final = ("broker", "broker.log", "checkpoints", "clusters", "dataset", "engine.log")
# Micro-batches of a size that lets the tables move while the year goes by.
_SETTINGS: Final = {"max.offsets.per.trigger": "100000"}


@click.command()
@click.option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True),
    help="Events per second, all of them live.",
)
@click.option("--limit", type=click.IntRange(min=1), help="Stop after so many flights.")
@click.option(
    "--years",
    type=click.IntRange(min=1, max=YEARS_MAX),
    default=1,
    show_default=True,
    help="Play the year so often, with earlier dates before it.",
)
@mode_option
@click.option("--json", "as_json", is_flag=True, help="One JSON line per update, and a last one.")
@data_option("Where everything is kept.  [default: $XDG_DATA_HOME/duolog/demo]")
@click.option("--fresh", is_flag=True, help="Forget earlier runs first.")
@click.option("--yes", is_flag=True, help="With --fresh: also delete topics of your own cluster.")
@click.option(
    "-b",
    "--bootstrap-servers",
    "--bootstrap-server",
    "bootstrap_servers",
    callback=read_servers,
    metavar="HOST:PORT,…",
    help="Use this Kafka cluster, and not a broker of Duolog's.",
)
@engine_options
@click.option(
    "--set-broker",
    "broker_assignments",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting of its broker; may be given several times.",
)
def demo(
    *,
    rate: float | None,
    limit: int | None,
    years: int,
    mode: str,
    as_json: bool,
    data_dir: Path | None,
    fresh: bool,
    yes: bool,
    bootstrap_servers: str | None,
    assignments: tuple[str, ...],
    broker_assignments: tuple[str, ...],
) -> int:
    """Watch a year of flights become two live tables.

    336,776 real flights out of New York are written to a broker as they were scheduled. Duolog joins
    each with its airline and its destination, and counts delays by both. The last 1,500 come live, 100
    a second, once the year is caught up with: of these is shown how long each takes from produce to
    its row. At the end the tables are compared with the same computation done in one batch; the exit
    status is 1 if they differ.

    A second run goes on where the first one stopped.

    \b
    Examples:
      duolog demo
      duolog demo --rate 200 --mode real-time
      duolog demo --fresh --limit 50000 --json
      duolog demo --bootstrap-servers 127.0.0.1:9092

    \b
    The last line of --json:
      {"events", "matches_batch", "seconds_to_first_row", "events_per_second", "p50_ms", "p99_ms"}
      p50_ms and p99_ms are those of live flights; events_per_second is that of the others.
    """
    started_at = time.monotonic()
    ensure_extra_installed()
    if fresh and bootstrap_servers and not yes:
        raise click.UsageError(
            "--fresh deletes the demo's topics on your cluster (flights, airlines, airports, planes, "
            "flights-by-airline, flights-by-destination): add --yes"
        )
    options = DemoOptions(
        data_dir=data_dir or default_data_dir("demo"),
        mode=cast("Mode", mode),
        rate=rate,
        limit=limit,
        years=years,
        bootstrap_servers=bootstrap_servers,
        settings=_SETTINGS | read_assignments(assignments),
        broker_settings=read_assignments(broker_assignments),
    )
    return play(options, started_at, fresh=fresh, as_json=as_json)


def play(options: DemoOptions, started_at: float, *, fresh: bool, as_json: bool) -> int:
    """Run the demo and report; return the exit status."""
    # Imported here: `duolog demo --help` needs none of it.
    from duolog.cli.demo.run import DemoRun  # noqa: PLC0415
    from duolog.cli.demo.screen import screen_for  # noqa: PLC0415

    end_in_order_on_signals()
    if fresh:
        forget(options.data_dir)
    with ExitStack() as running:
        run = DemoRun(options, running, started_at=started_at)
        try:
            with screen_for(as_json=as_json, started_at=started_at) as screen:
                run.start(screen, fresh=fresh)
                run.watch(screen)
            click.echo("comparing with DuckDB's batch …", err=True)
            return run.compare().report(as_json=as_json)
        except KeyboardInterrupt:
            click.echo(run.how_to_go_on(fresh=fresh), err=True)
            raise
        finally:
            announce_stopping()


def forget(data_dir: Path) -> None:
    """Delete what the demo keeps in `data_dir`, and nothing else that may be there."""
    for name in _OWN_ENTRIES:
        entry = data_dir / name
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink(missing_ok=True)
