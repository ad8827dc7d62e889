"""User-defined functions in persistent queries on Spark: called, replaced, and removed."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from pyspark.sql import SparkSession

from conformance.streams.test_sql_on_spark import WAIT_S, answers_of, wait_for
from duolog.ksql.udf.modules import add_directories
from duolog.runtime.sql.engine import SqlEngine
from duolog.testing import EmbeddedCluster
from duolog.testing.client import Client

pytestmark = [pytest.mark.spark, pytest.mark.timeout(280)]

MODULE: Final = """
from collections.abc import Iterator

from duolog import udaf, udf, udtf


@udf
def price(pieces: int) -> float:
    return 12 / pieces


@udtf
def words(text: str) -> Iterator[str]:
    yield from text.split()


@udaf
class Longest:
    def initialize(self) -> str:
        return ""

    def aggregate(self, kept: str, value: str) -> str:
        return max(kept, value, key=len)
"""
TEXT: Final = """
SET 'auto.offset.reset' = 'earliest';
CREATE FUNCTION price FROM 'stall:price';
CREATE FUNCTION words FROM 'stall:words';
CREATE FUNCTION longest FROM 'stall:Longest';
CREATE STREAM sales (id STRING KEY, pieces INT, note STRING) WITH (kafka_topic='sales', partitions=2, value_format='JSON');
CREATE STREAM priced AS SELECT id, price(pieces) AS p FROM sales WHERE price(1) = 12.0 OR pieces > 0;
CREATE STREAM said AS SELECT id, words(note) AS w FROM sales;
CREATE TABLE notes AS SELECT UCASE(id) AS id, longest(note) AS l FROM sales GROUP BY UCASE(id);
CREATE STREAM plain AS SELECT id, pieces FROM sales;
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    add_directories(tmp_path)
    path = tmp_path / "stall.py"
    path.write_text(MODULE)
    yield path
    sys.modules.pop("stall", None)


def opened(cluster: EmbeddedCluster, data: Path) -> SqlEngine:
    return SqlEngine(
        cluster.bootstrap_servers,
        data=data,
        service_id="stall_",
        properties={"commit.interval.ms": "200", "ksql.query.retry.backoff.initial.ms": "500"},
        engine_settings={"class.archive": "false"},
    )


def test_functions_are_called_replaced_and_reported_missing(
    spark: SparkSession, module: Path, tmp_path: Path
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        client = Client(cluster.bootstrap_servers)

        def values(topic: str) -> list[object]:
            return sorted(
                (next(iter(json.loads(one.value or b"{}").values())) for one in client.read(topic)),
                key=str,
            )

        with opened(cluster, tmp_path / "data") as engine:
            answers_of(engine, TEXT)
            assert engine.wait_settled(WAIT_S)
            answers_of(
                engine, "INSERT INTO sales VALUES ('a', CAST(price(3) AS INT), 'well done');"
            )
            answers_of(engine, "INSERT INTO sales VALUES ('a', 0, 'no');")
            wait_for(
                lambda: values("PRICED") == [3.0, None] and values("SAID") == ["done", "no", "well"]
            )
            wait_for(lambda: values("NOTES")[-1:] == ["well done"])
            wait_for(lambda: len(client.read("stall_ksql_processing_log")) > 0)
            reported = client.read("stall_ksql_processing_log")[0].value or b""
            assert b"PRICE (stall.py:9): ZeroDivisionError: division by zero" in reported
            rows = answers_of(engine, "SELECT price(pieces) AS p FROM sales EMIT CHANGES LIMIT 1;")
            assert rows[0] in ([(3.0,)], [(None,)])

            # Workers that had loaded the module call the replacement from now on.
            module.write_text(MODULE.replace("12 / pieces", "-12 / pieces"))
            answers_of(engine, "CREATE OR REPLACE FUNCTION price FROM 'stall:price';")
            assert engine.wait_settled(WAIT_S)
            answers_of(engine, "INSERT INTO sales VALUES ('b', 4, 'x');")
            wait_for(lambda: -3.0 in values("PRICED"))

        module.unlink()
        del sys.modules["stall"]
        with opened(cluster, tmp_path / "data") as engine:
            engine.start()
            assert engine.wait_settled(WAIT_S)
            answers_of(engine, "INSERT INTO sales VALUES ('c', 7, 'y');")
            wait_for(lambda: 7 in values("PLAIN"))
            states = {live.id: live for live in engine.queries()}
            assert states["CSAS_PLAIN_3"].state == "RUNNING"
            assert states["CSAS_PRICED_0"].state == "ERROR"
            assert (
                'function "PRICE" from "stall:price" cannot be called'
                in states["CSAS_PRICED_0"].error
            )

            module.write_text(MODULE)
            answers_of(engine, "CREATE OR REPLACE FUNCTION price FROM 'stall:price';")
            wait_for(lambda: 12 / 7 in values("PRICED"))
