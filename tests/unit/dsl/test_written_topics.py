"""Topics that a topology writes: chosen by records, or also read by the topology."""

import pytest

from duolog import Topology, col, concat
from duolog.core.errors import QueryError, StatementError
from duolog.dsl.streams import Stream
from duolog.runtime.result_topics import result_topics
from duolog.testing.driver import TopologyDriver

TOPICS = ["eu-orders", "us-orders"]


def orders(topology: Topology) -> Stream:
    return topology.stream("orders", key="id BIGINT", value="region STRING, n BIGINT")


def test_each_record_can_choose_its_topic() -> None:
    topology = Topology("t")
    orders(topology).to(concat(col("region"), "-orders"), topics=TOPICS)

    driver = TopologyDriver(topology)
    regions = ("us", "eu", "us")
    driver.input_topic("orders").pipe_inputs(
        [(n, {"region": region, "n": n}) for n, region in enumerate(regions)]
    )

    found = {topic: driver.output_topic(topic).read_key_values() for topic in TOPICS}
    assert [key for key, _ in found["us-orders"]] == [0, 2]
    assert [key for key, _ in found["eu-orders"]] == [1]


def test_a_record_for_an_undeclared_topic_fails() -> None:
    topology = Topology("t")
    orders(topology).to(concat(col("region"), "-orders"), topics=TOPICS)

    with pytest.raises(QueryError) as caught:
        TopologyDriver(topology).input_topic("orders").pipe_input(1, {"region": "asia", "n": 1})

    assert 'topic "asia-orders" is not one of the topics of' in (caught.value.detail or "")


def test_all_declared_topics_are_created() -> None:
    topology = Topology("t")
    topology.table("t", key="region STRING", value="n BIGINT").to(col("region"), topics=TOPICS)

    wanted = result_topics(topology.build(), {"t": 3})

    assert [(topic.topic, topic.num_partitions) for topic in wanted] == [(t, 3) for t in TOPICS]
    assert all(topic.config == {"cleanup.policy": "compact"} for topic in wanted)


def test_topics_that_records_may_choose_must_be_declared() -> None:
    with pytest.raises(StatementError, match="the topics of region are unknown"):
        orders(Topology("t")).to(col("region"))
    with pytest.raises(
        StatementError, match="topics= is only for an expression that chooses a topic"
    ):
        orders(Topology("t")).to("out", topics=TOPICS)
    with pytest.raises(StatementError, match="n is not the name of a topic"):
        orders(Topology("t")).to(col("n"), topics=TOPICS)


def test_a_row_of_a_table_chooses_its_topic_by_its_key() -> None:
    table = Topology("t").table("t", key="id BIGINT", value="region STRING")

    with pytest.raises(StatementError, match="cannot be chosen by region"):
        table.to(col("region"), topics=TOPICS)


def test_a_topic_that_feeds_itself_is_refused_with_the_path() -> None:
    topology = Topology("t")
    stream = orders(topology)
    stream.filter(col("n") > 0).to("more")
    topology.stream("more", key="id BIGINT", value="region STRING, n BIGINT").to("orders")

    with pytest.raises(StatementError, match='topic "more" feeds itself') as caught:
        topology.build()

    assert "more → orders → more" in (caught.value.detail or "")
    assert "test_written_topics.py" in str(caught.value)


def test_a_topic_may_feed_itself_if_declared() -> None:
    topology = Topology("t")
    stream = orders(topology)
    stream.filter(col("n") > 0).with_columns(n=col("n") - 1).to("orders", loop=True)

    driver = TopologyDriver(topology)
    driver.input_topic("orders").pipe_input(1, {"region": "eu", "n": 3})

    assert [row["n"] for _, row in driver.output_topic("orders").read_key_values()] == [2, 1, 0]


def test_a_table_that_is_only_looked_up_feeds_nothing() -> None:
    topology = Topology("t")
    known = topology.table("known", key="id BIGINT", value="total BIGINT")
    joined = orders(topology).left_join(known)
    joined.map_values(total=col("total") + col("n")).to("known")

    assert topology.build().sinks[0].topic == "known"
