"""`duolog top`: what the applications of this machine do, as it happens."""

import sys
import time
from typing import TYPE_CHECKING, Final

import click

from duolog.cli.terminal.output import Column, help_text, output_option, write_rows
from duolog.core.errors import QueryError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from duolog.engine.metrics import Metrics

_FIRST_S: Final = 1.0
COLUMNS: Final = (
    Column("application", "string", "name of the topology, or id of the query"),
    Column("where", "string", "process, or address that was given"),
    Column("state", "string", "starting, catching-up, running, restarting"),
    Column("mode", "string", "micro-batch or real-time"),
    Column("in_per_s", "int", "records that were read, a second"),
    Column("out_per_s", "int", "records that were written, a second"),
    Column("records_in", "int", "records read since its start"),
    Column("records_out", "int", "records written since its start"),
    Column("lag_records", "int", "records that wait in its topics; null: no broker tells"),
    Column("lag_s", "float", "age of the record that was read last, where more wait"),
    Column("late", "int", "records that came too late for a window"),
    Column("dropped", "int", "records that could not be read or taken"),
    Column(
        "state_rows",
        "int | null",
        "rows of its stores, of large ones as counted some while ago; null: none counted",
    ),
    Column("state_bytes", "int", "bytes of its stores, in files and memory"),
    Column("epochs", "int", "micro-batches and epochs that were committed"),
    Column("epoch_ms", "int", "how long the last one took"),
    Column("phases_ms", "object", "what it spent its time on"),
)


@click.command()
@click.argument("application", required=False)
@click.option(
    "--metrics",
    "addresses",
    multiple=True,
    metavar="HOST:PORT",
    help="Look there instead of at this machine's processes: where an application was started with "
    "--metrics. May be given several times.",
)
@click.option(
    "--interval",
    "interval_s",
    type=click.FloatRange(min=0.2),
    default=2.0,
    show_default=True,
    help="Seconds from one look to the next.",
)
@click.option("--once", is_flag=True, help="Show it once, as is done where there is no terminal.")
@output_option
def top(
    *,
    application: str | None,
    addresses: tuple[str, ...],
    interval_s: float,
    once: bool,
    form: str,
) -> None:
    """Watch the applications that run on this machine, until Ctrl-C.

    Those of this user are found by themselves: `duolog run`, `duolog sql`, and programs that start
    applications. With APPLICATION its nodes, stores and topic partitions are shown, too. Two of one name
    are told apart by WHERE they run: the process id, or the address that was given.

    \b
    Examples:
      duolog top
      duolog top sales
      duolog top --metrics 127.0.0.1:9464
      duolog top -o json
    """
    if form == "help":
        click.echo(help_text(COLUMNS), nl=False)
        return
    from duolog.cli.signals import end_in_order_on_signals  # noqa: PLC0415 - as below

    end_in_order_on_signals()
    if form == "table" and not once and sys.stdout.isatty():
        _watch(application, addresses, interval_s)
    _show_once(application, addresses, form)


def _show_once(application: str | None, addresses: tuple[str, ...], form: str) -> None:
    # Loaded here: `duolog top --help` needs none of it.
    from rich.console import Console  # noqa: PLC0415

    from duolog.cli.top.snapshots import application_row, look  # noqa: PLC0415

    before = look(addresses)
    time.sleep(_FIRST_S if before else 0)
    now = _chosen(look(addresses), application)
    if form == "table":
        width = None if sys.stdout.isatty() else 200
        Console(width=width).print(_screen(now, before, application))
    else:
        rows = [application_row(key[0], one, before.get(key)) for key, one in now.items()]
        write_rows(rows, COLUMNS, form)


def _watch(
    application: str | None,
    addresses: tuple[str, ...],
    interval_s: float,
    console: "Console | None" = None,
) -> None:
    from rich.console import Console  # noqa: PLC0415 - as above
    from rich.live import Live  # noqa: PLC0415

    from duolog.cli.top.snapshots import look  # noqa: PLC0415

    console = console or Console()
    before: dict[tuple[str, str], Metrics] = {}
    with Live(console=console, auto_refresh=False, screen=True) as live:
        wait_s = _FIRST_S
        while True:
            now = look(addresses)
            # It may come, or come back: whoever watches waits for it.
            shown = {key: one for key, one in now.items() if application in {None, key[1]}}
            live.update(_screen(shown, before, application), refresh=True)
            before = now
            time.sleep(wait_s)
            wait_s = interval_s


def _screen(
    now: "dict[tuple[str, str], Metrics]",
    before: "dict[tuple[str, str], Metrics]",
    application: str | None,
) -> "RenderableType":
    from duolog.cli.top import snapshots  # noqa: PLC0415 - as above
    from duolog.cli.top.screen import Inside, screen  # noqa: PLC0415

    rows = [snapshots.application_row(key[0], one, before.get(key)) for key, one in now.items()]
    if application is None:
        return screen(rows)
    insides = [
        Inside(
            f"{key[1]} at {key[0]}",
            snapshots.node_rows(one, before.get(key)),
            snapshots.store_rows(one),
            snapshots.partition_rows(one),
        )
        for key, one in now.items()
    ]
    return screen(rows, insides, application)


def _chosen(
    found: "dict[tuple[str, str], Metrics]", application: str | None
) -> "dict[tuple[str, str], Metrics]":
    chosen = {key: one for key, one in found.items() if application in {None, key[1]}}
    if application is not None and not chosen:
        names = ", ".join(sorted(name for _, name in found)) or "none"
        raise QueryError(
            f'application "{application}" does not run here',
            query_id=application,
            hint=f"These run: {names}. Others are seen by --metrics HOST:PORT.",
        )
    return chosen
