"""Run the demo once, from starting the broker to the comparison.

    broker ─▶ topics ─▶ tables ─┬─▶ query ─▶ caught up ─▶ live flights ─▶ comparison
    JVM ────────────────────────┘

The tables are complete before the query starts. The year follows, except for its last flights:
these start when the query is live and has counted all others.
"""

import re
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from duolog.cli.demo.check import Difference, differences
from duolog.cli.demo.dataset import FLIGHTS_PER_YEAR, Dataset
from duolog.cli.demo.formats import AvroFormat, DemoFormat, JsonFormat
from duolog.cli.demo.load import FlightLoad
from duolog.cli.demo.screen import Screen, duration, write_json
from duolog.cli.demo.state import DemoState, observe
from duolog.cli.demo.tables import LiveTables
from duolog.cli.demo.topics import DemoTopics
from duolog.cli.demo.topology import APPLICATION_ID, flights_topology
from duolog.cli.kafka.cluster import Cluster
from duolog.cli.signals import end_in_order_on_signals
from duolog.core.counts import counted
from duolog.core.errors import QueryError
from duolog.registry.client import HttpRegistry
from duolog.runtime.application import Application
from duolog.runtime.broker_process import BrokerProcess
from duolog.runtime.early_jvm import EarlyJvm
from duolog.runtime.registry_process import RegistryProcess
from duolog.security.clients.brokers import Brokers

if TYPE_CHECKING:
    from duolog.cli.demo.options import DemoOptions
    from duolog.engine.query.query import RunningQuery

_POLL_S: Final = 0.1
STALLED_S: Final = 120.0
"""Time without results, while flights remain to be counted, after which the run fails."""


class DemoResult(NamedTuple):
    """Result of a run."""

    events: int
    differences: list[Difference]
    seconds_to_first_row: float | None
    events_per_second: float
    p50_ms: int | None
    p99_ms: int | None

    @property
    def matches_batch(self) -> bool:
        return not self.differences

    def report(self, *, as_json: bool) -> int:
        """Print the result; return the exit status: 0 if the tables equal the batch, else 1."""
        for difference in self.differences[:10]:
            click.echo(difference.render(), err=True)
        if as_json:
            write_json(self.as_json())
        elif self.matches_batch:
            click.secho(
                f"Both tables equal a DuckDB batch over the same {self.events:,} flights.",
                fg="green",
            )
            if self.p50_ms is not None:
                click.echo(
                    f"Latency of live flights from produce to result: p50 {duration(self.p50_ms)}, "
                    f"p99 {duration(self.p99_ms)}."
                )
        else:
            count = len(self.differences)
            click.secho(
                f"{counted(count, 'difference')} from the DuckDB batch.", fg="red", err=True
            )
        return 0 if self.matches_batch else 1

    def as_json(self) -> dict[str, object]:
        return {
            "events": self.events,
            "matches_batch": self.matches_batch,
            "seconds_to_first_row": _rounded(self.seconds_to_first_row),
            "events_per_second": _rounded(self.events_per_second),
            "p50_ms": self.p50_ms,
            "p99_ms": self.p99_ms,
        }


