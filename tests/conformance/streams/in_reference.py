"""Run a plan in the reference evaluator, with rows as input and output."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from conformance.streams.in_memory import serdes_of
from conformance.streams.oracle import ByTopic, Given, Written
from duolog.plan.nodes import Plan
from duolog.testing.reference import ReferenceEvaluator, SourceRecord


def run_in_reference(
    plan: Plan, batches: Iterable[Sequence[Given]], *, cache_bytes_max: int, tasks: int
) -> list[ByTopic]:
    """Return the records that sinks write for each batch."""
    evaluator = ReferenceEvaluator(plan, tasks=tasks, cache=cache_bytes_max > 0)
    sources = {source.topic: serdes_of(source) for source in plan.sources}
    sinks = {topic: serdes_of(sink) for sink in plan.sinks for topic in sink.topics}
    offsets: dict[tuple[str, int], int] = defaultdict(int)
    found: list[ByTopic] = []
    for batch in batches:
        records = []
        for record in batch:
            keys, values = sources[record.topic]
            at = (record.topic, record.partition)
            data = keys.serialize(record.key), values.serialize(record.value)
            records.append(SourceRecord(*at, offsets[at], record.time, *data, record.headers))
            offsets[at] += 1
        written: ByTopic = {topic: [] for topic in sinks}
        for out in evaluator.run(records):
            keys, values = sinks[out.topic]
            row = keys.deserialize(out.key), values.deserialize(out.value)
            written[out.topic].append(Written(*row, out.timestamp_ms, out.headers))
        found.append(written)
    return found
