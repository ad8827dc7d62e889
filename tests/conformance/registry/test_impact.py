"""The impact of a schema on a real cluster: by the command line and by HTTP."""

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.registry.clients import ask, register
from duolog.ksql.session import parse
from duolog.ksql.settings import Settings
from duolog.registry.client import HttpRegistry
from duolog.runtime.sql.command_log.command_topic import CommandTopic
from duolog.runtime.sql.command_log.replayed_catalog import ReplayedCatalog
from duolog.runtime.sql.engine import DEFAULT_SERVICE
from duolog.schemas.source import provide, withdraw
from duolog.testing.cluster import EmbeddedCluster

OLD = {"id": "int", "note": ["null", "string"]}
STATEMENTS = (
    "CREATE STREAM orders WITH (kafka_topic='orders', value_format='AVRO');",
    "CREATE STREAM notes AS SELECT note FROM orders;",
    "CREATE STREAM ids AS SELECT id FROM orders;",
)
_WAIT_S = 60


def avro(fields: dict[str, Any]) -> str:
    listed = [{"name": name, "type": of} for name, of in fields.items()]
    return json.dumps({"type": "record", "name": "Order", "fields": listed})


@pytest.fixture
def place(cluster: EmbeddedCluster, registry: str) -> tuple[str, str]:
    """Servers with a topic, its schema, two queries, a record and a consumer group."""
    servers = cluster.bootstrap_servers
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic("orders", 2)])["orders"].result(_WAIT_S)
    schema_id = register(registry, "orders-value", avro(OLD)).body["id"]
    provide(registry, HttpRegistry(registry))
    try:
        with closing(CommandTopic(servers, DEFAULT_SERVICE)) as topic:
            catalog = ReplayedCatalog(topic)
            for text in STATEMENTS:
                (node,) = parse(text)
                settings = Settings({"ksql.schema.registry.url": registry})
                catalog.run(node, text, settings, lambda *_: {})
    finally:
        withdraw(registry)
    producer = Producer({"bootstrap.servers": servers})
    for partition in (0, 1):
        value = b"\0" + int(schema_id).to_bytes(4) + b"\2\0"
        producer.produce("orders", value, partition=partition)
    assert producer.flush(_WAIT_S) == 0
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "billing"})
    with closing(consumer):
        consumer.commit(offsets=[TopicPartition("orders", 0, 1)], asynchronous=False)
    return servers, registry


def command(place: tuple[str, str], schema: Path, *more: str) -> "subprocess.CompletedProcess[str]":
    servers, registry = place
    arguments = ["schema", "impact", str(schema), "--subject", "orders-value"]
    arguments += ["-b", servers, "--registry", registry, *more]
    run = [sys.executable, "-P", "-m", "duolog", *arguments]
    return subprocess.run(run, capture_output=True, text=True, timeout=120, check=False)


def test_the_command_names_what_breaks(place: tuple[str, str], tmp_path: Path) -> None:
    schema = tmp_path / "order.avsc"
    schema.write_text(avro({"id": "int"}))

    ended = command(place, schema, "-o", "jsonl")

    assert ended.returncode == 6, ended.stderr
    rows = [json.loads(line) for line in ended.stdout.splitlines()]
    found = {(row["kind"], row["name"]): (row["verdict"], row["path"]) for row in rows}
    assert found == {
        ("stream", "ORDERS"): ("breaks", "NOTE"),
        ("query", "CSAS_NOTES_0"): ("breaks", "NOTE"),
        ("query", "CSAS_IDS_1"): ("safe", None),
        ("group", "billing"): ("breaks", "READER_FIELD_MISSING_DEFAULT_VALUE"),
    }


def test_the_command_ends_with_0_if_nothing_breaks(place: tuple[str, str], tmp_path: Path) -> None:
    schema = tmp_path / "order.avsc"
    schema.write_text(avro(OLD))

    ended = command(place, schema)

    assert ended.returncode == 0, ended.stderr
    assert "safe" in ended.stdout
    assert "2 of the last 2 records can be read with the schema" in ended.stderr


def test_records_that_the_schema_cannot_read_are_listed(
    place: tuple[str, str], tmp_path: Path
) -> None:
    schema = tmp_path / "order.avsc"
    schema.write_text(avro(OLD | {"added": "string"}))

    ended = command(place, schema, "-o", "jsonl")

    rows = [json.loads(line) for line in ended.stdout.splitlines()]
    assert ended.returncode == 6
    assert sorted(row["name"] for row in rows if row["kind"] == "record") == ["0:0", "1:0"]


def test_a_file_of_statements_is_judged_without_running_it(
    place: tuple[str, str], tmp_path: Path
) -> None:
    schema, script = tmp_path / "order.avsc", tmp_path / "mine.sql"
    schema.write_text(avro({"id": "int"}))
    script.write_text(
        "CREATE STREAM mine WITH (kafka_topic='orders', value_format='AVRO');\n"
        "CREATE STREAM out WITH (value_format='AVRO') AS SELECT note FROM mine;\n"
    )

    ended = command(place, schema, "--sql", str(script), "-o", "csv")

    assert ended.returncode == 6, ended.stderr
    missing = "column NOTE is not in the schema and would be null"
    assert ended.stdout.splitlines()[:3] == [
        "kind,name,reads,verdict,path,reason",
        f"stream,MINE,orders,breaks,NOTE,{missing}",
        f"query,CSAS_OUT_0,MINE,breaks,NOTE,{missing}",
    ]
    assert ask(place[1], "GET", "/subjects").body == ["IDS-value", "NOTES-value", "orders-value"]


def test_the_registry_reports_the_impact(place: tuple[str, str]) -> None:
    _, registry = place
    path = "/compatibility/subjects/orders-value/versions/latest?impact=true"

    answer = ask(registry, "POST", path, {"schema": avro({"id": "int"})})

    assert answer.status == 200
    assert answer.body["is_compatible"] is True
    impact = answer.body["impact"]
    assert impact["verdict"] == "breaks"
    assert impact["records"] == {"read": 2, "broken": [], "unreadable": 0}
    verdicts = {row["name"]: row["verdict"] for row in impact["readers"]}
    assert verdicts == {
        "ORDERS": "breaks",
        "CSAS_NOTES_0": "breaks",
        "CSAS_IDS_1": "safe",
        "billing": "breaks",
    }
