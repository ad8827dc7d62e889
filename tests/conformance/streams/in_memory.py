"""A plan in the kernel's in-memory driver, as rows: what Kafka Streams is asked to judge."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pyspark.sql import SparkSession

from conformance.streams.judge import ByTopic, Given, Written
from duolog.engine.lower import lower
from duolog.plan.levels import find_levels
from duolog.plan.nodes import Plan, Sink, Source
from duolog.serde.serde import Serde, key_serde, value_serde
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
) -> list[ByTopic]:
    """Return what the kernel writes for each batch, a micro-batch each."""
    spec = lower(find_levels(plan, tasks), "judged", cache_bytes_max=cache_bytes_max)
    driver = (open_driver or kernel_package(spark).Driver)(java_session(spark), json.dumps(spec))
    sources = {source.topic: serdes_of(source) for source in plan.sources}
    sinks = {topic: serdes_of(sink) for sink in plan.sinks for topic in sink.topics}
    offsets: dict[tuple[str, int], int] = defaultdict(int)
    found: list[ByTopic] = []
    for batch in batches:
        for record in batch:
            offset = offsets[record.topic, record.partition]
            offsets[record.topic, record.partition] += 1
            _add(spark, driver, record, offset, sources[record.topic])
        found.append({topic: [] for topic in sinks})
        for out in driver.run():
            found[-1][out.topic()].append(_written(out, sinks[out.topic()]))
    return found


def serdes_of(node: Source | Sink) -> tuple[Serde, Serde]:
    return (
        key_serde(node.key_format.name, node.schema.key, node.schema.window),
        value_serde(node.value_format.name, node.schema.value),
    )


def _add(
    spark: SparkSession, driver: Any, record: Given, offset: int, serdes: tuple[Serde, Serde]
) -> None:
    java: Any = spark._jvm  # noqa: SLF001 - PySpark has no other way to the JVM
    headers = java.java.util.ArrayList()
    for name, data in record.headers:
        header = java.org.apache.kafka.common.header.internals.RecordHeader
        headers.add(header(name, None if data is None else bytearray(data)))
    key, value = (
        None if data is None else bytearray(data)
        for data in (serdes[0].serialize(record.key), serdes[1].serialize(record.value))
    )
    driver.add(record.topic, record.partition, offset, record.time, key, value, headers)


def _written(out: Any, serdes: tuple[Serde, Serde]) -> Written:
    key, value = (
        serde.deserialize(None if data is None else bytes(data))
        for serde, data in zip(serdes, (out.key(), out.value()), strict=True)
    )
    headers = tuple(
        (header.key(), None if header.value() is None else bytes(header.value()))
        for header in out.headers()
    )
    return Written(key, value, out.ts(), headers)
