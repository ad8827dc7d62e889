"""Runs a case: statements, then each query alone over what stands in its topics, then the comparison.

Source: ksqlDB's own runner, as the description beside the cases tells of it.
"""

import base64
import re
import time
from dataclasses import dataclass
from typing import Any, Final, Literal

from duolog.core.errors import DuologError, QueryError
from duolog.ksql.catalog import SourceInfo
from duolog.ksql.errors import SqlError
from duolog.ksql.inserted_rows import TRIGGER_TOPIC, TRIGGER_VALUE, plan_of_row
from duolog.ksql.session import PersistentQuery, SqlSession
from duolog.ksql.state import InsertedRow
from duolog.testing.kernel_evaluator import KernelEvaluator
from duolog.testing.qtt.bytes import decode, encode, unwindowed, windowed
from duolog.testing.qtt.cases import Case
from duolog.testing.qtt.comparison import same
from duolog.testing.qtt.conditions import (
    Mismatch,
    declared_partitions,
    ensure_conditions,
    skipped_topics,
)
from duolog.testing.qtt.topics import Topics
from duolog.testing.reference import SourceRecord

Status = Literal["pass", "fail", "error", "skip"]
_UNKNOWN_FUNCTION: Final = re.compile(r"Can't find any functions with the name '(\w+)'")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a case, and why."""

    case: Case
    status: Status
    reason: str
    ms: int


def run_case(case: Case) -> Outcome:
    """Run a case, and say what became of it."""
    started = time.monotonic()
    status: Status = "pass"
    reason = ""
    try:
        if case.expected_error is None:
            _run(case)
            if topics := skipped_topics(case):
                status, reason = (
                    "skip",
                    f"asks for topics within a query, which there are not: {topics[0]}",
                )
        else:
            _ensure_fails(case)
    except Mismatch as mismatch:
        status, reason = "fail", str(mismatch)
    except _OfTestJar as missing:
        status, reason = "skip", str(missing)
    except (DuologError, NotImplementedError) as error:
        status, reason = "error", f"{type(error).__name__}: {error}"
    except Exception as error:  # noqa: BLE001 - one case must not end the others
        status, reason = "error", f"{type(error).__name__}: {error}"
    return Outcome(case, status, reason[:2000], round((time.monotonic() - started) * 1000))


def _run(case: Case) -> None:
    try:
        _Run(case).run()
    except SqlError as error:
        _ensure_not_of_test_jar(error)
        raise


def _settings(case: Case) -> dict[str, str]:
    """Return what ksqlDB's own runner sets, and what the case sets.

    A case that expects an error is told that there is a schema registry: its statements fail before one is asked.
    """
    given = {
        "auto.offset.reset": "earliest",
        "ksql.compatibility": "strict",
        "ksql.service.id": "some.ksql.service.id",
    }
    if case.expected_error is not None:
        given["ksql.schema.registry.url"] = "mock://"
    return given | {name: _text(value) for name, value in case.spec.get("properties", {}).items()}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _ensure_fails(case: Case) -> None:
    wanted = (case.expected_error or {}).get("message", "")
    try:
        _Run(case).run()
    except SqlError as error:
        if wanted and wanted not in error.message and wanted not in str(error):
            _ensure_not_of_test_jar(error)
            raise Mismatch(f"expected the error {wanted!r}, got {error.message!r}") from error
        return
    except QueryError as error:
        told = _of_kafka_streams(error)
        if wanted and wanted not in told:
            raise Mismatch(f"expected the error {wanted!r}, got {told!r}") from error
        return
    raise Mismatch(f"expected the error {wanted!r}, and there was none")


def _of_kafka_streams(error: QueryError) -> str:
    """Return what a query that fails says, behind the words with which Kafka Streams begins to say it."""
    of_time = "timestamp" in error.detail
    begins = "Fatal user code error in TimestampExtractor callback for record"
    return f"{begins if of_time else 'Exception caught in process'}. {error}"


class _OfTestJar(Exception):
    """A case calls a function that is none of ksqlDB's, but of its tests."""


