"""Push queries over streams that share a reader, on a real broker."""

import gc
import random
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import Producer, TopicPartition

from duolog.core.errors import DuologError, KafkaError
from duolog.ksql.errors import SqlError
from duolog.runtime.sql.duck.clauses import Query
from duolog.runtime.sql.fanout import catch_up as catch_up_module
from duolog.runtime.sql.fanout import feed as feed_module
from duolog.runtime.sql.fanout.batch_database import BatchDatabase, BatchTables
from duolog.runtime.sql.fanout.errors import (
    ClientTooSlow,
    EvaluationTooSlow,
    ReadersClosed,
    RecordsDeleted,
    TokenRefused,
)
from duolog.runtime.sql.fanout.evaluators import StreamEvaluator
from duolog.runtime.sql.fanout.member import Member
from duolog.runtime.sql.fanout.offset_reader import TopicOffsets
from duolog.runtime.sql.fanout.positions import Place
from duolog.runtime.sql.fanout.row_buffer import BufferLimits, RowBuffer
from duolog.runtime.sql.fanout.shared_readers import SharedReaders, SharedRows
from duolog.runtime.topic_states import TopicState
from duolog.security.clients.brokers import Brokers
from duolog.testing import EmbeddedCluster
from unit.runtime.sql.fanout.pushed_topic import PushedTopic, Rows, take, take_to_the_end
from waiting import wait_until


@pytest.fixture
def readers(cluster: EmbeddedCluster) -> Iterator[SharedReaders]:
    readers = SharedReaders(Brokers(cluster.bootstrap_servers))
    yield readers
    readers.close()


def test_latest_gets_the_records_after_the_start_only(
    cluster: EmbeddedCluster, readers: SharedReaders, service: str
) -> None:
    topic = PushedTopic(cluster, service)
    topic.numbers(range(5))
    first = topic.subscribe(readers, "SELECT v FROM s")
    topic.numbers(range(5, 8))
    second = topic.subscribe(readers, "SELECT v FROM s")
    topic.numbers(range(8, 10))

    assert take(first, 5) == [(5,), (6,), (7,), (8,), (9,)]
    assert take(second, 2) == [(8,), (9,)]


def test_earliest_gets_all_records_and_then_the_new_ones(
    cluster: EmbeddedCluster, readers: SharedReaders, service: str
) -> None:
    topic = PushedTopic(cluster, service, partitions=3)
    for partition in range(3):
        topic.numbers(range(partition * 100, partition * 100 + 50), partition)
    rows = topic.subscribe(readers, "SELECT v, id FROM s WHERE v >= 10", "earliest")
    found = take(rows, 140)
    topic.numbers([999], 1)
    found += take(rows, 1)

    wanted = [(v, f"k{v}") for _, _, v in topic.read_by_a_consumer() if isinstance(v, int)]
    assert Counter(found) == Counter(row for row in wanted if row[0] >= 10)


