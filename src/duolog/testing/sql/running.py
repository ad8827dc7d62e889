"""Runs SQL tests: statements in order, each row through all queries, ASSERTs against results.

ASSERT VALUES        takes the next record of the source's topic; unnamed columns are null, but
                     time and window are only compared if ROWTIME, WINDOWSTART or WINDOWEND is
                     named
ASSERT NULL VALUES   the next record is a tombstone of this key
ASSERT STREAM, TABLE, TOPIC, SCHEMA: compared with the catalog
"""

import time
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from duolog.core.errors import DuologError, StatementError
from duolog.ksql.catalog.catalog import Catalog, SourceInfo
from duolog.ksql.session import Done, SqlSession
from duolog.ksql.statements.state import InsertedRow
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.script import is_blank, parse, pieces, substituted
from duolog.testing.qtt.bytes import decode, unwindowed
from duolog.testing.qtt.comparison import same
from duolog.testing.qtt.json_values import dumps
from duolog.testing.reference import SinkRecord, SourceRecord
from duolog.testing.rows_written import computed
from duolog.testing.sql.files import SqlTest
from duolog.testing.sql.mesh import Mesh

SETTINGS: Final = {"auto.offset.reset": "earliest"}
_BOUNDS: Final = ("WINDOWSTART", "WINDOWEND")


class AssertionFailed(StatementError):
    """The result differs from an ASSERT."""


@dataclass(frozen=True, slots=True)
class TestOutcome:
    """The outcome of a test: reason and line of failure, duration, records of its topics."""

    test: SqlTest
    reason: str
    line: int
    seconds: float
    records: tuple[SourceRecord, ...] = ()
    """All records of its topics, of INSERTs and of queries, in the order of writing."""
    __test__ = False  # For pytest: this is not a test class.

    @property
    def passed(self) -> bool:
        return not self.reason

    def render(self) -> str:
        """Return the outcome as lines for people."""
        if self.passed:
            return f"ok    {self.test.name} ({self.seconds:.1f} s)"
        reason = self.reason.replace("\n", "\n        ")
        return f"FAIL  {self.test.name}\n      {self.test.file}:{self.line}: {reason}"


def run_test(test: SqlTest, catalog: Catalog | None = None) -> TestOutcome:
    """Run a test and return its outcome; `catalog` is the catalog before its first statement."""
    started = time.monotonic()
    run = _Run(test, catalog or Catalog())
    reason = ""
    try:
        run.run()
    except DuologError as error:
        wanted = test.expected_message or ""
        if not test.fails:
            reason = str(error)
        elif wanted not in error.message:
            reason = f"expected an error with: {wanted}\nthe error is: {error.message}"
    else:
        if test.fails:
            expected = test.expected_message or test.expected_error
            reason = f"expected an error, and there was none: {expected}"
    finally:
        run.close()
    return TestOutcome(test, reason, run.line, time.monotonic() - started, run.records)


