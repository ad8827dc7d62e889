"""Data directories, checkpoints and a command topic of earlier versions start today, and continue.

`earlier/VERSION.tar.xz` was made by `earlier/make.py` in the tree of that commit. It stays as it
is: add a file for another version.
"""

import json
import shutil
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

import waiting
from conformance.streams.earlier.programs import (
    EARLIER,
    KINDS,
    LATER,
    LOGGED,
    RECORDS,
    SERVICE,
    SETTINGS,
    logged,
    topology,
)
from duolog.engine import Engine, EngineConfig
from duolog.ksql.errors import SqlError
from duolog.runtime.sql.engine import SqlEngine
from duolog.testing import EmbeddedCluster
from duolog.testing.client import Client

pytestmark = pytest.mark.timeout(400)

KEPT: Final = Path(__file__).with_name("earlier")
VERSIONS: Final = ("b506ee0", "9e67505")
WITH_SQL: Final = "b506ee0"
WITH_CHANGELOGS: Final = "9e67505"
WAIT_S: Final = 120
ALL: Final = range(LATER.stop)


@pytest.fixture(params=VERSIONS)
def data(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    with tarfile.open(KEPT / f"{request.param}.tar.xz") as packed:
        packed.extractall(tmp_path, filter="data")
    return tmp_path


@pytest.fixture
def cluster(data: Path) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(data / "broker", settings=SETTINGS) as started:
        yield started


def go_on(cluster: EmbeddedCluster, *topics: str) -> None:
    client = Client(cluster.bootstrap_servers)
    for topic in topics:
        for n in LATER:
            key, value = RECORDS[topic](n)
            client.produce(topic, key, value, timestamp_ms=1000 * (n + 1))


def last(cluster: EmbeddedCluster, topic: str) -> dict[str | None, Any]:
    """Return the last value of each key."""
    records = Client(cluster.bootstrap_servers).read(topic)
    return {one.key_text: None if one.value is None else json.loads(one.value) for one in records}


def wait_for(cluster: EmbeddedCluster, topic: str, expected: dict[str, Any]) -> None:
    waiting.wait_until(
        lambda: last(cluster, topic) == expected,
        lambda: f"{topic} has {last(cluster, topic)} and not {expected}",
        WAIT_S,
    )


def by_kind(of: Callable[[list[int]], Any]) -> dict[str, Any]:
    return {kind: of([n for n in ALL if KINDS[n % 2] == kind]) for kind in KINDS}


def test_earlier_data_directory_has_all_its_records(cluster: EmbeddedCluster) -> None:
    client, servers = Client(cluster.bootstrap_servers), cluster.bootstrap_servers
    for topic, record in RECORDS.items():
        found = [(one.key_text, one.value_text) for one in client.read(topic)]
        assert found == [record(n) for n in EARLIER]
    assert {one.key_text: one.value_text for one in client.read("names")} == {
        "k0": None,
        "k1": "name 19",
        "k2": "name 17",
    }
    assert committed(servers, "readers") == 9
    assert moved(servers, "read_committed") == [b"kept"]
    assert moved(servers, "read_uncommitted") == [b"kept", b"lost"]

    writer = Producer({"bootstrap.servers": servers, "transactional.id": "mover"})
    writer.init_transactions(60)
    writer.begin_transaction()
    writer.produce("moved", b"later")
    writer.commit_transaction(60)

    assert moved(servers, "read_committed") == [b"kept", b"later"]


def committed(servers: str, group: str) -> int:
    admin = AdminClient({"bootstrap.servers": servers})
    asked = ConsumerGroupTopicPartitions(group, [TopicPartition("readings", 0)])
    (found,) = admin.list_consumer_group_offsets([asked])[group].result(60).topic_partitions
    offset: int = found.offset
    return offset


def moved(servers: str, isolation: str) -> list[bytes]:
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "looks",
            "isolation.level": isolation,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition("moved", 0, 0)])
    found: list[bytes] = []
    while (message := consumer.poll(60)) is not None and message.error() is None:
        found.append(message.value() or b"")
    consumer.close()
    return found


