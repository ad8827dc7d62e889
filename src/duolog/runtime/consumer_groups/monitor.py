"""The groups of one cluster for a server: what they are, how far behind, and changes.

Threads: any; calls block.
"""

from collections.abc import Collection
from typing import Final

from duolog.core.clock import Clock, SystemClock
from duolog.runtime.consumer_groups.cluster_groups import ClusterGroups
from duolog.runtime.consumer_groups.connections import Connections
from duolog.runtime.consumer_groups.groups import Listed
from duolog.runtime.consumer_groups.lags import GroupLag, measure
from duolog.runtime.consumer_groups.positions import Positions
from duolog.runtime.consumer_groups.watch import GroupWatch
from duolog.security.clients.brokers import Brokers


class GroupMonitor:
    """The groups of a cluster.

    Attributes:
        servers: the addresses of the cluster, for commands.
        connections: those to its brokers.
        groups: lists, describes and changes groups.
        positions: knows the offsets of partitions.
        watch: knows the lag of groups, now and lately.
    """

    def __init__(self, brokers: Brokers, clock: Clock | None = None) -> None:
        self.servers: Final = brokers.servers
        self.connections: Final = Connections(brokers)
        self.groups: Final = ClusterGroups(self.connections)
        self.positions: Final = Positions(brokers, self.connections)
        self.watch: Final = GroupWatch(self._measure, clock or SystemClock())

    def _measure(self, groups: Collection[Listed], now_ms: int) -> dict[str, GroupLag]:
        return measure(groups, self.groups, self.positions, now_ms)

    def close(self) -> None:
        """End the sampling, and close all connections."""
        self.watch.close()
        self.positions.close()
        self.connections.close()
