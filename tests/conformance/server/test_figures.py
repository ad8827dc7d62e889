"""Figures, lineage and processing log of a real query: known records with known timestamps."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from conformance.server.processes import SqlServerProcess, ask
from duolog.testing.cluster import EmbeddedCluster
from waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.timeout(280)]

ID = "CTAS_TOTALS_0"
TEXT = """
CREATE STREAM orders (id STRING KEY, n INT)
  WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='JSON', PARTITIONS=2);
CREATE TABLE totals AS SELECT id, SUM(n) AS total FROM orders GROUP BY id;
"""


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(tmp_path_factory.mktemp("broker")) as cluster:
        yield cluster


def start(broker: EmbeddedCluster, path: Path, name: str) -> SqlServerProcess:
    directory = path / name
    directory.mkdir()
    properties = directory / "query.properties"
    properties.write_text(
        "auto.offset.reset=earliest\ncommit.interval.ms=200\n"
        "ksql.logging.processing.stream.auto.create=true\n"
    )
    return SqlServerProcess(
        broker.bootstrap_servers, directory, "--query-properties", str(properties)
    )


def run(server: SqlServerProcess, sql: str, path: str = "/ksql") -> Any:
    status, found, _ = ask(server, path, method="POST", body=json.dumps({"ksql": sql}).encode())
    assert status == 200, found
    return found


def query(server: SqlServerProcess) -> dict[str, Any]:
    status, found, _ = ask(server, f"/v1/queries/{ID}")
    assert status == 200, found
    value: dict[str, Any] = found
    return value


def when(
    server: SqlServerProcess, holds: Callable[[dict[str, Any]], bool], *, deadline_s: float = 120
) -> dict[str, Any]:
    """Return the query once something holds for it."""
    seen: list[dict[str, Any]] = []

    def look() -> bool:
        seen[:] = [query(server)]
        return holds(seen[0])

    wait_until(look, lambda: seen, deadline_s)
    return seen[0]


def test_figures_of_a_query_on_two_servers(broker: EmbeddedCluster, tmp_path: Path) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})

    def produce(partition: int, age_s: float, value: str, key: str = "a") -> int:
        written_ms = int((time.time() - age_s) * 1000)
        producer.produce("orders", value, key, partition=partition, timestamp=written_ms)
        assert producer.flush(60) == 0
        return written_ms

    with start(broker, tmp_path, "first") as first, start(broker, tmp_path, "second") as second:
        run(first, TEXT)
        for number in range(5):
            produce(0, 0, f'{{"N": {number}}}')
        produce(1, 0, "{no json")
        produce(1, 0, '{"N": 7}', "b")

        # Both servers show all that was read and written, whichever of them runs the query.
        for server in (first, second):
            found = when(
                server,
                lambda one: one["in"]["records"] == 7 and one["stateBytes"] and one["out"]["records"] > 0
                and one["lag"]["records"] == 0 and one["stores"] and one["stores"][0]["rows"] == 2,
            )  # fmt: skip
            assert found["state"] == "RUNNING"
            assert found["in"]["topics"]["orders"]["records"] == 7
            # Spark computes the first micro-batch in two passes, and both count.
            assert found["errors"]["deserialization"] in {1, 2}
            assert found["lag"]["ms"] == 0
            assert found["server"] in {":".join(map(str, one.address)) for one in (first, second)}
            assert found["uptimeMs"] > 0
            assert found["lastResultAgeMs"] is not None
            assert (found["restarts"], found["failures"]) == (0, 0)

        # What a stopped query has not read has an age, which is known exactly.
        run(first, f"PAUSE {ID};")
        when(first, lambda one: one["state"] == "PAUSED" and one["startedAtMs"] is None)
        oldest_ms = produce(0, 300, '{"N": 1}')
        produce(0, 10, '{"N": 1}')
        produce(1, 20, '{"N": 1}')
        for server in (first, second):
            found = when(server, lambda one: one["lag"]["records"] == 3)
            assert found["lag"]["ms"] == found["atMs"] - oldest_ms
            parts = {one["partition"]: one["position"] for one in found["lag"]["partitions"]}
            assert parts == {0: 5, 1: 2}
        found = when(first, lambda one: one["lag"]["msTrend"] == "rising")
        assert found["lag"]["ms"] == found["atMs"] - oldest_ms

        run(second, f"RESUME {ID};")
        found = when(second, lambda one: one["in"]["records"] == 10)
        assert found["restarts"] == 1

        status, metrics, _ = ask(first, "/metrics")
        others = ask(second, "/metrics")[1]
        assert status == 200
        # Each server exports the queries that it runs.
        assert (
            sum(
                f'duolog_query_restarts_total{{query_id="{ID}"}} 1' in one
                for one in (metrics, others)
            )
            == 1
        )

        lineage = ask(first, "/v1/lineage/TOTALS?direction=upstream&rates=true")[1]
        rates = {(one["from"], one["to"]): one.get("records") for one in lineage["edges"]}
        assert rates["source:ORDERS", f"query:{ID}"] == 10

        rows = run(
            second, "SELECT message->type FROM ksql_processing_log EMIT CHANGES LIMIT 1;", "/query"
        )
        assert {"row": {"columns": [0]}} in rows

        run(first, "DROP TABLE totals;")
        wait_until(
            lambda: all(ID not in ask(one, "/metrics")[1] for one in (first, second)),
            "a dropped query has series",
        )
        assert ask(second, f"/v1/queries/{ID}")[0] == 404
