"""Throughput of NEXMark queries q0 to q8, partly compared with Kafka Streams and checked by DuckDB.

Each query is a separate application over the same events in one Duolog broker, JSON in and out, two
partitions. Rates are measured as in `streams_comparison.py`, by the records that the query reads.
In the first round, the results of both systems are compared with DuckDB's over the same events.
`nexmark_events.py` defines the events, `nexmark_queries.py` the queries and their differences from
the public definitions. Kafka Streams lacks q5 and q6: they remove rows from a group and need the
maximum of the rest, which requires custom code.
"""

import argparse
import csv
import json
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import duckdb
from bench.common.results_file import write_result
from bench.engine.latency import reader
from bench.engine.nexmark_events import SCHEMAS, events_of
from bench.engine.nexmark_queries import QUERIES, Query, Row, Sources, numbers_of
from bench.engine.streams_comparison import (
    PARTITIONS,
    Cluster,
    Figures,
    Record,
    compile_streams,
    in_turns,
    run_duolog,
    run_streams,
)

from duolog import Topology
from duolog.runtime.broker_process import BrokerProcess


class DuckDBOracle:
    """DuckDB over the same events."""

    def __init__(self, work: Path) -> None:
        self._work = work
        self._duckdb = duckdb.connect()
        for topic in SCHEMAS:
            path = path_of(work, topic)
            self._duckdb.execute(f"CREATE TABLE {topic} AS FROM read_json_auto('{path}')")

    def rows(self, query: Query) -> int:
        """Return how many rows the query has."""
        return self._count(query.sql)

    def differences(self, query: Query, rows: Iterable[Row]) -> int:
        """Return the number of rows that only one side has, comparing fractions to six digits."""
        columns = [f"column{number}" for number in range(self._width(query))]
        path = self._work / "results.csv"
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(rows)
        # Compare as text, so that numbers read from JSON equal computed ones.
        cells = ", ".join(
            f"coalesce(round(try_cast({name}::VARCHAR AS DOUBLE), 6)::VARCHAR, {name}::VARCHAR)"
            for name in columns
        )
        wanted = f"(SELECT {cells} FROM ({query.sql}) AS wanted ({', '.join(columns)}))"  # noqa: S608 - no input
        found = f"(SELECT {cells} FROM read_csv('{path}', header = true, all_varchar = true))"  # noqa: S608
        missing = self._count(f"FROM {wanted} EXCEPT ALL FROM {found}")
        return missing + self._count(f"FROM {found} EXCEPT ALL FROM {wanted}")

    def _width(self, query: Query) -> int:
        return len(self._duckdb.execute(f"DESCRIBE ({query.sql})").fetchall())

    def _count(self, sql: str) -> int:
        (count,) = self._duckdb.execute(f"SELECT count(*) FROM ({sql})").fetchall()[0]  # noqa: S608
        return int(count)


def path_of(work: Path, topic: str) -> Path:
    return work / f"{topic}.json"


def write_events(cluster: Cluster, work: Path, count: int) -> dict[str, int]:
    """Write the events to topics and to files for DuckDB; return their number by topic."""
    cluster.create(*SCHEMAS)
    counts = {}
    for topic, (key, _) in SCHEMAS.items():

        def records(topic: str = topic, key: str = key) -> Iterator[Record]:
            with path_of(work, topic).open("w") as file:
                for event in events_of(count):
                    if event.topic == topic:
                        file.write(json.dumps({key: event.id, **event.value}) + "\n")
                        yield event.key, event.json, event.at_ms

        counts[topic] = cluster.write(topic, records())
    return counts


def results_of(servers: str, topic: str, query: Query) -> Iterator[Row]:
    """Yield a result topic: all records of a stream, or the last row of each key of a table."""
    consumer = reader(servers, topic)
    table: dict[bytes, dict[str, object] | None] = {}
    while messages := consumer.consume(10_000, 5):
        for message in messages:
            value = json.loads(message.value()) if message.value() is not None else None
            if query.is_table:
                table[message.key()] = value
            elif value is not None:
                yield query.row(numbers_of(message.key()), value)
    consumer.close()
    for key, value in table.items():
        if value is not None:
            yield query.row(numbers_of(key), value)


class Comparison:
    """Queries on one broker."""

    def __init__(self, cluster: Cluster, work: Path, options: argparse.Namespace) -> None:
        self._cluster = cluster
        self._work = work
        self._options = options
        self._counts = write_events(cluster, work, options.events)
        self._oracle = DuckDBOracle(work)
        self._classes = work / "classes"
        compile_streams(self._classes)

    def run(self, name: str) -> Figures:
        query = QUERIES[name]
        events = sum(self._counts[topic] for topic in query.reads)
        print(name, flush=True)
        if query.in_streams:
            found = in_turns(
                self._options.rounds,
                lambda number: self._duolog(name, query, number),
                lambda number: self._streams(name, query, number, events),
            )
        else:
            rounds = range(self._options.rounds)
            found = {"duolog": [self._duolog(name, query, number) for number in rounds]}
            print(json.dumps(found), flush=True)
        return {"events_read": events, "rows": self._oracle.rows(query), **found}

    def _duolog(self, name: str, query: Query, number: int) -> Figures:
        result = f"{name}-duolog-{number}"
        topology = Topology(result)
        query.build(Sources(topology)).to(result, partitions=PARTITIONS)
        settings = {"max.offsets.per.trigger": str(self._options.micro_batch)}
        servers = self._cluster.servers
        figures = run_duolog(topology, servers, self._work / result, settings)
        return figures | self._checked(query, result, number)

    def _streams(self, name: str, query: Query, number: int, events: int) -> Figures:
        result = f"{name}-streams-{number}"
        self._cluster.create(result)
        # Delayed results are emitted at a commit: use one per second instead of one per half
        # minute.
        late = {"settle_ms": 4_000, "set.commit.interval.ms": 1_000} if query.settles else {}
        figures = run_streams(
            self._classes,
            "Nexmark",
            name,
            bootstrap=self._cluster.servers,
            work=self._work,
            events=events,
            warm_up=min(self._options.micro_batch, events // 2),
            result=result,
            **late,
        )
        return figures | self._checked(query, result, number)

    def _checked(self, query: Query, result: str, number: int) -> Figures:
        if number:
            return {}
        rows = results_of(self._cluster.servers, result, query)
        return {"rows_that_differ_from_duckdb": self._oracle.differences(query, rows)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--queries", default=",".join(QUERIES), help="which ones, with commas")
    parser.add_argument("--events", type=int, default=3_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--micro-batch", type=int, default=500_000, help="records in a micro-batch")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="duolog-bench-") as directory:
        work = Path(directory)
        with BrokerProcess(work / "broker") as broker:
            comparison = Comparison(Cluster(broker.bootstrap_servers), work, options)
            for name in options.queries.split(","):
                write_result(f"nexmark_{name}", comparison.run(name))


if __name__ == "__main__":
    main()
