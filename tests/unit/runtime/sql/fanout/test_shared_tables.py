"""Push queries over tables that share a reader, on a real broker."""

import random
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from duolog.runtime.sql.answers import DeletedRow
from duolog.runtime.sql.fanout import feed as feed_module
from duolog.runtime.sql.fanout import member as member_module
from duolog.runtime.sql.fanout.shared_readers import SharedReaders, SharedRows
from duolog.security.clients.brokers import Brokers
from duolog.testing import EmbeddedCluster
from unit.runtime.sql.fanout.pushed_topic import PushedTopic, Rows, take, take_until_all
from waiting import DEADLINE_S, wait_until

_BIG = "SELECT id, v FROM s WHERE v > 5"


@pytest.fixture
def readers(cluster: EmbeddedCluster) -> Iterator[SharedReaders]:
    readers = SharedReaders(Brokers(cluster.bootstrap_servers))
    yield readers
    readers.close()


def _write(topic: PushedTopic, *rows: tuple[str, int | None], partition: int = 0) -> None:
    for key, v in rows:
        topic.write(key, None if v is None else {"v": v}, partition)
    topic.flush()


def test_latest_starts_with_the_current_rows(
    cluster: EmbeddedCluster, readers: SharedReaders, service: str
) -> None:
    topic = PushedTopic(cluster, service, table=True)
    _write(topic, ("a", 6), ("b", 7), ("a", 9), ("c", 2), ("b", None))
    first = topic.subscribe(readers, _BIG)
    assert take(first, 1) == [("a", 9)]

    _write(topic, ("a", 3), ("c", 4), ("b", 8), ("b", None))

    changes = take(first, 3)
    assert changes == [("a", None), ("b", 8), ("b", None)]
    assert [isinstance(one, DeletedRow) for one in changes] == [True, False, True]
    _write(topic, ("d", 10))
    second = topic.subscribe(readers, _BIG)
    assert take(second, 1) == [("d", 10)]
    assert take(first, 1) == [("d", 10)]


def test_the_current_rows_of_a_topic_that_ends_with_a_transaction(
    cluster: EmbeddedCluster, readers: SharedReaders, service: str
) -> None:
    """The last offset is that of a marker, not of a record."""
    topic = PushedTopic(cluster, service, table=True)
    producer = Producer({"bootstrap.servers": topic.servers, "transactional.id": service})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topic.name, key="a", value='{"v":6}', partition=0)
    producer.commit_transaction(60)

    assert take(topic.subscribe(readers, _BIG), 1) == [("a", 6)]


def test_earliest_shows_the_history(
    cluster: EmbeddedCluster, readers: SharedReaders, service: str
) -> None:
    topic = PushedTopic(cluster, service, table=True)
    _write(topic, ("a", 6), ("a", 5), ("b", 1), ("b", 7), ("b", None))

    rows = topic.subscribe(readers, _BIG, "earliest")

    assert take(rows, 4) == [("a", 6), ("a", None), ("b", 7), ("b", None)]


def test_a_query_that_comes_later_knows_which_rows_are_in_the_result(
    cluster: EmbeddedCluster, readers: SharedReaders, service: str
) -> None:
    """The state that queries share is that of the first one at the same position."""
    topic = PushedTopic(cluster, service, table=True)
    _write(topic, ("a", 6), ("b", 2))
    all_rows = [topic.subscribe(readers, _BIG) for _ in range(3)]
    for rows in all_rows:
        assert take(rows, 1) == [("a", 6)]

    _write(topic, ("b", 1), ("a", 1))

    for rows in all_rows:
        assert take(rows, 1) == [("a", None)]


