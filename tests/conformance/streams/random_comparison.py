"""Compare the kernel, the reference evaluator and Kafka Streams on a random case.

    tasks   times         compared
    1       any           the kernel with Streams, in order; the reference with the kernel
    several irrelevant    the same, for each key
    several relevant      the kernel with the reference, for each key: each task has its own stream
                          time, and Streams has one task

Features that Kafka Streams lacks (row TTL, some aggregates, replaced windows) are only compared with
the reference evaluator.

The reference reads a source partition by partition; so with one task it gets all records in one.
"""

from collections import defaultdict, deque
from collections.abc import Callable
from random import Random
from typing import Any, Final

from pyspark.sql import SparkSession

from conformance.streams.comparison_cases import by_key, without_headers
from conformance.streams.in_memory import run_in_memory
from conformance.streams.in_reference import run_in_reference
from conformance.streams.oracle import ByTopic, Given, KafkaStreams
from conformance.streams.random_cases import Case
from duolog.plan.cutting.levels import find_levels
from duolog.plan.expressions import Call, walk
from duolog.plan.nodes import (
    AggregateNode,
    ForeignJoin,
    Node,
    Plan,
    SelectKey,
    SetTime,
    StreamJoin,
    StreamTableJoin,
    Suppress,
    ancestors,
)
from duolog.plan.text.describe import describe
from duolog.plan.windows import SessionWindows
from random_topologies.generator import sources_of

Batches = list[list[Given]]
Compared = tuple[str, Any, Any]
"""The differing implementation, its output, and the expected one."""


class Comparison:
    """The three implementations, and their comparison."""

    def __init__(self, spark: SparkSession, kafka_streams: KafkaStreams) -> None:
        self._spark = spark
        self._kafka_streams = kafka_streams

    def difference(self, case: Case) -> str | None:
        """Return the differences and the case that reproduces them; None if all agree."""
        for who, found, expected in self._compared(case):
            if found != expected:
                return _report(case, who, found, expected)
        return None

    def difference_when_replayed(self, case: Case) -> str | None:
        """Return how rerun micro-batches differ from others; None if they agree."""
        found, expected = (
            run_in_memory(
                self._spark,
                case.plan,
                case.batches,
                cache_bytes_max=case.cache_bytes_max,
                tasks=case.tasks,
                replays=replays,
            )
            for replays in (True, False)
        )
        return None if found == expected else _report(case, "replayed and not", found, expected)

    def difference_when_interleaved(self, case: Case) -> str | None:
        """Return how results differ for another order of partitions; None if they agree."""
        rng = Random(case.seed)  # noqa: S311 - the same each time
        one, other = (
            run_in_memory(
                self._spark,
                case.plan,
                batches,
                cache_bytes_max=case.cache_bytes_max,
                tasks=case.tasks,
            )
            for batches in ([_interleaved(of, rng) for of in case.batches], case.batches)
        )
        seen = _seen(case.plan, case.partitions)
        found, expected = _by_key(seen(one)), _by_key(seen(other))
        return None if found == expected else _report(case, "interleaved and not", found, expected)

    def smaller(self, case: Case) -> Case:
        """Return a smaller case that also differs."""
        return case.smaller(lambda fewer: self.difference(fewer) is not None)

    def _compared(self, case: Case) -> list[Compared]:
        plan, cache, tasks = case.plan, case.cache_bytes_max, case.tasks
        seen = _seen(plan, case.partitions)
        ours = seen(
            run_in_memory(self._spark, plan, case.batches, cache_bytes_max=cache, tasks=tasks)
        )
        batches = case.batches if tasks > 1 else _in_one_partition(case.batches)
        reference = seen(run_in_reference(plan, batches, cache_bytes_max=cache, tasks=tasks))
        if tasks == 1 and is_not_in_streams(plan):
            return [("the kernel and the reference", ours, reference)]
        if tasks > 1 and (cache or depends_on_time(plan) or is_not_in_streams(plan)):
            return [("the kernel and the reference", _by_key(ours), _by_key(reference))]
        theirs = seen(self._kafka_streams.run(plan, case.batches, cache_bytes_max=cache))
        if tasks > 1:
            return [
                ("the kernel and Streams", _by_key(ours), _by_key(theirs)),
                ("the reference and Streams", _by_key(reference), _by_key(theirs)),
            ]
        return [
            ("the kernel and Streams", ours, theirs),
            ("the reference and Streams", reference, theirs),
        ]


