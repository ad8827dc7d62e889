"""Latency of point look-ups over HTTP at a steady rate, over a table of 1,000,000 rows.

The server runs alone on core 0; the broker and the load share core 1. The load is open: requests
are sent when they are due, on whichever connection is free, and a time is from when the request was
due to the end of its answer. `stale` answers may be 1 s old; `latest` ones ask the broker.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from bench.common.results_file import write_result
from bench.sql.paced_requests import Http1, Http2, Paced
from bench.sql.pull import fill

from duolog.client import connect
from duolog.testing.cluster import EmbeddedCluster

_TABLE = """CREATE TABLE totals (id STRING PRIMARY KEY, name STRING, rides BIGINT, km DOUBLE)
  WITH (kafka_topic = 'totals', value_format = 'JSON', partitions = 4);"""
_PROPERTY = "ksql.query.pull.staleness.ms.max"
_READY = "duolog server ready on "
_PATHS = ("/query", "/query-stream")
_CONNECTIONS = 16


@contextmanager
def server(bootstrap: str, data: Path, core: int | None) -> Iterator[tuple[str, int]]:
    """Run `duolog server` on one core; return its address and process id."""
    command = [sys.executable, "-m", "duolog", "server", "-b", bootstrap, "--log-level", "warning"]
    command += ["--listen", "127.0.0.1:0", "--data", str(data)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        if core is not None:
            os.sched_setaffinity(process.pid, {core})
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.startswith(_READY):
            raise SystemExit(f"the server has not started: {line!r}")
        yield line.removeprefix(_READY).strip(), process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def processor_s(pid: int) -> float:
    """Return the processor time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid: int) -> int:
    """Return the resident memory of a process in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6)


def body(path: str, key: str, *, stale: bool) -> bytes:
    """Return the body of a look-up."""
    properties = {_PROPERTY: "1000"} if stale else {}
    sql = f"SELECT * FROM totals WHERE id = '{key}';"  # noqa: S608 - the keys of this program
    names = ("ksql", "streamsProperties") if path == "/query" else ("sql", "properties")
    return json.dumps({names[0]: sql, names[1]: properties}).encode()


def measure(url: str, pid: int, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    random = Random(7)  # noqa: S311 - which rows are asked for, the same ones each time
    for protocol in (Http1, Http2):
        for path in _PATHS:
            for stale in (True, False):
                count = int(options.rate * options.seconds)
                bodies = [
                    body(path, f"r{random.randrange(options.rows)}", stale=stale)
                    for _ in range(count)
                ]
                rate = options.rate if stale else options.rate_latest
                connections = [protocol(url) for _ in range(_CONNECTIONS)]
                warm = Paced(connections, path, bodies[:2000], rate)
                warm.run()
                before = processor_s(pid)
                paced = Paced(connections, path, bodies[: int(rate * options.seconds)], rate)
                paced.run()
                figures = {
                    "protocol": protocol.name,
                    "path": path,
                    "freshness": "stale" if stale else "latest",
                    **paced.figures(),
                    "server_core_percent": round(
                        100 * (processor_s(pid) - before) / paced.seconds, 1
                    ),
                }
                print(json.dumps(figures), flush=True)
                yield figures
                for one in connections:
                    one.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rate", type=float, default=5_000)
    parser.add_argument("--rate-latest", type=float, default=1_000)
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) > 1:
        os.sched_setaffinity(0, cores[1:])
    with (
        tempfile.TemporaryDirectory(prefix="duolog-lookups-") as directory,
        EmbeddedCluster(Path(directory) / "broker", {"durability": "os"}) as cluster,
        server(cluster.bootstrap_servers, Path(directory) / "sql", cores[0]) as (url, pid),
    ):
        with connect(url) as connection:
            connection.execute(_TABLE)
            fill(cluster.bootstrap_servers, options.rows)
            started = time.perf_counter()
            connection.execute("SELECT * FROM totals WHERE id = 'r1';").fetchall()
            read_s = time.perf_counter() - started
        found = list(measure(url, pid, options))
        memory = resident_mb(pid)
    write_result(
        "http_lookups",
        {
            "rows": options.rows,
            "connections": _CONNECTIONS,
            "first_answer_s": round(read_s, 2),
            "rows_read_per_s": round(options.rows / read_s),
            "server_resident_mb": memory,
            "cases": found,
        },
    )


if __name__ == "__main__":
    main()