def test_equal_queries_are_evaluated_once_for_each_batch(
    cluster: EmbeddedCluster,
    readers: SharedReaders,
    service: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    topic = PushedTopic(cluster, service)
    calls, batches = list[int](), list[int]()
    emitted, deliver = StreamEvaluator.emitted, feed_module.Feed._deliver  # noqa: SLF001

    def counted(self: StreamEvaluator, records: object, tables: object) -> object:
        calls.append(1)
        return emitted(self, records, tables)  # type: ignore[arg-type]

    def delivered(self: feed_module.Feed, batch: object) -> None:
        batches.extend([1] if getattr(batch, "records", ()) else [])
        deliver(self, batch)  # type: ignore[arg-type]

    equal = [topic.subscribe(readers, "SELECT v FROM s WHERE v > 1") for _ in range(20)]
    other = topic.subscribe(readers, "SELECT v + 1 AS w FROM s WHERE v > 1")
    monkeypatch.setattr(StreamEvaluator, "emitted", counted)
    monkeypatch.setattr(feed_module.Feed, "_deliver", delivered)
    topic.numbers(range(5))

    for rows in equal:
        assert take(rows, 3) == [(2,), (3,), (4,)]
    assert take(other, 3) == [(3,), (4,), (5,)]
    assert len(calls) == 2 * len(batches)


def test_queries_over_one_topic_share_a_reader_that_ends_with_the_last_one(
    cluster: EmbeddedCluster, readers: SharedReaders, service: str
) -> None:
    topic = PushedTopic(cluster, service)
    started = {thread.name for thread in threading.enumerate()}
    all_rows = [topic.subscribe(readers, f"SELECT v FROM s WHERE v > {at}") for at in range(30)]

    name = f"duolog-push-{topic.name}"
    names = [one.name for one in threading.enumerate() if one.name not in started]
    assert [one for one in names if one == name] == [name]
    assert readers.sources == ["S"]
    for rows in all_rows:
        rows.close()
        rows.close()
    assert readers.sources == []
    wait_until(
        lambda: name not in {one.name for one in threading.enumerate()}, "the end of the reader"
    )
    again = topic.subscribe(readers, "SELECT v FROM s")
    topic.numbers([7])
    assert take(again, 1) == [(7,)]


@pytest.mark.parametrize("seed", range(3))
def test_clients_that_catch_up_get_each_record_once_and_in_order(
    cluster: EmbeddedCluster,
    readers: SharedReaders,
    service: str,
    seed: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Partitions move unevenly while clients arrive at a reader with few recent records."""
    monkeypatch.setattr(feed_module, "_RECENT_RECORDS", 40)
    chance = random.Random(seed)  # noqa: S311 - not a secret
    topic = PushedTopic(cluster, service, partitions=4)
    anchor = topic.subscribe(readers, "SELECT v FROM s WHERE v < 0")
    clients: list[SharedRows] = []
    number = 0
    for _ in range(12):
        for partition in range(4):
            count = chance.choice([0, 0, 3, 300])
            topic.numbers(range(number + 1, number + 1 + count), partition)
            number += count
        select = chance.choice(["v, id FROM s", "v, 'x' FROM s"])
        clients.append(topic.subscribe(readers, f"SELECT {select}", "earliest"))
    for partition in range(4):
        topic.numbers([10**6 + partition], partition)
    anchor.close()

    by_partition: dict[int, list[object]] = defaultdict(list)
    for partition, _, value in topic.read_by_a_consumer():
        by_partition[partition].append(value)
    place = {value: at for at, values in by_partition.items() for value in values}
    for rows in clients:
        found = take(rows, number + 4)
        mine: dict[int, list[object]] = defaultdict(list)
        for value, _ in found:
            mine[place[value]].append(value)
        assert mine == by_partition


def test_rows_that_are_dropped_leave_their_reader(
    cluster: EmbeddedCluster, readers: SharedReaders, service: str
) -> None:
    topic = PushedTopic(cluster, service)
    rows = topic.subscribe(readers, "SELECT v FROM s")
    assert readers.sources == ["S"]

    del rows

    wait_until(lambda: gc.collect() >= 0 and readers.sources == [], "the end of the reader")


def test_a_client_that_does_not_read_is_ended_and_the_others_are_not(
    cluster: EmbeddedCluster, readers: SharedReaders, service: str
) -> None:
    topic = PushedTopic(cluster, service)
    slow = topic.subscribe(readers, "SELECT v FROM s", limits=BufferLimits(rows_max=50))
    good = topic.subscribe(readers, "SELECT v FROM s", limits=BufferLimits(rows_max=50))
    found: Rows = []
    for start in range(0, 1000, 20):
        topic.numbers(range(start, start + 20))
        found += take(good, 20)

    assert found == [(v,) for v in range(1000)]
    with pytest.raises(ClientTooSlow, match=r"the client read too slowly: \d+ rows waited"):
        slow.next_rows(0)
    again = topic.subscribe(readers, "SELECT v FROM s", slow.token())
    assert take(again, 1000)[:1000] == [(v,) for v in range(1000)], "it can continue"


def test_a_client_that_catches_up_slowly_is_not_ended_and_reads_all(
    cluster: EmbeddedCluster, readers: SharedReaders, service: str
) -> None:
    topic = PushedTopic(cluster, service)
    topic.numbers(range(20_000))
    limits = BufferLimits(rows_max=100)
    rows = topic.subscribe(readers, "SELECT v FROM s", "earliest", limits)
    other = topic.subscribe(readers, "SELECT v FROM s", "earliest")

    assert len(take(other, 20_000)) == 20_000, "a full buffer of one client does not stop others"
    assert take(rows, 20_000) == [(v,) for v in range(20_000)]


def test_a_token_continues_after_the_last_row_that_was_read(
    cluster: EmbeddedCluster, readers: SharedReaders, service: str
) -> None:
    topic = PushedTopic(cluster, service, partitions=2)
    select = "SELECT v FROM s WHERE v <> 3"
    first = topic.subscribe(readers, select)
    topic.numbers(range(10), 0)
    topic.numbers(range(100, 110), 1)
    taken = take(first, 1)
    token = first.token(unread=len(taken) - 1)
    first.close()
    topic.numbers(range(10, 12), 0)

    with_new_readers = SharedReaders(topic.brokers)
    for where in (readers, with_new_readers):
        second = topic.subscribe(where, select, token)
        assert sorted(taken[:1] + take(second, 20)) == sorted(
            (v,) for v in [*range(12), *range(100, 110)] if v != 3
        )
        second.close()
    with_new_readers.close()


def test_a_token_within_the_rows_of_a_record_repeats_none(
    cluster: EmbeddedCluster, readers: SharedReaders, service: str
) -> None:
    topic = PushedTopic(cluster, service)
    select = "SELECT id, EXPLODE(many) AS one FROM s"
    topic.write("a", {"many": [1, 2, 3, 4]})
    topic.write("b", {"many": [5, 6]})
    topic.flush()
    all_rows: Rows = [("a", 1), ("a", 2), ("a", 3), ("a", 4), ("b", 5), ("b", 6)]
    rows = topic.subscribe(readers, select, "earliest")
    assert take(rows, 6) == all_rows
    tokens = [rows.token(unread) for unread in range(7)]

    for unread, token in enumerate(tokens[1:], start=1):
        again = topic.subscribe(readers, select, token)
        assert take(again, unread) == all_rows[-unread:]
        if unread == 4:
            inner = again.token(unread=3)
            third = topic.subscribe(readers, select, inner)
            assert take(third, 3) == all_rows[-3:], "a token of a continued query"


def test_a_place_that_the_topic_does_not_have_is_refused(
    cluster: EmbeddedCluster, readers: SharedReaders, service: str
) -> None:
    topic = PushedTopic(cluster, service)
    topic.numbers(range(10))
    with pytest.raises(TokenRefused, match="does not fit topic"):
        topic.subscribe(readers, "SELECT v FROM s", Place({0: 11}))
    with pytest.raises(TokenRefused, match="does not fit topic"):
        topic.subscribe(readers, "SELECT v FROM s", Place({0: 1, 1: 0}))

    (done,) = topic.admin.delete_records([TopicPartition(topic.name, 0, 6)]).values()
    done.result(60)
    with pytest.raises(RecordsDeleted) as raised:
        topic.subscribe(readers, "SELECT v FROM s", Place({0: 2}))
    assert raised.value.detail == "Partition 0: offsets 2 to 5 are gone."
    rest = topic.subscribe(readers, "SELECT v FROM s", Place({0: 6}))
    assert take(rest, 4) == [(6,), (7,), (8,), (9,)]
    assert readers.sources == ["S"], "refused queries leave no reader"


def test_an_unknown_topic_is_an_error_and_leaves_no_reader(
    cluster: EmbeddedCluster, readers: SharedReaders, service: str
) -> None:
    topic = PushedTopic(cluster, service)
    topic.admin.delete_topics([topic.name])[topic.name].result(60)

    with pytest.raises(KafkaError, match="cannot read topic"):
        topic.subscribe(readers, "SELECT v FROM s")

    assert readers.sources == []


@pytest.mark.parametrize(
    "error",
    [SqlError("a value is too large for its type"), OverflowError("too large for its type")],
)
def test_a_query_that_cannot_compute_a_value_ends_alone(
    cluster: EmbeddedCluster,
    readers: SharedReaders,
    service: str,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:
    topic = PushedTopic(cluster, service)
    failing = topic.shape("SELECT v + 1 AS w FROM s").query
    answer = BatchTables.answer

    def answered(self: BatchTables, query: Query) -> list[tuple[object, ...]]:
        if query == failing:
            raise error
        return answer(self, query)

    monkeypatch.setattr(BatchTables, "answer", answered)
    bad = topic.subscribe(readers, "SELECT v + 1 AS w FROM s")
    good = topic.subscribe(readers, "SELECT v FROM s")
    early = topic.subscribe(readers, "SELECT v + 1 AS w FROM s", "earliest")
    topic.numbers([2, 3])

    assert take(good, 2) == [(2,), (3,)]
    for rows in (bad, early):
        with pytest.raises(DuologError, match="too large for its type"):
            take_to_the_end(rows)
    topic.numbers([4])
    assert take(good, 1) == [(4,)]


def test_an_evaluation_that_does_not_end_is_interrupted(
    cluster: EmbeddedCluster, service: str
) -> None:
    topic = PushedTopic(cluster, service)
    database = BatchDatabase()
    tables = database.tables(topic.source)
    endless = Query("SELECT count(*) AS o0 FROM range(10000000000000)", ())
    watch = database._watch  # noqa: SLF001
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(tables.answer, endless)
        wait_until(lambda: watch._running, "the start")  # noqa: SLF001
        watch.interrupt_late()
        assert not answer.done(), "it may take one round"

        def done() -> bool:
            watch.interrupt_late()
            return answer.done()

        wait_until(done, "the end")

    with pytest.raises(EvaluationTooSlow, match="longer than 10 s"):
        answer.result()
    assert tables.answer(Query("SELECT 1 AS o0", ())) == [(1,)], "the tables can be used again"
    database.close()


def test_records_that_cannot_be_read_are_left_out(
    cluster: EmbeddedCluster, readers: SharedReaders, service: str
) -> None:
    topic = PushedTopic(cluster, service)
    rows = topic.subscribe(readers, "SELECT v FROM s")
    topic._producer.produce(topic.name, key="a", value=b"{", partition=0)  # noqa: SLF001
    topic.write("b", None)
    topic.numbers([1])

    assert take(rows, 1) == [(1,)]


def test_open_and_aborted_transactions_are_not_shown(
    cluster: EmbeddedCluster, readers: SharedReaders, service: str
) -> None:
    topic = PushedTopic(cluster, service)
    early = topic.subscribe(readers, "SELECT v FROM s")
    producer = Producer({"bootstrap.servers": topic.servers, "transactional.id": service})
    producer.init_transactions(60)
    for value, commits in ((1, True), (2, False), (3, True)):
        producer.begin_transaction()
        producer.produce(topic.name, key="k", value=f'{{"v":{value}}}', partition=0)
        producer.flush(60)
        if commits:
            producer.commit_transaction(60)
        else:
            producer.abort_transaction(60)

    assert take(early, 2) == [(1,), (3,)]
    late = topic.subscribe(readers, "SELECT v FROM s", "earliest")
    assert take(late, 2) == [(1,), (3,)]
    continued = topic.subscribe(readers, "SELECT v FROM s", early.token())
    topic.numbers([4])
    for rows in (early, late, continued):
        assert take(rows, 1) == [(4,)]


def test_a_reader_that_fails_ends_the_queries_of_all_clients(
    cluster: EmbeddedCluster,
    readers: SharedReaders,
    service: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also of those that it is about to admit, and of those that catch up."""
    topic = PushedTopic(cluster, service)
    joined = topic.subscribe(readers, "SELECT v FROM s")
    (entry,) = readers._entries.values()  # noqa: SLF001
    feed = entry.feed
    assert feed is not None
    arriving = [
        Member(topic.shape("SELECT v FROM s"), RowBuffer(BufferLimits(), None), {0: 0})
        for _ in range(3)
    ]

    def broken(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(feed_module.Feed, "_admit_again", broken)
    with feed._lock:  # noqa: SLF001
        feed._buffers += [one.buffer for one in arriving]  # noqa: SLF001
        feed._waiting += arriving  # noqa: SLF001

    with pytest.raises(MemoryError):
        take_to_the_end(joined)
    wait_until(lambda: all(one.buffer.ended for one in arriving), "the end of all queries")


def test_a_client_that_catches_up_without_a_connection_gets_the_error(
    cluster: EmbeddedCluster,
    readers: SharedReaders,
    service: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    topic = PushedTopic(cluster, service)
    topic.numbers([1])

    def refused(_: Brokers) -> None:
        raise KafkaError("no more connections", code=-1)

    with monkeypatch.context() as patched:
        patched.setattr(catch_up_module, "OffsetReader", refused)
        with pytest.raises(KafkaError, match="no more connections"):
            take_to_the_end(topic.subscribe(readers, "SELECT v FROM s", "earliest"))

    assert take(topic.subscribe(readers, "SELECT v FROM s", "earliest"), 1) == [(1,)]


def test_a_reader_that_starts_while_the_engine_closes_is_stopped(
    cluster: EmbeddedCluster, service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    readers = SharedReaders(Brokers(cluster.bootstrap_servers))
    topic = PushedTopic(cluster, service)
    state = TopicOffsets.state

    def closing(self: TopicOffsets, name: str) -> TopicState:
        readers.close()
        return state(self, name)

    monkeypatch.setattr(TopicOffsets, "state", closing)
    before = set(threading.enumerate())

    with pytest.raises(ReadersClosed):
        topic.subscribe(readers, "SELECT v FROM s")

    assert not [one for one in set(threading.enumerate()) - before if one.name.startswith("duolog")]


def test_clients_of_a_closed_engine_get_no_more_rows(
    cluster: EmbeddedCluster, service: str
) -> None:
    readers = SharedReaders(Brokers(cluster.bootstrap_servers))
    topic = PushedTopic(cluster, service)
    topic.numbers(range(10))
    rows = [topic.subscribe(readers, "SELECT v FROM s", "earliest") for _ in range(20)]
    before = {one for one in threading.enumerate() if one.name.startswith("duolog-catch-up")}

    readers.close()

    assert not any(one.is_alive() for one in before)
    for one in rows:
        with pytest.raises(ReadersClosed, match="the SQL engine stops"):
            take_to_the_end(one)
        one.close()
    with pytest.raises(DuologError):
        topic.subscribe(readers, "SELECT v FROM s", "earliest")
