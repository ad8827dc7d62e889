"""SQL extensions on Spark: headers, several topics, dead letters, global tables, row TTL."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource
from pyspark.sql import SparkSession

from conformance.streams.test_sql_on_spark import WAIT_S, answers_of, wait_for
from duolog.runtime.sql.engine import SqlEngine
from duolog.testing import EmbeddedCluster
from duolog.testing.client import Client, Record

if TYPE_CHECKING:
    from duolog.runtime.sql.persistent.query_supervisor import LiveQuery

pytestmark = [pytest.mark.spark, pytest.mark.timeout(280)]

TEXT: Final = """
SET 'auto.offset.reset' = 'earliest';
CREATE STREAM eu (id STRING KEY, town STRING, trace BYTES HEADER('trace'))
    WITH (kafka_topic='rides-eu', partitions=2, value_format='JSON');
CREATE STREAM us (id STRING KEY, town STRING, trace BYTES HEADER('trace'))
    WITH (kafka_topic='rides-us', partitions=3, value_format='JSON');
CREATE STREAM rides (id STRING KEY, town STRING, trace BYTES HEADER('trace'))
    WITH (topic_pattern='rides-.*', value_format='JSON');
CREATE GLOBAL TABLE towns (name STRING PRIMARY KEY, people INT)
    WITH (kafka_topic='towns', partitions=3, value_format='JSON');
INSERT INTO towns VALUES ('BONN', 5);
INSERT INTO towns VALUES ('ULM', 6);
CREATE STREAM dest WITH (dead_letter_topic='wrong') AS
    SELECT r.id, r.town, t.people, SUBSTRING(r.ROWTOPIC, 7) AS region, UCASE(FROM_BYTES(r.trace, 'utf8')) AS trace HEADER('x-trace')
    FROM rides r LEFT JOIN towns t ON UCASE(r.town) = t.name;