def _ensure_not_of_test_jar(error: SqlError) -> None:
    if found := _UNKNOWN_FUNCTION.match(error.message):
        raise _OfTestJar(f"calls {found[1]}, a function of ksqlDB's test jar") from error


class _Run:
    def __init__(self, case: Case) -> None:
        self._case = case
        self._session = SqlSession(given=_settings(case), of_tests=False)
        self._session.catalog.partitions.update(declared_partitions(case))
        self._topics = Topics()
        self._queries: dict[str, PersistentQuery] = {}

    def run(self) -> None:
        for done in self._session.run("\n".join(self._case.statements)):
            if done.query is not None:
                self._queries[done.query.id] = done.query
            if done.inserted is not None:
                self._insert(done.inserted)
        if not self._queries and self._case.expected_error is None:
            raise Mismatch("test did not generate any queries")
        inputs = [self._input(record) for record in self._case.inputs]
        for query in self._queries.values():
            self._run_query(query, inputs)
        self._compare()
        ensure_conditions(self._case, self._session.catalog)

    def _source(self, topic: str) -> SourceInfo:
        for source in self._session.catalog.sources.values():
            if source.topic == topic:
                return source
        raise Mismatch(f"no stream or table is over topic {topic}")

    def _input(self, record: dict[str, Any]) -> SourceRecord:
        source = self._source(record["topic"])
        key = encode(source.key_format, source.key, record.get("key"))
        value = encode(source.value_format, source.value, record.get("value"))
        return self._topics.write(
            source.topic,
            windowed(key, record.get("window")),
            value,
            int(record.get("timestamp", 0)),
            _headers(record),
        )

    def _insert(self, row: InsertedRow) -> None:
        """Write a row of INSERT … VALUES into its topic."""
        trigger = SourceRecord(TRIGGER_TOPIC, 0, 0, 0, None, TRIGGER_VALUE, ())
        evaluator = KernelEvaluator(plan_of_row(row), tasks=1, cache_bytes_max=0)
        try:
            for out in evaluator.run([trigger]):
                self._topics.take(out)
        finally:
            evaluator.close()

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
        evaluator = KernelEvaluator(plan, tasks=1, cache_bytes_max=0, passes_over=True)
        try:
            for record in given + replayed:
                for out in evaluator.run([record]):
                    self._topics.take(out)
        finally:
            evaluator.close()

    def _compare(self) -> None:
        wanted: dict[str, list[dict[str, Any]]] = {}
        for record in self._case.outputs:
            wanted.setdefault(record["topic"], []).append(record)
        for topic, records in wanted.items():
            source = self._source(topic)
            found = self._topics.written[topic]
            if len(found) != len(records):
                told = [self._told(source, record) for record in found]
                raise Mismatch(
                    f"topic {topic}: expected {len(records)} records, found {len(found)}: {told}"
                )
            for number, (one, other) in enumerate(zip(found, records, strict=True)):
                self._compare_record(source, f"{topic} record {number}", one, other)

    def _told(self, source: SourceInfo, record: SourceRecord) -> object:
        key, _ = unwindowed(record.key, source.window)
        return (
            decode(source.key_format, source.key, key),
            decode(source.value_format, source.value, record.value),
            record.timestamp_ms,
        )

    def _compare_record(
        self, source: SourceInfo, what: str, found: SourceRecord, wanted: dict[str, Any]
    ) -> None:
        data, bounds = unwindowed(found.key, source.window)
        key = decode(source.key_format, source.key, data)
        value = decode(source.value_format, source.value, found.value)
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


def _headers(record: dict[str, Any]) -> tuple[tuple[str, bytes | None], ...]:
    return tuple(
        (header["KEY"], None if header.get("VALUE") is None else base64.b64decode(header["VALUE"]))
        for header in record.get("headers") or ()
    )
