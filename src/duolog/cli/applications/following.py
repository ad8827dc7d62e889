"""Start applications and report their progress; optionally restart them when their file changes.

A restart reuses the JVM of the previous application, so that it takes only seconds.
"""

import logging
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from duolog.cli.errors import report
from duolog.cli.signals import end_in_order_on_signals
from duolog.cli.terminal.logging_setup import emit, emits_json, set_application
from duolog.cli.terminal.progress_lines import ProgressLines, counted_streams
from duolog.core.counts import counted
from duolog.core.errors import DuologError, KafkaError, QueryError, StatementError
from duolog.engine.errors import TopologyChanged
from duolog.runtime.broker_watch import BrokerWatch
from duolog.security.clients.brokers import Brokers

if TYPE_CHECKING:
    from duolog.cli.applications.fresh_start import FreshStart
    from duolog.cli.applications.topology_file import TopologyFile
    from duolog.dsl.topology import Topology
    from duolog.engine.query.query import RunningQuery
    from duolog.engine.query.reports.progress import Progress
    from duolog.engine.upgrades.restore import Restored
    from duolog.runtime.application import Application

_PROGRESS_EVERY_S: Final = 5.0
_LOOK_EVERY_S: Final = 0.3
_LOOK_AT_BROKER_EVERY_S: Final = 1.0
_MEANWHILE: Final = "the application waits for the broker"
_KEY_OF_ANOTHER_FORM: Final = re.compile(
    r"its key is (?:no|not|not a) KAFKA of \((?P<column>(?:`[^`]*`|\w+) "
    r"(?P<type>INT|BIGINT|DOUBLE|BOOLEAN))\).*"
)
"""Matches the reason that `engine.lowering.topics` gives for an undecodable key."""
# Errors that a change of the file can fix. Others, such as a wrong setting, end the command.
_OF_THE_FILE: Final = (StatementError, QueryError, KafkaError)


@dataclass(frozen=True, slots=True)
class StartOptions:
    """Options for starting applications."""

    create_topics: bool = False
    """Whether to create missing source topics."""
    fresh: "FreshStart | None" = None
    """Deletes state that does not match the topology; None refuses to start with such state."""
    offer: Callable[[DuologError], None] = lambda _error: None
    """Adds the commands that resolve an error to its hint."""

    def start(self, application: "Application") -> "RunningQuery":
        """Start an application; checks everything that can be checked before starting a JVM.

        Raises:
            DuologError: as `Application.start`.
        """
        try:
            return self._start(application)
        except DuologError as error:
            self.offer(error)
            raise

    def _start(self, application: "Application") -> "RunningQuery":
        set_application(application.application_id)
        for topic in application.create_source_topics() if self.create_topics else ():
            emit(f'created missing source topic "{topic}"')
        _check(application, self.fresh)
        application.reserve()
        emit(f'application "{application.application_id}" is starting its engine …')
        application.open()
        end_in_order_on_signals()
        application.on_restore = report_restored
        query = application.start()
        emit(f'application "{application.application_id}" is running')
        return query


def _check(application: "Application", fresh: "FreshStart | None") -> None:
    try:
        application.check()
    except TopologyChanged as error:
        if fresh is None:
            raise
        emit(f"{error.message}; deleting its state and starting from scratch")
        for topic in fresh.clear(application):
            emit(f'deleted topic "{topic}"')
        application.check()
    if fresh is not None:
        fresh.note(application)


def report_restored(restored: "Restored") -> None:
    """Report the progress of restoring an application's stores from changelogs."""
    verb = "restored" if restored.done else "is restoring"
    emit(f'application "{restored.application_id}" {verb} its stores: {restored}')


def follow(query: "RunningQuery", bootstrap_servers: Brokers | str, *, quiet: bool) -> None:
    """Wait until the query ends, reporting progress every few seconds.

    Raises:
        QueryError: the query failed.
    """
    with counted_streams():
        reporter = ProgressReporter(query, quiet=quiet)
        watcher = Watcher(reporter, BrokerWatch(bootstrap_servers, _MEANWHILE))
        try:
            while not query.wait(_LOOK_AT_BROKER_EVERY_S):
                watcher.report_due()
        finally:
            reporter.report_skipped()


