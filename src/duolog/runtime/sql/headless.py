"""Run a file of statements: `duolog sql -f app.sql`.

The second start of a file finds what the first one has created, and continues:

    the same statement is in the catalog                continues
    CREATE of a name with another definition            CREATE OR REPLACE, by its rules
    a query in the catalog that is not in the file      continues, and is reported

The file may contain only definitions, queries, SET and DEFINE, as in ksqlDB's headless mode: INSERT
… VALUES would write its row at each start.
"""

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from sqlglot import exp

from duolog.core.counts import counted
from duolog.core.errors import DuologError
from duolog.core.text_files import read_text_file
from duolog.ksql.errors import SqlError
from duolog.ksql.session import parse
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.types import type_from
from duolog.runtime.broker_watch import BrokerWatch
from duolog.runtime.sql.answers import Message
from duolog.runtime.sql.engine import SqlEngine
from duolog.runtime.sql.persistent.query_supervisor import LiveQuery

_LOOK_S: Final = 1.0
_GIVE_UP_S: Final = 0.1
_OF_THE_SESSION: Final = (nodes.SetProperty, nodes.UnsetProperty, nodes.Define, nodes.Undefine)
_CREATE: Final = re.compile(r"\A((?:\s|--[^\n]*\n|/\*.*?\*/)*CREATE)\b", re.IGNORECASE | re.DOTALL)
Created = TypeVar("Created", nodes.CreateSource, nodes.CreateFunction)
_ADVERBS: Final = ("replace", "exists")
"""Options of CREATE that do not change what it defines."""


def run_script(
    engine: SqlEngine,
    path: Path | str,
    report: Callable[[str], None],
    *,
    every_s: float = 5.0,
    stop: threading.Event | None = None,
    report_progress: Callable[[list[str]], None] | None = None,
) -> None:
    """Run a file's statements and all queries of the service until `stop` is set.

    `report` is called with lines of output. `report_progress` gets the status lines of all queries
    every few seconds; by default, `report` gets each of them.

    Raises:
        SqlError: a statement cannot be parsed or executed. The queries of those before it stay in
            the catalog.
        ServiceInUse: another engine runs the queries of the service.
        BrokerUnavailable, CommandDamaged: as `SqlEngine.follow`.
    """
    file, stop = Path(path), stop or threading.Event()
    with _aborted_by(stop, engine):
        engine.warm_up()
        engine.start()
        begun: set[str] = set()
        for line in apply_script(engine, file, begun):
            report(line)
            if stop.is_set():
                return
        engine.start()
        for query in engine.queries():
            if query.id not in begun:
                report(f"{query.id} is not in {file.name} and keeps running; TERMINATE ends it")
        _report(engine, report, report_progress or partial(_report_each, report), every_s, stop)


def _report(
    engine: SqlEngine,
    report: Callable[[str], None],
    report_progress: Callable[[list[str]], None],
    every_s: float,
    stop: threading.Event,
) -> None:
    """Report the queries periodically, and broker outages within seconds."""
    reporter, broker = Reporter(engine), BrokerWatch(engine.brokers, "its queries wait for it")
    due_at = time.monotonic() + every_s
    while not stop.wait(min(every_s, _LOOK_S)):
        for line in broker.look():
            report(line)
        if time.monotonic() >= due_at:
            due_at = time.monotonic() + every_s
            # Progress is only available with a broker.
            report_progress(reporter.lines(with_progress=broker.answers))


def _report_each(report: Callable[[str], None], lines: list[str]) -> None:
    for line in lines:
        report(line)


