from duolog import Topology
from duolog.runtime.source_topics import source_topics


def test_a_topic_is_compacted_where_nothing_reads_it_as_a_stream() -> None:
    topology = Topology("joined")
    topology.table("rates", key="currency STRING", value="rate DOUBLE").to("copy")
    topology.table("users", key="name STRING", value="city STRING").to("places")
    topology.stream("users", key="name STRING", value="city STRING").to("moves")

    wanted = {topic.topic: topic.config for topic in source_topics(topology.build())}

    assert wanted == {"rates": {"cleanup.policy": "compact"}, "users": {}}
