"""Runs a case: its statements, then each query separately over its topics, then the comparison.

Source: ksqlDB's own runner, as described next to the cases.
"""

import base64
from collections.abc import Iterator

from sqlglot import exp

from duolog.core.counts import counted
from duolog.ksql import settings
from duolog.ksql.catalog.catalog import SourceInfo, SqlColumn, SqlFormat
from duolog.ksql.catalog.format_support import Part
from duolog.ksql.catalog.formats import OF_A_REGISTRY
from duolog.ksql.expressions.legacy_semantics import with_legacy_semantics
from duolog.ksql.session import PersistentQuery, SqlSession
from duolog.ksql.statements.state import Done, InsertedRow
from duolog.plan.partitioner import partition_of
from duolog.testing.qtt import jar_functions
from duolog.testing.qtt.answers import Answering, ensure_answer
from duolog.testing.qtt.bytes import decode, encode, unwindowed, windowed
from duolog.testing.qtt.cases import Case, JsonObject
from duolog.testing.qtt.comparison import same
from duolog.testing.qtt.conditions import (
    DEFAULT_PARTITIONS,
    Mismatch,
    declared_partitions,
    ensure_conditions,
)
from duolog.testing.qtt.plan_runs import PlanRun, in_memory
from duolog.testing.qtt.topic_schemas import TopicSchemas
from duolog.testing.qtt.topics import Topics
from duolog.testing.reference import SourceRecord
from duolog.testing.rows_written import computed


