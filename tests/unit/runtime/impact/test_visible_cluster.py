"""The part of a cluster that a client of a registry may see."""

from collections.abc import Mapping, Sequence

from duolog.runtime.impact.records import StoredRecord
from duolog.runtime.impact.visible_cluster import VisibleCluster


class Cluster:
    """Two topics and two groups."""

    def topics(self) -> Mapping[str, int]:
        return {"orders": 1, "salaries": 2}

    def configs(self, topics: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
        return {topic: {} for topic in topics}

    def groups(self, topics: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        return dict.fromkeys(("billing", "payroll"), tuple(topics))

    def last_records(self, topic: str, count: int) -> list[StoredRecord]:
        return [StoredRecord(0, count, None, topic.encode())]


class Visible:
    """Only orders and billing."""

    def may_read_topic(self, topic: str) -> bool:
        return topic == "orders"

    def may_see_group(self, group: str) -> bool:
        return group == "billing"


def test_topics_and_groups_that_the_client_may_not_see_are_left_out() -> None:
    cluster = VisibleCluster(Cluster(), Visible())

    assert cluster.topics() == {"orders": 1}
    assert cluster.groups(["orders"]) == {"billing": ("orders",)}
    assert cluster.configs(["orders"]) == {"orders": {}}
    assert [record.value for record in cluster.last_records("orders", 1)] == [b"orders"]