class Watcher:
    """Reports a query's progress every few seconds, and a lost or regained broker at once."""

    def __init__(
        self,
        reporter: "ProgressReporter",
        broker: BrokerWatch,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reporter = reporter
        self._broker = broker
        self._clock = clock
        self._report_at = clock() + _PROGRESS_EVERY_S
        self._look_at = clock()

    def report_due(self) -> None:
        """Report whatever is due. Call this about every second, or more often."""
        if self._clock() >= self._look_at:
            lines = self._broker.look()
            self._look_at = self._clock() + _LOOK_AT_BROKER_EVERY_S
            for line in lines:
                emit(line, level=logging.INFO if self._broker.answers else logging.WARNING)
            if lines:
                self._report_at = self._clock()
        if self._clock() >= self._report_at:
            self._reporter.report(broker_answers=self._broker.answers)
            self._report_at = self._clock() + _PROGRESS_EVERY_S


class ProgressReporter:
    """Reports the progress of a query, and once for each reason why records were skipped."""

    def __init__(self, query: "RunningQuery", *, quiet: bool) -> None:
        self._query = query
        self._quiet = quiet
        self._told: set[object] = set()
        self._lines = ProgressLines()

    def report(self, *, broker_answers: bool = True) -> None:
        """Print a progress line and a line for each new reason, unless quiet."""
        if self._quiet:
            return
        now = self._query.progress()
        lag = now.lag_records_total if broker_answers else None
        text = (
            f"{now.mode}, {now.state}: {counted(now.records_in, 'record')} in, "
            f"{now.records_out:,} out, "
            f"lag {'?' if lag is None else f'{lag:,}'}{_kept(now.state_rows)}"
            f"{_skipped(now.skipped)}{_late(now.late)}"
            + (f"; waiting to restart: {now.trouble}" if now.trouble else "")
        )
        if emits_json():
            self._emit_as_json(text, now, lag)
        else:
            self._lines.show([text])
        self.report_skipped()

    def _emit_as_json(self, text: str, now: "Progress", lag: int | None) -> None:
        if not self._lines.changed([text]):
            return
        emit(
            text,
            state=now.state,
            mode=now.mode,
            records_in=now.records_in,
            records_out=now.records_out,
            lag_records=lag,
            records_skipped=now.records_skipped,
            records_late=sum(now.late.values()),
            state_rows=now.state_rows,
        )

    def report_skipped(self) -> None:
        for skipped in () if self._quiet else self._query.skipped():
            if skipped.kind not in self._told:
                self._told.add(skipped.kind)
                emit(f"  skipped: {skipped}", level=logging.WARNING)
                if hint := _hint(skipped.reason, skipped.topic):
                    emit(f"  hint: {hint}", level=logging.WARNING)


def load_until_valid(file: "TopologyFile") -> "Topology":
    """Return the topology of a file, reporting errors and waiting for changes until it is valid."""
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
    """Runs the topology of a file and restarts it when the file changes.

    Args:
        file: the file, already loaded once.
        make: creates the application for a topology.
        options: options for starting each application.
        quiet: whether to omit progress lines.
    """

    def __init__(
        self,
        file: "TopologyFile",
        make: Callable[["Topology"], "Application"],
        options: StartOptions,
        *,
        quiet: bool,
    ) -> None:
        self._file = file
        self._make = make
        self._options = options
        self._quiet = quiet
        self._application: Application | None = None
        """The last started application, whose JVM the next one reuses."""
        self._query: RunningQuery | None = None

    def run(self, topology: "Topology") -> None:
        """Run `topology` and its later versions until the process is interrupted.

        Raises:
            ConfigError, BrokerUnavailable: an error that no change of the file can fix.
        """
        try:
            with counted_streams():
                while True:
                    self._start(topology)
                    topology = self._changed_topology()
        finally:
            emit("stopping …")
            if self._application is not None:
                self._application.close()

    def _start(self, topology: "Topology") -> None:
        before, self._query = self._application, None
        if before is not None:
            before.stop()
        application = self._make(topology)
        try:
            self._query = self._options.start(application)
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
            emit(f"{self._file.path} has changed")
            try:
                return self._file.load()
            except StatementError as error:
                report(error)
                _wait_for(self._file, runs=self._query is not None)

    def _await_change(self) -> None:
        watcher = self._watcher()
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
            elif watcher:
                watcher.report_due()
        self._file.wait_until_still()

    def _watcher(self) -> Watcher | None:
        if self._query is None or self._application is None:
            return None
        broker = BrokerWatch(self._application.brokers, _MEANWHILE)
        return Watcher(ProgressReporter(self._query, quiet=self._quiet), broker)


def _wait_for(file: "TopologyFile", *, runs: bool = False) -> None:
    kept = "; the previous version keeps running" if runs else ""
    emit(f"waiting for {file.path} to change{kept}")


def _hint(reason: str, topic: str | None) -> str:
    """Return a hint about writing keys in the declared type, if undecodable keys were the reason.

    Example:
        >>> _hint("its key is not KAFKA of (id BIGINT)", "orders")
        "write such keys with `duolog produce orders --key-type bigint`; read them with `duolog \
consume orders --key 'id BIGINT'`"
        >>> _hint("its value is not JSON of (n INT)", "orders")
        ''
        >>> _hint("its key is not KAFKA of (name STRING)", "orders")
        ''
    """
    found = _KEY_OF_ANOTHER_FORM.fullmatch(reason)
    if found is None or topic is None:
        return ""
    written = f"`duolog produce {topic} --key-type {found['type'].lower()}`"
    read = f"`duolog consume {topic} --key '{found['column']}'`"
    return f"write such keys with {written}; read them with {read}"


def _late(late: Mapping[str, int]) -> str:
    """Return the part of a progress line about records too late for their window.

    Example:
        >>> _late({"aggregate-3": 1200}), _late({})
        (', late 1,200', '')
    """
    return f", late {sum(late.values()):,}" if late else ""


def _kept(rows: int | None) -> str:
    return "" if rows is None else f", {counted(rows, 'row')} stored"


def _skipped(skipped: Mapping[str, int]) -> str:
    """Return the part of a progress line about skipped records.

    Example:
        >>> _skipped({"deserialization": 1200, "processing": 1}), _skipped({})
        (', skipped 1,201 (deserialization 1,200, processing 1)', '')
    """
    if not skipped:
        return ""
    parts = ", ".join(f"{stage} {count:,}" for stage, count in sorted(skipped.items()))
    return f", skipped {sum(skipped.values()):,} ({parts})"
