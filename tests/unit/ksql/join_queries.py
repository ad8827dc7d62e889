"""Sources for tests of joins, and helpers that plan and run queries over them."""

import json
from collections.abc import Iterable

from duolog.ksql.planning.planner import Planned
from duolog.ksql.session import SqlSession
from duolog.testing.kernel_evaluator import KernelEvaluator
from duolog.testing.reference import ReferenceEvaluator, SourceRecord

BEGIN = """
    CREATE STREAM rides (id INT KEY, driver INT, city STRING, at STRUCT<n INT>, marks MAP<STRING, INT>)
        WITH (kafka_topic='rides', format='JSON', partitions=2);
    CREATE STREAM ends (id INT KEY, km INT) WITH (kafka_topic='ends', format='JSON', partitions=2);
    CREATE STREAM pays (id INT KEY, cents INT, ROWKEY INT) WITH (kafka_topic='pays', format='JSON');
    CREATE STREAM bare (id INT KEY, n INT) WITH (kafka_topic='bare', value_format='KAFKA');
    CREATE TABLE drivers (id INT PRIMARY KEY, name STRING, home STRING)
        WITH (kafka_topic='drivers', format='JSON', partitions=2);
    CREATE TABLE phones (id INT PRIMARY KEY, number STRING) WITH (kafka_topic='phones', format='JSON', partitions=3);
    CREATE TABLE cities (city STRING PRIMARY KEY, people INT) WITH (kafka_topic='cities', format='JSON');
    CREATE TABLE streets (city STRING PRIMARY KEY, street INT PRIMARY KEY, lamps INT)
        WITH (kafka_topic='streets', format='JSON');
    CREATE TABLE crew (id INT PRIMARY KEY, boss INT, name STRING) WITH (kafka_topic='crew', format='JSON');
    CREATE STREAM visits (id INT KEY, n INT)
        WITH (kafka_topic='visits', format='JSON', window_type='TUMBLING', window_size='1 SECOND');
    CREATE STREAM looks (id INT KEY, n INT)
        WITH (kafka_topic='looks', format='JSON', window_type='HOPPING', window_size='2 SECONDS');
    CREATE STREAM sittings (id INT KEY, n INT)
        WITH (kafka_topic='sittings', format='JSON', window_type='SESSION');
"""
STRICT = {"ksql.compatibility": "strict"}

Given = tuple[str, object, object, int]
"""Topic, key and value as JSON, and a timestamp."""


def planned(query: str, given: dict[str, str] | None = None) -> Planned:
    """Return the plan of a statement over the test sources."""
    *_, done = SqlSession(given=given).run(f"{BEGIN}{query};")
    assert done.query is not None
    return done.query.planned


def stream(query: str) -> str:
    return ", ".join(map(str, planned(f"CREATE STREAM made AS {query}").columns))


def table(query: str) -> str:
    return ", ".join(map(str, planned(f"CREATE TABLE made AS {query}").columns))


def run(
    query: str, *given: Given, settings: dict[str, str] | None = None
) -> list[tuple[object, object, int]]:
    """Return what a query writes for these records, key and value as JSON."""
    return _written(ReferenceEvaluator(planned(query, settings).plan), given)


def in_kernel(
    query: str, *given: Given, settings: dict[str, str] | None = None
) -> list[tuple[object, object, int]]:
    """Return what `run` does, of the kernel."""
    plan = planned(query, settings).plan
    evaluator = KernelEvaluator(plan, tasks=1, cache_bytes_max=0, passes_over=True)
    try:
        return _written(evaluator, given)
    finally:
        evaluator.close()


def _written(
    evaluator: ReferenceEvaluator | KernelEvaluator, given: Iterable[Given]
) -> list[tuple[object, object, int]]:
    records = [
        SourceRecord(topic, 0, offset, at, _bytes(key), _bytes(value))
        for offset, (topic, key, value, at) in enumerate(given)
    ]
    return [
        (_read(one.key), _read(one.value), one.timestamp_ms)
        for record in records
        for one in evaluator.run([record])
    ]


def _bytes(value: object) -> bytes | None:
    return None if value is None else json.dumps(value).encode()


def _read(data: bytes | None) -> object:
    """Return rows from JSON; the bounds of a window follow its key."""
    if data is None:
        return None
    return json.JSONDecoder().raw_decode(bytes(data).decode(errors="replace"))[0]