class _Run:
    def __init__(self, test: SqlTest, catalog: Catalog) -> None:
        self._test = test
        self._session = SqlSession(catalog.copy(), given=SETTINGS)
        self._mesh = Mesh()
        self.line = test.line
        """The line of the current statement."""

    @property
    def records(self) -> tuple[SourceRecord, ...]:
        return self._mesh.records

    def close(self) -> None:
        self._mesh.close()

    def run(self) -> None:
        """Run all statements.

        Raises:
            DuologError: a statement cannot run, or an ASSERT fails.
        """
        for piece in pieces(self._test.text):
            if is_blank(piece):
                continue
            written = substituted(piece, self._session.state.variables)
            self.line = _first_line(written)
            for node in parse(written):
                bounds = _bounds(node)
                self._do(self._session.execute(node, written.strip()), bounds)

    def _do(self, done: Done, bounds: dict[str, int]) -> None:
        for query in done.ended:
            self._mesh.end(query)
        if isinstance(done.node, nodes.DropSource) and done.node.args.get("delete_topic"):
            self._forget(done.node.this.name)
        if done.query is not None:
            sources = [one for one in self._session.catalog.sources.values() if not one.is_pattern]
            topics = {topic for one in sources for topic in one.topics}
            self._mesh.begin(done.query, topics)
        for row in done.inserted:
            self._mesh.insert(row)
        if done.claimed is not None:
            self._ensure_next(done.claimed, bounds)
        if isinstance(done.node, nodes.QueryCommand):
            queries = self._session.state.queries
            self._mesh.pause({name for name, one in queries.items() if one.state == "PAUSED"})

    def _forget(self, name: str) -> None:
        # The catalog no longer has it: by default a topic has the source's name.
        self._mesh.forget(name)

    def _ensure_next(self, row: InsertedRow, bounds: dict[str, int]) -> None:
        """Raise AssertionFailed unless the next record of a source is this row."""
        source = row.source
        found = self._mesh.take(source.topic)
        (wanted,) = computed(row)
        decoder = _Decoder(source)
        expected = decoder.of(wanted.key, None if row.tombstone else wanted.value)
        if found is None:
            raise AssertionFailed(
                f"{source.name} has no more rows", detail=f"Expected: {expected}."
            )
        key, window = unwindowed(found.key, source.window)
        if row.tombstone:
            equal = decoder.same_key(key, wanted.key) and found.value is None
        else:
            equal = decoder.same_key(key, wanted.key) and decoder.same_value(
                found.value, wanted.value
            )
        if not equal:
            raise AssertionFailed(
                f"the next row of {source.name} differs",
                detail=f"Expected: {expected}\nfound:    {decoder.of(key, found.value)}",
            )
        self._ensure_headers(row, wanted, found)
        self._ensure_times(row, wanted.timestamp_ms, found, window, bounds)

    def _ensure_headers(self, row: InsertedRow, wanted: SinkRecord, found: SourceRecord) -> None:
        """Compare the asserted headers: the last one of each name, as for readers."""
        last = dict(found.headers)
        for name, value in wanted.headers:
            if last.get(name) != value:
                raise AssertionFailed(
                    f"header '{name}' of the next row of {row.source.name} differs",
                    detail=f"Expected: {value!r}\nfound:    {last.get(name)!r}",
                )

    def _ensure_times(
        self,
        row: InsertedRow,
        timestamp_ms: int,
        found: SourceRecord,
        window: tuple[int, int] | None,
        bounds: dict[str, int],
    ) -> None:
        given = {} if row.timestamp is None else {"ROWTIME": timestamp_ms}
        start, end = window or (None, None)
        actual = {"ROWTIME": found.timestamp_ms, "WINDOWSTART": start, "WINDOWEND": end}
        for name, wanted in (given | bounds).items():
            if actual[name] != wanted:
                raise AssertionFailed(
                    f"{name} of the next row of {row.source.name} differs",
                    detail=f"Expected: {wanted}\nfound:    {actual[name]}",
                )


class _Decoder:
    """Decodes records of a source for comparison and for messages."""

    def __init__(self, source: SourceInfo) -> None:
        self._source = source

    def same_key(self, found: bytes | None, wanted: bytes | None) -> bool:
        of, columns = self._source.key_format, self._source.key
        one, other = decode(of, columns, found), decode(of, columns, wanted)
        return same(one, other, of, columns, "key")

    def same_value(self, found: bytes | None, wanted: bytes | None) -> bool:
        of, columns = self._source.value_format, self._source.value
        one, other = decode(of, columns, found), decode(of, columns, wanted)
        return same(one, other, of, columns, "value")

    def of(self, key: bytes | None, value: bytes | None) -> str:
        one = decode(self._source.key_format, self._source.key, key)
        other = decode(self._source.value_format, self._source.value, value)
        return f"key {dumps(one)}, value {dumps(other)}"


def _bounds(node: exp.Expression) -> dict[str, int]:
    """Remove WINDOWSTART and WINDOWEND from the columns of ASSERT VALUES, and return their values.

    They are not columns of a row, but part of a windowed key.
    """
    if not isinstance(node, nodes.AssertValues) or not node.args.get("columns"):
        return {}
    pairs = list(zip(node.args["columns"], node.expressions, strict=False))
    if len(pairs) != len(node.expressions):
        return {}
    found = {
        name.name: int(value.name)
        for name, value in pairs
        if name.name in _BOUNDS and isinstance(value, exp.Literal) and value.name.isdecimal()
    }
    kept = [(name, value) for name, value in pairs if name.name not in found]
    node.set("columns", [name for name, _ in kept])
    node.set("expressions", [value for _, value in kept])
    return found


def _first_line(piece: str) -> int:
    """Return the line on which the statement of a piece starts, after comments and empty lines."""
    for number, line in enumerate(piece.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("--"):
            return number
    return 1
