"""Persistent SQL queries on Spark over formats with schemas, with a registry as a process."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import fastavro
import pytest
from pyspark.sql import SparkSession

import waiting
from duolog.registry.client import HttpRegistry
from duolog.runtime.registry_process import RegistryProcess
from duolog.runtime.sql.engine import SqlEngine
from duolog.schemas.schema import Language
from duolog.schemas.source import SchemaText
from duolog.testing import EmbeddedCluster
from duolog.testing.client import Client

pytestmark = [pytest.mark.spark, pytest.mark.timeout(280)]

WAIT_S: Final = 60
TEXT: Final = """
CREATE STREAM orders WITH (kafka_topic='orders', value_format='avro');
CREATE STREAM copy WITH (value_format='json_sr') AS SELECT * FROM orders;
CREATE TABLE totals WITH (key_format='avro') AS SELECT name, SUM(n) AS total FROM orders GROUP BY name;
"""
FIELDS: Final = [{"name": "n", "type": "long"}, {"name": "name", "type": ["null", "string"]}]
ADDED: Final = {"name": "tags", "type": {"type": "array", "items": "string"}, "default": []}


def record(*fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": "Order", "fields": list(fields)}


class Producer:
    """Writes orders in Avro, as another program does."""

    def __init__(self, client: Client, registry: HttpRegistry) -> None:
        self._client = client
        self._registry = registry

    def register(self, schema: dict[str, Any]) -> int:
        text = SchemaText(Language.AVRO, json.dumps(schema))
        return self._registry.register("orders-value", text)

    def order(self, schema: dict[str, Any], **order: Any) -> None:
        number = self.register(schema)
        out = io.BytesIO()
        fastavro.schemaless_writer(out, fastavro.parse_schema(schema), order)
        self.raw(b"\0" + number.to_bytes(4, "big") + out.getvalue())

    def raw(self, value: bytes) -> None:
        self._client.produce("orders", None, value)


def total_of(client: Client, registry: HttpRegistry, name: str) -> int | None:
    """Return the last total of a name in the table's topic, whose keys and values are Avro."""
    total = None
    for one in client.read("TOTALS"):
        assert one.key is not None
        assert one.value is not None
        if avro_of(registry, one.key) == name:
            total = avro_of(registry, one.value)["TOTAL"]
    return total


def avro_of(registry: HttpRegistry, data: bytes) -> Any:
    schema = json.loads(registry.text_of(int.from_bytes(data[1:5], "big")).text)
    return fastavro.schemaless_reader(io.BytesIO(data[5:]), fastavro.parse_schema(schema), None)


def wait_for(done: Callable[[], bool]) -> None:
    waiting.wait_until(done, "it did not come in time", WAIT_S)


def test_queries_read_each_record_with_its_schema_and_outlive_the_registry(
    spark: SparkSession, tmp_path: Path
) -> None:
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        servers = cluster.bootstrap_servers
        client = Client(servers)
        client.create_topic("orders")
        with RegistryProcess(servers, log_path=tmp_path / "registry.log") as process:
            registry = HttpRegistry(process.url)
            producer = Producer(client, registry)
            producer.register(record(*FIELDS))
            engine = SqlEngine(
                servers,
                data=tmp_path / "data",
                service_id="shop_",
                properties={"ksql.schema.registry.url": process.url, "commit.interval.ms": "200"},
                engine_settings={"class.archive": "false"},
            )
            with engine:
                list(engine.execute(TEXT))
                assert engine.wait_settled(WAIT_S)
                producer.order(record(*FIELDS), n=1, name="a")
                wait_for(lambda: total_of(client, registry, "a") == 1)

                producer.order(record(*FIELDS, ADDED), n=10, name="a", tags=["x"])
                producer.raw(b"\0\0\0\x7f\x7f\2")
                producer.order(record(*FIELDS), n=100, name="b")
                wait_for(lambda: total_of(client, registry, "a") == 11)
                wait_for(lambda: total_of(client, registry, "b") == 100)
                wait_for(lambda: len(client.read("shop_ksql_processing_log")) == 2)
                entry = json.loads(client.read("shop_ksql_processing_log")[0].value or b"")
                problem = entry["message"]["deserializationError"]
                assert (problem["topic"], problem["target"]) == ("orders", "value")
                assert "no schema of id 32639" in problem["errorMessage"]

                # What is known stays known.
                process.stop()
                producer.order(record(*FIELDS), n=1000, name="b")
                wait_for(lambda: total_of(client, registry, "b") == 1100)
                copies = [one.value or b"" for one in client.read("COPY")]
                assert [json.loads(one[5:]) for one in copies] == [
                    {"N": 1, "NAME": "a"},
                    {"N": 10, "NAME": "a"},
                    {"N": 100, "NAME": "b"},
                    {"N": 1000, "NAME": "b"},
                ]
