"""Starts applications and tells how they get on: one for good, or a new one at each change of its file.

The JVM of the last application that ran stays for the next one, which so starts within seconds.
"""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

import click

from duolog.cli.errors import report
from duolog.cli.signals import end_in_order_on_signals
from duolog.core.errors import KafkaError, QueryError, StatementError

if TYPE_CHECKING:
    from duolog.cli.topology_file import TopologyFile
    from duolog.dsl.topology import Topology
    from duolog.engine.query import RunningQuery
    from duolog.runtime.application import Application

_PROGRESS_EVERY_S: Final = 5.0
_LOOK_EVERY_S: Final = 0.3
# What another form of the file may mend. The others, a setting or a broker, end the command.
_OF_THE_FILE: Final = (StatementError, QueryError, KafkaError)


def begin(application: "Application", *, create_topics: bool) -> "RunningQuery":
    """Start an application, having said what stands in its way before the JVM is started.

    Raises:
        DuologError: as `Application.start`.
    """
    for topic in application.create_source_topics() if create_topics else ():
        click.echo(f'created source topic "{topic}", which was missing', err=True)
    application.check()
    application.reserve()
    click.echo(f'application "{application.application_id}" starts its engine …', err=True)
    application.open()
    end_in_order_on_signals()
    query = application.start()
    click.echo(f'application "{application.application_id}" runs', err=True)
    return query


def follow(query: "RunningQuery", *, quiet: bool) -> None:
    """Stay until the query ends, with a line about progress every few seconds.

    Raises:
        QueryError: the query failed.
    """
    teller = ProgressTeller(query, quiet=quiet)
    try:
        while not query.wait(_PROGRESS_EVERY_S):
            teller.tell()
    finally:
        teller.tell_skipped()


class ProgressTeller:
    """Tells how a query gets on, and each reason for which records are passed over once."""

    def __init__(self, query: "RunningQuery", *, quiet: bool) -> None:
        self._query = query
        self._quiet = quiet
        self._told: set[object] = set()

    def tell(self) -> None:
        """Write a line, and one more for each new reason, unless it is to be quiet."""
        if self._quiet:
            return
        now = self._query.progress()
        click.echo(
            f"{now.mode}, {now.state}: {now.records_in:,} records in, {now.records_out:,} out, "
            f"lag {now.lag_records_total:,}{_skipped(now.skipped)}{_late(now.late)}"
            + (f"; waits for its next start: {now.trouble}" if now.trouble else ""),
            err=True,
        )
        self.tell_skipped()

    def tell_skipped(self) -> None:
        for skipped in () if self._quiet else self._query.skipped():
            if skipped.kind not in self._told:
                self._told.add(skipped.kind)
                click.echo(f"  passed over: {skipped}", err=True)


def load_when_right(file: "TopologyFile") -> "Topology":
    """Return the topology of a file, once it has one; what is wrong until then is told."""
    while True:
        try:
            return file.load()
        except StatementError as error:
            report(error)
            _wait_for(file)
        while not file.has_changed():
            time.sleep(_LOOK_EVERY_S)
        file.wait_until_still()


class FileRunner:
    """Runs the topology of a file, and starts anew when the file changes.

    Args:
        file: loaded once.
        make: gives the application of a topology.
        create_topics: whether source topics that are missing are made.
        quiet: no lines about progress.
    """

    def __init__(
        self,
        file: "TopologyFile",
        make: Callable[["Topology"], "Application"],
        *,
        create_topics: bool,
        quiet: bool,
    ) -> None:
        self._file = file
        self._make = make
        self._create_topics = create_topics
        self._quiet = quiet
        self._application: Application | None = None
        """The last one that was started: its JVM is there for the next one."""
        self._query: RunningQuery | None = None

    def run(self, topology: "Topology") -> None:
        """Run `topology`, and what becomes of it, until the process is told to end.

        Raises:
            ConfigError, BrokerUnavailable: what no change of the file can mend.
        """
        try:
            while True:
                self._start(topology)
                topology = self._changed_topology()
        finally:
            click.echo("stopping …", err=True)
            if self._application is not None:
                self._application.close()

    def _start(self, topology: "Topology") -> None:
        before, self._query = self._application, None
        if before is not None:
            before.stop()
        application = self._make(topology)
        try:
            self._query = begin(application, create_topics=self._create_topics)
        except _OF_THE_FILE as error:
            application.close()
            report(error)
            _wait_for(self._file)
            return
        except BaseException:
            application.close()
            raise
        self._application = application
        if before is not None:
            before.close()

    def _changed_topology(self) -> "Topology":
        while True:
            self._await_change()
            click.echo(f"{self._file.path} has changed", err=True)
            try:
                return self._file.load()
            except StatementError as error:
                report(error)
                _wait_for(self._file, runs=self._query is not None)

    def _await_change(self) -> None:
        told_at = time.monotonic()
        teller = self._query and ProgressTeller(self._query, quiet=self._quiet)
        while not self._file.has_changed():
            if self._query is None:
                time.sleep(_LOOK_EVERY_S)
                continue
            try:
                ended = self._query.wait(_LOOK_EVERY_S)
            except QueryError as error:
                report(error)
                _wait_for(self._file)
                ended = True
            if ended:
                self._query = None
            elif teller and time.monotonic() - told_at >= _PROGRESS_EVERY_S:
                teller.tell()
                told_at = time.monotonic()
        self._file.wait_until_still()


def _wait_for(file: "TopologyFile", *, runs: bool = False) -> None:
    kept = "; what ran before runs on" if runs else ""
    click.echo(f"waiting for a change of {file.path}{kept}", err=True)


def _late(late: Mapping[str, int]) -> str:
    """Return what a line about progress says of records that came too late for a window.

    Example:
        >>> _late({"aggregate-3": 1200}), _late({})
        (', late 1,200', '')
    """
    return f", late {sum(late.values()):,}" if late else ""


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
