"""Push queries over topics that are created again or get partitions, on a real broker."""

from collections.abc import Iterator

import pytest

from duolog.core.errors import KafkaError
from duolog.runtime.sql.fanout import feed as feed_module
from duolog.runtime.sql.fanout import topic_watch
from duolog.runtime.sql.fanout.errors import TokenRefused, TopicReplaced
from duolog.runtime.sql.fanout.offset_reader import TopicOffsets
from duolog.runtime.sql.fanout.shared_readers import SharedReaders
from duolog.runtime.sql.fanout.tokens import Tokens
from duolog.runtime.topic_states import TopicState
from duolog.security.clients.brokers import Brokers
from duolog.testing import EmbeddedCluster
from unit.runtime.sql.fanout.pushed_topic import PushedTopic, take, take_to_the_end
from waiting import DEADLINE_S, wait_until

_ALL = "SELECT v FROM s"


@pytest.fixture
def readers(cluster: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[SharedReaders]:
    monkeypatch.setattr(topic_watch, "_EVERY_S", 0.05)
    readers = SharedReaders(Brokers(cluster.bootstrap_servers))
    yield readers
    readers.close()


@pytest.mark.parametrize("kind", ["stream", "table"])
def test_queries_end_when_their_topic_is_created_again(
    cluster: EmbeddedCluster, readers: SharedReaders, service: str, kind: str
) -> None:
    topic = PushedTopic(cluster, service, table=kind == "table")
    topic.numbers([1])
    joined = topic.subscribe(readers, _ALL, "earliest")
    assert take(joined, 1) == [(1,)]

    topic.create_again()

    with pytest.raises(KafkaError) as ended:
        take_to_the_end(joined)
    # The consumer may notice that the first topic is gone before the other one exists.
    assert isinstance(ended.value, TopicReplaced) or "Unknown topic" in str(ended.value.detail)
    wait_until(lambda: readers.sources == [], "the end of the reader")
    topic.numbers([2])
    assert take(topic.subscribe(readers, _ALL, "earliest"), 1) == [(2,)]


@pytest.mark.parametrize("kind", ["stream", "table"])
def test_a_new_query_does_not_join_the_reader_of_a_topic_that_is_gone(
    cluster: EmbeddedCluster,
    readers: SharedReaders,
    service: str,
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before the topics are described the next time."""
    monkeypatch.setattr(topic_watch, "_EVERY_S", 3600.0)
    watched = SharedReaders(Brokers(cluster.bootstrap_servers))
    topic = PushedTopic(cluster, service, table=kind == "table")
    topic.numbers([1])
    joined = topic.subscribe(watched, _ALL, "earliest")
    assert take(joined, 1) == [(1,)]
    (entry,) = watched._entries.values()  # noqa: SLF001
    feed = entry.feed
    assert feed is not None
    # The consumer does not notice by itself.
    monkeypatch.setattr(feed._reader, "read", lambda *_: ([], {0: 1}))  # noqa: SLF001
    topic.create_again()
    topic.numbers([7, 8, 9])

    late = topic.subscribe(watched, _ALL, "earliest")

    assert take(late, 3) == [(7,), (8,), (9,)]
    with pytest.raises(TopicReplaced, match="created again"):
        take_to_the_end(joined)
    assert watched.sources == ["S"]
    watched._watch._closing.set()  # noqa: SLF001
    watched.close()


@pytest.mark.parametrize("place", ["after a row", "amid a snapshot"])
def test_a_token_of_a_topic_that_was_created_again_is_refused(
    cluster: EmbeddedCluster, readers: SharedReaders, service: str, place: str
) -> None:
    """Even if the other topic has an offset like that of the token."""
    topic = PushedTopic(cluster, service, table=True)
    topic.numbers([1])
    first = topic.subscribe(readers, _ALL, "earliest")
    assert take(first, 1) == [(1,)]
    token = first.token()
    if place == "amid a snapshot":
        tokens = topic.tokens(topic.shape(_ALL))
        token = tokens.of_topic(tokens.start(token).topic_id).token(None)
    first.close()
    topic.create_again()
    topic.numbers([2, 3, 4])

    with pytest.raises(TokenRefused, match="an earlier topic"):
        topic.subscribe(readers, _ALL, token)


def test_a_token_continues_after_a_restart_of_the_server(
    cluster: EmbeddedCluster, readers: SharedReaders, service: str
) -> None:
    topic = PushedTopic(cluster, service)
    topic.numbers([1, 2])
    first = topic.subscribe(readers, _ALL, "earliest")
    assert take(first, 2) == [(1,), (2,)]
    token = first.token()
    tokens = topic.tokens(topic.shape(_ALL))
    assert tokens.start(token).topic_id, "the broker has topic ids"
    readers.close()

    other = SharedReaders(Brokers(cluster.bootstrap_servers))
    topic.numbers([3])
    assert take(topic.subscribe(other, _ALL, token), 1) == [(3,)]
    other.close()


def test_a_token_of_an_older_release_continues(
    cluster: EmbeddedCluster, readers: SharedReaders, service: str
) -> None:
    topic = PushedTopic(cluster, service)
    topic.numbers([1, 2])
    tokens = topic.tokens(topic.shape(_ALL))
    place = topic.place_of(1)

    rows = topic.subscribe(
        readers, _ALL, Tokens(tokens.service_id, tokens.fingerprint).token(place)
    )

    assert take(rows, 1) == [(2,)]


@pytest.mark.parametrize("kind", ["stream", "table"])
def test_partitions_that_were_added_are_read_by_all_queries(
    cluster: EmbeddedCluster, readers: SharedReaders, service: str, kind: str
) -> None:
    """By those that run, those that continue, and those that start later."""
    topic = PushedTopic(cluster, service, table=kind == "table")
    topic.numbers([1])
    running = topic.subscribe(readers, _ALL, "earliest")
    assert take(running, 1) == [(1,)]
    early = running.token()

    topic.grow(3)
    topic.write_anew(2, 2)

    assert take(running, 1) == [(2,)]
    continued = topic.subscribe(readers, _ALL, early)
    whole = topic.subscribe(readers, _ALL, "earliest")
    latest = topic.subscribe(readers, _ALL)
    assert take(continued, 1) == [(2,)]
    assert sorted(take(whole, 2)) == [(1,), (2,)]
    if kind == "table":
        assert sorted(take(latest, 2)) == [(1,), (2,)]
    topic.write_anew(3, 1)
    for rows in (running, continued, whole, latest):
        assert take(rows, 1) == [(3,)]
    again = topic.subscribe(readers, _ALL, running.token())
    topic.write_anew(4, 2)
    assert take(again, 1) == [(4,)]
    (entry,) = readers._entries.values()  # noqa: SLF001
    assert entry.feed is not None
    assert entry.feed.partitions == [0, 1, 2], "they share one reader"


def test_a_client_that_catches_up_reads_partitions_that_were_added_meanwhile(
    cluster: EmbeddedCluster,
    readers: SharedReaders,
    service: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(feed_module, "_RECENT_RECORDS", 1)
    topic = PushedTopic(cluster, service)
    topic.numbers(range(1, 51))
    running = topic.subscribe(readers, _ALL)
    late = topic.subscribe(readers, _ALL, topic.place_of(10))
    topic.grow(2)
    for value in (101, 102, 103):
        topic.write_anew(value, 1)
        assert take(running, 1) == [(value,)]

    later = topic.subscribe(readers, _ALL, topic.place_of(10))
    for rows in (late, later):
        found = [value for (value,) in take(rows, 43)]
        assert sorted(found, key=str) == sorted([*range(11, 51), 101, 102, 103], key=str)


def test_a_watch_goes_on_after_an_error_of_one_topic(
    cluster: EmbeddedCluster,
    readers: SharedReaders,
    service: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    topic = PushedTopic(cluster, service)
    other = PushedTopic(cluster, f"{service}-other")
    running = [one.subscribe(readers, _ALL) for one in (topic, other)]
    states, refused = TopicOffsets.states, KafkaError("not now", code=3)
    asked = [0]

    def sometimes(self: TopicOffsets, topics: set[str]) -> dict[str, TopicState | KafkaError]:
        asked[0] += 1
        found = states(self, topics)
        return dict.fromkeys(topics, refused) if asked[0] < 3 else found

    monkeypatch.setattr(TopicOffsets, "states", sometimes)
    first, refused_first = TopicOffsets.first, [True]

    def once_refused(self: TopicOffsets, name: str, partitions: list[int]) -> dict[int, int]:
        if name == topic.name and refused_first:
            refused_first.pop()
            raise KafkaError("no offsets now", code=3)
        return first(self, name, partitions)

    monkeypatch.setattr(TopicOffsets, "first", once_refused)
    for one in (topic, other):
        one.grow(2)
        one.write_anew(5, 1)

    for rows in running:
        assert take(rows, 1) == [(5,)]
    assert asked[0] >= 3
    assert not refused_first


def test_the_watch_ends_with_the_readers(cluster: EmbeddedCluster, service: str) -> None:
    readers = SharedReaders(Brokers(cluster.bootstrap_servers))
    topic = PushedTopic(cluster, service)
    topic.subscribe(readers, _ALL)
    thread = readers._watch._thread  # noqa: SLF001
    assert thread is not None

    readers.close()

    thread.join(DEADLINE_S)
    assert not thread.is_alive()
    readers._watch.start()  # noqa: SLF001
    assert readers._watch._thread is thread, "not started again"  # noqa: SLF001


def test_topics_are_watched_after_an_error_that_is_not_expected(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(topic_watch, "_EVERY_S", 0.01)
    asked: list[int] = []

    class Offsets:
        def states(self, topics: set[str]) -> dict[str, TopicState]:
            asked.append(len(topics))
            if len(asked) == 1:
                raise RuntimeError("no memory for a request")
            return {}

    watch = topic_watch.TopicWatch(Offsets(), list)  # type: ignore[arg-type]
    watch.start()
    wait_until(lambda: len(asked) > 1, "the next request")
    watch.close()

    assert "cannot describe the topics" in caplog.text