@pytest.mark.spark
def test_earlier_application_continues(
    spark: SparkSession, data: Path, cluster: EmbeddedCluster
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    go_on(cluster, "readings", "things")
    engine = Engine(EngineConfig(cluster.bootstrap_servers, data / "checkpoints", epoch_ms=1000))
    app = topology()

    query = engine.start(app.build(), app.name, "micro-batch")
    assert query.wait_until_caught_up(WAIT_S)
    query.stop()

    assert query.exception() is None
    things = {n % 4: n for n in ALL}.values()
    hot = {kind: of | {"top": top(of["top"])} for kind, of in last(cluster, "hot").items() if kind}
    assert hot == by_kind(
        lambda ns: {
            "hot": sum(n / 2 > 5 for n in ns),
            "total": len(ns),
            "top": [[max(ns) / 2, max(ns)]],
        }
    )
    assert last(cluster, "upper") == {
        kind.upper(): {"count": count} for kind, count in by_kind(len).items()
    }
    assert last(cluster, "warm") == {
        kind: {"count": sum(5 <= n <= 99 and KINDS[n % 2] == kind for n in things)}
        for kind in KINDS
    }
    engine.close()


@pytest.mark.spark
@pytest.mark.parametrize("data", [WITH_CHANGELOGS], indirect=True)
@pytest.mark.parametrize("is_lost", [False, True])
def test_an_exactly_once_application_with_changelogs_continues(
    spark: SparkSession, data: Path, cluster: EmbeddedCluster, *, is_lost: bool
) -> None:
    """From its checkpoint, and from its changelogs."""
    assert spark is not None, "the engine finds the session of this run"
    directory = data / "logged-checkpoints"
    if is_lost:
        shutil.rmtree(directory)
    go_on(cluster, "readings")
    servers = cluster.bootstrap_servers
    engine = Engine(
        EngineConfig(servers, directory, epoch_ms=1000, exactly_once=True, changelog="on")
    )

    query = engine.start(logged().build(), LOGGED, "micro-batch")
    assert query.wait_until_caught_up(WAIT_S)
    query.stop()

    assert query.exception() is None
    assert last(cluster, "kinds") == {
        kind: {"count": count} for kind, count in by_kind(len).items()
    }
    engine.close()


def top(values: list[dict[str, Any]]) -> list[list[Any]]:
    """Return values without the names of their fields, which are the columns' today."""
    return [list(value.values()) for value in values]


@pytest.mark.spark
@pytest.mark.parametrize("data", [WITH_SQL], indirect=True)
def test_earlier_service_continues(
    spark: SparkSession, data: Path, cluster: EmbeddedCluster
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    settings = {"class.archive": "false"}
    with SqlEngine(
        cluster.bootstrap_servers, data=data / "sql", service_id=SERVICE, engine_settings=settings
    ) as service:
        service.start()
        go_on(cluster, "sales")

        def hot(ns: list[int]) -> dict[str, int]:
            found = [n / 2 for n in ns if n / 2 != 3.5]
            return {"HOT": sum(d > 5 for d in found), "N": len(found)}

        wait_for(cluster, "sql-hot", by_kind(hot))
        day_ms, first_ms = 24 * 60 * 60 * 1000, 1_767_225_600_000
        wait_for(
            cluster,
            "sql-prices",
            {
                f"{price / 4:.2f}": {
                    "N": len(ALL) // 3,
                    "AT": 1_700_000_000_000 + ALL.stop - 3 + price,
                    "DAY": first_ms + day_ms * (ALL.stop - 3 + price),
                    "TAGS": f"x-{ALL.stop - 3 + price}",
                }
                for price in range(3)
            },
        )
        nulls = {f"s{n}": {"C": "", "G": None} for n in ALL}
        wait_for(cluster, "NULLS", nulls)
        assert len(Client(cluster.bootstrap_servers).read("NULLS")) == len(ALL)
        again = "CREATE STREAM again (s STRUCT<a INT, a INT>) WITH (kafka_topic='twice', value_format='JSON');"
        with pytest.raises(SqlError, match="Duplicate field names"):
            list(service.execute(again))
