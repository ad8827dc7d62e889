"""Topics of a real Apache Kafka that are created again or get partitions while SQL reads them."""

from collections.abc import Iterator

import pytest

from conformance.kafka.peer import KafkaPeer
from duolog.core.errors import KafkaError
from duolog.runtime.sql.fanout.errors import TokenRefused
from duolog.runtime.sql.fanout.shared_readers import SharedReaders
from duolog.runtime.sql.tables.freshness import Wanted
from duolog.runtime.sql.tables.materialized_tables import MaterializedTables
from duolog.security.clients.brokers import Brokers
from unit.runtime.sql.fanout.pushed_topic import PushedTopic, take, take_to_the_end

pytestmark = pytest.mark.timeout(300)

_ALL = "SELECT v FROM s"


@pytest.fixture
def tables(kafka_peer: KafkaPeer) -> Iterator[MaterializedTables]:
    tables = MaterializedTables(Brokers(kafka_peer.bootstrap_servers))
    yield tables
    tables.close()


@pytest.fixture
def readers(kafka_peer: KafkaPeer) -> Iterator[SharedReaders]:
    readers = SharedReaders(Brokers(kafka_peer.bootstrap_servers))
    yield readers
    readers.close()


def keys(tables: MaterializedTables, topic: PushedTopic, *, snapshot: bool = False) -> list[str]:
    """Return the keys of the current rows."""
    wanted = Wanted(snapshot=snapshot)
    answer = tables.read(topic.source, lambda rows: list(rows.everything()), wanted)
    return sorted(str(row[0]) for row in answer.value)


@pytest.mark.parametrize("snapshot", [False, True], ids=["latest", "snapshot"])
def test_a_table_follows_a_topic_that_changes(
    kafka_peer: KafkaPeer,
    tables: MaterializedTables,
    snapshot: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    topic = PushedTopic(kafka_peer, f"changing-{snapshot}", table=True)
    topic.numbers([1, 2])
    assert keys(tables, topic, snapshot=snapshot) == ["k1", "k2"]

    topic.grow(3)
    topic.write_anew(3, 2)
    assert keys(tables, topic, snapshot=snapshot) == ["k1", "k2", "k3"]

    topic.create_again()
    for value in range(4, 9):
        topic.write_anew(value, 0)
    assert keys(tables, topic, snapshot=snapshot) == ["k4", "k5", "k6", "k7", "k8"]


def test_push_queries_follow_a_topic_that_changes(
    kafka_peer: KafkaPeer, readers: SharedReaders
) -> None:
    topic = PushedTopic(kafka_peer, "changing-pushed")
    topic.numbers([1])
    running = topic.subscribe(readers, _ALL, "earliest")
    assert take(running, 1) == [(1,)]

    topic.grow(2)
    topic.write_anew(2, 1)
    assert take(running, 1) == [(2,)]
    token = running.token()

    topic.create_again()
    with pytest.raises(KafkaError, match=topic.name):
        take_to_the_end(running)
    for value in range(4, 9):
        topic.write_anew(value, 0)
    with pytest.raises(TokenRefused, match="an earlier topic"):
        topic.subscribe(readers, _ALL, token)
    assert take(topic.subscribe(readers, _ALL, "earliest"), 5) == [(v,) for v in range(4, 9)]
