"""Drives a topology record by record in a test: without a broker, in milliseconds.

    driver = TopologyDriver(topology)
    driver.input_topic("visits").pipe_input("bob", {"place": "park"})
    driver.output_topic("visits-by-name").read_key_values()      [("bob", {"visits": 1})]
    driver.store("visits-store")                                 {"bob": {"visits": 1}}

Each record is processed completely and committed before the next one, so every update is written.
With a record cache, records are buffered until `commit`. `TopicValues` describes the Python form of
keys and values.

The driver runs on the reference evaluator, in plain Python, or with `engine="kernel"` on the
production operators, in a JVM that all drivers of a process share. Tests compare the two. Neither
covers cluster behaviour: modes, restarts, checkpoints. For these use `EmbeddedCluster` and an
`Application`.

Source: Kafka Streams `TopologyTestDriver`, `TestInputTopic`, `TestOutputTopic`.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from types import TracebackType
from typing import Any, Literal, NamedTuple, Protocol, Self

from duolog.core.engine_packages import ensure_engine_installed
from duolog.core.errors import QueryError
from duolog.dsl.handles.short_tracebacks import short_tracebacks
from duolog.dsl.topology import Topology
from duolog.plan.errors import InvalidPlan, unknown_name
from duolog.plan.nodes import AggregateNode, Node, Plan, Process, Sink, Source
from duolog.runtime.admission import admit
from duolog.runtime.application import Mode
from duolog.runtime.packed.hashable import hashable
from duolog.runtime.store_rows import (
    StoredRow,
    StoreRows,
    table_of_store,
    tables_by_store,
)
from duolog.runtime.topic_schemas import registered
from duolog.runtime.topic_values import TopicValues
from duolog.testing.reference import ReferenceEvaluator, SinkRecord, SourceRecord
from duolog.testing.reference.evaluation import Headers
from duolog.testing.reference.scalars import RecordError


class _Row(NamedTuple):
    key: Any
    value: Any
    timestamp_ms: int


class WrittenRecord(_Row):
    """A record with key and value in Python form; equal to a tuple of key, value and timestamp."""

    headers: Headers = ()
    """Names and bytes, in order; not part of the tuple."""
    partition: int | None = None
    """The partition that the record chose (`partitioner=`); not part of the tuple."""


class Evaluator(Protocol):
    """Runs a plan for a driver: one micro-batch at a time, keeping its state."""

    wall_clock_ms: int

    @property
    def dropped(self) -> int: ...

    @property
    def failed(self) -> int: ...

    def run(
        self, records: Iterable[SourceRecord], tick_ms: int | None = None
    ) -> list[SinkRecord]: ...

    def rows(self, table: Node) -> list[StoredRow]: ...

    def close(self) -> None: ...


@short_tracebacks
class TopologyDriver:
    """Runs a topology on records that a test supplies.

    The reference calls functions and processors in the test's process. If one raises or calls
    `sys.exit()`, its record fails as in production. If one ends its process, by `os._exit()` or in
    C code, the test run ends; if one never returns, the driver waits. In production, functions have
    their own processes, and the record is reported.

    Args:
        topology: the topology to test.
        wall_clock_ms: the timestamp of records without one.
        processing_exception_handler: fail the test if a record cannot be processed, or skip the
            record, like the engine's setting `processing.exception.handler`.
        engine: `reference` runs in plain Python; `kernel` runs the production code in memory. The
            first kernel driver starts a JVM, which takes seconds and runs until the process ends.
        tasks: the number of tasks that share the keys.
        cache_bytes_max: the record cache of aggregates, as in the setting
            `statestore.cache.max.bytes`. Above 0, records are buffered until `commit`, which
            processes them as one micro-batch, merged by time, and emits the last update of each
            key. The reference does not limit its size.
        mode: as for an `Application`; the driver runs record by record in each mode.
        settings: as for an `Application`. Invalid settings are refused;
            `processing.exception.handler`, `statestore.cache.max.bytes` and `schema.registry.url`
            take effect here as well.

    Raises:
        ConfigError: an application would not start with this name, mode, or combination of
            settings; or the kernel is requested and there is no suitable Java.
        StatementError: the topology has an invalid topic name.
        RegistryError: the registry refuses the schema of a topic.
    """

    def __init__(
        self,
        topology: Topology,
        *,
        wall_clock_ms: int = 0,
        processing_exception_handler: Literal["log_and_fail", "log_and_continue"] = "log_and_fail",
        engine: Literal["reference", "kernel"] = "reference",
        tasks: int = 1,
        cache_bytes_max: int = 0,
        mode: Mode = "auto",
        settings: Mapping[str, str] | None = None,
    ) -> None:
        plan = topology.build()
        given = dict(settings or {})
        config = admit(plan, topology.name, given, mode=mode)
        self._plan = registered(plan, config.schema_registry_url)[0]
        if "statestore.cache.max.bytes" in given:
            cache_bytes_max = cache_bytes_max or config.cache_bytes_max
        self.wall_clock_ms = wall_clock_ms
        passes_over = "log_and_continue" in (processing_exception_handler, config.errors.processing)
        self._evaluator = _evaluator(
            self._plan, engine, tasks, cache_bytes_max, passes_over=passes_over
        )
        self._inputs = _by_topic(source for source in self._plan.sources if not source.is_pattern)
        self._outputs = _by_topic(self._plan.sinks)
        self._written: dict[str, deque[WrittenRecord]] = {topic: deque() for topic in self._outputs}
        self._offsets: dict[tuple[str, int], int] = defaultdict(int)
        self._commits_each = cache_bytes_max == 0
        self._waiting: deque[SourceRecord] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the driver. The kernel's JVM runs until the process ends, for later drivers."""
        self._evaluator.close()

    @property
    def stores(self) -> tuple[str, ...]:
        """The names of the stores that can be read."""
        return tuple(tables_by_store(self._plan))

    @property
    def output_topics(self) -> tuple[str, ...]:
        """The names of the topics that the topology writes."""
        return tuple(self._outputs)

    @property
    def skipped(self) -> int:
        """The number of skipped records: records that could not be read or processed."""
        return self._evaluator.dropped + self._evaluator.failed

    def input_topic(
        self, topic: str, *, timestamp_ms: int | None = None, advance_ms: int = 0
    ) -> "InputTopic":
        """Return a source topic, to which the test writes records.

        Args:
            topic: its name.
            timestamp_ms: the timestamp of the first record; by default the driver's wall clock.
            advance_ms: the time difference between records.

        Raises:
            StatementError: the topology does not read this topic.
        """
        if not self._reads(topic):
            raise unknown_name(
                "source topic", topic, [source.topic for source in self._plan.sources]
            )
        return InputTopic(self, self._inputs[topic], timestamp_ms, advance_ms)

    def output_topic(self, topic: str) -> "OutputTopic":
        """Return a topic that the topology writes, to read its records.

        Raises:
            StatementError: the topology does not write this topic.
        """
        if topic not in self._outputs:
            raise unknown_name("result topic", topic, self._outputs)
        return OutputTopic(topic, self._written[topic])

    def store(self, name: str) -> StoreRows:
        """Return the current rows of a store: a dict by key, with queries by range and window.

        Raises:
            StatementError: no table has this store.
        """
        table = table_of_store(self._plan, name)
        return StoreRows(table, self._evaluator.rows(table))

    def advance_wall_clock_time(self, by: timedelta) -> None:
        """Advance the wall clock; this may close windows with an idle timeout, and call processors.

        With a record cache, buffered records are committed if there are such windows or processors.

        Raises:
            QueryError: a buffered record cannot be processed.
        """
        ticks = any(
            isinstance(n, Process) or (isinstance(n, AggregateNode) and n.idle_ms)
            for n in self._plan.nodes
        )
        if ticks:
            self._tick()
        self.wall_clock_ms += by // timedelta(milliseconds=1)
        if ticks:
            self._tick()

    def _tick(self) -> None:
        self.commit()
        self._take(self._evaluator.run([], self.wall_clock_ms))
        self.commit()

    def pipe_bytes(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers = (),
        *,
        partition: int = 0,
    ) -> None:
        """Process a record of bytes and its consequences; a record cache buffers it until commit.

        Raises:
            QueryError: it cannot be processed.
        """
        self._pipe(SinkRecord(topic, 0, timestamp_ms, key, value, tuple(headers), partition))
        if self._commits_each:
            self.commit()

    def _reads(self, topic: str) -> bool:
        """Return True if a source reads this topic, by its name or by a pattern."""
        by_pattern = [source for source in self._plan.sources if source.reads_topic(topic)]
        if by_pattern and topic not in self._inputs:
            self._inputs[topic] = TopicValues(by_pattern, topic)
        return bool(by_pattern)

    def commit(self) -> None:
        """Process buffered records and their consequences, as micro-batches.

        There are none without a record cache.

        Raises:
            QueryError: a record cannot be processed.
        """
        while self._waiting:
            taken = 1 if self._commits_each else len(self._waiting)
            self._take(self._run([self._waiting.popleft() for _ in range(taken)]))

    def _take(self, written: Iterable[SinkRecord]) -> None:
        for record in written:
            self._keep(record)
            if self._reads(record.topic):  # A topology may write and read the same topic.
                self._pipe(record)

    def _pipe(self, record: SinkRecord) -> None:
        at = topic, partition = record.topic, record.partition or 0
        place = topic, partition, self._offsets[at], record.timestamp_ms
        self._waiting.append(SourceRecord(*place, record.key, record.value, record.headers))
        self._offsets[at] += 1

    def _run(self, records: Sequence[SourceRecord]) -> list[SinkRecord]:
        self._evaluator.wall_clock_ms = self.wall_clock_ms
        try:
            return self._evaluator.run(records)
        except RecordError as error:
            first = records[0]
            raise QueryError(
                f'cannot process the record of topic "{first.topic}", offset {first.offset}'
                if len(records) == 1
                else f"cannot process one of {len(records)} records",
                detail=str(error),
            ) from error

    def _keep(self, record: SinkRecord) -> None:
        values = self._outputs[record.topic]
        key = values.key(values.key_row(record.key, record.headers))
        value = values.value(values.value_row(record.value, record.headers))
        written = WrittenRecord(key, value, record.timestamp_ms)
        written.headers, written.partition = record.headers, record.partition
        self._written[record.topic].append(written)


