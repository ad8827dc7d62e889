"""Output of the demo: live tables on a terminal, plain lines elsewhere, or JSON lines.

Data (tables, JSON) goes to standard output, messages about progress to standard error.
"""

import json
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Final, Protocol, Self

import click
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from duolog.cli.demo.state import DemoState
from duolog.cli.demo.tables import LiveTables, Row
from duolog.cli.demo.topics import BY_AIRLINE, BY_DESTINATION

REFRESH_S: Final = 0.25
_LINES_EVERY_S: Final = 2.0
_JSON_EVERY_S: Final = 1.0
_LINES_AROUND_TABLES: Final = 8
_TWO_TABLES_WIDTH: Final = 100
_LONG_S: Final = 12.0


class Screen(Protocol):
    """Output of the demo."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def say(self, doing: str) -> None:
        """Announce the step that starts now, before there are results."""
        ...

    def show(self, state: DemoState, tables: LiveTables) -> None:
        """Show the current state; the screen decides how often it draws."""
        ...


class JsonScreen:
    """One JSON object per line on standard output, once a second."""

    def __init__(self) -> None:
        self._next_at = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing to undo."""

    def say(self, doing: str) -> None:
        click.echo(f"{doing} …", err=True)

    def show(self, state: DemoState, tables: LiveTables) -> None:
        if time.monotonic() >= self._next_at:
            self._next_at = time.monotonic() + _JSON_EVERY_S
            write_json(state.as_json())


class LineScreen:
    """Lines on standard error every two seconds, and the tables on standard output at the end."""

    def __init__(self) -> None:
        self._next_at = 0.0
        self._last: LiveTables | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._last is not None:
            console = Console(width=_TWO_TABLES_WIDTH)
            for topic in (BY_AIRLINE, BY_DESTINATION):
                console.print(result_table(topic, self._last.rows[topic], most=None))

    def say(self, doing: str) -> None:
        click.echo(f"{doing} …", err=True)

    def show(self, state: DemoState, tables: LiveTables) -> None:
        self._last = tables
        if time.monotonic() >= self._next_at:
            self._next_at = time.monotonic() + _LINES_EVERY_S
            click.echo(status_line(state).plain, err=True)


class LiveScreen:
    """The two tables on a terminal, redrawn four times a second by a separate thread.

    The thread keeps the clock running while the main thread waits for Spark.
    """

    def __init__(self, console: Console, started_at: float) -> None:
        self._console = console
        self._waiting = Waiting(started_at)
        self._live = Live(self._waiting, console=console, refresh_per_second=1 / REFRESH_S)
        self._next_at = 0.0

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._live.stop()

    def say(self, doing: str) -> None:
        self._waiting.begin(doing)

    def show(self, state: DemoState, tables: LiveTables) -> None:
        if state.events == 0:
            return  # The clock is more useful than empty tables.
        if time.monotonic() < self._next_at and state.events < state.total:
            return
        self._next_at = time.monotonic() + REFRESH_S
        self._live.update(self._picture(state, tables))

    def _picture(self, state: DemoState, tables: LiveTables) -> Group:
        width, height = self._console.size
        most = max(3, height - _LINES_AROUND_TABLES)
        airlines = result_table(BY_AIRLINE, tables.rows[BY_AIRLINE], most)
        parts = Table.grid(padding=(0, 3))
        if width >= _TWO_TABLES_WIDTH:
            destinations = result_table(BY_DESTINATION, tables.rows[BY_DESTINATION], min(most, 16))
            parts.add_row(airlines, destinations)
        else:
            parts.add_row(airlines)
        return Group(title(), progress(state, width), status_line(state), Text(), parts)