_UNSUPPORTED: Final = {
    *("MAP_PUT", "MAP_CONCAT", "VALUES_ADD_WITHIN", "VALUES_COUNTS", "VALUES_PAIRS"),
    *("SKETCH_ADD", "SKETCH_MERGE", "SKETCH_DISTINCT", "BUCKET", "QUANTILE", "SQRT"),
}
"""Aggregate steps that the tests' Kafka Streams plans do not support."""


def is_not_in_streams(plan: Plan) -> bool:
    """Return True if Kafka Streams lacks something that a plan uses.

    Rows with a time to live, some aggregates, and keys in which other windows take the place of a
    record's own.
    """
    folds = [node for node in plan.nodes if isinstance(node, AggregateNode)]
    computed = [expression for node in folds for _, expression in node.results]
    computed += [kept.add for node in folds for kept in node.accumulators]
    called = {part.function for one in computed for part in walk(one) if isinstance(part, Call)}
    types = " ".join(str(column.type) for node in folds for column in node.schema.value)
    lives = any(getattr(node, "ttl_ms", None) is not None for node in plan.nodes)
    other_windows = any(
        isinstance(node, SelectKey) and node.schema.window not in (None, node.parent.schema.window)
        for node in plan.nodes
    )
    return lives or other_windows or "STRUCT" in types or bool(called & _UNSUPPORTED)


def depends_on_time(plan: Plan) -> bool:
    """Return True if the output depends on the stream time of a task."""
    return any(
        isinstance(node, Suppress | StreamJoin | SetTime)
        or (isinstance(node, AggregateNode) and node.windows is not None)
        or (isinstance(node, StreamTableJoin) and node.grace_ms is not None)
        or node.history_ms is not None
        for node in plan.nodes
    )


def _loses_headers(plan: Plan) -> bool:
    """Return True if Streams loses headers: in sessions without a record cache."""
    return any(
        isinstance(node, AggregateNode) and isinstance(node.windows, SessionWindows)
        for node in plan.nodes
    )


def _seen(plan: Plan, partitions: int) -> Callable[[list[ByTopic]], list[ByTopic]]:
    """Return the comparable part of the output.

    The records of several topics that go to a topic as they come have no order among each other,
    nor have those of several partitions that go there under new keys.
    """
    parts = find_levels(plan).cut
    unordered = {
        topic
        for sink in plan.sinks
        for topic in sink.topics
        if parts.parts[sink] not in parts.depths
        and (len(sources_of(sink)) > 1 or (partitions > 1 and _has_new_key(sink)))
    }
    # Subscribers of a row are notified in the order of their keys' bytes, which differ from
    # Streams' for several columns.
    unordered |= {
        sink.topic
        for sink in plan.sinks
        if isinstance(sink.parent, ForeignJoin) and len(sink.schema.key) > 1
    }

    def seen(batches: list[ByTopic]) -> list[ByTopic]:
        found = without_headers(batches) if _loses_headers(plan) else batches
        return [
            {
                topic: sorted(records, key=repr) if topic in unordered else records
                for topic, records in batch.items()
            }
            for batch in found
        ]

    return seen


def _has_new_key(node: Node) -> bool:
    return any(above.rekeys for above in ancestors(node))


def _by_key(batches: list[ByTopic]) -> list[Any]:
    """Return the output by key; records without a key belong to the task of their partition."""
    return [
        {at: sorted(of, key=repr) if at[1] is None else of for at, of in batch.items()}
        for batch in by_key(batches)
    ]


def _in_one_partition(batches: Batches) -> Batches:
    return [[record._replace(partition=0) for record in batch] for batch in batches]


def _interleaved(batch: list[Given], rng: Random) -> list[Given]:
    """Return records in another order that keeps the order within each partition."""
    queues: dict[tuple[str, int], deque[Given]] = defaultdict(deque)
    for record in batch:
        queues[record.topic, record.partition].append(record)
    turns = [at for at, queue in queues.items() for _ in queue]
    rng.shuffle(turns)
    return [queues[at].popleft() for at in turns]


def _report(case: Case, who: str, found: list[Any], expected: list[Any]) -> str:
    lines = [f"{case!r}: {who} differ, {case.mode}, {case.tasks} tasks"]
    lines.append(describe(find_levels(case.plan, case.tasks)))
    for number, (batch, one, other) in enumerate(zip(case.batches, found, expected, strict=True)):
        lines += [f"given {number}: {record}" for record in batch]
        if one != other:
            for topic in {**one, **other}:
                if one.get(topic) != other.get(topic):
                    lines.append(f"{topic}: found\n  {_lines(one.get(topic))}")
                    lines.append(f"expected\n  {_lines(other.get(topic))}")
            break
    return "\n".join(lines)


def _lines(records: Any) -> str:
    return "\n  ".join(map(str, records or ["nothing"]))
