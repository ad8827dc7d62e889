"""Memory and rate of rebuilding tables of 1,000,000 rows each in a SQL server, one after another.

Each table is read from its topic by the first look-up in it. With `--query`, a persistent query
runs in the same server meanwhile. The server runs on core 0, the broker on the others. Resident
memory is that of the server, without the JVM of the query.
"""

import argparse
import os
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from bench.common.results_file import write_result
from bench.common.steady import SteadyLoad
from bench.sql.http_lookups import processor_s, resident_mb, server
from confluent_kafka import Producer

from duolog.client import connect
from duolog.testing.cluster import EmbeddedCluster

_TABLE = """CREATE TABLE t{number} (id STRING PRIMARY KEY, name STRING, rides BIGINT, km DOUBLE)
  WITH (kafka_topic = 't{number}', value_format = 'JSON', partitions = 4);"""
_QUERY = """CREATE STREAM events (user STRING KEY, place STRING, n BIGINT)
  WITH (kafka_topic = 'events', value_format = 'JSON', partitions = 2);
CREATE TABLE by_place AS SELECT place, COUNT(*) AS n FROM events GROUP BY place;"""
_QUERY_RATE = 500.0


def fill(bootstrap: str, topic: str, rows: int) -> None:
    """Write a row for each key, of about 50 bytes."""
    producer = Producer(
        {"bootstrap.servers": bootstrap, "linger.ms": 50, "queue.buffering.max.messages": 500_000}
    )
    for number in range(rows):
        value = f'{{"NAME":"rider {number}","RIDES":{number % 97},"KM":{number % 1013 / 7:.3f}}}'
        while True:
            try:
                producer.produce(topic, key=f"r{number}".encode(), value=value.encode())
                break
            except BufferError:
                producer.poll(0.1)
    if producer.flush(120):
        raise SystemExit("not all rows were acknowledged in 120 s")


def rebuilt(url: str, pid: int, number: int, rows: int) -> dict[str, Any]:
    """Read a table by its first look-up; return times and memory."""
    before, started = processor_s(pid), time.perf_counter()
    with connect(url) as connection:
        found = connection.execute(f"SELECT id FROM t{number} WHERE id = 'r{rows - 1}';").fetchall()  # noqa: S608
    if len(found) != 1:
        raise SystemExit(f"table {number} lacks its last row")
    took_s = time.perf_counter() - started
    used_s = processor_s(pid) - before
    figures = {
        "seconds": round(took_s, 2),
        "rows_per_s": round(rows / took_s),
        "rows_per_processor_s": round(rows / used_s),
        "resident_mb": resident_mb(pid),
    }
    print(figures, flush=True)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--tables", type=int, default=10)
    parser.add_argument("--query", action="store_true", help="run a persistent query meanwhile")
    options = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) > 1:
        os.sched_setaffinity(0, cores[1:])
    with (
        tempfile.TemporaryDirectory(prefix="duolog-tables-") as directory,
        EmbeddedCluster(Path(directory) / "broker", {"durability": "os"}) as cluster,
        server(cluster.bootstrap_servers, Path(directory) / "sql", cores[0]) as (url, pid),
    ):
        with connect(url) as connection:
            for number in range(options.tables):
                connection.execute(_TABLE.format(number=number))
        # The records are the same in all topics.
        for number in range(options.tables):
            fill(cluster.bootstrap_servers, f"t{number}", options.rows)
        if options.query:
            with connect(url) as connection:
                for statement in _QUERY.split(";\n"):
                    connection.execute(statement.rstrip(";") + ";")
            seconds = 60.0 + 10 * options.tables
            load = SteadyLoad(
                cluster.bootstrap_servers,
                "events",
                rate=_QUERY_RATE,
                seconds=seconds,
                keys=1000,
            )
            load.start()
            wait_for_rows(url)
        start_mb = resident_mb(pid)
        found = [rebuilt(url, pid, at, options.rows) for at in range(options.tables)]
        last_mb = resident_mb(pid)
    write_result(
        "ten_tables_with_query" if options.query else "ten_tables",
        {
            "rows_per_table": options.rows,
            "resident_mb_before": start_mb,
            "resident_mb": last_mb,
            "bytes_per_row": round((last_mb - start_mb) * 1e6 / options.rows / options.tables),
            "tables": found,
        },
    )


def wait_for_rows(url: str) -> None:
    """Wait until the persistent query has a result."""
    pause = threading.Event()
    for _ in range(600):
        with connect(url) as connection:
            if connection.execute("SELECT * FROM by_place;").fetchall():
                return
        pause.wait(0.5)
    raise SystemExit("the persistent query has no result")


if __name__ == "__main__":
    main()
