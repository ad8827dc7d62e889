"""Run a plan in the kernel's in-memory driver, with rows as input and output."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pyspark.sql import SparkSession

from conformance.streams.oracle import ByTopic, Given, Written
from duolog.engine.lowering.lower import lower
from duolog.plan.cutting.levels import find_levels
from duolog.plan.nodes import Plan, Sink, Source
from duolog.serde.serde import Serde, key_serde, value_serde
from duolog.testing.packed_records import Sunk, pack, unpack
from duolog.testing.reference import SourceRecord
from unit.kernel.driver import java_session, kernel_package

OpenDriver = Callable[[Any, str], Any]
"""Makes a driver of Java's Spark session and a spec."""


def run_in_memory(
    spark: SparkSession,
    plan: Plan,
    batches: Iterable[Sequence[Given]],
    *,
    cache_bytes_max: int,
    tasks: int = 1,
    open_driver: OpenDriver | None = None,
    replays: bool = False,
) -> list[ByTopic]:
    """Return the kernel's output for each batch, run as one micro-batch.

    With `replays` each micro-batch fails when it has written, and is run again on the state before
    it.
    """
    spec = lower(find_levels(plan, tasks), "compared", cache_bytes_max=cache_bytes_max)
    driver = (open_driver or kernel_package(spark).Driver)(java_session(spark), json.dumps(spec))
    sources = {source.topic: serdes_of(source) for source in plan.sources}
    sinks = {topic: serdes_of(sink) for sink in plan.sinks for topic in sink.topics}
    offsets: dict[tuple[str, int], int] = defaultdict(int)
    found: list[ByTopic] = []
    for batch in batches:
        sent: list[SourceRecord] = []
        for record in batch:
            offset = offsets[record.topic, record.partition]
            offsets[record.topic, record.partition] += 1
            sent.append(_sent(record, offset, sources[record.topic]))
        found.append({topic: [] for topic in sinks})
        if replays:
            driver.keep()
            driver.runPacked(pack(sent))
            driver.rollBack()
        for out in unpack(driver.runPacked(pack(sent))):
            found[-1][out.topic].append(_written(out, sinks[out.topic]))
    return found


def serdes_of(node: Source | Sink) -> tuple[Serde, Serde]:
    return (
        key_serde(node.key_format.name, node.schema.key, node.schema.window),
        value_serde(node.value_format.name, node.schema.value),
    )


def _sent(record: Given, offset: int, serdes: tuple[Serde, Serde]) -> SourceRecord:
    key, value = serdes[0].serialize(record.key), serdes[1].serialize(record.value)
    topic, partition = record.topic, record.partition
    return SourceRecord(topic, partition, offset, record.time, key, value, record.headers)


def _written(out: Sunk, serdes: tuple[Serde, Serde]) -> Written:
    key, value = serdes[0].deserialize(out.key), serdes[1].deserialize(out.value)
    return Written(key, value, out.ts, out.headers)
