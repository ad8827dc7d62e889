"""`duolog top`: monitor the applications running on this machine."""

import sys
import time
from typing import TYPE_CHECKING, Final

import click

from duolog.cli.terminal.output import Column, help_text, output_option, write_rows
from duolog.core.errors import QueryError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from duolog.engine.query.metrics import Metrics

_FIRST_S: Final = 1.0
COLUMNS: Final = (
    Column("application", "string", "name of the topology, or id of the query"),
    Column("where", "string", "process id, or address from --metrics"),
    Column("state", "string", "starting, catching-up, running, restarting"),
    Column("mode", "string", "micro-batch or real-time"),
    Column("in_per_s", "int", "records read per second"),
    Column("out_per_s", "int", "records written per second"),
    Column("records_in", "int", "records read since the start"),
    Column("records_out", "int", "records written since the start"),
    Column("lag_records", "int", "unread records in its topics; null: no broker answers"),
    Column("lag_s", "float", "age of the last record read, if unread records remain"),
    Column("late", "int", "records too late for their window"),
    Column("dropped", "int", "records that could not be deserialized or processed"),
    Column(
        "state_rows",
        "int | null",
        "rows in its stores, at the last count for large stores; null: not counted",
    ),
    Column("state_bytes", "int", "bytes of its stores, in files and memory"),
    Column("epochs", "int", "committed micro-batches and epochs"),
    Column("epoch_ms", "int", "duration of the last one"),
    Column("phases_ms", "object", "duration of its phases"),
)


@click.command()
@click.argument("application", required=False)
@click.option(
    "--metrics",
    "addresses",
    multiple=True,
    metavar="HOST:PORT",
    help="Read the metrics of an application started with this --metrics address, instead of "
    "those of this machine's processes. Repeatable.",
)
@click.option(
    "--interval",
    "interval_s",
    type=click.FloatRange(min=0.2),
    default=2.0,
    show_default=True,
    help="Refresh interval in seconds.",
)
@click.option("--once", is_flag=True, help="Print once and exit; the default without a terminal.")
@output_option
def top(
    *,
    application: str | None,
    addresses: tuple[str, ...],
    interval_s: float,
    once: bool,
    form: str,
) -> None:
    """Monitor the applications running on this machine until Ctrl-C.

    Finds all applications of the current user: `duolog run`, `duolog sql`, and programs that start
    applications. With APPLICATION, also shows its nodes, stores and topic partitions. The column
    WHERE (a process id or an address) distinguishes applications with the same name.

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
    # Imported late to keep `duolog top --help` fast.
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
            # An application that is not running may start later, so keep waiting for it.
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
    from duolog.cli.top.screen import Inside, screen, with_warnings  # noqa: PLC0415
    from duolog.runtime.metrics.insecure_servers import insecure_servers  # noqa: PLC0415

    insecure = insecure_servers()
    rows = [snapshots.application_row(key[0], one, before.get(key)) for key, one in now.items()]
    if application is None:
        return with_warnings(screen(rows), insecure)
    insides = [
        Inside(
            f"{key[1]} at {key[0]}",
            snapshots.node_rows(one, before.get(key)),
            snapshots.store_rows(one),
            snapshots.partition_rows(one),
        )
        for key, one in now.items()
    ]
    return with_warnings(screen(rows, insides, application), insecure)


def _chosen(
    found: "dict[tuple[str, str], Metrics]", application: str | None
) -> "dict[tuple[str, str], Metrics]":
    chosen = {key: one for key, one in found.items() if application in {None, key[1]}}
    if application is not None and not chosen:
        names = ", ".join(sorted(name for _, name in found)) or "none"
        raise QueryError(
            f'application "{application}" is not running on this machine',
            query_id=application,
            hint=f"Running here: {names}. For others, use --metrics HOST:PORT.",
        )
    return chosen
