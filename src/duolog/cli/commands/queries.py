"""`duolog queries`: the persistent queries of a SQL server, with rates, lag, errors and state."""

import sys
import time
from typing import TYPE_CHECKING, Any

import click

from duolog.cli.terminal.output import help_text, output_option, text_table, write_rows
from duolog.cli.top.queries import COLUMNS, TABLE, row_of, table_row_of
from duolog.cli.top.sql_server import SqlServer, server_options
from duolog.core.printable import for_stream

if TYPE_CHECKING:
    from rich.console import Console


@click.command()
@click.argument("query", required=False)
@click.option("--watch", is_flag=True, help="Show the figures until Ctrl-C.")
@click.option(
    "--interval",
    "interval_s",
    type=click.FloatRange(min=0.2),
    default=2.0,
    show_default=True,
    help="Refresh interval of --watch in seconds.",
)
@server_options
@output_option
def queries(
    *, query: str | None, watch: bool, interval_s: float, server: SqlServer, form: str
) -> None:
    """List the persistent queries of a SQL server with their figures.

    Shows rates, unread records and the age of the first of them, each with its trend (↑ rising,
    ↓ falling, → steady), errors, rows in stores, restarts, and the age of the last result. The
    server measures every 5 seconds.

    \b
    Examples:
      duolog queries
      duolog queries --watch
      duolog queries CTAS_TOTALS_1 -o json
      duolog queries --server https://db.example:8088 --server-user ann
    """
    if form == "help":
        click.echo(help_text(COLUMNS), nl=False)
        return
    if not watch:
        found = [row_of(one) for one in _asked(server, query)]
        if form == "table":
            click.echo(for_stream(_table(found)), nl=False)
        else:
            write_rows(found, COLUMNS, form)
        return
    from duolog.cli.signals import end_in_order_on_signals  # noqa: PLC0415 - keeps `--help` fast

    end_in_order_on_signals()
    if form == "table" and sys.stdout.isatty():
        _watch(server, query, interval_s)
    while True:
        found = [row_of(one) for one in _asked(server, query)]
        if form == "table":
            click.echo(for_stream(_table(found)))
        else:
            write_rows(found, COLUMNS, form)
        sys.stdout.flush()
        time.sleep(interval_s)


def _asked(server: SqlServer, query: str | None) -> list[dict[str, Any]]:
    if query is not None:
        return [server.get("/v1/queries", query)]
    found: list[dict[str, Any]] = server.get("/v1/queries")["queries"]
    return found


def _table(rows: list[dict[str, object]]) -> str:
    if not rows:
        return "No query is running, or you may describe none of them.\n"
    errors = [f"{row['query']}: {row['error']}\n" for row in rows if row["error"]]
    shown = text_table([table_row_of(row) for row in rows], [one.name for one in TABLE])
    return shown + "".join(errors)


def _watch(
    server: SqlServer, query: str | None, interval_s: float, console: "Console | None" = None
) -> None:
    from rich.console import Console  # noqa: PLC0415 - as above
    from rich.live import Live  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    with Live(console=console or Console(), auto_refresh=False, screen=True) as live:
        while True:
            found = [row_of(one) for one in _asked(server, query)]
            live.update(Text(for_stream(_table(found)), no_wrap=True), refresh=True)
            time.sleep(interval_s)
