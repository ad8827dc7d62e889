"""Connected queries on the kernel in memory: what one query writes, its readers process at once.

written ─▶ record 0, 1, 2, …     one list over all topics, in the order of writing
    ▲      │
    └──────┴─ each query, in the order of creation, from its position
"""

from collections.abc import Iterable
from dataclasses import replace

from duolog.engine.settings import OF_SQL
from duolog.ksql.session import PersistentQuery
from duolog.ksql.statements.state import InsertedRow
from duolog.testing.kernel_evaluator import KernelEvaluator
from duolog.testing.reference import SinkRecord, SourceRecord
from duolog.testing.rows_written import computed


class _Running:
    """A query and its position in the list of records; `known`: topics its patterns may match."""

    def __init__(self, query: PersistentQuery, known: Iterable[str]) -> None:
        self.query = query
        sources = query.planned.plan.sources
        self.topics = {source.topic for source in sources if not source.is_pattern}
        self.topics |= {topic for topic in known for source in sources if source.reads_topic(topic)}
        self.seen = 0
        self.evaluator = KernelEvaluator(
            query.planned.plan,
            tasks=1,
            cache_bytes_max=0,
            errors=replace(OF_SQL, dead_letter_topic=query.dead_letters)
            if query.dead_letters
            else OF_SQL,
            topics=tuple(self.topics),
        )


class Mesh:
    """Runs the queries of one test over the records of its topics."""

    def __init__(self) -> None:
        self._records: list[SourceRecord] = []
        self._running: dict[str, _Running] = {}
        self._paused: set[str] = set()
        self._ends: dict[str, int] = {}
        self._taken: dict[str, int] = {}

    @property
    def records(self) -> tuple[SourceRecord, ...]:
        """All records of all topics, in the order of writing."""
        return tuple(self._records)

    def close(self) -> None:
        for running in self._running.values():
            running.evaluator.close()
        self._running.clear()

    def begin(self, query: PersistentQuery, topics: Iterable[str] = ()) -> None:
        """Start a query, which reads the records of its topics, or continue it with a new plan.

        `topics` are the existing topics, for a query that reads by a pattern: later topics do not
        match.
        """
        before = self._running.get(query.id)
        running = _Running(query, topics)
        if before is not None:
            running.seen = before.seen
            before.evaluator.close()
        self._running[query.id] = running
        self.settle()

    def end(self, query: str) -> None:
        """Stop a query, if it is running."""
        running = self._running.pop(query, None)
        if running is not None:
            running.evaluator.close()

    def pause(self, queries: set[str]) -> None:
        """Pause these queries, and resume all others."""
        self._paused = queries
        self.settle()

    def insert(self, row: InsertedRow) -> None:
        """Write a row of INSERT … VALUES, and process all of its consequences."""
        for record in computed(row):
            self._write(record)
        self.settle()

    def write(self, topic: str, key: bytes | None, value: bytes | None, timestamp_ms: int) -> None:
        """Write a record in the form of its topic, and process all of its consequences."""
        self._write(SinkRecord(topic, 0, timestamp_ms, key, value))
        self.settle()

    def take(self, topic: str) -> SourceRecord | None:
        """Return the next record of a topic that has not been taken; None if there is none."""
        records = [record for record in self._records if record.topic == topic]
        at = self._taken.get(topic, 0)
        if at >= len(records):
            return None
        self._taken[topic] = at + 1
        return records[at]

    def forget(self, topic: str) -> None:
        """Skip the remaining records of a deleted topic."""
        self._taken[topic] = self._ends.get(topic, 0)

    def settle(self) -> None:
        """Pass records through queries until nothing is left to do."""
        at = min((running.seen for running in self._running.values()), default=0)
        while at < len(self._records):
            for running in list(self._running.values()):
                if running.seen == at and running.query.id not in self._paused:
                    running.seen = at + 1
                    self._run(running, self._records[at])
            at += 1

    def _run(self, running: _Running, record: SourceRecord) -> None:
        if record.topic in running.topics:
            for out in running.evaluator.run([record]):
                self._write(out)

    def _write(self, out: SinkRecord) -> None:
        offset = self._ends.get(out.topic, 0)
        self._ends[out.topic] = offset + 1
        self._records.append(
            SourceRecord(out.topic, 0, offset, out.timestamp_ms, out.key, out.value, out.headers)
        )
