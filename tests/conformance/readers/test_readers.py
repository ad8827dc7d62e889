"""Programs of others read what queries write in AVRO and PROTOBUF, with the registry's schemas.

    Spark     `from_avro`; Google's classes for PROTOBUF       in a process without Duolog
    pandas    fastavro; Google's classes for PROTOBUF          and `duolog consume -o jsonl`, `-o csv`
    DuckDB    `duolog consume -o jsonl`                        its extension avro is not on PyPI

Spark's own reader of PROTOBUF is not served by Maven for Scala 2.13. Tests that fetch a program
through Maven are deep.
"""

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import duckdb
import fastavro
import pandas as pd  # type: ignore[import-untyped]
import pytest

import waiting
from conformance.command import Duolog
from conformance.protobuf.peers import fetch as fetch_peers
from conformance.protobuf.peers import protoc_in, unpack_builtins
from conformance.readers.protobuf_values import fields_of
from duolog.engine.jvm.jars import connector_jars
from duolog.registry.client import HttpRegistry
from duolog.runtime.registry_process import RegistryProcess
from duolog.runtime.sql.engine import SqlEngine
from duolog.schemas.protobuf.builtin_texts import TEXTS
from duolog.testing import EmbeddedCluster
from duolog.testing.client import Client

pytestmark = [pytest.mark.spark, pytest.mark.timeout(280)]

HERE: Final = Path(__file__).parent
WAIT_S: Final = 120
TEXT: Final = """
CREATE STREAM given (id BIGINT KEY, flag BOOLEAN, i INT, n BIGINT, x DOUBLE, name STRING,
    price DECIMAL(9, 2), at TIMESTAMP, day DATE, tags ARRAY<STRING>, counts MAP<STRING, BIGINT>,
    place STRUCT<lat DOUBLE, city STRING>)
  WITH (kafka_topic='given', value_format='JSON', partitions=1);
CREATE STREAM in_avro WITH (kafka_topic='in_avro', value_format='AVRO') AS SELECT * FROM given;
CREATE STREAM in_protobuf WITH (kafka_topic='in_protobuf', value_format='PROTOBUF') AS SELECT * FROM given;
"""
GIVEN: Final = (
    {
        "FLAG": True, "I": -7, "N": 2**53 + 1, "X": 1.5, "NAME": "Zoë", "PRICE": 12.5,
        "AT": 1_700_000_000_123, "DAY": 19_675, "TAGS": ["a", "b"], "COUNTS": {"k": 3},
        "PLACE": {"LAT": 48.1, "CITY": "Bonn"},
    },
    {"N": 1},
)  # fmt: skip
ENTRIES: Final = [{"key": "k", "value": 3}]
"""A MAP in Avro: as in ksqlDB, whose keys may be null, which Avro's maps do not allow."""


@dataclass
class Written:
    """Topics that queries have written, and where they are."""

    servers: str
    registry: str
    records: dict[str, list[bytes]]
    schemas: dict[str, str]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Written]:
    path = tmp_path_factory.mktemp("readers")
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        servers = cluster.bootstrap_servers
        with RegistryProcess(servers, log_path=path / "registry.log") as process:
            engine = SqlEngine(
                servers,
                data=path / "data",
                properties={
                    "ksql.schema.registry.url": process.url,
                    "auto.offset.reset": "earliest",
                },
                engine_settings={"class.archive": "false"},
            )
            client = Client(servers)
            with engine:
                list(engine.execute(TEXT))
                for number, value in enumerate(GIVEN):
                    key = number.to_bytes(8, "big")
                    client.produce("given", key, json.dumps(value).encode())
                records = {name: _all(client, name) for name in ("in_avro", "in_protobuf")}
            yield Written(servers, process.url, records, _schemas(process.url, records))


def _all(client: Client, topic: str) -> list[bytes]:
    """Return the values of a topic when there are as many as were given."""
    waiting.wait_until(lambda: len(client.read(topic)) >= len(GIVEN), topic, WAIT_S)
    return [one.value or b"" for one in client.read(topic)]


def _schemas(registry: str, records: dict[str, list[bytes]]) -> dict[str, str]:
    """Return the text of the schema with whose id all values of a topic start."""
    client = HttpRegistry(registry)
    found = {}
    for topic, values in records.items():
        (number,) = {int.from_bytes(value[1:5], "big") for value in values}
        found[topic] = client.text_of(number).text
    return found


@pytest.fixture(scope="module")
def descriptors(written: Written, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The descriptors that protoc makes of the registry's schema."""
    path = tmp_path_factory.mktemp("protoc")
    peers = fetch_peers()
    unpack_builtins(peers, path)
    for name, text in {**TEXTS, "value.proto": written.schemas["in_protobuf"]}.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text, encoding="utf-8")
    out = path / "descriptors"
    command = [
        str(protoc_in(peers)),
        f"-I{path}",
        "--include_imports",
        f"--descriptor_set_out={out}",
    ]
    subprocess.run([*command, "value.proto"], check=True, timeout=WAIT_S)
    return out