@short_tracebacks
class InputTopic:
    """A source topic of a driver. Created by `TopologyDriver.input_topic`."""

    def __init__(
        self,
        driver: TopologyDriver,
        values: TopicValues,
        timestamp_ms: int | None,
        advance_ms: int,
    ) -> None:
        self._driver = driver
        self._values = values
        self._next_ms = timestamp_ms
        self._advance_ms = advance_ms

    def pipe_input(
        self,
        key: object,
        value: object,
        timestamp_ms: int | None = None,
        *,
        headers: Headers = (),
        partition: int = 0,
    ) -> None:
        """Write a record, and process all of its consequences. None is a null key or a null value.

        Raises:
            SerdeError: key or value do not fit the columns of the topic.
            StatementError: they contain an unknown column.
            QueryError: the record cannot be processed.
        """
        data = self._values.key_bytes(key), self._values.value_bytes(value)
        self.pipe_bytes(*data, timestamp_ms=timestamp_ms, headers=headers, partition=partition)

    def pipe_inputs(self, pairs: Iterable[tuple[object, object]]) -> None:
        """Write records with these keys and values, in order."""
        for key, value in pairs:
            self.pipe_input(key, value)

    def pipe_bytes(
        self,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int | None = None,
        *,
        headers: Headers = (),
        partition: int = 0,
    ) -> None:
        """Write one record of bytes, for example one that cannot be read."""
        if timestamp_ms is None:
            timestamp_ms = self._next_ms
            if self._next_ms is not None:
                self._next_ms += self._advance_ms
        if timestamp_ms is None:
            timestamp_ms = self._driver.wall_clock_ms
        record = self._values.topic, key, value, timestamp_ms, headers
        self._driver.pipe_bytes(*record, partition=partition)