@contextmanager
def _aborted_by(stop: threading.Event, engine: SqlEngine) -> Iterator[None]:
    """Abort waits of the engine as soon as `stop` is set within the block."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(_GIVE_UP_S):
            if stop.is_set():
                engine.give_up()
                return

    thread = threading.Thread(target=watch, name="duolog-sql-stop", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def apply_script(engine: SqlEngine, path: Path, begun: set[str]) -> Iterator[str]:
    """Apply a file to the service; yield a line per statement, and add its query ids to `begun`.

    Raises:
        SqlError: a statement cannot be parsed or executed.
        EncodingError: the file is not UTF-8.
    """
    try:
        text = read_text_file(path)
    except OSError as error:
        raise SqlError(f"Failed to read file: {path}", detail=f"{error.strerror}.") from error
    engine.follow()
    for node, written in engine.session.read(text):
        try:
            yield from _applied(engine, node, written, begun)
        except SqlError as error:
            error.at = error.at or place_of(node)
            raise error.in_statement(written) from error.__cause__


def _applied(engine: SqlEngine, node: exp.Expression, text: str, begun: set[str]) -> Iterator[str]:
    match node:
        case nodes.CreateSource():
            node, text, there = _compared_with_catalog(engine, node, text)
            query = _query_of(engine, node.this.name) if there else ""
            if there:
                yield f"{query or node.this.name} continues"
            else:
                yield from _run(engine, node, text)
                query = _query_of(engine, node.this.name)
            if query:
                begun.add(query)
        case nodes.InsertSelect():
            before = {query.id for query in engine.queries()}
            existing = _same_insert(engine, node, begun)
            if existing:
                yield f"{existing} continues"
            else:
                yield from _run(engine, node, text)
            begun |= {existing} if existing else {q.id for q in engine.queries()} - before
        case nodes.CreateType():
            yield from _create_type(engine, node, text)
        case nodes.CreateFunction():
            yield from _create_function(engine, node, text)
        case _ if isinstance(node, _OF_THE_SESSION):
            yield from _run(engine, node, text)
        case _:
            words = " ".join(text.split()[:2]).upper()
            raise SqlError(
                f"{words} is not allowed in a file of statements",
                hint="Use only definitions, queries, SET and DEFINE; run others with duolog sql "
                "-e.",
                at=place_of(node),
            )


def _create_type(engine: SqlEngine, node: nodes.CreateType, text: str) -> Iterator[str]:
    known = engine.catalog.types.get(node.this.name)
    if known is None or known != type_from(node.args["kind"], engine.catalog.types):
        yield from _run(engine, node, text)


def _create_function(engine: SqlEngine, node: nodes.CreateFunction, text: str) -> Iterator[str]:
    """Create a function unless it exists and can be called."""
    known = engine.catalog.functions.get(node.this.name.upper())
    if known is None or known.origin != node.args["origin"].name or known.code.missing:
        yield from _run(engine, *_replacing(node, text))


def _run(engine: SqlEngine, node: exp.Expression, text: str) -> Iterator[str]:
    for answer in engine.run(node, text):
        if isinstance(answer, Message) and answer.text:
            yield answer.text


def _compared_with_catalog(
    engine: SqlEngine, node: nodes.CreateSource, text: str
) -> tuple[nodes.CreateSource, str, bool]:
    """Return a CREATE as it has to run, and true if its result exists already."""
    there = engine.catalog.sources.get(node.this.name)
    if there is None or node.args.get("replace") or node.args.get("exists"):
        same = there is not None and _same(there.statement, node) and _runs(engine, there.query)
        return node, text, same
    if _same(there.statement, node) and _runs(engine, there.query):
        return node, text, True
    return *_replacing(node, text), False


def _replacing(node: Created, text: str) -> tuple[Created, str]:
    """Convert CREATE to CREATE OR REPLACE."""
    if node.args.get("replace"):
        return node, text
    replacing = node.copy()
    replacing.set("replace", True)  # noqa: FBT003 - the value that the parser sets
    return replacing, _CREATE.sub(r"\1 OR REPLACE", text, count=1)


def _runs(engine: SqlEngine, query_id: str) -> bool:
    """Return true unless the query of a source was terminated; also true without a query."""
    return not query_id or query_id in {query.id for query in engine.queries()}


def _query_of(engine: SqlEngine, name: str) -> str:
    source = engine.catalog.sources.get(name)
    return source.query if source is not None else ""


def _same_insert(engine: SqlEngine, node: nodes.InsertSelect, begun: set[str]) -> str:
    """Return the id of a query with the same statement that is not in `begun`.

    Empty if there is none.
    """
    for query_id, statement in engine.statements().items():
        if query_id not in begun and _same(statement, node):
            return query_id
    return ""


def _same(statement: str, node: exp.Expression) -> bool:
    """Return true if a statement has the meaning of a node, regardless of formatting."""
    try:
        (known,) = parse(statement)
    except (SqlError, ValueError):
        return False
    return _plain(known) == _plain(node)


def _plain(node: exp.Expression) -> exp.Expression:
    found = node.copy()
    for adverb in _ADVERBS:
        found.args.pop(adverb, None)
    return found


class Reporter:
    """Reports the progress of queries, one line each, with rates since the previous report."""

    def __init__(self, engine: SqlEngine, clock: Callable[[], float] = time.monotonic) -> None:
        self._engine = engine
        self._clock = clock
        self._read: dict[str, tuple[float, int]] = {}

    def lines(self, *, with_progress: bool = True) -> list[str]:
        """Return a line for each query: state, events per second, lag, and error."""
        try:
            return [self.line(query) for query in self._engine.queries(with_progress=with_progress)]
        except DuologError as error:
            return [f"the states of queries are unavailable: {error.message}"]

    def line(self, query: LiveQuery) -> str:
        parts = [f"{query.id}  {query.state}"]
        if (now := query.progress) is not None:
            rate = self._rate(query.id, now.records_in)
            parts.append(f"{rate:,.0f} events/s")
            lag = now.lag_records_total
            behind = f", about {lag / rate:,.0f} s" if lag and rate else ""
            parts.append("lag ?" if lag is None else f"lag {counted(lag, 'record')}{behind}")
            if now.records_skipped:
                parts.append(f"{now.records_skipped:,} skipped")
        if query.error:
            parts.append(query.error.splitlines()[0])
        return "  ".join(parts)

    def _rate(self, query_id: str, records_in: int) -> float:
        now = self._clock()
        then, read = self._read.get(query_id, (now, records_in))
        self._read[query_id] = (now, records_in)
        # Counters start at 0 after a restart.
        return max(0, records_in - read) / (now - then) if now > then else 0.0
