"""Repeated peeks at unread records with one client."""

from typing import Final

from duolog.core.units import MINUTE_MS
from duolog.engine.topics.record_sampler import RecordSampler
from duolog.engine.topics.topic_reader import TopicReader
from duolog.testing import Client, EmbeddedCluster

BEGIN_MS: Final = 1_700_000_000_000


def test_every_peek_sees_a_partition_not_only_the_first() -> None:
    """Regression: the second peek waited ten seconds at each start and saw nothing."""
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        client = Client(cluster.bootstrap_servers)
        client.create_topic("a", partitions=2)
        client.produce("a", "x", b"1")
        peek = RecordSampler(cluster.bootstrap_servers, {})
        offsets = {("a", 0): 0, ("a", 1): 0}

        looks = [peek.sample(offsets, 200, 10.0) for _ in range(3)]

        peek.close()
    assert all(ahead.reached_end for look in looks for ahead in look.values())
    assert [sum(ahead.records for ahead in look.values()) for look in looks] == [1, 1, 1]


def test_remaining_event_time_spans_first_unread_to_last_record() -> None:
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        client = Client(cluster.bootstrap_servers)
        for topic in ("a", "b"):
            client.create_topic(topic, configs={"retention.ms": "-1"})
        for minute in range(6):
            topic = "ab"[minute % 2]
            client.produce(topic, None, b"1", timestamp_ms=BEGIN_MS + minute * MINUTE_MS)
        topics = TopicReader(cluster.bootstrap_servers, {})
        ends = topics.end_offsets({"a": 1, "b": 1})

        everything = topics.unread.event_time_left_ms({}, ends)
        last_ones = topics.unread.event_time_left_ms({"a": {0: 2}, "b": {0: 2}}, ends)
        of_one = topics.unread.event_time_left_ms({"a": {0: 0}, "b": {0: 3}}, ends)
        nothing = topics.unread.event_time_left_ms(ends, ends)

    assert ends == {"a": {0: 3}, "b": {0: 3}}
    assert (everything, last_ones, of_one) == (5 * MINUTE_MS, MINUTE_MS, 4 * MINUTE_MS)
    assert nothing is None