def test_a_snapshot_in_several_parts_is_complete(
    cluster: EmbeddedCluster,
    readers: SharedReaders,
    service: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(member_module, "_SNAPSHOT_ROWS", 7)
    topic = PushedTopic(cluster, service, table=True)
    _write(topic, *((f"k{at}", at) for at in range(100)))

    rows = topic.subscribe(readers, _BIG)

    assert take(rows, 94) == [(f"k{at}", at) for at in range(6, 100)]


def test_a_token_before_the_end_of_the_snapshot_starts_again(
    cluster: EmbeddedCluster,
    readers: SharedReaders,
    service: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(member_module, "_SNAPSHOT_ROWS", 7)
    topic = PushedTopic(cluster, service, table=True)
    _write(topic, *((f"k{at}", 10) for at in range(20)))
    rows = topic.subscribe(readers, _BIG)
    part = take(rows, 7)
    token = rows.token(unread=len(part) - 3)

    assert sorted(take(topic.subscribe(readers, _BIG, token), 20)) == sorted(
        (f"k{at}", 10) for at in range(20)
    )


def test_a_token_continues_with_the_rows_that_the_client_has_seen(
    cluster: EmbeddedCluster, readers: SharedReaders, service: str
) -> None:
    topic = PushedTopic(cluster, service, table=True)
    _write(topic, ("a", 6), ("b", 2), ("c", 9))
    rows = topic.subscribe(readers, _BIG)
    assert take(rows, 2) == [("a", 6), ("c", 9)]
    _write(topic, ("c", 10))
    assert take(rows, 1) == [("c", 10)]
    token = rows.token()
    rows.close()
    _write(topic, ("b", 1), ("a", 1), ("c", 11), ("d", 3), ("d", None))

    later = SharedReaders(topic.brokers)
    again = topic.subscribe(later, _BIG, token)
    assert take(again, 2) == [("a", None), ("c", 11)], "and nothing of b and d, which it never had"
    _write(topic, ("e", 7))
    assert take(again, 1) == [("e", 7)]
    later.close()


def test_a_row_whose_record_was_compacted_away_is_still_removed(
    cluster: EmbeddedCluster, readers: SharedReaders, service: str
) -> None:
    """The client has seen it, but the record is gone: its key with nulls is emitted in any case."""
    config = {
        "cleanup.policy": "compact",
        "segment.ms": "1",
        "min.cleanable.dirty.ratio": "0.0",
    }
    topic = PushedTopic(cluster, service, table=True, config=config)
    _write(topic, ("a", 6), ("x", 1), ("b", 7))
    rows = topic.subscribe(readers, _BIG)
    take(rows, 2)
    token = rows.token()
    rows.close()
    _write(topic, ("a", 1), ("b", 8), ("x", 2))

    def compacted() -> bool:
        _write(topic, ("filler", 0))
        return _first_offset(topic) > 0

    wait_until(compacted, "the compaction")
    again = topic.subscribe(readers, _BIG, token)

    assert set(take(again, 2)) >= {("a", None), ("b", 8)}


def _first_offset(topic: PushedTopic) -> int:
    """Return the offset of the first record that is left."""
    consumer = Consumer({"bootstrap.servers": topic.servers, "group.id": "peer"})
    consumer.assign([TopicPartition(topic.name, 0, 0)])
    try:
        record = consumer.poll(DEADLINE_S)
        assert record is not None
        return record.offset() or 0
    finally:
        consumer.close()


@pytest.mark.parametrize("seed", range(3))
def test_clients_of_any_start_end_with_the_rows_of_the_table(
    cluster: EmbeddedCluster,
    readers: SharedReaders,
    service: str,
    seed: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A client that applies the rows it gets has the result of the query."""
    monkeypatch.setattr(feed_module, "_RECENT_RECORDS", 30)
    monkeypatch.setattr(member_module, "_SNAPSHOT_ROWS", 5)
    chance = random.Random(seed)  # noqa: S311 - not a secret
    topic = PushedTopic(cluster, service, partitions=3, table=True)
    table: dict[str, int | None] = {}
    clients: list[tuple[SharedRows, Rows]] = []
    for _ in range(8):
        for _ in range(chance.choice([1, 5, 200])):
            number = chance.randrange(40)
            key, v = f"k{number}", chance.choice([1, 4, 6, 8, None])
            table[key] = v
            topic.write(key, None if v is None else {"v": v}, number % 3)
        topic.flush()
        start = chance.choice(["latest", "earliest"])
        if clients and chance.random() < 0.4:
            old, had = chance.choice(clients)
            taken = list(old.next_rows(5))
            left = chance.randrange(len(taken) + 1)
            token = old.token(left)
            kept = had + taken[: len(taken) - left]
            had += taken
            clients.append((topic.subscribe(readers, _BIG, token), list(kept)))
        else:
            clients.append((topic.subscribe(readers, _BIG, start), []))
    for partition in range(3):
        topic.write(f"end{partition}", {"v": 100 + partition}, partition)
    topic.flush()

    wanted = {key: v for key, v in table.items() if v is not None and v > 5}
    for rows, had in clients:
        earlier = [(str(key), value) for key, value in had]
        found = [*earlier, *take_until_all(rows, {f"end{at}" for at in range(3)})]
        state = {key: v for key, v in dict(found).items() if v is not None}
        assert {k: v for k, v in state.items() if not k.startswith("end")} == wanted
