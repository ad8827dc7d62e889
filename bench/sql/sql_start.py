"""Start time of SQL (a plan, a statement, a query, a hundred queries), and cost of idle queries.

    plan           parse, bind and plan a script of 30 lines, `--rounds` times, in this process
    show_streams   `duolog sql -e "SHOW STREAMS"`, start ─▶ end: wall clock, and processor time
    first_row      CREATE STREAM … AS SELECT on a warm session ─▶ first row in its topic
    hundred        `--queries` queries of one file ─▶ all of them run
    idle           `--idle` of them without records: share of one core, and resident memory,
                   of this process and the JVM

The broker is another process on this machine; only elapsed times include its share.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.common.results_file import write_result
from bench.engine.start import resident_mb
from confluent_kafka import Consumer

from duolog.ksql.session import SqlSession
from duolog.runtime.sql.engine import SqlEngine
from duolog.runtime.sql.headless import apply_script
from duolog.testing import EmbeddedCluster

WAIT_S = 600.0
SETTLE_S = 10.0
SOURCES = """\
CREATE STREAM orders (
  id INT KEY,
  customer STRING,
  item STRING,
  amount INT,
  at BIGINT
) WITH (kafka_topic = 'orders', value_format = 'JSON', partitions = 2);
CREATE TABLE customers (
  name STRING PRIMARY KEY,
  city STRING,
  discount DOUBLE
) WITH (kafka_topic = 'customers', value_format = 'JSON', partitions = 2);
"""
QUERIES = """\
CREATE STREAM large AS
  SELECT id, customer, amount * 2 AS doubled, UCASE(item) AS item
  FROM orders
  WHERE amount > 10 AND item IS NOT NULL;
CREATE STREAM enriched AS
  SELECT o.customer AS customer, o.id AS id, c.city AS city, o.amount * (1 - c.discount) AS paid
  FROM orders o
  LEFT JOIN customers c ON o.customer = c.name
  PARTITION BY o.customer;
CREATE TABLE by_city AS
  SELECT city, COUNT(*) AS orders, SUM(paid) AS paid
  FROM enriched WINDOW TUMBLING (SIZE 1 HOUR)
  GROUP BY city
  HAVING COUNT(*) > 1;
INSERT INTO large
  SELECT id, customer, amount AS doubled, item
  FROM orders
  WHERE amount < 0;