CREATE TABLE regions AS SELECT ROWTOPIC AS topic, COUNT(town) AS n FROM rides GROUP BY ROWTOPIC;
"""


@pytest.fixture
def engine(spark: SparkSession, tmp_path: Path) -> Iterator[SqlEngine]:
    assert spark is not None, "the engine finds the session of this run"
    with (
        EmbeddedCluster(settings={"durability": "os"}) as cluster,
        SqlEngine(
            cluster.bootstrap_servers,
            data=tmp_path,
            service_id="far_",
            properties={
                "commit.interval.ms": "200",
                "ksql.query.retry.backoff.initial.ms": "500",
            },
            engine_settings={"class.archive": "false"},
        ) as engine,
    ):
        yield engine


def test_headers_topics_dead_letters_and_global_tables_in_one_service(engine: SqlEngine) -> None:
    client = Client(engine.bootstrap)
    answers_of(engine, TEXT)
    assert engine.wait_settled(WAIT_S)

    # Computed by the kernel, with its header.
    answers_of(
        engine, "INSERT INTO eu (id, town, trace) VALUES ('1', LCASE('Bonn'), LCASE('A-B'));"
    )
    answers_of(engine, "INSERT INTO us (id, town) VALUES ('2', 'ulm');")
    client.produce("rides-us", "bad", "{no json", headers=[("trace", b"\x00\xff")])
    answers_of(engine, "INSERT INTO eu (id, town, trace) VALUES ('3', 'rom', 'c');")
    wait_for(lambda: len(client.read("DEST")) == 3)

    values = sorted((json.loads(one.value or b"") for one in client.read("DEST")), key=str)
    assert values == [
        {"TOWN": "bonn", "PEOPLE": 5, "REGION": "eu"},
        {"TOWN": "rom", "PEOPLE": None, "REGION": "eu"},
        {"TOWN": "ulm", "PEOPLE": 6, "REGION": "us"},
    ]
    headers = {one.key: dict(one.headers) for one in client.read("DEST")}
    assert headers[b"1"] == {"trace": b"a-b", "x-trace": b"A-B"}
    assert headers[b"2"] == {"x-trace": None}
    (rows,) = answers_of(engine, "SELECT id, FROM_BYTES(trace, 'utf8') FROM dest WHERE id <> '2';")
    assert isinstance(rows, list)
    assert sorted(rows) == [("1", "A-B"), ("3", "C")]

    wait_for(lambda: len(client.read("wrong")) == 1)
    (letter,) = client.read("wrong")
    assert (letter.key, letter.value) == (b"bad", b"{no json")
    assert dict(letter.headers)["trace"] == b"\x00\xff"
    assert dict(letter.headers)["__streams.errors.topic"] == b"rides-us"
    # Dead letters contain their own reason; the other query has no dead-letter topic.
    wait_for(lambda: len(client.read("far_ksql_processing_log")) == 1)
    (entry,) = client.read("far_ksql_processing_log")
    assert b"CTAS_REGIONS_1" in (entry.value or b"")

    see_rows_that_go(engine, client)
    see_a_query_that_is_replaced(engine, client)


def test_the_hints_of_a_refused_result_work(engine: SqlEngine) -> None:
    """Its timestamp is more than an hour ahead: the query failed again and again, and its hint named a setting that SET refuses."""
    client = Client(engine.bootstrap)
    ahead = time.time_ns() // 1_000_000 + 2 * 3_600_000
    answers_of(
        engine,
        """SET 'auto.offset.reset' = 'earliest';
        CREATE STREAM given (id STRING KEY, at BIGINT)
            WITH (kafka_topic='given', partitions=1, value_format='JSON', timestamp='at');
        CREATE STREAM first AS SELECT * FROM given;
        CREATE STREAM second AS SELECT * FROM given;""",
    )
    client.produce("given", "a", json.dumps({"AT": ahead}))
    client.produce("given", "b", json.dumps({"AT": ahead - 2 * 3_600_000}))

    seen: list[LiveQuery] = []

    def both_failed() -> bool:
        # They start again: what is looked at later may be another state.
        seen[:] = engine.queries()
        return [one.state for one in seen] == ["ERROR", "ERROR"]

    wait_for(both_failed)
    first, second = seen
    assert (first.error_kind, second.error_kind) == ("USER", "USER")
    assert first.error_at_ms > 0
    (altered,) = re.findall(r"topics alter FIRST --config (message\S+)=(\d+)", first.error)
    (skipped,) = re.findall(r"(SET '[a-z.]+'='false')", second.error)

    name, most = altered
    alter = ConfigEntry(name, most, incremental_operation=AlterConfigOpType.SET)
    changed = ConfigResource(ConfigResource.Type.TOPIC, "FIRST", incremental_configs=[alter])
    admin = AdminClient({"bootstrap.servers": engine.bootstrap})
    admin.incremental_alter_configs([changed])[changed].result(WAIT_S)
    wait_for(lambda: {one.key for one in client.read("FIRST")} == {b"a", b"b"})
    answers_of(engine, f"{skipped};")
    answers_of(engine, "CREATE OR REPLACE STREAM second AS SELECT * FROM given;")
    wait_for(lambda: {one.key for one in client.read("SECOND")} == {b"b"})

    def is_logged() -> bool:
        entries = [one.value or b"" for one in client.read("far_ksql_processing_log")]
        return any(b"CSAS_SECOND" in one and b"timestamp" in one for one in entries)

    wait_for(is_logged)


def see_a_query_that_is_replaced(engine: SqlEngine, client: Client) -> None:
    """The replacement has one more aggregate, which includes records read by the old query."""
    wait_for(lambda: _regions(client)["rides-us"]["N"] == 1)
    before = _regions(client)["rides-eu"]["N"]
    text = """CREATE OR REPLACE TABLE regions AS
        SELECT ROWTOPIC AS topic, COUNT(town) AS n, COUNT_DISTINCT(town) AS towns FROM rides GROUP BY ROWTOPIC;"""
    stores, facts = answers_of(engine, f"EXPLAIN UPGRADE {text}")
    assert isinstance(stores, list)
    assert [becomes for _, becomes, _ in stores] == ["changed: starts empty, or is rebuilt"]
    assert "rides-eu" in str(facts)

    answers_of(engine, text)
    assert engine.wait_settled(WAIT_S)
    answers_of(engine, "INSERT INTO eu (id, town) VALUES ('5', 'kiel');")

    wait_for(lambda: "TOWNS" in _regions(client)["rides-eu"])
    assert _regions(client)["rides-eu"] == {"N": before + 1, "TOWNS": 3}, "bonn, rom, kiel"


def _regions(client: Client) -> dict[str, dict[str, int]]:
    return {
        (one.key or b"").decode(): json.loads(one.value or b"{}") for one in client.read("REGIONS")
    }


def see_rows_that_go(engine: SqlEngine, client: Client) -> None:
    """Delete a row of the global table: the next record must not find it."""
    answers_of(engine, "DELETE FROM towns WHERE name = LCASE('X') || UCASE('onn');")
    answers_of(engine, "DELETE FROM towns WHERE name IN ('BONN');")
    wait_for(lambda: _people_of_the_next(engine, client) is None)
    (pulled,) = answers_of(engine, "SELECT name FROM towns;")
    assert pulled == [("ULM",)]
    counts = {one.key: json.loads(one.value or b"{}")["N"] for one in client.read("REGIONS")}
    assert counts[b"rides-us"] == 1
    assert counts[b"rides-eu"] >= 2


def _people_of_the_next(engine: SqlEngine, client: Client) -> object:
    """Send another ride to Bonn, and return its joined population."""
    before = len(client.read("DEST"))
    answers_of(engine, "INSERT INTO eu (id, town) VALUES ('4', 'bonn');")
    wait_for(lambda: len(client.read("DEST")) > before)
    rides: list[Record] = [one for one in client.read("DEST") if one.key == b"4"]
    return json.loads(rides[-1].value or b"{}")["PEOPLE"]