class DemoRun:
    """Starts, monitors and compares; `running` stops whatever was started."""

    def __init__(self, options: "DemoOptions", running: ExitStack, *, started_at: float) -> None:
        self._options = options
        self._running = running
        self._started_at = started_at
        self._dataset = Dataset(options.data_dir / "dataset")
        self._tables: LiveTables
        self._counted = 0
        self.application: Application | None = None
        self._load: FlightLoad
        self._format: DemoFormat = JsonFormat()
        self._query: RunningQuery
        self._query_started_at = 0.0
        self._history: tuple[int, float] | None = None
        """Number of flights counted before the live ones, and the seconds that took."""

    def start(self, screen: Screen, *, fresh: bool) -> None:
        """Start broker, topics, tables, query and flights, in this order.

        Raises:
            DuologError: one of them did not start.
        """
        early = EarlyJvm(self._options.settings, self._application_dir())
        self._running.enter_context(early)
        screen.say("starting the broker and Spark")
        topics = DemoTopics(Cluster.of(self._start_broker()))
        if fresh and self._options.brokers:
            topics.delete()
        topics.create()
        self._format = self._open_format(topics)
        screen.say("starting Spark, writing the tables")
        self.application = application = self._open_application(topics)
        early.release()
        screen.say("starting the query")
        self._query_started_at = time.monotonic()
        self._query = application.start()
        self._tables = LiveTables(topics.cluster, self._format.decode)
        self._running.callback(self._tables.close)
        # Stopped before the query: flights written while it stops would not be live in the next
        # run.
        self._running.callback(self._load.stop)
        self._tables.open()
        screen.say("waiting for the first row")

    def watch(self, screen: Screen) -> None:
        """Show the tables until every flight is counted in both, the last ones live.

        Raises:
            DuologError: the producer or the query failed, or no results arrive any more.
        """
        give_up_at = time.monotonic() + STALLED_S
        while True:
            if self._tables.poll(_POLL_S) or not (self._load.done or self._load.waits_for):
                give_up_at = time.monotonic() + STALLED_S
            self._let_flights_go_on()
            state = self._observe()
            self._counted = state.events
            screen.show(state, self._tables)
            if self._load.done and state.events >= self._load.total:
                return
            self._ensure_alive(give_up_at)

    def compare(self) -> DemoResult:
        """Compare the tables with the batch."""
        tables = self._tables
        events, took_s = self._history or self._counted_so_far()
        counted = max(0, events - self._load.found)
        return DemoResult(
            events=tables.events,
            differences=differences(tables.rows, self._dataset, self._load.total),
            seconds_to_first_row=_since(self._started_at, tables.first_row_at),
            events_per_second=counted / took_s if took_s else 0.0,
            p50_ms=tables.latencies.percentile(50),
            p99_ms=tables.latencies.percentile(99),
        )

    def resume_hint(self, *, fresh: bool) -> str:
        """Return a message about resuming, for a user who stops the demo."""
        again = "the same command without --fresh" if fresh else "the same command"
        anew = "; --fresh starts over" if not fresh else ""
        return f"stopped after {self._counted:,} flights\n{again} resumes there{anew}"

    def _let_flights_go_on(self) -> None:
        """Resume the producer if the event it waits for has occurred."""
        load = self._load
        if not load.waits_for:
            return
        if load.waits_for == "row":
            if self._tables.first_row_at is None:
                return
        else:
            if self._query.state != "running" or self._tables.events < load.produced:
                return
            if load.waits_for == "rest":
                self._tables.go_live()
            elif self._options.rate is None:
                self._history = self._counted_so_far()
        load.resume()

    def _counted_so_far(self) -> tuple[int, float]:
        tables = self._tables
        return tables.events, _since(self._query_started_at, tables.last_row_at) or 0.0

    def _start_broker(self) -> Brokers:
        if self._options.brokers:
            return self._options.brokers
        broker = BrokerProcess(
            self._options.data_dir / "broker", settings=self._options.broker_settings
        )
        return Brokers.of(self._running.enter_context(broker).bootstrap_servers)

    def _open_format(self, topics: DemoTopics) -> DemoFormat:
        """Return the format of the values; Avro starts a schema registry on the cluster."""
        if self._options.format == "json":
            return JsonFormat()
        registry = RegistryProcess(
            topics.cluster.bootstrap_servers,
            arguments=self._options.registry_arguments,
            log_path=self._options.data_dir / "registry.log",
        )
        url = self._running.enter_context(registry).url
        return AvroFormat(url, HttpRegistry(url))

    def _open_application(self, topics: DemoTopics) -> Application:
        """Start the JVM while the tables and the flights are written."""
        years = self._options.years
        total = min(self._options.limit or years * FLIGHTS_PER_YEAR, years * FLIGHTS_PER_YEAR)
        self._load = FlightLoad(
            topics,
            self._dataset,
            total=total,
            years=years,
            rate=self._options.rate,
            encode=self._format.encode,
        )
        self._running.callback(self._load.stop)
        self._load.start()
        application = Application(
            flights_topology(self._format.of),
            bootstrap_servers=topics.cluster.brokers,
            data_dir=self._application_dir(),
            mode=self._options.mode,
            settings=self._options.settings,
        )
        self._running.enter_context(application)
        application.open()
        end_in_order_on_signals()
        self._load.wait_until_tables_are_loaded()
        return application

    def _application_dir(self) -> Path:
        """Directory of the application on this cluster: a checkpoint belongs to its topics."""
        brokers = self._options.brokers
        if brokers is None:
            return self._options.data_dir
        name = re.sub(r"[^A-Za-z0-9.,-]", "_", brokers.servers)
        return self._options.data_dir / "clusters" / name

    def _observe(self) -> DemoState:
        return observe(
            self._tables,
            self._load,
            started_at=self._started_at,
            mode=self._query.mode,
            state=self._query.state,
        )

    def _ensure_alive(self, give_up_at: float) -> None:
        if self._load.error is not None:
            raise self._load.error
        if (failure := self._query.exception()) is not None:
            raise failure
        if self._query.state == "stopped" or time.monotonic() > give_up_at:
            raise QueryError(
                f"{self._load.total - self._tables.events:,} flights were not counted",
                query_id=APPLICATION_ID,
                detail=f"No result arrived for {STALLED_S:.0f} s; the query is "
                f"{self._query.state}.",
                hint=f"Read {self._application_dir() / 'engine.log'}, or start over with --fresh.",
            )


def _since(start: float, end: float | None) -> float | None:
    return None if end is None else end - start


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