"""
SCRIPT = f"{SOURCES}{QUERIES}"


def plan(rounds: int) -> dict[str, object]:
    """Return seconds to run a script without a broker; the first run loads modules."""
    took = []
    for _ in range(rounds):
        began = time.perf_counter()
        list(SqlSession().run(SCRIPT))
        took.append(time.perf_counter() - began)
    return {
        "lines": len(SCRIPT.splitlines()),
        "first_ms": milliseconds(took[0]),
        **spread(took[1:]),
    }


def show_streams(bootstrap: str, rounds: int) -> dict[str, object]:
    command = [sys.executable, "-m", "duolog", "sql", "-b", bootstrap, "-e", "SHOW STREAMS"]
    took, used = [], []
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        took.append(time.perf_counter() - began)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return {**spread(took), "processor_ms": milliseconds(statistics.median(used))}


def first_row(engine: SqlEngine, bootstrap: str, rounds: int) -> dict[str, object]:
    """Return seconds from a statement to its first row; the first query has only a warm JVM."""
    took = []
    for number in range(rounds + 1):
        began = time.perf_counter()
        name = f"first_{number}"
        statement = f"CREATE STREAM {name} AS SELECT id, amount FROM orders;"  # noqa: S608 - no input
        list(engine.execute(f"SET 'auto.offset.reset' = 'earliest'; {statement}"))
        wait_for_a_record(bootstrap, f"FIRST_{number}")
        took.append(time.perf_counter() - began)
    return {
        "first_query_s": round(took[0], 2),
        "warm_median_s": round(statistics.median(took[1:]), 2),
        "warm_max_s": round(max(took[1:]), 2),
    }


def wait_for_a_record(bootstrap: str, topic: str) -> None:
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": topic, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    deadline = time.monotonic() + WAIT_S
    while (message := consumer.poll(0.05)) is None or message.error():
        if time.monotonic() > deadline:
            raise SystemExit(f"no row in {topic}")
    consumer.close()


def hundred(engine: SqlEngine, directory: Path, count: int) -> dict[str, object]:
    """Return seconds until all queries of a file run."""
    path = directory / "hundred.sql"
    path.write_text(SOURCES + "".join(query(number) for number in range(count)))
    began = time.perf_counter()
    begun: set[str] = set()
    list(apply_script(engine, path, begun))
    accepted = time.perf_counter() - began
    if not engine.wait_settled(WAIT_S):
        raise SystemExit("not all queries run")
    took = time.perf_counter() - began
    failed = [one for one in engine.queries() if one.id in begun and one.state != "RUNNING"]
    if failed:
        raise SystemExit(f"{failed[0].id} is {failed[0].state}: {failed[0].error}")
    return {
        "queries": count,
        "statements_accepted_s": round(accepted, 1),
        "all_running_s": round(took, 1),
        "each_s": round(took / count, 3),
    }


def query(number: int) -> str:
    """Return a query without state, or with some."""
    if number % 2:
        return (
            f"CREATE TABLE t{number} AS SELECT customer, COUNT(*) AS n FROM orders "  # noqa: S608
            "GROUP BY customer;\n"
        )
    return (
        f"CREATE STREAM s{number} AS SELECT id, amount + {number} AS a FROM orders WHERE "  # noqa: S608
        f"amount > {number};\n"
    )


def idle(engine: SqlEngine, count: int, measured_s: float) -> dict[str, object]:
    """Return the cost of `count` idle queries."""
    for one in engine.queries()[count:]:
        list(engine.execute(f"TERMINATE {one.id};"))
    engine.wait_settled(WAIT_S)
    time.sleep(SETTLE_S)
    pids = {"python": os.getpid(), "jvm": jvm_pid(engine)}
    before = {name: processor_s(pid) for name, pid in pids.items()}
    began = time.perf_counter()
    time.sleep(measured_s)
    took = time.perf_counter() - began
    share = {name: (processor_s(pid) - before[name]) / took for name, pid in pids.items()}
    memory = {name: resident_mb(pid) for name, pid in pids.items()}
    return {
        "queries": len(engine.queries()),
        "measured_s": round(took),
        "core_percent": {name: round(100 * one, 1) for name, one in share.items()},
        "core_percent_total": round(100 * sum(share.values()), 1),
        "resident_mb": {name: round(one) for name, one in memory.items()},
        "resident_mb_total": round(sum(memory.values())),
    }


def jvm_pid(engine: SqlEngine) -> int:
    return engine.spark._session.get().java_pid  # noqa: SLF001 - the bench looks at the process


def processor_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def spread(took: list[float]) -> dict[str, object]:
    return {
        "median_ms": milliseconds(statistics.median(took)),
        "min_ms": milliseconds(min(took)),
        "max_ms": milliseconds(max(took)),
    }


def milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 1)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--idle", type=int, default=50)
    parser.add_argument("--idle-seconds", type=float, default=60.0)
    options = parser.parse_args()
    figures: dict[str, object] = {"plan": plan(options.rounds)}
    with tempfile.TemporaryDirectory(prefix="duolog-bench-") as directory:
        work = Path(directory)
        with (
            EmbeddedCluster(work / "broker") as cluster,
            SqlEngine(cluster.bootstrap_servers, data=work / "data") as engine,
        ):
            list(engine.execute(SOURCES))
            list(engine.execute("INSERT INTO orders VALUES (1, 'ann', 'cup', 7, 0);"))
            figures["show_streams"] = show_streams(cluster.bootstrap_servers, options.rounds)
            began = time.perf_counter()
            engine.spark.warm_up()
            figures["jvm_start_s"] = round(time.perf_counter() - began, 2)
            rounds = min(options.rounds, 5)
            figures["first_row"] = first_row(engine, cluster.bootstrap_servers, rounds)
            list(engine.execute("TERMINATE ALL;"))
            figures["hundred"] = hundred(engine, work, options.queries)
            figures["idle"] = idle(engine, options.idle, options.idle_seconds)
    write_result("sql_start", figures)


if __name__ == "__main__":
    main()
