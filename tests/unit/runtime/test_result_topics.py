from duolog import Topology
from duolog.runtime.result_topics import result_topics


def test_a_tables_topic_is_compacted_and_has_as_many_partitions_as_tasks() -> None:
    topology = Topology("totals")
    sales = topology.stream("sales", key="product STRING", value="amount BIGINT")
    sales.group_by_key().count("sales").to("totals")
    sales.to("copy", partitions=7)

    wanted = {t.topic: t for t in result_topics(topology.build(), {"sales": 4, "other": 9})}

    assert {name: t.num_partitions for name, t in wanted.items()} == {"totals": 4, "copy": 7}
    assert wanted["totals"].config == {"cleanup.policy": "compact"}
    assert wanted["copy"].config == {}
