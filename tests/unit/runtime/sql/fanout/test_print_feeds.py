"""PRINT statements over one topic share its reader, and each gets every record once."""

import threading
from collections.abc import Iterator
from itertools import pairwise

import pytest
from confluent_kafka import Message

from duolog.core.errors import KafkaError
from duolog.runtime.sql.fanout import print_feeds
from duolog.runtime.sql.fanout.errors import ReadersClosed
from duolog.runtime.sql.fanout.print_feeds import PrintedRecords, PrintFeeds
from duolog.security.clients.brokers import Brokers
from duolog.testing import EmbeddedCluster
from unit.runtime.sql.fanout.pushed_topic import PushedTopic
from waiting import wait_until

pytestmark = pytest.mark.timeout(120)

Places = list[tuple[int, int]]


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        yield cluster


@pytest.fixture
def feeds(cluster: EmbeddedCluster) -> Iterator[PrintFeeds]:
    feeds = PrintFeeds(Brokers(cluster.bootstrap_servers))
    yield feeds
    feeds.close()


def threads(topic: str) -> int:
    """Return the number of threads that read a topic for all clients."""
    return sum(one.name == f"duolog-print-{topic}" for one in threading.enumerate())


def places(records: list[Message]) -> Places:
    return [(one.partition() or 0, one.offset() or 0) for one in records]


def taken(one: PrintedRecords, count: int) -> Places:
    """Return the places of the next records, in the order of each partition."""
    found: list[Message] = []

    def complete() -> bool:
        found.extend(one.take(0.05))
        return len(found) >= count

    wait_until(complete, lambda: f"{count} records; there are {len(found)}")
    result = places(found)
    for number in {partition for partition, _ in result}:
        offsets = [offset for partition, offset in result if partition == number]
        assert all(before < after for before, after in pairwise(offsets)), offsets
    return sorted(result)


def until_shared(one: PrintedRecords) -> Places:
    """Take records until the client has joined the shared reader."""
    found: list[Message] = []

    def shared() -> bool:
        found.extend(one.take(0.05))
        return one.is_shared

    wait_until(shared, "the client joins")
    return places(found)


def test_clients_that_start_at_the_end_share_one_reader(
    cluster: EmbeddedCluster, feeds: PrintFeeds
) -> None:
    topic = PushedTopic(cluster, "at-the-end", partitions=2)
    topic.numbers(range(10))
    clients = [feeds.records("at-the-end") for _ in range(20)]

    topic.numbers(range(3))
    topic.numbers(range(3), partition=1)

    expected = [(0, 10), (0, 11), (0, 12), (1, 0), (1, 1), (1, 2)]
    assert [taken(one, 6) for one in clients] == [expected] * 20
    assert all(one.is_shared for one in clients)
    assert threads("at-the-end") == 1

    for one in clients:
        one.close()
    assert feeds.topics == []
    wait_until(lambda: threads("at-the-end") == 0, "the reader ends")


def test_a_later_client_gets_no_record_from_before_its_statement(
    cluster: EmbeddedCluster, feeds: PrintFeeds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shared reader may still have to read these."""
    topic = PushedTopic(cluster, "later")
    held = threading.Event()
    read = print_feeds._Reader.read  # noqa: SLF001 - what it reads is held back

    def late(reader: print_feeds._Reader, timeout_s: float) -> list[Message]:
        held.wait(60)
        return read(reader, timeout_s)

    monkeypatch.setattr(print_feeds._Reader, "read", late)  # noqa: SLF001
    first = feeds.records("later")
    topic.numbers(range(5))
    second = feeds.records("later")
    held.set()
    topic.numbers(range(2))

    assert taken(first, 7) == [(0, offset) for offset in range(7)]
    assert taken(second, 2) == [(0, 5), (0, 6)]


def test_a_client_from_the_beginning_joins_at_the_end_and_misses_nothing(
    cluster: EmbeddedCluster, feeds: PrintFeeds
) -> None:
    topic = PushedTopic(cluster, "beginning", partitions=2)
    topic.numbers(range(1_000))
    topic.numbers(range(500), partition=1)
    other = feeds.records("beginning")
    one = feeds.records("beginning", from_beginning=True)

    before = until_shared(one)
    topic.numbers(range(10))
    after = taken(one, 1_510 - len(before))

    assert sorted([*before, *after]) == sorted(
        [(0, offset) for offset in range(1_010)] + [(1, offset) for offset in range(500)]
    )
    assert taken(other, 10) == [(0, offset) for offset in range(1_000, 1_010)]
    assert threads("beginning") == 1


def test_a_client_that_reads_slowly_gets_an_own_reader_and_every_record(
    cluster: EmbeddedCluster, feeds: PrintFeeds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(print_feeds, "RECORDS_MAX", 100)
    topic = PushedTopic(cluster, "slow")
    slow, quick = feeds.records("slow"), feeds.records("slow")
    for first in range(0, 1_000, 50):
        topic.numbers(range(first, first + 50))
        assert len(taken(quick, 50)) == 50

    found = taken(slow, 150)
    assert not slow.is_shared
    found += until_shared(slow)
    topic.numbers(range(3))
    found += taken(slow, 1_003 - len(found))

    assert found == [(0, offset) for offset in range(1_003)]
    assert slow.is_shared


def test_a_record_larger_than_the_buffer_is_delivered(
    cluster: EmbeddedCluster, feeds: PrintFeeds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(print_feeds, "BYTES_MAX", 10)
    topic = PushedTopic(cluster, "large")
    one = feeds.records("large")
    topic.numbers([1, 2, 3])

    assert taken(one, 3) == [(0, 0), (0, 1), (0, 2)]


def test_a_topic_that_is_created_again_has_a_reader_of_its_own(
    cluster: EmbeddedCluster, feeds: PrintFeeds
) -> None:
    topic = PushedTopic(cluster, "again")
    topic.numbers(range(10))
    old = feeds.records("again")
    topic.create_again()
    new = feeds.records("again")
    topic.write_anew(1, 0)

    assert taken(new, 1) == [(0, 0)]
    assert feeds.topics == ["again", "again"]
    old.close()


def test_a_missing_topic_is_an_error_and_closed_readers_end_their_clients(
    cluster: EmbeddedCluster, feeds: PrintFeeds
) -> None:
    with pytest.raises(KafkaError):
        feeds.records("missing")
    PushedTopic(cluster, "ends")
    one = feeds.records("ends")

    feeds.close()

    with pytest.raises(ReadersClosed):
        one.take(1)
    with pytest.raises(ReadersClosed):
        feeds.records("ends")
    one.close()
