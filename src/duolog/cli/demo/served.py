"""Run the demo in SQL over HTTP once, from `duolog start` to the answers of its clients.

    duolog start ─▶ topics ─▶ flights ∥ statements ─▶ caught up ─▶ clients ─▶ comparison
    clients installed ────────────────────────────────────────────┘

The statements are those of `flights.sql`, sent in one request. They are sent again by the next run:
each creates its stream or table only if it does not exist. The queries continue by themselves.
"""

import json
import re
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click

import duolog
from duolog.cli.demo.clients import Answer, ask_all, install
from duolog.cli.demo.dataset import FLIGHTS_PER_YEAR, Dataset
from duolog.cli.demo.load import FlightLoad
from duolog.cli.demo.run import STALLED_S
from duolog.cli.demo.screen import Screen, write_json
from duolog.cli.demo.state import observe
from duolog.cli.demo.tables import LiveTables, Row
from duolog.cli.demo.topics import FLIGHTS_PARTITIONS, DemoTopics
from duolog.cli.kafka.cluster import Cluster
from duolog.core.errors import QueryError
from duolog.runtime.start_process import StartProcess
from duolog.security.clients.brokers import Brokers

if TYPE_CHECKING:
    from duolog.cli.demo.options import DemoOptions

STATEMENTS: Final = Path(__file__).with_name("flights.sql")
_POLL_S: Final = 0.1
_STOP_S: Final = 60.0
_SETTINGS: Final = {"log.retention.ms": "-1"}
"""Flights of 2013 are older than any retention by time, those in the topics of queries, too."""
_PROPERTIES: Final = {"processing.guarantee": "exactly_once_v2"}
"""After a kill, a flight must not be joined, and then counted, twice."""
_CREATE: Final = re.compile(r"^CREATE (STREAM|TABLE) ", re.MULTILINE)


class ServedResult(NamedTuple):
    """Result of a run.

    Attributes:
        events: flights that both tables have counted.
        answers: the tables as each client has read them.
    """

    events: int
    answers: list[Answer]

    @property
    def matches_batch(self) -> bool:
        return not any(answer.differences for answer in self.answers)

    def report(self, *, as_json: bool) -> int:
        """Print the result; return the exit status: 0 if all answers equal the batch, else 1."""
        for answer in self.answers:
            for difference in answer.differences[:10]:
                click.echo(f"{answer.client}: {difference.render()}", err=True)
        if as_json:
            write_json(self.as_json())
        else:
            click.echo(f"Both tables after {self.events:,} flights and a batch in DuckDB:")
            for answer in self.answers:
                color = "red" if answer.differences else "yellow" if answer.skipped else "green"
                click.secho(f"  {answer.client:<14} {answer.verdict}", fg=color)
        return 0 if self.matches_batch else 1

    def as_json(self) -> dict[str, object]:
        return {
            "events": self.events,
            "matches_batch": self.matches_batch,
            "clients": {answer.client: answer.verdict for answer in self.answers},
        }


class ServedRun:
    """Starts, monitors and compares; `running` stops whatever was started."""

    def __init__(self, options: "DemoOptions", running: ExitStack, *, started_at: float) -> None:
        self._options = options
        self._running = running
        self._started_at = started_at
        self._dataset = Dataset(options.data_dir / "dataset")
        self._process = StartProcess(
            options.data_dir / "start", settings={**_SETTINGS, **options.broker_settings}
        )
        self._installing = threading.Thread(
            target=install, args=(self._clients,), name="install", daemon=True
        )
        self._tables: LiveTables
        self._load: FlightLoad
        self._counted = 0

    def start(self, screen: Screen, *, fresh: bool) -> None:
        """Start the servers, the flights and the queries, in this order.

        The data is deleted before, if `fresh`.

        Raises:
            DuologError: one of them did not start.
        """
        del fresh
        self._installing.start()
        screen.say("starting broker, schema registry and SQL server")
        self._process.start()
        self._running.callback(self._process.stop, _STOP_S)
        topics = DemoTopics(Cluster.of(Brokers.of(self._process.bootstrap_servers)))
        topics.create(table_partitions=FLIGHTS_PARTITIONS)
        screen.say("writing the tables")
        self._start_load(topics)
        screen.say(f"creating streams, tables and queries by HTTP at {self._process.url}")
        with duolog.connect(self._process.url) as connection:
            connection.execute(rerunnable(STATEMENTS.read_text()), properties=_PROPERTIES)
        self._tables = LiveTables(topics.cluster, _decoded)
        self._running.callback(self._tables.close)
        self._tables.open()
        screen.say("waiting for the first row")

    def watch(self, screen: Screen) -> None:
        """Show the tables until every flight is counted in both.

        Raises:
            DuologError: the producer failed, a server has ended, or no results arrive any more.
        """
        give_up_at = time.monotonic() + STALLED_S
        while True:
            if self._tables.poll(_POLL_S) or not self._load.done:
                give_up_at = time.monotonic() + STALLED_S
            state = observe(
                self._tables, self._load, started_at=self._started_at, mode="SQL", state="running"
            )
            self._counted = state.events
            screen.show(state, self._tables)
            if self._load.done and state.events >= self._load.total:
                return
            self._ensure_alive(give_up_at)

    def compare(self) -> ServedResult:
        """Ask the clients, and compare their answers with the batch.

        Raises:
            ClientFailed: a client failed to read a table.
        """
        self._installing.join()
        total = self._load.total
        answers = ask_all(self._process.url, self._clients, self._dataset, total)
        return ServedResult(self._tables.events, answers)

    def resume_hint(self, *, fresh: bool) -> str:
        """Return a message about resuming, for a user who stops the demo."""
        again = "the same command without --fresh" if fresh else "the same command"
        over = "" if fresh else "; --fresh starts over"
        return f"stopped after {self._counted:,} flights\n{again} resumes there{over}"

    @property
    def _clients(self) -> Path:
        return (self._options.data_dir / "clients").resolve()

    def _start_load(self, topics: DemoTopics) -> None:
        years = self._options.years
        most = years * FLIGHTS_PER_YEAR
        total = min(self._options.limit or most, most)
        self._load = FlightLoad(topics, self._dataset, total=total, years=years, rate=None)
        self._running.callback(self._load.stop)
        self._load.go()
        self._load.start()
        self._load.wait_until_tables_are_loaded()

    def _ensure_alive(self, give_up_at: float) -> None:
        if self._load.error is not None:
            raise self._load.error
        ended = not self._process.running
        if ended or time.monotonic() > give_up_at:
            reason = "The servers have ended." if ended else f"No result in {STALLED_S:.0f} s."
            raise QueryError(
                f"{self._load.total - self._tables.events:,} flights were not counted",
                query_id="flights.sql",
                detail=reason,
                hint=f"Read {self._process.log_path}, or start over with --fresh.",
            )


def rerunnable(statements: str) -> str:
    """Return statements that change nothing when they run again.

    Example:
        >>> rerunnable("CREATE TABLE t AS SELECT 1;")
        'CREATE TABLE IF NOT EXISTS t AS SELECT 1;'
    """
    return _CREATE.sub(r"CREATE \1 IF NOT EXISTS ", statements)


def _decoded(topic: str, data: bytes) -> Row:
    """Return the row of a table of SQL, whose columns are in upper case."""
    del topic
    row = {name.lower(): value for name, value in json.loads(data).items()}
    return {**row, "last_produced_at": None}
