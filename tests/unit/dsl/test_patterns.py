"""Streams of all topics whose names match a pattern."""

import pytest

from duolog import Topology, topic
from duolog.core.errors import ConfigError, StatementError
from duolog.dsl.streams import Stream
from duolog.engine.errors import SourceTopicMissing
from duolog.engine.topics.patterns import matched_topics, with_topics
from duolog.runtime.result_topics import result_topics
from duolog.runtime.source_topics import source_topics
from duolog.testing.driver import TopologyDriver


def orders(topology: Topology, pattern: str = "orders-.*") -> Stream:
    return topology.stream(pattern=pattern, key="id STRING", value="n BIGINT")


def test_records_of_all_matching_topics_are_one_stream() -> None:
    topology = Topology("t")
    stream = orders(topology)
    stream.with_columns(at=topic()).to("all")
    stream.group_by_key().count().to("counted")

    driver = TopologyDriver(topology)
    for name in ("orders-eu", "orders-us"):
        driver.input_topic(name).pipe_input("a", {"n": 1})

    assert [row["at"] for _, row in driver.output_topic("all").read_key_values()] == [
        "orders-eu",
        "orders-us",
    ]
    assert driver.output_topic("counted").read_table() == {"a": {"count": 2}}
    with pytest.raises(StatementError, match='unknown source topic "my-orders-eu"'):
        driver.input_topic("my-orders-eu")


def test_describe_distinguishes_patterns_from_names() -> None:
    topology = Topology("t")
    orders(topology).to("all")

    assert "stream of topics that match orders-.*, key" in topology.describe()
    assert "Source: stream-1 (topics: orders-.*)" in topology.describe("kafka-streams")


def test_a_stream_has_either_topics_or_a_pattern() -> None:
    topology = Topology("t")

    with pytest.raises(StatementError, match="a stream needs a topic"):
        topology.stream(value=str)
    with pytest.raises(StatementError, match="by their names or by a pattern"):
        topology.stream("orders", pattern="orders-.*", value=str)
    with pytest.raises(StatementError, match="is not a regular expression"):
        topology.stream(pattern="orders-(", value=str)


def test_a_topic_cannot_be_read_by_name_and_by_pattern() -> None:
    topology = Topology("t")
    orders(topology).to("all")
    topology.table("orders-eu", key="id STRING", value="n BIGINT").to("rows")

    with pytest.raises(StatementError, match=r'topic "orders-eu" matches pattern "orders-\.\*"'):
        topology.build()


def test_a_matching_result_topic_would_feed_itself() -> None:
    topology = Topology("t")
    orders(topology).to("orders-late")

    with pytest.raises(StatementError, match='topic "orders-late" feeds itself'):
        topology.build()


def test_matching_topics_are_found_among_the_existing_ones() -> None:
    topology = Topology("t")
    orders(topology).to("all")
    plan = topology.build()

    there = ["orders-us", "__orders-x", "orders-eu", "orders", "my-orders-eu"]

    assert matched_topics(plan, there, "t") == {"orders-.*": ("orders-eu", "orders-us")}
    with pytest.raises(SourceTopicMissing, match=r'no topic matches pattern "orders-\.\*"'):
        matched_topics(plan, ["visits"], "t")


def test_a_topic_that_matches_two_patterns_is_refused() -> None:
    topology = Topology("t")
    orders(topology).to("all")
    orders(topology, ".*-eu").to("eu")

    with pytest.raises(ConfigError, match='topic "orders-eu" matches two patterns'):
        matched_topics(topology.build(), ["orders-eu", "visits-eu"], "t")


def test_the_kernel_gets_a_source_for_each_matching_topic() -> None:
    sources = [{"id": 0, "topic": "a"}, {"id": 1, "topic": "o-.*"}, {"id": 2, "topic": "b"}]

    found = with_topics(sources, {"o-.*": ("o-1", "o-2")})

    assert found == [
        {"id": 0, "topic": "a"},
        {"id": 1, "topic": "o-1", "input": "o-.*"},
        {"id": 2, "topic": "o-2", "input": "o-.*"},
        {"id": 3, "topic": "b"},
    ]


def test_result_topics_have_the_partitions_of_the_widest_match_and_patterns_are_not_created() -> (
    None
):
    topology = Topology("t")
    orders(topology).to("all")
    plan = topology.build()

    (wanted,) = result_topics(plan, {"orders-eu": 3, "orders-us": 5, "visits": 9})

    assert wanted.num_partitions == 5
    assert source_topics(plan) == []