class OutputTopic:
    """The records that a driver's topology wrote to a topic and that have not been read yet.

    Created by `TopologyDriver.output_topic`; all objects of one topic share a queue.
    """

    def __init__(self, topic: str, written: deque[WrittenRecord]) -> None:
        self._topic = topic
        self._written = written

    def __len__(self) -> int:
        return len(self._written)

    def read_record(self) -> WrittenRecord:
        """Return the next record.

        Raises:
            LookupError: there is none.
        """
        if not self._written:
            raise LookupError(f'topic "{self._topic}" has no unread record')
        return self._written.popleft()

    def read_records(self) -> list[WrittenRecord]:
        """Return all remaining records."""
        found = list(self._written)
        self._written.clear()
        return found

    def read_key_values(self) -> list[tuple[Any, Any]]:
        """Return keys and values of all remaining records."""
        return [(record.key, record.value) for record in self.read_records()]

    def read_table(self) -> dict[Any, Any]:
        """Return the last value of each key in the remaining records, without null values."""
        last = {hashable(record.key): record.value for record in self.read_records()}
        return {key: value for key, value in last.items() if value is not None}


def _by_topic(nodes: Iterable[Source | Sink]) -> dict[str, TopicValues]:
    found: dict[str, list[Source | Sink]] = {}
    for node in nodes:
        for topic in node.topics if isinstance(node, Sink) else (node.topic,):
            found.setdefault(topic, []).append(node)
    return {topic: TopicValues(of_topic) for topic, of_topic in found.items()}


def _evaluator(
    plan: Plan, engine: str, tasks: int, cache_bytes_max: int, *, passes_over: bool
) -> Evaluator:
    if engine == "reference":
        cache = cache_bytes_max > 0
        return ReferenceEvaluator(plan, tasks=tasks, cache=cache, passes_over=passes_over)
    if engine != "kernel":
        raise unknown_name("engine", engine, ("reference", "kernel"))
    _ensure_on_kernel(plan)
    ensure_engine_installed()
    # Imported here: pyspark takes half a second to import, which tests in plain Python should not
    # pay.
    from duolog.testing.kernel_evaluator import KernelEvaluator  # noqa: PLC0415

    return KernelEvaluator(
        plan, tasks=tasks, cache_bytes_max=cache_bytes_max, passes_over=passes_over
    )


def _ensure_on_kernel(plan: Plan) -> None:
    """Raise a StatementError if a plan uses features that the kernel in memory lacks."""
    unknown = {
        source.name: "reads topics by a pattern" for source in plan.sources if source.is_pattern
    }
    unknown |= {call.name: "calls a function" for call in plan.calls}
    unknown |= dict.fromkeys(plan.key_functions, "asks a function for partitions")
    for name, what in unknown.items():
        raise InvalidPlan(
            f'"{name}" {what}, which the kernel in memory does not support',
            hint='Use the reference evaluator, engine="reference", or an EmbeddedCluster.',
            place=plan.places.get(name, ""),
        )