class Waiting:
    """The finished steps and the current one with their durations, and a clock."""

    def __init__(self, started_at: float) -> None:
        self._started_at = started_at
        self._steps: list[tuple[str, float]] = []

    def begin(self, doing: str) -> None:
        # Replace the list, because the drawing thread may be iterating over the old one.
        self._steps = [*self._steps, (doing, time.monotonic())]

    def __rich__(self) -> Group:
        now, steps = time.monotonic(), self._steps
        ends = [*(begun_at for _, begun_at in steps[1:]), now]
        lines = [
            Text(f"{end - begun_at:5.1f} s  {doing}", style="dim")
            for (doing, begun_at), end in zip(steps, ends, strict=True)
        ]
        if steps:
            lines[-1].append(" …")
        clock = Text(f"{now - self._started_at:5.1f} s", style="bold cyan")
        if now - self._started_at > _LONG_S:
            clock.append(
                "  the first start is the slowest; later ones use a Java class cache", "dim"
            )
        return Group(title(), *lines, clock)


def screen_for(*, as_json: bool, started_at: float) -> Screen:
    """Return the matching screen: JSON on request, live tables on a terminal, else lines."""
    if as_json:
        return JsonScreen()
    console = Console()
    if console.is_terminal and not console.is_dumb_terminal:
        return LiveScreen(console, started_at)
    return LineScreen()


def write_json(fields: Mapping[str, object]) -> None:
    click.echo(json.dumps(fields, separators=(",", ":")))


def title() -> Text:
    return Text.assemble(
        ("Duolog", "bold"), " · flights out of New York in 2013, joined and counted live"
    )


def progress(state: DemoState, width: int) -> Table:
    line = Table.grid(padding=(0, 1))
    bar = ProgressBar(total=max(1, state.total), completed=state.events, width=min(60, width - 34))
    line.add_row(bar, f"{state.events:,} of {state.total:,} events")
    return line


def status_line(state: DemoState) -> Text:
    """Return one line with the current throughput and lag, or with the latency of live flights."""
    strong = "bold cyan"
    if state.live:
        line = Text.assemble(
            ("live ", "bold green"),
            (f"{state.events_per_second:,.0f}", strong),
            " events/s · produce to result p50 ",
            (duration(state.p50_ms), strong),
            " p99 ",
            (duration(state.p99_ms), strong),
        )
    else:
        line = Text.assemble(
            "going live " if state.mode == "real-time" else "catching up ",
            (f"{state.events_per_second:,.0f}", strong),
            " events/s · lag ",
            (f"{state.lag:,}", strong),
        )
    line.append(f" · {state.mode} · {state.elapsed_s:.0f} s", "dim")
    line.no_wrap = True
    line.overflow = "ellipsis"
    return line


def duration(ms: int | None) -> str:
    """Return a duration in ms as readable text.

    Example:
        >>> duration(None), duration(56), duration(12_345)
        ('-', '56 ms', '12.3 s')
    """
    if ms is None:
        return "-"
    return f"{ms} ms" if ms < 10_000 else f"{ms / 1000:.1f} s"


def result_table(topic: str, rows: Mapping[str, Row], most: int | None) -> Table:
    """Return the rows with the most flights first."""
    first = "airline" if topic == BY_AIRLINE else "destination"
    table = Table(box=None, padding=(0, 1), pad_edge=False, header_style="bold")
    # On a narrow terminal the names shrink, because only their column may wrap.
    table.add_column(first, max_width=30)
    for heading in ("flights", "mean delay", "max"):
        table.add_column(heading, justify="right", no_wrap=True)
    ordered = sorted(rows.items(), key=lambda item: (-item[1]["flights"], item[0]))
    for key, row in ordered[:most]:
        table.add_row(*_cells(key, row))
    return table


def _cells(key: str, row: Row) -> tuple[Text, str, str, str]:
    name = Text.assemble(
        (f"{key:<4}", "cyan"), row["name"] or "", no_wrap=True, overflow="ellipsis"
    )
    mean, most = row["delay_mean"], row["delay_max"]
    return (
        name,
        f"{row['flights']:,}",
        "-" if mean is None else f"{mean:.2f} min",
        "-" if most is None else f"{most:,}",
    )
