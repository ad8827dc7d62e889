"""The part of a cluster that the client of a registry may see.

A registry reads topics by its own user. Without this, a client could ask it for the impact of a
schema, and see records of topics that the client may not read.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from duolog.runtime.impact.cluster import Cluster

if TYPE_CHECKING:
    from duolog.registry.service.service import Visible
    from duolog.runtime.impact.records import StoredRecord


class VisibleCluster:
    """A `Cluster` without the topics and groups that are hidden."""

    def __init__(self, cluster: Cluster, visible: "Visible") -> None:
        self._cluster = cluster
        self._visible = visible

    def topics(self) -> Mapping[str, int]:
        """Return the topics that the client may read."""
        found = self._cluster.topics()
        return {topic: n for topic, n in found.items() if self._visible.may_read_topic(topic)}

    def configs(self, topics: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
        """Return the configs of topics that `topics` has returned."""
        return self._cluster.configs(topics)

    def groups(self, topics: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """Return the groups that the client may see."""
        found = self._cluster.groups(topics)
        return {group: read for group, read in found.items() if self._visible.may_see_group(group)}

    def last_records(self, topic: str, count: int) -> "list[StoredRecord]":
        """Return the last records of a topic that `topics` has returned."""
        return self._cluster.last_records(topic, count)