def plain_spark(written: Written, topic: str, *given: str) -> list[dict[str, Any]]:
    """Run Spark in a process of its own; return the rows that it prints."""
    fetched = subprocess.run(
        [str(HERE / "fetch")], check=True, capture_output=True, text=True, timeout=WAIT_S
    )
    jars = [*connector_jars(), *Path(fetched.stdout.strip()).glob("*.jar")]
    program = [sys.executable, str(HERE / "plain_spark.py"), written.servers, topic]
    done = subprocess.run(
        [*program, ",".join(map(str, jars)), *given],
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT_S,
        env=os.environ | {"PYTHONPATH": str(HERE.parents[1])},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def consumed(written: Written, topic: str, form: str, path: Path) -> Path:
    """Write the records of a topic to a file with `duolog consume`."""
    words = "consume", topic, "--from-beginning", "--until-end", "-o", form, "--key", "id BIGINT"
    done = Duolog(written.servers)(*words, "--registry", written.registry)
    assert done.returncode == 0, done.stderr
    path.write_text(done.stdout, encoding="utf-8")
    return path


def message_name(written: Written) -> str:
    found = written.schemas["in_protobuf"]
    return found.partition("message ")[2].partition(" ")[0]


@pytest.mark.deep
def test_spark_reads_avro_with_its_own_reader(written: Written, tmp_path: Path) -> None:
    schema = tmp_path / "value.avsc"
    schema.write_text(written.schemas["in_avro"], encoding="utf-8")

    first, second = plain_spark(written, "in_avro", "avro", str(schema))

    assert first == {
        "FLAG": True, "I": -7, "N": 2**53 + 1, "X": 1.5, "NAME": "Zoë", "PRICE": 12.5,
        "AT": "2023-11-14T22:13:20.123Z", "DAY": "2023-11-14", "TAGS": ["a", "b"],
        "COUNTS": ENTRIES, "PLACE": {"LAT": 48.1, "CITY": "Bonn"},
    }  # fmt: skip
    assert second == {"N": 1}, "Spark's JSON leaves out nulls"


@pytest.mark.deep
def test_spark_reads_protobuf_with_googles_classes(written: Written, descriptors: Path) -> None:
    rows = plain_spark(written, "in_protobuf", "protobuf", str(descriptors), message_name(written))

    assert [(row["N"], row["NAME"], row["TAGS"]) for row in rows] == [
        (str(2**53 + 1), "Zoë", ["a", "b"]),
        ("1", "", []),
    ]


def test_pandas_reads_avro_through_fastavro(written: Written) -> None:
    schema = fastavro.parse_schema(json.loads(written.schemas["in_avro"]))

    def read(value: bytes) -> Any:
        return fastavro.schemaless_reader(io.BytesIO(value[5:]), schema, None)

    frame = pd.DataFrame(map(read, written.records["in_avro"]))

    assert list(frame["N"]) == [2**53 + 1, 1]
    assert str(frame["PRICE"][0]) == "12.50"
    assert frame["AT"][0] == pd.Timestamp("2023-11-14T22:13:20.123Z")
    assert frame["COUNTS"][0] == ENTRIES
    assert frame.drop(columns="N").iloc[1].isna().all()


@pytest.mark.deep
def test_pandas_reads_protobuf_through_googles_classes(written: Written, descriptors: Path) -> None:
    data, name = descriptors.read_bytes(), message_name(written)

    frame = pd.DataFrame(fields_of(data, name, one) for one in written.records["in_protobuf"])

    assert list(frame["N"].astype("int64")) == [2**53 + 1, 1]
    assert frame["AT"][0] == "2023-11-14T22:13:20.123Z"
    assert frame["DAY"][0] == {"year": 2023, "month": 11, "day": 14}
    assert frame["PLACE"][0] == {"LAT": 48.1, "CITY": "Bonn"}


@pytest.mark.parametrize("topic", ["in_avro", "in_protobuf"])
def test_pandas_and_duckdb_read_what_consume_decodes(
    written: Written, tmp_path: Path, topic: str
) -> None:
    lines = consumed(written, topic, "jsonl", tmp_path / "records.jsonl")
    table = consumed(written, topic, "csv", tmp_path / "records.csv")

    in_lines = pd.json_normalize(pd.read_json(lines, lines=True)["value"].tolist())
    in_table = pd.read_csv(table)
    by_duckdb = (
        duckdb.read_json(str(lines))
        .order("key")
        .project("key, value.N, value.PLACE.CITY, value.TAGS")
        .fetchall()
    )

    assert list(in_lines["N"]) == [2**53 + 1, 1]
    assert list(in_lines["NAME"].fillna("")) == ["Zoë", ""]
    assert [json.loads(value)["N"] for value in in_table["value"]] == [2**53 + 1, 1]
    assert by_duckdb[0] == (0, 2**53 + 1, "Bonn", ["a", "b"])
    assert by_duckdb[1][:2] == (1, 1)
