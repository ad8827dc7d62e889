"""Speed of pull queries (SELECT without EMIT) over a table of 1,000,000 rows.

    read        the first answer, which reads the topic to its end
    lookup      SELECT … WHERE id = …; `select` for a parsed statement, `execute` including
                parsing and catalog
    load        the first answer by DuckDB, which loads all rows
    aggregate   GROUP BY over all rows, unchanged since the previous answer

Each lookup first requests the end of the topic from the broker: an answer includes everything
written before it.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from bench.common.results_file import write_result
from confluent_kafka import Producer
from sqlglot import exp

from duolog.ksql.session import parse
from duolog.runtime.sql.answers import Rows
from duolog.runtime.sql.engine import SqlEngine
from duolog.runtime.sql.reply import pull
from duolog.testing.cluster import EmbeddedCluster

_TABLE = """CREATE TABLE totals (id STRING PRIMARY KEY, name STRING, rides BIGINT, km DOUBLE)
  WITH (kafka_topic = 'totals', value_format = 'JSON', partitions = 4);"""


def fill(bootstrap: str, rows: int) -> None:
    """Write a row for each key."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50})
    for number in range(rows):
        value = f'{{"NAME":"rider {number}","RIDES":{number % 97},"KM":{number % 1013 / 7}}}'
        while True:
            try:
                producer.produce("totals", key=f"r{number}".encode(), value=value.encode())
                break
            except BufferError:
                producer.poll(0.1)
    if producer.flush(120):
        raise SystemExit("not all rows were acknowledged in 120 s")


def taken(work: Callable[[], object]) -> float:
    """Return the duration of a call in milliseconds."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def quantiles(times_ms: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(times_ms, n=1000)
    return {
        "p50_ms": round(cuts[499], 3),
        "p99_ms": round(cuts[989], 3),
        "max_ms": round(max(times_ms), 3),
    }


def execute(engine: SqlEngine, text: str) -> list[tuple[object, ...]]:
    (answer,) = engine.execute(text)
    assert isinstance(answer, Rows)
    with answer:
        return list(answer)


def select(engine: SqlEngine, text: str) -> list[tuple[object, ...]]:
    (node,) = parse(text)
    assert isinstance(node, exp.Query)
    return list(pull.select(engine, node, text))


def measure(engine: SqlEngine, rows: int, lookups: int) -> dict[str, Any]:
    random = Random(7)  # noqa: S311 - which rows are asked for, the same ones each time

    def one(ask: Callable[[SqlEngine, str], list[tuple[object, ...]]]) -> Callable[[], object]:
        text = f"SELECT name, rides FROM totals WHERE id = 'r{random.randrange(rows)}';"  # noqa: S608
        return lambda: ask(engine, text)

    aggregate = "SELECT rides, COUNT(*), AVG(km) FROM totals GROUP BY rides ORDER BY rides;"
    found: dict[str, Any] = {"read_ms": round(taken(one(select)))}
    found["lookup_select"] = quantiles([taken(one(select)) for _ in range(lookups)])
    found["lookup_execute"] = quantiles([taken(one(execute)) for _ in range(lookups)])
    found["load_ms"] = round(taken(lambda: execute(engine, "SELECT COUNT(*) FROM totals;")))
    found["aggregate"] = quantiles(
        [taken(lambda: execute(engine, aggregate)) for _ in range(max(lookups // 100, 10))]
    )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--lookups", type=int, default=5_000)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="duolog-pull-") as directory,
        EmbeddedCluster(Path(directory) / "broker", {"durability": "os"}) as cluster,
        SqlEngine(cluster.bootstrap_servers, data=Path(directory) / "data") as engine,
    ):
        list(engine.execute(_TABLE))
        fill(cluster.bootstrap_servers, options.rows)
        found = measure(engine, options.rows, options.lookups)
    write_result("pull", {"rows": options.rows, "lookups": options.lookups, **found})


if __name__ == "__main__":
    main()