class CaseRun:
    """One run of a case.

    Args:
        given: settings, as by SET before the first statement.
        run_plan: runs the plan of a query.
    """

    def __init__(self, case: Case, given: dict[str, str], run_plan: PlanRun = in_memory) -> None:
        self.done = 0
        """The number of statements that have run."""
        self._case = case
        self._run_plan = run_plan
        self._schemas = TopicSchemas(case, given)
        given = given | {settings.REGISTRY: self._schemas.address}
        self._session = SqlSession(given=given, of_tests=False)
        self._session.catalog.partitions.update(declared_partitions(case))
        self._session.catalog.functions.update(jar_functions.FUNCTIONS)
        self._topics = Topics(partition=self._partition) if case.of_server else Topics()
        self._queries: dict[str, PersistentQuery] = {}
        self._asked: list[exp.Query] = []

    def _partition(self, topic: str, key: bytes | None) -> int:
        """Return the partition that Kafka's clients choose; a window is not part of the key."""
        if key is None:
            return 0
        data, _ = unwindowed(key, self._source(topic).window)
        count = self._session.catalog.partitions.get(topic, DEFAULT_PARTITIONS)
        return partition_of(data or b"", count)

    def run(self) -> None:
        """Run everything, once, and compare the results.

        Raises:
            SqlError: a statement cannot run.
            QueryError: a query fails.
            Mismatch: the results differ from the expected ones.
        """
        try:
            self._run()
        finally:
            self._schemas.close()

    def _run(self) -> None:
        for done in self._dones():
            self.done += 1
            if done.query is not None:
                self._queries[done.query.id] = done.query
            for row in done.inserted:
                self._insert(row)
        if not (self._queries or self._case.of_server or self._case.expected_error):
            raise Mismatch("test did not generate any queries")
        inputs = [self._input(record) for record in self._case.inputs]
        for query in self._queries.values():
            self._run_query(query, inputs)
        self._compare()
        if self._case.asks_rows and self._case.expected_error is None:
            self._compare_answers()
        ensure_conditions(self._case, self._session.catalog, self._schemas)

    def _dones(self) -> Iterator[Done]:
        """Yield the results of statements, of one script or separate requests; defer SELECTs."""
        statements = self._case.statements
        # An expected error occurs when the SELECT runs.
        waits = self._case.asks_rows and self._case.expected_error is None
        for text in statements if self._case.of_server else ["\n".join(statements)]:
            for node, written in self._session.read(text):
                if isinstance(node, exp.Query) and waits:
                    asked = with_legacy_semantics(node, self._session.state.settings)
                    assert isinstance(asked, exp.Query), asked
                    self._asked.append(asked)
                else:
                    yield self._session.execute(node, written)

    def _compare_answers(self) -> None:
        answering = Answering(self._session, self._topics)
        responses = self._case.spec["responses"]
        # Only a server can return the same rows in Protobuf (`queryProto`).
        wanted = [response["query"] for response in responses if "query" in response]
        in_order = bool((self._case.spec.get("outputConditions") or {}).get("verifyOrder"))
        if len(wanted) != len(self._asked):
            raise Mismatch(f"expected {len(wanted)} answers, and {len(self._asked)} were asked")
        for select, parts in zip(self._asked, wanted, strict=True):
            ensure_answer(answering.answer(select), parts, in_order=in_order)

    def _source(self, topic: str) -> SourceInfo:
        for source in self._session.catalog.sources.values():
            if source.topic == topic:
                return source
        raise Mismatch(f"no stream or table is over topic {topic}")

    def _input(self, record: JsonObject) -> SourceRecord:
        source = self._source(record["topic"])
        key = self._encoded(source, "Key", record.get("key"))
        value = self._encoded(source, "Value", record.get("value"))
        return self._topics.write(
            source.topic,
            windowed(key, record.get("window")),
            value,
            int(record.get("timestamp", 0)),
            _headers(record),
        )

    def _encoded(self, source: SourceInfo, part: Part, value: object) -> bytes | None:
        of, columns = _part(source, part)
        if of.name in OF_A_REGISTRY and value is not None:
            return self._schemas.encode(of, source.topic, part, value)
        return encode(of, columns, value)

    def _decoded(self, source: SourceInfo, part: Part, data: bytes | None) -> object:
        of, columns = _part(source, part)
        if of.name in OF_A_REGISTRY and data is not None:
            return self._schemas.decode(of, data)
        return decode(of, columns, data)

    def _insert(self, row: InsertedRow) -> None:
        """Write a row of INSERT … VALUES to its topic."""
        for out in computed(row):
            self._topics.take(out)

    def _run_query(self, query: PersistentQuery, inputs: list[SourceRecord]) -> None:
        plan = query.planned.plan
        topics = {source.topic for source in plan.sources}
        given = [record for record in inputs if record.topic in topics]
        with_inputs = {record.topic for record in given}
        replayed = [
            record
            for source in plan.sources
            if source.topic not in with_inputs
            for record in self._topics.written[source.topic]
        ]
        for out in self._run_plan(plan, given + replayed):
            self._topics.take(out)

    def _compare(self) -> None:
        wanted: dict[str, list[JsonObject]] = {}
        for record in self._case.outputs:
            wanted.setdefault(record["topic"], []).append(record)
        for topic, records in wanted.items():
            source = self._source(topic)
            found = self._topics.written[topic]
            if len(found) != len(records):
                told = [self._told(source, record) for record in found]
                raise Mismatch(
                    f"topic {topic}: expected {counted(len(records), 'record')}, found "
                    f"{len(found)}: {told}"
                )
            for number, (one, other) in enumerate(zip(found, records, strict=True)):
                self._compare_record(source, f"{topic} record {number}", one, other)

    def _told(self, source: SourceInfo, record: SourceRecord) -> object:
        key, _ = unwindowed(record.key, source.window)
        return (
            self._decoded(source, "Key", key),
            self._decoded(source, "Value", record.value),
            record.timestamp_ms,
        )

    def _compare_record(
        self, source: SourceInfo, what: str, found: SourceRecord, wanted: JsonObject
    ) -> None:
        data, bounds = unwindowed(found.key, source.window)
        key = self._decoded(source, "Key", data)
        value = self._decoded(source, "Value", found.value)
        if not same(key, wanted.get("key"), source.key_format, source.key, "key"):
            raise Mismatch(f"{what}: key is {key!r}, expected {wanted.get('key')!r}")
        if not same(value, wanted.get("value"), source.value_format, source.value, "value"):
            raise Mismatch(f"{what}: value is {value!r}, expected {wanted.get('value')!r}")
        if "timestamp" in wanted and found.timestamp_ms != int(wanted["timestamp"]):
            raise Mismatch(
                f"{what}: timestamp is {found.timestamp_ms}, expected {wanted['timestamp']}"
            )
        window = wanted.get("window")
        if window and bounds != (int(window["start"]), int(window["end"])):
            raise Mismatch(f"{what}: window is {bounds}, expected {window}")
        if found.headers != _headers(wanted):
            raise Mismatch(f"{what}: headers are {found.headers}, expected {_headers(wanted)}")


def _part(source: SourceInfo, part: Part) -> tuple[SqlFormat, tuple[SqlColumn, ...]]:
    if part == "Key":
        return source.key_format, source.key
    return source.value_format, source.value


def _headers(record: JsonObject) -> tuple[tuple[str, bytes | None], ...]:
    return tuple(
        (header["KEY"], None if header.get("VALUE") is None else base64.b64decode(header["VALUE"]))
        for header in record.get("headers") or ()
    )
